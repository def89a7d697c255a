//! `busy-loop`: listeners trigger each other in a cycle that takes no time.

use std::collections::{BTreeSet, VecDeque};

use petgraph::Direction;
use petgraph::graph::NodeIndex;

use super::Subject;
use crate::diag::{Diagnostic, codes};
use crate::lint::flow::{At, Flow};
use crate::sema::{Event, EventKind, Listener, NodeKind, Set};
use crate::value::Value;

/// A listener that may fire more than once, with the `set`s that it reaches immediately.
struct Quick<'a> {
    at: At,
    listener: &'a Listener,
    sets: Vec<&'a Set>,
}

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let Some(flow) = subject.flow() else { return };
    let quick = quick(flow);
    let starts = |set: &Set, other: &Quick<'_>| {
        other.listener.when.is_none() && is_true(flow, &other.listener.on, set)
    };
    let next = |from: usize| {
        let sets = quick[from].sets.iter();
        sets.flat_map(|set| {
            let fired = quick
                .iter()
                .enumerate()
                .filter(|(_, other)| starts(set, other));
            fired.map(|(to, _)| (*set, to))
        })
        .collect::<Vec<_>>()
    };
    let mut reported = BTreeSet::new();
    for first in 0..quick.len() {
        if reported.contains(&first) {
            continue;
        }
        if let Some(way) = round_trip(first, quick.len(), &next) {
            reported.extend(way.iter().map(|(from, _)| *from));
            found.push(report(flow, &quick, &way));
        }
    }
}

/// Returns the shortest cycle from a listener back to itself: each listener with the `set` that triggers the next.
fn round_trip<'a>(
    first: usize,
    count: usize,
    next: &dyn Fn(usize) -> Vec<(&'a Set, usize)>,
) -> Option<Vec<(usize, &'a Set)>> {
    let mut from: Vec<Option<(usize, &Set)>> = vec![None; count];
    let mut open = VecDeque::from([first]);
    while let Some(at) = open.pop_front() {
        for (set, to) in next(at) {
            if from[to].is_none() {
                from[to] = Some((at, set));
                open.push_back(to);
            }
        }
    }
    let mut way = vec![from[first]?];
    while let Some(step) = way.last().map(|(at, _)| *at).filter(|at| *at != first) {
        way.push(from[step]?);
    }
    way.reverse();
    Some(way)
}

fn report(flow: &Flow<'_>, quick: &[Quick<'_>], way: &[(usize, &Set)]) -> Diagnostic {
    let name = |index: usize| {
        format!(
            "`{}`",
            flow.at(quick[index].at)
                .name
                .as_deref()
                .unwrap_or("a listener")
        )
    };
    let moved = |set: &Set| {
        let task = flow.plan.task(set.task);
        format!("`{}` is {}", task.name, task.status_name(set.status))
    };
    let chain = way
        .iter()
        .map(|(at, set)| format!("{} -> {}", name(*at), moved(set)))
        .collect::<Vec<_>>();
    let first = way.first().map_or(0, |(at, _)| *at);
    let message = match way {
        [_] => format!(
            "{} triggers itself repeatedly, without waiting in between",
            name(first)
        ),
        _ => format!(
            "{} and the listeners that it triggers form a loop, without waiting in between",
            name(first)
        ),
    };
    let mut diagnostic = codes::order::BUSY_LOOP
        .at(quick[first].listener.span, message)
        .note("fires until its `max` is reached");
    for (_, set) in way {
        diagnostic = diagnostic.label(set.span, "starts the next round");
    }
    diagnostic.help(format!(
        "{} -> {}: stop it with `when`, or put a timer, a poll or a call in between",
        chain.join(" -> "),
        name(first)
    ))
}

fn quick<'a>(flow: &Flow<'a>) -> Vec<Quick<'a>> {
    let mut quick = Vec::new();
    for (at, _) in flow.waiting() {
        let NodeKind::Listener(listener) = &flow.at(at).kind else {
            continue;
        };
        let once = listener
            .max
            .as_ref()
            .is_none_or(|max| matches!(max.constant(), Some(Value::Int(..=1))));
        if once {
            continue;
        }
        let sets = flow
            .sets()
            .filter(|(set, _)| set.block == listener.body && at_once(flow, *set))
            .map(|(_, set)| *set);
        quick.push(Quick {
            at,
            listener,
            sets: sets.collect(),
        });
    }
    quick
}

/// Returns true if neither a condition nor anything that takes time precedes a statement in its block.
fn at_once(flow: &Flow<'_>, at: At) -> bool {
    let graph = flow.block_graph(at.block);
    if !flow.at(at).guard.is_empty() {
        return false;
    }
    let takes_time = |node: usize| flow.at(At { node, ..at }).step().is_some();
    if graph
        .vertex(u32::try_from(at.node).unwrap_or(u32::MAX))
        .waits_for_everything()
    {
        return !(0..at.node).any(takes_time);
    }
    let (mut open, mut seen) = (vec![at.node], BTreeSet::new());
    while let Some(vertex) = open.pop() {
        for above in graph
            .dag
            .neighbors_directed(NodeIndex::new(vertex), Direction::Incoming)
            .map(NodeIndex::index)
        {
            if above < graph.nodes && takes_time(above) {
                return false;
            }
            if seen.insert(above) {
                open.push(above);
            }
        }
    }
    true
}

/// Returns true if a condition is true after a `set`, whatever the rest of the state.
fn is_true(flow: &Flow<'_>, event: &Event, set: &Set) -> bool {
    match &event.kind {
        EventKind::All(parts) => parts.iter().all(|part| is_true(flow, part, set)),
        EventKind::Any(parts) => parts.iter().any(|part| is_true(flow, part, set)),
        EventKind::Task { task, test } => {
            *task == set.task && test.holds(flow.plan.task(*task), set.status)
        }
        EventKind::Not(inner) => match &inner.kind {
            EventKind::Task { task, test } => {
                *task == set.task && !test.holds(flow.plan.task(*task), set.status)
            }
            _ => false,
        },
        EventKind::Step { .. } | EventKind::Plan(_) | EventKind::Signal(_) | EventKind::Damaged => {
            false
        }
    }
}
