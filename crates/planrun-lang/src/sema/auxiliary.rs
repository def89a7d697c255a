//! Checks `verify` and `undo`: blocks that run outside the flow of the plan. The path of such a block is that of its
//! call, so the call has no name of its own.

use std::time::Duration;

use super::blocks::BlockKind;
use super::body::CheckedBody;
use super::call::{check_call, check_call_step};
use super::checker::PlanChecker;
use super::expr::{CheckedExpr, Expectation};
use super::knowledge::OuterContexts;
use super::plan::{
    BlockId, Call, Clauses, Footprint, NodeKind, OrderClass, Retry, Step, StepKind, Target, Undo,
    Until, Verify,
};
use super::scope::NameKind;
use super::waiting::check_read_only_ask;
use crate::diag::codes;
use crate::source::Span;
use crate::syntax::ast;
use crate::types::{ErrorPattern, Type};
use crate::value::Value;

/// Time limit of an `undo`, including retries.
const UNDO_WITHIN: Duration = Duration::from_mins(10);
/// Maximum number of attempts of a call in an `undo` on transient errors.
const UNDO_ATTEMPTS: u32 = 3;
/// How long a `verify` polls if it has only `every`.
const VERIFY_WITHIN: Duration = Duration::from_mins(5);
/// Time between two polls of a `verify` that has only `within`.
const VERIFY_EVERY: Duration = Duration::from_secs(1);

/// An `undo` whose body is being checked.
pub(super) struct OpenUndo {
    body: BlockId,
    /// Index of its first block.
    first: usize,
    /// Whether the plan had read the value of the step before the `undo`.
    read_before: bool,
    /// Whether it is inside another `undo`.
    nested: bool,
    contexts: OuterContexts,
}

/// Opens the block of an `undo`. Its path is `x.undo`; inside, the step's name is the value that its call gave.
pub(super) fn open_undo(checker: &mut PlanChecker<'_>, step: &ast::Name, gives: &Type) -> OpenUndo {
    let first = checker.blocks.all.len();
    let contexts = checker.names.known.enter_auxiliary(step.span);
    let body = checker.open_block(BlockKind::Do, None, &[]);
    checker.introduce(step, NameKind::Local, gives.clone());
    OpenUndo {
        body,
        first,
        read_before: checker.valued.remove(&step.span),
        nested: std::mem::replace(&mut checker.undoing, true),
        contexts,
    }
}

/// Checks `undo CALL`.
pub(super) fn check_undo_call(checker: &mut PlanChecker<'_>, call: &ast::Expr) {
    let Some((call, ty, _)) = check_call(checker, call) else {
        return;
    };
    let does = Footprint::of(call.effect, OrderClass::of(call.effect));
    let span = call.span;
    push_undo_step(
        checker,
        span,
        CheckedBody::new(StepKind::Call(call), ty, does),
    );
}

/// Adds the only step of an `undo`.
pub(super) fn push_undo_step(checker: &mut PlanChecker<'_>, span: Span, body: CheckedBody) {
    let step = Step::bare(span, body.kind, body.ty, body.does);
    push_auxiliary_step(checker, None, step, undo_bound(span));
}

/// Closes the block of an `undo`.
pub(super) fn close_undo(
    checker: &mut PlanChecker<'_>,
    step: &ast::Name,
    open: OpenUndo,
    gives: &Type,
) -> Option<Undo> {
    checker.undoing = open.nested;
    let reads = checker.valued.contains(&step.span);
    if open.read_before {
        checker.valued.insert(step.span);
    }
    let closed = checker.close_block();
    checker.names.known.leave_auxiliary(open.contexts);
    retry_calls(checker, open.first);
    closed.map(|_| Undo {
        body: open.body,
        reads,
        gives: gives.clone(),
    })
}

/// Gives the calls of an `undo` the default retries unless they have their own.
fn retry_calls(checker: &mut PlanChecker<'_>, first: usize) {
    let nodes = checker
        .blocks
        .all
        .get_mut(first..)
        .unwrap_or_default()
        .iter_mut()
        .flat_map(|block| &mut block.nodes);
    for node in nodes {
        let NodeKind::Step(step) = &mut node.kind else {
            continue;
        };
        if matches!(&step.kind, StepKind::Call(call) if matches!(call.target, Target::Tool(_))) {
            step.clauses
                .get_or_insert_default()
                .retry
                .get_or_insert_with(undo_retry);
        }
    }
}

/// Returns why a clause is not applicable in an `undo`; `None` if it is.
pub(super) fn refused_in_undo(
    checker: &PlanChecker<'_>,
    clause: &ast::ClauseKind,
) -> Option<&'static str> {
    match clause {
        _ if !checker.undoing => None,
        ast::ClauseKind::Confirm { .. } => Some("an undo runs without confirmation"),
        ast::ClauseKind::Undo(_) => Some("an undo is not undone itself"),
        ast::ClauseKind::Verify { .. } => Some("an undo is not verified"),
        ast::ClauseKind::When(_)
        | ast::ClauseKind::After(_)
        | ast::ClauseKind::By(_)
        | ast::ClauseKind::Expires(_)
        | ast::ClauseKind::Timeout(_)
        | ast::ClauseKind::Within(_)
        | ast::ClauseKind::Retry(_)
        | ast::ClauseKind::Until { .. }
        | ast::ClauseKind::Cache(_)
        | ast::ClauseKind::Recover { .. }
        | ast::ClauseKind::Error => None,
    }
}

/// Reports a step in an `undo` that waits for external input.
pub(super) fn refuse_in_undo(checker: &mut PlanChecker<'_>, step: &ast::Step) {
    let word = match &step.body {
        ast::StepBody::Input { .. } => "input",
        ast::StepBody::Wait(ast::WaitFor::Condition { .. }) => "wait for",
        _ => return,
    };
    if checker.undoing {
        let message = format!("`{word}` is not allowed here: an undo cannot wait for input");
        let diagnostic = codes::failure::CLAUSE_NOT_APPLICABLE.at(step.name.span, message);
        checker.report(diagnostic.help("ask or wait in the plan itself, before it can fail"));
    }
}

/// Checks `verify CALL [every d within d] as v => CHECK [gives EXPR]`; the path of its step is `x.verify`. If the check
/// does not hold, the block fails: by `until` if it polls, otherwise by `ensure`.
pub(super) fn check_verify(
    checker: &mut PlanChecker<'_>,
    clause: &ast::Clause,
    body: &CheckedBody,
) -> Option<Verify> {
    let ast::ClauseKind::Verify {
        probe,
        every,
        within,
        binding,
        check,
        gives,
    } = &clause.kind
    else {
        return None;
    };
    let contexts = checker.names.known.enter_auxiliary(clause.span);
    let id = checker.open_block(BlockKind::Do, None, &[]);
    let found = match probe {
        ast::Probe::Call(call) => check_call_step(checker, call),
        ast::Probe::Ask(ask) => check_read_only_ask(checker, ask),
    };
    if let StepKind::Call(call) = &found.kind {
        require_reads(checker, call);
    }
    let time = |checker: &mut PlanChecker<'_>, time: &Option<Box<ast::Expr>>| {
        time.as_ref()
            .map(|time| checker.time_limit(time, "a duration of `verify`"))
    };
    let (every, within) = (time(checker, every), time(checker, within));
    let slot = checker.introduce_local(binding, found.ty.clone());
    let condition = checker.condition(check);
    // The value is read only if the condition holds.
    let before = checker.names.known.mark();
    let facts = checker.facts_of(check, true);
    checker.names.known.prove(facts);
    let value = gives.as_ref().map(|gives| {
        let expectation = Expectation::of(&"the value of `gives`");
        checker.value_of(gives, &body.ty, expectation)
    });
    checker.names.known.forget(before);
    let span = clause.span;
    push_probe(checker, (slot, found), (every, within), (span, condition));
    let known = value.is_some();
    let value = value.unwrap_or_else(|| CheckedExpr::literal(Value::Null, Type::Null, span));
    checker.blocks.push(span, NodeKind::Yield(value));
    let closed = checker.close_block();
    checker.names.known.leave_auxiliary(contexts);
    closed.map(|_| Verify {
        span,
        body: id,
        gives: known,
    })
}

/// Adds the call of a `verify` and its check, which polls if it has a time.
fn push_probe(
    checker: &mut PlanChecker<'_>,
    (slot, found): (u32, CheckedBody),
    (every, within): (Option<CheckedExpr>, Option<CheckedExpr>),
    (span, condition): (Span, CheckedExpr),
) {
    let StepKind::Call(call) = &found.kind else {
        return;
    };
    let does = Footprint::of(call.effect, OrderClass::of(call.effect));
    let step = Step::bare(call.span, found.kind, found.ty, does);
    let mut clauses = Clauses::default();
    if every.is_some() || within.is_some() {
        clauses.within = Some(within.unwrap_or_else(|| duration(VERIFY_WITHIN, span)));
        let every = every.unwrap_or_else(|| duration(VERIFY_EVERY, span));
        clauses.until = Some(Box::new(Until { condition, every }));
        push_auxiliary_step(checker, Some(slot), step, clauses);
    } else {
        push_auxiliary_step(checker, Some(slot), step, clauses);
        push_check(checker, span, condition);
    }
}

/// Adds a check of `verify` that does not poll.
fn push_check(checker: &mut PlanChecker<'_>, span: Span, condition: CheckedExpr) {
    let message = Value::String("the check of `verify` does not hold".into());
    let message = Box::new(CheckedExpr::literal(message, Type::String, span));
    let check = NodeKind::Ensure { condition, message };
    checker.blocks.push(span, check);
}

/// Reports a call of `verify` that may change something.
fn require_reads(checker: &mut PlanChecker<'_>, call: &Call) {
    if call.effect.is_read_only() {
        return;
    }
    let message = format!(
        "`verify` may only read, but this call is of class `{}`",
        call.effect
    );
    let diagnostic = codes::effects::VERIFY_NOT_READ.at(call.span, message);
    checker.report(diagnostic.help("call a tool of class `read`"));
}

/// Adds the only step of a block outside the flow of the plan.
pub(super) fn push_auxiliary_step(
    checker: &mut PlanChecker<'_>,
    slot: Option<u32>,
    mut step: Step,
    clauses: Clauses,
) {
    step.clauses = (!clauses.is_empty()).then(|| Box::new(clauses));
    let node = checker.blocks.push(step.span, NodeKind::Step(step));
    let slot = slot.unwrap_or_else(|| checker.names.slot());
    let block = checker.blocks.innermost_mut();
    if let Some(node) = block.and_then(|block| block.nodes.get_mut(node.0 as usize)) {
        node.slot = Some(slot);
    }
}

/// Returns clauses with the time limit of an `undo`.
fn undo_bound(span: Span) -> Clauses {
    Clauses {
        within: Some(duration(UNDO_WITHIN, span)),
        ..Clauses::default()
    }
}

fn undo_retry() -> Retry {
    Retry {
        attempts: Some(UNDO_ATTEMPTS),
        on: Some(vec![ErrorPattern::Family("transient")]),
        pause_when_exhausted: Some(false),
        ..Retry::default()
    }
}

fn duration(length: Duration, span: Span) -> CheckedExpr {
    let nanos = i128::try_from(length.as_nanos()).unwrap_or(i128::MAX);
    CheckedExpr::literal(Value::Duration(nanos), Type::Duration, span)
}
