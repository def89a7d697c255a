//! Whether the condition of a listener or of a `wait for` can come true: its alternatives, each a set of states for each
//! of the things that it speaks of. What these things have to do with each other is left out, so nothing is missed.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::{At, Flow};
use crate::protocol::StepState;
use crate::sema::expr::StateTest;
use crate::sema::{Event, EventKind, NodeKind, PlanTest, Status, TaskId};
use crate::types::Effect;

/// Alternatives beyond this number are not looked at: the condition may come true then.
const MAX_ALTERNATIVES: usize = 256;

/// Something that events happen to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Thing {
    Step(At),
    Task(TaskId),
    Plan,
    /// A signal, or something of which nothing is known.
    Outside,
}

/// One way to make a condition true: the states that each thing must be in one of.
pub(super) type Way = BTreeMap<Thing, BTreeSet<u32>>;

/// The states of a plan: while it runs, and its ends.
const PLAN_STATES: [PlanTest; 4] = [
    PlanTest::Completed,
    PlanTest::Failed,
    PlanTest::Cancelled,
    PlanTest::Stalled,
];

/// What a statement waits for.
pub(super) struct Condition {
    /// Nothing where there are too many.
    ways: Option<Vec<Way>>,
    /// What it speaks of.
    things: BTreeSet<Thing>,
    /// Whether it has been found that it can come true: what can come to pass only grows.
    comes: Cell<bool>,
}

impl Condition {
    pub(super) fn of(flow: &Flow<'_>, at: At, event: &Event) -> Self {
        Self {
            ways: ways(flow, at, event),
            things: things(flow, at, event),
            comes: Cell::new(false),
        }
    }

    /// Whether it can come true, for a listener by an event.
    pub(super) fn can_hold(&self, flow: &Flow<'_>, at: At) -> bool {
        if !self.comes.get() {
            self.comes.set(
                self.ways
                    .as_ref()
                    .is_none_or(|ways| ways.iter().any(|way| self.is_open(flow, at, way))),
            );
        }
        self.comes.get()
    }

    fn is_open(&self, flow: &Flow<'_>, at: At, way: &Way) -> bool {
        let listens = matches!(flow.at(at).kind, NodeKind::Listener(_));
        let reached = way
            .iter()
            .all(|(thing, states)| !states.is_disjoint(&states_of(flow, at, *thing)));
        let happens = |thing: &Thing| match way.get(thing) {
            Some(states) => eventful(flow, at, *thing)
                .iter()
                .any(|state| states.contains(state)),
            None => *thing == Thing::Outside || !eventful(flow, at, *thing).is_empty(),
        };
        reached && (!listens || self.things.iter().any(happens))
    }
}

/// All ways to make a condition true; `None` where there are too many.
pub(super) fn ways(flow: &Flow<'_>, at: At, event: &Event) -> Option<Vec<Way>> {
    alternatives(flow, at, event, true)
}

fn alternatives(flow: &Flow<'_>, at: At, event: &Event, wanted: bool) -> Option<Vec<Way>> {
    match &event.kind {
        EventKind::Not(inner) => alternatives(flow, at, inner, !wanted),
        EventKind::All(parts) | EventKind::Any(parts) => {
            let together = matches!(event.kind, EventKind::All(_)) == wanted;
            let mut ways = if together {
                vec![Way::new()]
            } else {
                Vec::new()
            };
            for part in parts {
                let next = alternatives(flow, at, part, wanted)?;
                if together {
                    let pairs = ways
                        .iter()
                        .flat_map(|one| next.iter().map(move |other| (one, other)));
                    ways = pairs
                        .filter_map(|(one, other)| both(one, other))
                        .take(MAX_ALTERNATIVES + 1)
                        .collect();
                } else {
                    ways.extend(next);
                }
                if ways.len() > MAX_ALTERNATIVES {
                    return None;
                }
            }
            Some(ways)
        }
        EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Plan(_)
        | EventKind::Signal(_)
        | EventKind::Damaged => {
            let (thing, states) = leaf(flow, at, event, wanted);
            Some(vec![
                states.map(|states| (thing, states)).into_iter().collect(),
            ])
        }
    }
}

/// What one part of a condition speaks of, and the states in which it comes out as wanted; `None` where any will do.
fn leaf(flow: &Flow<'_>, at: At, event: &Event, wanted: bool) -> (Thing, Option<BTreeSet<u32>>) {
    let thing = thing(flow, at, event);
    let states = match &event.kind {
        EventKind::Step {
            test: Some(test), ..
        } if thing != Thing::Outside => {
            let holds = |state: &(u32, StepState)| test_holds(*test, state.1) == wanted;
            Some(
                step_states()
                    .filter(holds)
                    .map(|(number, _)| number)
                    .collect(),
            )
        }
        EventKind::Task { task: id, test } if *test != crate::sema::TaskTest::Any => {
            let task = flow.plan.task(*id);
            let holds = |status: &Status| test.holds(task, *status) == wanted;
            Some(
                task.all_statuses()
                    .filter(holds)
                    .map(|status| status.0)
                    .collect(),
            )
        }
        EventKind::Plan(test) if *test != PlanTest::Any => {
            let holds = |number: &u32| plan_holds(*test, *number) == wanted;
            Some((0..=4).filter(holds).collect())
        }
        EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Plan(_)
        | EventKind::Signal(_)
        | EventKind::Damaged
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_) => None,
    };
    (thing, states)
}

fn thing(flow: &Flow<'_>, at: At, event: &Event) -> Thing {
    match &event.kind {
        EventKind::Step { place, .. } => match flow.places(at.block, *place).as_slice() {
            [step] if flow.at(*step).step().is_some() => Thing::Step(*step),
            // A listener as a whole, or a step in several branches.
            _ => Thing::Outside,
        },
        EventKind::Task { task, .. } => Thing::Task(*task),
        EventKind::Plan(_) => Thing::Plan,
        EventKind::Signal(_)
        | EventKind::Damaged
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_) => Thing::Outside,
    }
}

fn things(flow: &Flow<'_>, at: At, event: &Event) -> BTreeSet<Thing> {
    let mut things = BTreeSet::new();
    event.leaves(&mut |leaf| {
        things.insert(thing(flow, at, leaf));
    });
    things
}

/// The states in which something can come to be.
pub(super) fn states_of(flow: &Flow<'_>, at: At, thing: Thing) -> BTreeSet<u32> {
    match thing {
        Thing::Task(task) => flow.statuses(task).iter().map(|status| status.0).collect(),
        Thing::Step(step) => step_states()
            .filter(|(_, state)| step_can_be(flow, step, *state))
            .map(|(number, _)| number)
            .collect(),
        // The flow of the plan is over when the plan ends, so nothing in it waits for that.
        Thing::Plan
            if !matches!(flow.at(at).kind, NodeKind::Listener(_))
                && flow.firing(at.block).is_none() =>
        {
            BTreeSet::from([0])
        }
        Thing::Plan | Thing::Outside => (0..=4).collect(),
    }
}

/// The states that an event of something can leave it in.
fn eventful(flow: &Flow<'_>, at: At, thing: Thing) -> BTreeSet<u32> {
    let mut states = states_of(flow, at, thing);
    match thing {
        // Steps begin as pending, and never go back to it.
        Thing::Step(_) | Thing::Plan => drop(states.remove(&0)),
        // The start of a run is an event of each task.
        Thing::Task(_) | Thing::Outside => {}
    }
    states
}

fn step_can_be(flow: &Flow<'_>, at: At, state: StepState) -> bool {
    let effect = flow
        .at(at)
        .step()
        .map_or(Effect::Effect, |step| step.effect);
    match state {
        // An abort comes at any time, and takes with it what has not begun.
        StepState::Pending | StepState::Skipped | StepState::Cancelled => true,
        StepState::Queued | StepState::Running | StepState::Waiting | StepState::Failed => {
            flow.begins(at)
        }
        StepState::Completed => flow.begins(at) && flow.ends(at),
        // What changes nothing is simply done again.
        StepState::Unknown => flow.begins(at) && effect > Effect::Read,
    }
}

fn both(one: &Way, other: &Way) -> Option<Way> {
    let mut way = one.clone();
    for (thing, states) in other {
        let known = way.entry(*thing).or_insert_with(|| states.clone());
        *known = &*known & states;
        if known.is_empty() && *thing != Thing::Outside {
            return None;
        }
    }
    Some(way)
}

fn step_states() -> impl Iterator<Item = (u32, StepState)> {
    (0..).zip(StepState::ALL)
}

fn test_holds(test: StateTest, state: StepState) -> bool {
    test.holds(state)
}

fn plan_holds(test: PlanTest, number: u32) -> bool {
    let state = number
        .checked_sub(1)
        .and_then(|index| PLAN_STATES.get(index as usize));
    match test {
        PlanTest::Any => true,
        PlanTest::Settled => state.is_some_and(|state| *state != PlanTest::Stalled),
        PlanTest::Completed | PlanTest::Failed | PlanTest::Cancelled | PlanTest::Stalled => {
            state == Some(&test)
        }
    }
}
