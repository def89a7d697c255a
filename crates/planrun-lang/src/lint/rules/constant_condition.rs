//! `constant-condition`: a condition whose answer is known before the run.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::sema::expr::Code;
use crate::sema::{Node, NodeKind};
use crate::source::Span;
use crate::value::Value;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (block, _, node) in subject.plan.sites() {
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
            // One that never holds is no promise but a failure.
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

fn of(subject: &Subject<'_>, code: &Code, only: Option<bool>) -> Option<Diagnostic> {
    constant(subject, code, only).map(|(finding, _)| finding)
}

/// The finding of a condition that is known, and what it comes to; `only` for one of the two.
fn constant(subject: &Subject<'_>, code: &Code, only: Option<bool>) -> Option<(Diagnostic, bool)> {
    let Some(Value::Bool(holds)) = subject.known(code) else {
        return None;
    };
    if code.is_invalid() || only.is_some_and(|only| only != *holds) {
        return None;
    }
    let message = format!("this condition is always {holds}");
    let finding =
        Diagnostic::new(&codes::order::CONSTANT_CONDITION, code.span, message).help(if *holds {
            "leave the condition out"
        } else {
            "what stands under it never happens; compare with a value of the run, or take it out"
        });
    Some((finding, *holds))
}

/// The `when` clause of a step that this condition stands in.
fn guarded(nodes: &[Node], condition: &Code) -> Option<Span> {
    let mut clauses = nodes
        .iter()
        .filter_map(Node::step)
        .flat_map(|step| step.clause_spans("when"));
    clauses.find(|clause| clause.start <= condition.span.start && condition.span.end <= clause.end)
}
