//! `wait-forever`: a `wait for` without a deadline for what may never happen.

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::lint::flow::Flow;
use crate::protocol::StepState;
use crate::sema::expr::StateTest;
use crate::sema::{BlockId, Event, EventKind, NodeKind, StepKind, TaskId, TaskTest};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(flow) = subject.flow() else { return };
    for (at, event) in flow.waiting() {
        let node = flow.at(at);
        let Some(step) = node.step().filter(|step| step.within().is_none()) else {
            continue;
        };
        let reported = !flow.begins(at) || !flow.can_occur(at);
        if reported || !matches!(step.kind, StepKind::Wait(_)) || is_sure(flow, at.block, event) {
            continue;
        }
        let message = format!(
            "`{}` may wait forever",
            node.name.as_deref().unwrap_or("this step")
        );
        let edit = Edit::new(node.span.after(), " within 1d");
        let diagnostic = codes::order::WAIT_FOREVER
            .at(event.span, message)
            .note("may never happen")
            .help("limit the wait: `within 1d`; handle its expiry with `recover expired => …`")
            .unsafe_fix("add `within 1d`", vec![edit]);
        found.push(diagnostic);
    }
}

/// Returns true if a condition comes true in every run that does not fail, without external events.
fn is_sure(flow: &Flow<'_>, block: BlockId, event: &Event) -> bool {
    match &event.kind {
        EventKind::All(parts) => parts.iter().all(|part| is_sure(flow, block, part)),
        EventKind::Any(parts) => parts.iter().any(|part| is_sure(flow, block, part)),
        EventKind::Task { task, test } => is_set(flow, *task, *test),
        EventKind::Step { place, test, .. } => {
            let places = flow.places(block, *place);
            match test {
                None | Some(StateTest::Settled) => !places.is_empty(),
                Some(StateTest::State(StepState::Completed)) => {
                    places.iter().any(|at| flow.at(*at).guard.is_empty())
                }
                Some(StateTest::State(_)) => false,
            }
        }
        // Already reported, or the consequence of a reported error.
        EventKind::Damaged => true,
        EventKind::Not(_) | EventKind::Plan(_) | EventKind::Signal(_) => false,
    }
}

/// Returns true if the flow of the plan moves a task in every run, whatever the data.
fn is_set(flow: &Flow<'_>, task: TaskId, test: TaskTest) -> bool {
    let declared = flow.plan.task(task);
    flow.sets().any(|(at, set)| {
        let nodes = &flow.plan.block(at.block).nodes;
        let early = nodes
            .iter()
            .take(at.node)
            .any(|node| matches!(node.kind, NodeKind::Reply(_) | NodeKind::Fail(_)));
        let always = at.block == BlockId(0) && flow.at(*at).guard.is_empty() && !early;
        set.task == task && test.holds(declared, set.status) && always
    })
}
