//! Checks steps that wait for models, people or time: `ask`, `infer`, `input`, `wait`.

use std::fmt;
use std::sync::Arc;

use super::body::CheckedBody;
use super::callee::find_agent;
use super::checker::PlanChecker;
use super::event::check_event;
use super::event_value::event_value_type;
use super::expr::{CheckedExpr, Expectation};
use super::finding::unknown;
use super::plan::{Call, Footprint, Input, InputField, OrderClass, StepKind, Target, Wait};
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{
    ANY_SKILL, CallKind, Contract, Effect, Field, Parameter, Rest, Signature, Type, to_schema,
};

/// The namespace of the tool that `infer` calls.
const MODEL: &str = "model";

/// Checks `ask agent(…) -> T`. Its effect class is the highest of the agent's tools that the plan permits.
pub(super) fn check_ask(checker: &mut PlanChecker<'_>, span: Span, ask: &ast::Ask) -> CheckedBody {
    let known = find_agent(checker, &ask.agent);
    let effect = known.map_or(Effect::Effect, |agent| effect_of(checker, agent));
    check_asked(checker, span, ask, known, (CallKind::Agent, effect))
}

/// Checks `verify ask agent(…) -> T`: the agent only has its tools that change nothing.
pub(super) fn check_read_only_ask(checker: &mut PlanChecker<'_>, ask: &ast::Ask) -> CheckedBody {
    let known = find_agent(checker, &ask.agent);
    if let Some(Err(reason)) = known.map(|agent| can_verify(checker, agent)) {
        let found = codes::effects::VERIFY_NOT_READ.at(ask.agent.span, reason.0);
        checker.report(found.help(reason.1));
    }
    let called = (CallKind::ReadOnlyAgent, Effect::Read);
    check_asked(checker, ask.span(), ask, known, called)
}

fn check_asked(
    checker: &mut PlanChecker<'_>,
    span: Span,
    ask: &ast::Ask,
    known: Option<&str>,
    (kind, effect): (CallKind, Effect),
) -> CheckedBody {
    let namespace = known.unwrap_or(&ask.agent.text).into();
    let called = Signature {
        effect,
        kind,
        ..Signature::unknown(namespace, "ask".into())
    };
    let body = check_prompted(checker, span, called, &ask.arguments, &ask.returns);
    if known.is_some() {
        body
    } else {
        CheckedBody::damaged(body.ty)
    }
}

/// Checks `infer(…) -> T`, which changes nothing.
pub(super) fn check_infer(
    checker: &mut PlanChecker<'_>,
    span: Span,
    arguments: &[ast::Argument],
    returns: &ast::TypeExpr,
) -> CheckedBody {
    let called = Signature {
        kind: CallKind::Model,
        effect: Effect::Read,
        ..Signature::unknown(MODEL.into(), "infer".into())
    };
    check_prompted(checker, span, called, arguments, returns)
}

/// Returns the highest effect class of an agent's tools that the plan permits; `effect` if there are none.
fn effect_of(checker: &PlanChecker<'_>, agent: &str) -> Effect {
    let tools = checker.shared.tools;
    let classes = tools.names(agent).filter_map(|name| {
        let signature = tools.find(agent, name)?;
        checker.may_call(agent, name).then_some(signature.effect)
    });
    classes.max().unwrap_or_default()
}

/// Checks whether an agent can verify without changing anything; the error is the reason and a remedy.
pub(super) fn can_verify(
    checker: &PlanChecker<'_>,
    agent: &str,
) -> Result<(), (String, &'static str)> {
    let tools = checker.shared.tools;
    let reads = |name: &str| {
        let signature = tools.find(agent, name);
        checker.may_call(agent, name)
            && signature.is_some_and(|signature| signature.effect.is_read_only())
    };
    let mut found = tools
        .names(agent)
        .filter_map(|name| tools.find(agent, name));
    if found.any(|signature| signature.kind == CallKind::Skill) {
        if reads(ANY_SKILL) {
            return Ok(());
        }
        let message = format!(
            "`{agent}` decides by itself what it does, and `{agent}.{ANY_SKILL}`, which asks it, is not a `read` that \
             this plan may call"
        );
        return Err((
            message,
            "if asking it changes nothing, declare that in planrun.yaml: `classes: { send: read }`",
        ));
    }
    if tools.names(agent).any(reads) {
        return Ok(());
    }
    let message = format!(
        "`{agent}` has no tool of class `read` that this plan may call, so it cannot verify anything"
    );
    Err((
        message,
        "call a tool of class `read`, or ask an agent that has one",
    ))
}

/// Checks a call of a model or an agent: its parameters are fixed, and its result has the written type.
fn check_prompted(
    checker: &mut PlanChecker<'_>,
    span: Span,
    called: Signature,
    written: &[ast::Argument],
    returns: &ast::TypeExpr,
) -> CheckedBody {
    let parameters = match called.kind {
        CallKind::Model => &[PROMPT, MODEL_NAME, WITH][..],
        CallKind::Tool | CallKind::Skill | CallKind::Agent | CallKind::ReadOnlyAgent => {
            &[PROMPT, WITH]
        }
    };
    let arguments = check_prompt(checker, span, &called.written(), parameters, written);
    let returns = checker.types.resolve(returns, checker.diagnostics);
    let Some(arguments) = arguments else {
        return CheckedBody::damaged(returns);
    };
    prompted(span, called, parameters, arguments, returns)
}

/// Creates the call that `verify: agents` makes, with this prompt and this data.
pub(super) fn read_only_ask(
    agent: Arc<str>,
    prompt: CheckedExpr,
    data: CheckedExpr,
    returns: Type,
) -> CheckedBody {
    let called = Signature {
        kind: CallKind::ReadOnlyAgent,
        effect: Effect::Read,
        ..Signature::unknown(agent, "ask".into())
    };
    let span = prompt.span;
    let arguments = vec![(PROMPT.0.into(), prompt), (WITH.0.into(), data)];
    prompted(span, called, &[PROMPT, WITH], arguments, returns)
}

fn prompted(
    span: Span,
    called: Signature,
    parameters: &[(&str, Type, bool)],
    arguments: Vec<(Arc<str>, CheckedExpr)>,
    returns: Type,
) -> CheckedBody {
    let (effect, order) = (called.effect, OrderClass::of(called.effect));
    let signature = Signature {
        parameters: parameters.iter().map(parameter).collect(),
        returns: returns.clone(),
        output_schema: Some(Arc::new(Contract::of_result(to_schema(&returns)))),
        effect_declared: true,
        // The answer of a model is untrusted.
        open_world: true,
        ..called
    };
    let call = Call {
        span,
        target: Target::Tool(Arc::new(signature)),
        arguments,
        effect,
        checked_at_run: false,
    };
    CheckedBody::new(StepKind::Call(call), returns, Footprint::of(effect, order))
}

/// Parameters of calls with a prompt: name, type, and whether it is required.
const PROMPT: (&str, Type, bool) = ("prompt", Type::String, true);
const MODEL_NAME: (&str, Type, bool) = ("model", Type::String, false);
const WITH: (&str, Type, bool) = ("with", Type::Any, false);

fn parameter((name, ty, required): &(&str, Type, bool)) -> Parameter {
    Parameter {
        name: (*name).into(),
        ty: ty.clone(),
        required: *required,
        description: None,
        schema: None,
        default: None,
    }
}

/// Checks the arguments; the one without a name is the prompt.
fn check_prompt(
    checker: &mut PlanChecker<'_>,
    span: Span,
    what: &str,
    parameters: &[(&str, Type, bool)],
    written: &[ast::Argument],
) -> Option<Vec<(Arc<str>, CheckedExpr)>> {
    let named = || {
        parameters
            .iter()
            .map(|(name, ..)| *name)
            .filter(|name| *name != PROMPT.0)
    };
    let mut arguments = Vec::new();
    let mut prompts = 0;
    for argument in written {
        let (name, code) = match &argument.name {
            None => {
                prompts += 1;
                (PROMPT.0, checker.text(&argument.value, "the prompt"))
            }
            Some(name)
                if &*name.text == MODEL_NAME.0 && named().any(|known| known == MODEL_NAME.0) =>
            {
                (
                    MODEL_NAME.0,
                    checker.text(&argument.value, "the name of the model"),
                )
            }
            Some(name) if &*name.text == WITH.0 => (WITH.0, checker.value(&argument.value)),
            Some(name) => {
                checker.value(&argument.value);
                let of = format!("argument of `{what}` named");
                let code = &codes::names::UNKNOWN_ARGUMENT;
                checker.report(unknown(code, &of, &name.text, name.span, named()));
                continue;
            }
        };
        arguments.push((name.into(), code));
    }
    if prompts != 1 {
        let message = format!("`{what}` takes one argument without a name, the prompt");
        let diagnostic = codes::types::MISSING_ARGUMENT.at(span, message);
        checker.report(diagnostic.help(format!("write `{what}(\"…\")`")));
        return None;
    }
    Some(arguments)
}

/// Checks `input "…" -> { … }` and its `by` clause.
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
    let optional = Type::union([ty.clone(), Type::Null]);
    let misread = report_misplaced_choices(checker, field, &ty);
    let mut value =
        |written: &Option<Box<ast::Expr>>, expected: &Type, what: fmt::Arguments<'_>| {
            let written = written
                .as_ref()
                .filter(|written| misread != Some(written.span))?;
            Some(checker.value_of(written, expected, Expectation::default(&what)))
        };
    let prefill = value(
        &field.prefill,
        &optional,
        format_args!("the prefilled value of `{name}`"),
    );
    let known = value(
        &field.known,
        &optional,
        format_args!("the known value of `{name}`"),
    );
    let options = field.options.as_ref().map(|options| {
        let what = format_args!("the list of choices of `{name}`");
        let before = checker.diagnostics.len();
        let code = checker.value_of(options, &ty.clone().list(), Expectation::of(&what));
        if matches!(ty.without_null(), Type::List(_))
            && let Some(found) = checker.diagnostics.get_mut(before)
            && found.code == &codes::types::WRONG_TYPE
        {
            *found = several_choices(name, &ty, options.span);
        }
        code
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

/// Creates the diagnostic for the choices of a field that takes several values.
fn several_choices(name: &str, ty: &Type, span: Span) -> Diagnostic {
    let message = format!("`in` lists the choices for one value, but `{name}` is a list");
    codes::types::WRONG_TYPE
        .at(span, message)
        .note("choices for one value")
        .expected(ty.clone().list(), "a list of single choices")
        .help(format!(
            "to choose one, declare the type of a single choice; a form cannot offer several choices: without `in`, `{name}` is \
             a list that the person writes"
        ))
}

/// Reports `known e in LIST`: `in` is an operator there, so the choices of a field must come first. Returns the span of
/// the misread expression.
fn report_misplaced_choices(
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
    // Parentheses mean that the operator is intended.
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
        "`in` is an operator here, but `{}` is of type {ty}",
        field.name.text
    );
    let diagnostic = codes::types::WRONG_TYPE
        .at(written.span, message)
        .help("write the choices first: `in LIST known e` or `in LIST = e`")
        .fix("write the choices first", place, mended);
    checker.report(diagnostic);
    Some(written.span)
}

/// Checks `wait 5m`, `wait until t` and `wait for COND [-> T]`.
pub(super) fn check_wait(checker: &mut PlanChecker<'_>, wait: &ast::WaitFor) -> CheckedBody {
    let (wait, ty) = match wait {
        ast::WaitFor::Duration(duration) => (
            Wait::For(checker.wait_duration(duration, "`wait`")),
            Type::Null,
        ),
        ast::WaitFor::Until(time) => {
            let time = checker.value_of(time, &Type::Timestamp, Expectation::of(&"`wait until`"));
            (Wait::Until(time), Type::Null)
        }
        ast::WaitFor::Condition { on, payload } => {
            let on = check_event(checker, on);
            let payload = payload
                .as_ref()
                .map(|payload| checker.types.resolve(payload, checker.diagnostics));
            let ty = event_value_type(checker, &on, payload.as_ref());
            (Wait::Event { on, payload }, ty)
        }
    };
    CheckedBody::new(
        StepKind::Wait(Box::new(wait)),
        ty,
        Footprint::of(Effect::Pure, OrderClass::Barrier),
    )
}
