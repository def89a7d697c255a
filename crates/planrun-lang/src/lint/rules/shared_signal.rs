//! `shared-signal`: elements of one `each` wait for the same signal at the same time, and each signal reaches only one.

use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::passed::{PlanCall, with_called};
use crate::sema::{Each, Event, EventKind, Node, NodeKind, Plan, StepKind, Wait};
use crate::value::Value;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    for (block, _, node) in subject.plan.sites() {
        let Some(name) = signal(node).or_else(|| {
            let call = PlanCall::of(&subject.nesting, block, node)?;
            let plans = with_called(call.called);
            plans.into_iter().flat_map(Plan::nodes).find_map(signal)
        }) else {
            continue;
        };
        let mut around = subject.nesting.outwards(block, node).skip(1);
        let each = around.find_map(|(_, owner)| match &owner.step()?.kind {
            StepKind::Each(each) if is_concurrent(subject, each) => Some(each),
            _ => None,
        });
        let Some(each) = each else {
            continue;
        };
        let span = node.event().map_or(node.span, |event| event.span);
        let message = format!(
            "elements that run at once all wait for `{name}`, and each signal ends only one of these waits"
        );
        let found_here = codes::order::SHARED_SIGNAL.at(span, message)
            .note("whatever it contains, it ends the wait of the first element that still waits")
            .help("let one listener receive the signal and `set` a task that the elements wait for, or ask with `input`, whose answers name the element; if any element may take any signal, allow this with a comment");
        found.push(match &each.parallel {
            Some(parallel) => found_here.label(parallel.span, "they run at once"),
            None => found_here,
        });
    }
}

/// Returns true if several elements may run at once.
fn is_concurrent(subject: &Subject<'_>, each: &Each) -> bool {
    let at_most_one = |code| matches!(subject.known(code), Some(Value::Int(most)) if *most <= 1);
    let several = match &each.parallel {
        Some(parallel) => !at_most_one(parallel),
        None => !each.in_turn,
    };
    several && !each.max.as_ref().is_some_and(at_most_one)
}

/// Returns the signal that a statement waits for.
fn signal(node: &Node) -> Option<&Arc<str>> {
    let NodeKind::Step(step) = &node.kind else {
        return None;
    };
    let StepKind::Wait(wait) = &step.kind else {
        return None;
    };
    match &**wait {
        Wait::Event { on, .. } => awaited(on),
        Wait::For(_) | Wait::Until(_) => None,
    }
}

fn awaited(event: &Event) -> Option<&Arc<str>> {
    match &event.kind {
        EventKind::Signal(name) => Some(name),
        EventKind::All(parts) | EventKind::Any(parts) => parts.iter().find_map(awaited),
        EventKind::Not(_)
        | EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Plan(_)
        | EventKind::Damaged => None,
    }
}
