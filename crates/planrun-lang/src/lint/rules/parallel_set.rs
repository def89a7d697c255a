//! `parallel-set`: two unordered `set`s move a task to different statuses.

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::flow::is_before;
use crate::protocol::StepState;
use crate::sema::expr::StateTest;
use crate::sema::{
    BlockId, Event, EventKind, Node, NodeId, NodeKind, Plan, Set, StepKind, Task, TaskId, TaskTest,
};

/// Maximum number of a task's `set`s to compare.
const MAX_SETS: usize = 50;

/// A `set` that certainly runs.
struct Anchored<'a> {
    set: &'a Set,
    anchor: Anchor,
}

/// When a `set` runs, relative to the statements of the plan's own block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// As this statement, or inside it.
    In(usize),
    /// In a firing of the listener `listener`, at any time after `trigger` has ended.
    Fired {
        listener: usize,
        trigger: usize,
        at_once: bool,
    },
}

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let plan = subject.plan;
    if !subject.sound || plan.tasks.is_empty() {
        return;
    }
    let owners = plan.owners();
    for (index, task) in plan.tasks.iter().enumerate() {
        let id = TaskId(u32::try_from(index).unwrap_or(u32::MAX));
        let sets = sets(plan).filter(|(_, _, set)| set.task == id);
        let sets = sets.filter_map(|(block, node, set)| {
            let anchor = anchor(plan, &owners, block, node)?;
            Some(Anchored { set, anchor })
        });
        let mut sets = sets.take(MAX_SETS).collect::<Vec<_>>();
        sets.sort_by_key(|set| set.set.span.start);
        found.extend(first_race(subject, task, &sets));
    }
}

/// Reports the first pair of `set`s whose order is open.
fn first_race(subject: &Subject<'_>, task: &Task, sets: &[Anchored<'_>]) -> Option<Diagnostic> {
    let graph = subject.graph().blocks.first()?;
    let apart = |one: usize, other: usize| is_before(graph, one, other) == Some(false);
    let unordered = |one: Anchor, other: Anchor| match (one, other) {
        (Anchor::In(one), Anchor::In(other)) => {
            one != other && apart(one, other) && apart(other, one)
        }
        // Nothing waits for a firing, which begins when its trigger has ended.
        (Anchor::In(main), Anchor::Fired { trigger, .. })
        | (Anchor::Fired { trigger, .. }, Anchor::In(main)) => apart(main, trigger),
        (
            Anchor::Fired {
                listener: one,
                trigger: first,
                at_once: true,
            },
            Anchor::Fired {
                listener: other,
                trigger: second,
                at_once: true,
            },
        ) => one != other && apart(first, second) && apart(second, first),
        (
            Anchor::Fired { listener: one, .. },
            Anchor::Fired {
                listener: other, ..
            },
        ) => one != other,
    };
    for (place, later) in sets.iter().enumerate() {
        let races = |earlier: &&Anchored<'_>| {
            earlier.set.status != later.set.status && unordered(earlier.anchor, later.anchor)
        };
        if let Some(earlier) = sets.iter().take(place).find(races) {
            let (first, last) = (
                task.status_name(earlier.set.status),
                task.status_name(later.set.status),
            );
            let message = format!(
                "it is not defined whether `{}` ends up `{first}` or `{last}`",
                task.name
            );
            let diagnostic = codes::order::PARALLEL_SET
                .at(later.set.span, message)
                .note("may come first or last")
                .label(earlier.set.span, "may also come first or last")
                .help("order them with `after`, or use a separate task for each");
            return Some(diagnostic);
        }
    }
    None
}

/// Returns when a statement runs; `None` if that depends on the data.
fn anchor(
    plan: &Plan,
    owners: &[Option<(BlockId, NodeId)>],
    block: BlockId,
    index: usize,
) -> Option<Anchor> {
    let (mut block, mut index) = (block, index);
    // A statement after a step of a firing runs some time after the event.
    let at_once = !plan
        .block(block)
        .nodes
        .iter()
        .take(index)
        .any(|node| node.step().is_some());
    loop {
        let node = plan.block(block).nodes.get(index)?;
        if !node.guard.is_empty() {
            return None;
        }
        if block == BlockId(0) {
            return if let NodeKind::Listener(listener) = &node.kind {
                let trigger = trigger(plan, &listener.on).filter(|_| listener.when.is_none())?;
                Some(Anchor::Fired {
                    listener: index,
                    trigger,
                    at_once,
                })
            } else {
                Some(Anchor::In(index))
            };
        }
        let (outer, owner) = (*owners.get(block.0 as usize)?)?;
        let kept = match &plan.block(outer).node(owner).kind {
            NodeKind::Step(step) => matches!(step.kind, StepKind::Do(body) if body == block),
            NodeKind::Listener(_) => outer == BlockId(0),
            _ => false,
        };
        if !kept {
            return None;
        }
        (block, index) = (outer, owner.0 as usize);
    }
}

/// Returns the statement of the plan's own block that triggers a listener, if there is exactly one.
fn trigger(plan: &Plan, on: &Event) -> Option<usize> {
    let nodes = &plan.body().nodes;
    match &on.kind {
        EventKind::Step { place, test, .. } if place.up == 0 => {
            let ended = matches!(
                test,
                Some(StateTest::Settled | StateTest::State(StepState::Completed))
            );
            let own = |node: &Node| node.slot == Some(place.slot) && node.step().is_some();
            nodes
                .iter()
                .position(own)
                .filter(|index| ended && nodes[*index].guard.is_empty())
        }
        EventKind::Task {
            task,
            test: TaskTest::Is(status),
        } => {
            let mut moves =
                sets(plan).filter(|(_, _, set)| set.task == *task && set.status == *status);
            let (block, index, _) = moves.next()?;
            let only = moves.next().is_none() && block == BlockId(0) && !plan.task(*task).external;
            (only && nodes[index].guard.is_empty()).then_some(index)
        }
        _ => None,
    }
}

fn sets(plan: &Plan) -> impl Iterator<Item = (BlockId, usize, &Set)> {
    plan.sites()
        .filter_map(|(block, id, node)| match &node.kind {
            NodeKind::Set(set) => Some((block, id.0 as usize, &**set)),
            _ => None,
        })
}
