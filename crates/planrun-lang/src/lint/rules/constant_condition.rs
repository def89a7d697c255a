//! `constant-condition`: a condition whose value is known before the run.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::protocol::StepState;
use crate::sema::expr::{CheckedExpr, Op, StateTest};
use crate::sema::{BlockId, Node, NodeKind, Place, Step};
use crate::source::Span;
use crate::value::Value;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (block, _, node) in subject.plan.sites() {
        node.codes(&mut |code| {
            code.root.operations(&mut |operation| {
                if let Op::Is { place, test } = operation.op
                    && let Some(state) = passing(test)
                    && waits_for(subject, block, node, place)
                {
                    found.push(never(operation.span, state));
                }
            });
        });
        match &node.kind {
            NodeKind::Condition(code) => {
                let finding = constant(subject, code, None);
                let when = || guarded(&subject.plan.block(block).nodes, code);
                found.extend(
                    finding.map(|(finding, holds)| match when().filter(|_| holds) {
                        Some(clause) => finding.fix("remove the condition", clause, ""),
                        None => finding,
                    }),
                );
            }
            // One that is always false is reported as `constant-failure`.
            NodeKind::Ensure { condition, .. } => found.extend(of(subject, condition, Some(true))),
            NodeKind::Step(step) => {
                let until = step.until().map(|until| &until.condition);
                found.extend(until.and_then(|until| of(subject, until, None)));
            }
            NodeKind::Listener(listener) => {
                found.extend(
                    listener
                        .when
                        .as_ref()
                        .and_then(|when| of(subject, when, None)),
                );
            }
            NodeKind::Let(_)
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
            | NodeKind::Task(_)
            | NodeKind::Set(_) => {}
        }
    }
}

/// Returns the state that a test names if a step leaves it again.
fn passing(test: StateTest) -> Option<StepState> {
    match test {
        StateTest::State(state) => Some(state).filter(|state| !state.is_settled()),
        StateTest::Settled => None,
    }
}

/// Returns true if a statement waits until a step has ended before it asks for its state. A listener, an `undo` and a
/// `verify` do not wait for the steps around them.
fn waits_for(subject: &Subject<'_>, block: BlockId, node: &Node, place: Place) -> bool {
    let Some(frame) = subject.frame(block, place) else {
        return false;
    };
    if frame == block && node.slot == Some(place.slot) {
        return false;
    }
    let mut inner = block;
    while inner != frame {
        let Some((outer, owner)) = subject.owner(inner) else {
            return false;
        };
        let apart = |step: &Step| step.auxiliary_blocks().any(|own| own == inner);
        if owner.listener().is_some() || owner.step().is_some_and(apart) {
            return false;
        }
        inner = outer;
    }
    true
}

fn never(span: Span, state: StepState) -> Diagnostic {
    let message = format!(
        "this waits until the step has ended, so the step is never `{}` here",
        state.name()
    );
    codes::order::CONSTANT_CONDITION
        .at(span, message)
        .note("always false")
        .help("test for `completed`, `failed` or `skipped`, or watch the step with a listener: only listeners see the states in between")
}

fn of(subject: &Subject<'_>, code: &CheckedExpr, only: Option<bool>) -> Option<Diagnostic> {
    constant(subject, code, only).map(|(finding, _)| finding)
}

/// Returns a diagnostic for a condition with a known value, and that value; with `only`, just for that value.
fn constant(
    subject: &Subject<'_>,
    code: &CheckedExpr,
    only: Option<bool>,
) -> Option<(Diagnostic, bool)> {
    let Some(Value::Bool(holds)) = subject.known(code) else {
        return None;
    };
    if code.is_invalid() || only.is_some_and(|only| only != *holds) {
        return None;
    }
    let message = format!("this condition is always {holds}");
    let finding = codes::order::CONSTANT_CONDITION
        .at(code.span, message)
        .help(if *holds {
            "remove the condition"
        } else {
            "compare with a value that is known only at run time, or remove this: it never runs"
        });
    Some((finding, *holds))
}

/// Returns the `when` clause of a step that contains the condition.
fn guarded(nodes: &[Node], condition: &CheckedExpr) -> Option<Span> {
    let mut clauses = nodes
        .iter()
        .filter_map(Node::step)
        .flat_map(|step| step.clause_spans("when"));
    clauses.find(|clause| clause.start <= condition.span.start && condition.span.end <= clause.end)
}
