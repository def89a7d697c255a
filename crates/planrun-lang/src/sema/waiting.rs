//! What waits for models, people and time: `ask`, `infer`, `input`, `wait`.

use std::fmt;

use super::body::CheckedBody;
use super::brought::brought_type;
use super::checker::PlanChecker;
use super::event::check_event;
use super::expr::{Code, Expectation};
use super::finding::unknown;
use super::plan::{Ask, Footprint, Infer, Input, InputField, OrderClass, StepKind, Wait};
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Effect, Field, Rest, Type};

/// What the parentheses of `ask` and `infer` hold.
#[derive(Default)]
struct Prompted {
    prompt: Option<Code>,
    model: Option<Code>,
    with: Option<Code>,
}

/// `ask agent(…) -> T`: it acts with the tools of the agent, of which nothing is known.
pub(super) fn check_ask(
    checker: &mut PlanChecker<'_>,
    span: Span,
    agent: &ast::Name,
    arguments: &[ast::Argument],
    returns: &ast::TypeExpr,
) -> CheckedBody {
    let Prompted {
        prompt,
        with,
        model: _,
    } = check_prompted(
        checker,
        span,
        &format!("ask {}", agent.text),
        &["with"],
        arguments,
    );
    checker.mark_not_yet(span, "`ask`");
    let returns = checker.types.resolve(returns, checker.diagnostics);
    let Some(prompt) = prompt else {
        return CheckedBody::damaged(returns);
    };
    let ask = Ask {
        span: agent.span,
        agent: agent.text.clone(),
        prompt,
        with,
        returns: returns.clone(),
    };
    CheckedBody::new(
        StepKind::Ask(Box::new(ask)),
        returns,
        Footprint::of(Effect::Effect, OrderClass::Barrier),
    )
}

/// `infer(…) -> T`: it changes nothing.
pub(super) fn check_infer(
    checker: &mut PlanChecker<'_>,
    span: Span,
    arguments: &[ast::Argument],
    returns: &ast::TypeExpr,
) -> CheckedBody {
    let Prompted {
        prompt,
        model,
        with,
    } = check_prompted(checker, span, "infer", &["model", "with"], arguments);
    checker.mark_not_yet(span, "`infer`");
    let returns = checker.types.resolve(returns, checker.diagnostics);
    let Some(prompt) = prompt else {
        return CheckedBody::damaged(returns);
    };
    let infer = Infer {
        span,
        prompt,
        model,
        with,
        returns: returns.clone(),
    };
    CheckedBody::new(
        StepKind::Infer(Box::new(infer)),
        returns,
        Footprint::of(Effect::Read, OrderClass::Read),
    )
}

fn check_prompted(
    checker: &mut PlanChecker<'_>,
    span: Span,
    what: &str,
    known: &[&str],
    arguments: &[ast::Argument],
) -> Prompted {
    let mut prompted = Prompted::default();
    let mut prompts = 0;
    for argument in arguments {
        match &argument.name {
            None => {
                prompts += 1;
                prompted.prompt = Some(checker.text(&argument.value, "the prompt"));
            }
            Some(name) if known.contains(&&*name.text) => {
                let code = Some(checker.value(&argument.value));
                if &*name.text == "with" {
                    prompted.with = code;
                } else {
                    prompted.model = code;
                }
            }
            Some(name) => {
                checker.value(&argument.value);
                let what = format!("argument of `{what}` named");
                let code = &codes::names::UNKNOWN_ARGUMENT;
                checker.report(unknown(
                    code,
                    &what,
                    &name.text,
                    name.span,
                    known.iter().copied(),
                ));
            }
        }
    }
    if prompts != 1 {
        let message = format!("`{what}` takes one prompt, the only argument without a name");
        let diagnostic = Diagnostic::new(&codes::types::MISSING_ARGUMENT, span, message);
        checker.report(diagnostic.help(format!("write `{what}(\"…\")`")));
    }
    prompted
}

/// `input "…" -> { … }`, with the clause that says who answers.
pub(super) fn check_input(
    checker: &mut PlanChecker<'_>,
    prompt: &ast::Expr,
    fields: &[ast::InputField],
    clauses: &[ast::Clause],
) -> CheckedBody {
    let prompt = checker.text(prompt, "the text of `input`");
    let by = clauses.iter().find_map(|clause| match &clause.kind {
        ast::ClauseKind::By(role) => Some(role),
        _ => None,
    });
    let by = by.map(|by| checker.text(by, "the role in `by`"));
    let fields = fields
        .iter()
        .map(|field| check_input_field(checker, field))
        .collect::<Vec<_>>();
    let typed = |field: &InputField| Field {
        name: field.name.clone(),
        ty: field.ty.clone(),
        required: true,
    };
    let ty = Type::object(fields.iter().map(typed).collect(), Rest::Closed);
    let input = Input { prompt, by, fields };
    CheckedBody::new(
        StepKind::Input(Box::new(input)),
        ty,
        Footprint::of(Effect::Pure, OrderClass::Barrier),
    )
}

fn check_input_field(checker: &mut PlanChecker<'_>, field: &ast::InputField) -> InputField {
    let ty = checker.types.resolve(&field.ty, checker.diagnostics);
    let name = &field.name.text;
    let wanted = Type::union([ty.clone(), Type::Null]);
    let misread = report_choices_behind(checker, field, &ty);
    let mut value = |written: &Option<Box<ast::Expr>>, wanted: &Type, what: fmt::Arguments<'_>| {
        let written = written
            .as_ref()
            .filter(|written| misread != Some(written.span))?;
        Some(checker.value_of(written, wanted, Expectation::default(&what)))
    };
    let prefill = value(
        &field.prefill,
        &wanted,
        format_args!("what stands in `{name}`"),
    );
    let known = value(
        &field.known,
        &wanted,
        format_args!("what is known of `{name}`"),
    );
    let options = field.options.as_ref().map(|options| {
        let what = format_args!("the choices of `{name}`");
        checker.value_of(options, &ty.clone().list(), Expectation::of(&what))
    });
    let sensitive = checker.types.secrets(&field.ty);
    let (name, span) = (name.clone(), field.name.span);
    InputField {
        span,
        name,
        label: None,
        ty,
        prefill,
        known,
        options,
        contracts: Vec::new(),
        sensitive,
    }
}

/// `known e in LIST`: `in` is an operator there, so the choices of a field stand before. The place of what was misread.
fn report_choices_behind(
    checker: &mut PlanChecker<'_>,
    field: &ast::InputField,
    ty: &Type,
) -> Option<Span> {
    let takes_bool = ty
        .members()
        .iter()
        .any(|member| matches!(member, Type::Bool | Type::Any | Type::Invalid));
    let (word, written) = match (&field.known, &field.prefill) {
        (Some(known), None) => ("known", known),
        (None, Some(prefill)) => ("=", prefill),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let ast::ExprKind::Chain { first, rest } = &written.kind else {
        return None;
    };
    let ([link], None, false) = (rest.as_slice(), &field.options, takes_bool) else {
        return None;
    };
    let text = |span: Span| checker.shared.source.slice(span);
    let before = Span::from(field.ty.span.end..first.span.start);
    // Parentheses say that the operator is meant.
    if link.operator != ast::BinaryOp::In || !text(before).trim_end().ends_with(word) {
        return None;
    }
    let place = Span::from(field.ty.span.end..link.operand.span.end);
    let mended = format!(
        " in {} {word} {}",
        text(link.operand.span),
        text(first.span)
    );
    let message = format!(
        "`in` is an operator here, and `{}` is of type {ty}",
        field.name.text
    );
    let diagnostic = Diagnostic::new(&codes::types::WRONG_TYPE, written.span, message)
        .help("write the choices first: `in LIST known e` or `in LIST = e`")
        .fix("write the choices first", place, mended);
    checker.report(diagnostic);
    Some(written.span)
}

/// `wait 5m`, `wait until t`, `wait for COND [-> T]`
pub(super) fn check_wait(checker: &mut PlanChecker<'_>, wait: &ast::WaitFor) -> CheckedBody {
    let (wait, ty) = match wait {
        ast::WaitFor::Duration(duration) => {
            (Wait::For(checker.duration(duration, "`wait`")), Type::Null)
        }
        ast::WaitFor::Until(time) => {
            let time = checker.value_of(time, &Type::Timestamp, Expectation::of(&"`wait until`"));
            (Wait::Until(time), Type::Null)
        }
        ast::WaitFor::Condition { on, payload } => {
            let on = check_event(checker, on);
            let payload = payload
                .as_ref()
                .map(|payload| checker.types.resolve(payload, checker.diagnostics));
            let ty = brought_type(checker, &on, payload.as_ref());
            (Wait::Event { on, payload }, ty)
        }
    };
    CheckedBody::new(
        StepKind::Wait(Box::new(wait)),
        ty,
        Footprint::of(Effect::Pure, OrderClass::Barrier),
    )
}
