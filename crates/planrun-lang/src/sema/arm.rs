//! Checks the arms of `match`, `race` and `recover`: each becomes a block, in whatever form it is written.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::agent_check::check_agent;
use super::block::{check_failure, check_statements};
use super::blocks::BlockKind;
use super::body::{CheckedBody, value_type};
use super::call::{check_call_step, is_call};
use super::checker::PlanChecker;
use super::expr::{CheckedExpr, path_text};
use super::finding::{duplicate_name, separated_name};
use super::plan::{BlockId, Clauses, Footprint, NodeKind, Recover, Step, StepKind};
use super::scope::{Lookup, NameKind, Place, Scope as _};
use super::waiting::{check_ask, check_infer};
use crate::diag::codes;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{Effect, ErrorClass, ErrorPattern, Literal, Type};

/// A checked `recover` arm.
pub(super) struct RecoverArm {
    pub arm: Recover,
    pub ty: Type,
    pub does: Footprint,
}

/// Checks `race { name: arm … }`: the first value wins, so every arm must only read.
pub(super) fn check_race(
    checker: &mut PlanChecker<'_>,
    span: Span,
    branches: &[(ast::Name, ast::ArmBody)],
) -> CheckedBody {
    for (_, branch) in branches {
        if let ast::ArmBody::Do(block) = branch {
            checker.names.known.enter_unsettled(block.span);
        }
    }
    let mut arms = Vec::new();
    let mut types = Vec::new();
    let mut does = Footprint::none();
    if branches.len() < 2 {
        let diagnostic =
            codes::types::MISSING_ARGUMENT.at(span, "a race needs at least two branches");
        checker.report(diagnostic.help("add a branch, `name: call`, or call the tool directly"));
    }
    for (name, body) in branches {
        checker.diagnostics.extend(separated_name("branch", name));
        let arm = check_arm(checker, &name.text, body, None, None);
        if !arm.does.effect.is_read_only() {
            let message = format!(
                "the branch `{}` is {} call, but only reads may race",
                name.text,
                with_article(arm.does.effect)
            );
            let help = "race reads, then act: losing branches are cancelled in mid-call, so an effect could happen unnoticed";
            checker.report(
                codes::effects::RACE_WITH_EFFECT
                    .at(name.span, message)
                    .help(help),
            );
        }
        does.merge(&arm.does);
        if arms
            .iter()
            .any(|(known, _): &(Arc<str>, BlockId)| *known == name.text)
        {
            checker.report(duplicate_name("branch", name, span));
        }
        types.push(arm.ty);
        arms.push((name.text.clone(), arm.id));
    }
    let winner = Type::union(
        arms.iter()
            .map(|(name, _)| Type::Literal(Literal::String(name.clone()))),
    );
    let body = CheckedBody::new(StepKind::Race(arms), Type::union(types), does);
    CheckedBody {
        winner: Some(winner),
        ..body
    }
}

fn with_article(effect: Effect) -> String {
    match effect {
        Effect::Idempotent | Effect::Effect | Effect::Irreversible => format!("an `{effect}`"),
        Effect::Pure | Effect::Read => format!("a `{effect}`"),
    }
}

/// Checks `match subject { pattern => arm … }`.
pub(super) fn check_match(
    checker: &mut PlanChecker<'_>,
    subject: &ast::Expr,
    arms: &[ast::Arm],
) -> CheckedBody {
    let subject_code = checker.value(subject);
    let patterns = arms
        .iter()
        .map(|arm| (&arm.pattern, arm.span))
        .collect::<Vec<_>>();
    let patterns = checker.expressions().check_patterns(
        (subject, &subject_code.ty),
        &patterns,
        subject.span,
        true,
    );
    // The context of a task may change before a statement of an arm reads it.
    let is_context = |name: &str| matches!(checker.names.lookup(name), Lookup::Found(found) if found.kind == NameKind::Task);
    let changes = subject_code.reads.iter().any(|read| is_context(&read.name));
    let (mut outcome, mut types, mut does) = (Vec::new(), Vec::new(), Footprint::none());
    for (arm, pattern) in arms.iter().zip(patterns) {
        let at = subject.span.start;
        let facts = pattern.facts.iter();
        let facts = facts.map(|fact| checker.names.dated(fact, at)).collect();
        let before = checker.names.known.assume(facts);
        let arms = checker.names.arms.len();
        if !changes {
            let text = path_text(subject, &[]);
            checker.names.arms.push((text, pattern.subject));
        }
        let body = check_arm(checker, "match", &arm.body, None, None);
        checker.names.arms.truncate(arms);
        checker.names.known.forget(before);
        does.merge(&body.does);
        types.push(body.ty);
        outcome.push((pattern.matcher, body.id));
    }
    let kind = StepKind::Match {
        subject: Box::new(subject_code),
        arms: outcome,
    };
    CheckedBody::new(kind, Type::union(types), does)
}

/// Checks the `recover` arms of a step; its own name is not visible in them.
pub(super) fn check_recover_arms(
    checker: &mut PlanChecker<'_>,
    step: &ast::Step,
    result: &Type,
) -> Vec<RecoverArm> {
    let mut arms = Vec::new();
    let mut caught = BTreeSet::new();
    let mut all: Option<Span> = None;
    for clause in &step.clauses {
        let ast::ClauseKind::Recover {
            pattern,
            binding,
            body: arm,
        } = &clause.kind
        else {
            continue;
        };
        if matches!(step.body, ast::StepBody::Error) {
            continue;
        }
        let patterns = error_patterns(checker, pattern);
        let is_unknown = patterns.is_empty() && matches!(pattern, ast::ErrorPattern::Classes(_));
        let names = patterns.iter().map(pattern_name).collect::<BTreeSet<_>>();
        let hidden =
            all.is_some() && !names.contains("unknown_outcome") && !names.contains("internal");
        let repeated = !names.is_empty() && names.iter().all(|name| is_caught(&caught, name));
        if hidden || repeated {
            let message = "an earlier arm already catches everything that this one could";
            let diagnostic = codes::failure::UNREACHABLE_RECOVER
                .at(clause.span, message)
                .help("remove this arm, or move it up: the first arm that matches is taken");
            checker.report(diagnostic);
        }
        match pattern {
            ast::ErrorPattern::Any => all = all.or(Some(clause.span)),
            ast::ErrorPattern::Classes(_) => caught.extend(names),
        }
        let outcome = check_arm(
            checker,
            "recover",
            arm,
            Some((binding.as_ref(), Type::Error)),
            Some(result),
        );
        arms.push(RecoverArm {
            arm: Recover {
                patterns: if is_unknown {
                    // An arm without a pattern would catch everything.
                    vec![ErrorPattern::Class(ErrorClass::Internal)]
                } else {
                    patterns
                },
                body: outcome.id,
            },
            ty: outcome.ty,
            does: outcome.does,
        });
    }
    arms
}

/// Returns the patterns of dotted error names; unknown ones are reported.
fn error_patterns(checker: &mut PlanChecker<'_>, pattern: &ast::ErrorPattern) -> Vec<ErrorPattern> {
    let ast::ErrorPattern::Classes(names) = pattern else {
        return Vec::new();
    };
    names
        .iter()
        .filter_map(|name| checker.settings().error_pattern(&name.text, name.span))
        .collect()
}

fn pattern_name(pattern: &ErrorPattern) -> String {
    match pattern {
        ErrorPattern::Class(class) => class.to_string(),
        ErrorPattern::Family(family) => (*family).to_owned(),
    }
}

fn is_caught(caught: &BTreeSet<String>, name: &str) -> bool {
    let family = name.split('.').next().unwrap_or(name);
    caught.contains(name) || caught.contains(family)
}

/// A checked arm.
struct ArmBlock {
    id: BlockId,
    ty: Type,
    does: Footprint,
}

/// Checks an arm of `race`, `match` or `recover` as a block. A call in it becomes a step with the path `x.label`. A
/// value that fits `result_type`, the type of the result that the arm replaces, is converted to it.
fn check_arm(
    checker: &mut PlanChecker<'_>,
    label: &str,
    body: &ast::ArmBody,
    binding: Option<(Option<&ast::Name>, Type)>,
    result_type: Option<&Type>,
) -> ArmBlock {
    let block = match body {
        ast::ArmBody::Do(block) => Some(block),
        _ => None,
    };
    let statements = block.map_or(&[][..], |block| &block.statements);
    let own_label = block.map(|_| label.into());
    let id = checker.open_block(BlockKind::Do, own_label, statements);
    if let Some(block) = checker.blocks.innermost_mut() {
        block.result_type = result_type.cloned();
    }
    match binding {
        Some((Some(name), ty)) => {
            checker.introduce_local(name, ty);
        }
        Some((None, _)) => {
            checker.names.slot();
        }
        None => {}
    }
    check_arm_body(checker, label, body);
    let kind = BlockKind::Do;
    let Some(mut block) = checker.close_block() else {
        return ArmBlock {
            id,
            ty: Type::Invalid,
            does: Footprint::none(),
        };
    };
    let yields = std::mem::take(&mut block.yields);
    let ty = match body {
        ast::ArmBody::Do(own) => value_type(yields, &own.statements, kind),
        ast::ArmBody::Fail { .. } => Type::Never,
        ast::ArmBody::Expr(_) | ast::ArmBody::Ask(_) | ast::ArmBody::Infer { .. } => {
            Type::union(yields)
        }
    };
    ArmBlock {
        id,
        ty,
        does: block.does,
    }
}

/// Checks the body of an arm in the block that was opened for it.
fn check_arm_body(checker: &mut PlanChecker<'_>, label: &str, body: &ast::ArmBody) {
    match body {
        ast::ArmBody::Do(block) => check_statements(checker, &block.statements),
        ast::ArmBody::Fail { class, message } => {
            if let Some(failing) = check_failure(checker, class, message.as_deref()) {
                checker.blocks.push(class.span, NodeKind::Fail(failing));
            }
        }
        ast::ArmBody::Expr(expression) => check_arm_expression(checker, label, expression),
        ast::ArmBody::Ask(ask) => {
            let asked = check_ask(checker, ask.agent.span, ask);
            push_arm_step(checker, label, ask.span(), asked);
        }
        ast::ArmBody::Infer {
            span,
            arguments,
            returns,
        } => {
            let inferred = check_infer(checker, *span, arguments, returns);
            push_arm_step(checker, label, *span, inferred);
        }
    }
}

fn check_arm_expression(checker: &mut PlanChecker<'_>, label: &str, expression: &ast::Expr) {
    if !is_call(checker, expression) {
        let code = checker.value(expression);
        let code = checker.blocks.yielded(code);
        checker.blocks.push(expression.span, NodeKind::Yield(code));
        return;
    }
    let body = check_call_step(checker, expression);
    push_arm_step(checker, label, expression.span, body);
}

/// Adds a step that is the whole arm, and a `yield` of its value.
fn push_arm_step(checker: &mut PlanChecker<'_>, label: &str, span: Span, body: CheckedBody) {
    checker.blocks.add_footprint(&body.does);
    let slot = checker.names.slot();
    let clauses = check_agent(checker, label, &body).map(|agent_check| {
        Box::new(Clauses {
            agent_check: Some(agent_check),
            ..Clauses::default()
        })
    });
    let step = Step {
        clauses,
        ..Step::bare(span, body.kind, body.ty.clone(), body.does)
    };
    checker.blocks.push_node(
        span,
        Some((label.into(), slot)),
        Vec::new(),
        NodeKind::Step(step),
    );
    let value = checker.blocks.yielded(CheckedExpr::place(
        Place { up: 0, slot },
        label.into(),
        body.ty,
        span,
    ));
    checker.blocks.push(span, NodeKind::Yield(value));
}
