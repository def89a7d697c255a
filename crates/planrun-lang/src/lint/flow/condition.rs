//! Determines whether the condition of a listener or a `wait for` can come true. A condition is a list of alternatives,
//! each of which assigns sets of states to the entities it mentions. Dependencies between entities are ignored, so the
//! result never wrongly excludes a condition.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use super::{At, Flow};
use crate::protocol::StepState;
use crate::sema::expr::StateTest;
use crate::sema::{Event, EventKind, NodeKind, PlanTest, Status, TaskId};
use crate::types::Effect;

/// Maximum number of alternatives; a condition with more is assumed to come true.
const MAX_ALTERNATIVES: usize = 256;

/// The subject of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Entity {
    Step(At),
    Task(TaskId),
    Plan,
    /// A signal, or something unknown.
    Outside,
}

/// One way to make a condition true: for each entity, the states of which it must be in one.
pub(super) type Alternative = BTreeMap<Entity, BTreeSet<u32>>;

/// The states of a plan other than running, which is state 0.
const PLAN_STATES: [PlanTest; 4] = [
    PlanTest::Completed,
    PlanTest::Failed,
    PlanTest::Cancelled,
    PlanTest::Stalled,
];

/// The condition that a statement waits for.
pub(super) struct Condition {
    /// The alternatives; `None` if there are too many.
    alternatives: Option<Vec<Alternative>>,
    /// The entities that the condition mentions.
    entities: BTreeSet<Entity>,
    /// Set once the condition is found to be satisfiable, which remains so because the set of possible states only
    /// grows.
    possible: Cell<bool>,
}

impl Condition {
    pub(super) fn of(flow: &Flow<'_>, at: At, event: &Event) -> Self {
        Self {
            alternatives: alternatives(flow, at, event),
            entities: entities(flow, at, event),
            possible: Cell::new(false),
        }
    }

    /// Returns true if the condition can come true; for a listener, because of an event.
    pub(super) fn can_hold(&self, flow: &Flow<'_>, at: At) -> bool {
        if !self.possible.get() {
            self.possible
                .set(self.alternatives.as_ref().is_none_or(|alternatives| {
                    alternatives
                        .iter()
                        .any(|alternative| self.is_open(flow, at, alternative))
                }));
        }
        self.possible.get()
    }

    fn is_open(&self, flow: &Flow<'_>, at: At, alternative: &Alternative) -> bool {
        let listens = matches!(flow.at(at).kind, NodeKind::Listener(_));
        let reached = alternative
            .iter()
            .all(|(entity, states)| !states.is_disjoint(&states_of(flow, at, *entity)));
        let happens = |entity: &Entity| match alternative.get(entity) {
            Some(states) => eventful(flow, at, *entity)
                .iter()
                .any(|state| states.contains(state)),
            None => *entity == Entity::Outside || !eventful(flow, at, *entity).is_empty(),
        };
        reached && (!listens || self.entities.iter().any(happens))
    }
}

/// Returns the alternatives of a condition; `None` if there are too many.
pub(super) fn alternatives(flow: &Flow<'_>, at: At, event: &Event) -> Option<Vec<Alternative>> {
    expand(flow, at, event, true)
}

fn expand(flow: &Flow<'_>, at: At, event: &Event, expected: bool) -> Option<Vec<Alternative>> {
    match &event.kind {
        EventKind::Not(inner) => expand(flow, at, inner, !expected),
        EventKind::All(parts) | EventKind::Any(parts) => {
            let together = matches!(event.kind, EventKind::All(_)) == expected;
            let mut alternatives = if together {
                vec![Alternative::new()]
            } else {
                Vec::new()
            };
            for part in parts {
                let next = expand(flow, at, part, expected)?;
                if together {
                    let pairs = alternatives
                        .iter()
                        .flat_map(|one| next.iter().map(move |other| (one, other)));
                    alternatives = pairs
                        .filter_map(|(one, other)| both(one, other))
                        .take(MAX_ALTERNATIVES + 1)
                        .collect();
                } else {
                    alternatives.extend(next);
                }
                if alternatives.len() > MAX_ALTERNATIVES {
                    return None;
                }
            }
            Some(alternatives)
        }
        EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Plan(_)
        | EventKind::Signal(_)
        | EventKind::Damaged => {
            let (entity, states) = leaf(flow, at, event, expected);
            Some(vec![
                states.map(|states| (entity, states)).into_iter().collect(),
            ])
        }
    }
}

/// Returns the entity that one part of a condition mentions, and the states in which the part evaluates to `expected`;
/// `None` if it does so in every state.
fn leaf(flow: &Flow<'_>, at: At, event: &Event, expected: bool) -> (Entity, Option<BTreeSet<u32>>) {
    let entity = entity(flow, at, event);
    let states = match &event.kind {
        EventKind::Step {
            test: Some(test), ..
        } if entity != Entity::Outside => {
            let holds = |state: &(u32, StepState)| test_holds(*test, state.1) == expected;
            Some(
                step_states()
                    .filter(holds)
                    .map(|(number, _)| number)
                    .collect(),
            )
        }
        EventKind::Task { task: id, test } if *test != crate::sema::TaskTest::Any => {
            let task = flow.plan.task(*id);
            let holds = |status: &Status| test.holds(task, *status) == expected;
            Some(
                task.all_statuses()
                    .filter(holds)
                    .map(|status| status.0)
                    .collect(),
            )
        }
        EventKind::Plan(test) if *test != PlanTest::Any => {
            let holds = |number: &u32| plan_holds(*test, *number) == expected;
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
    (entity, states)
}

fn entity(flow: &Flow<'_>, at: At, event: &Event) -> Entity {
    match &event.kind {
        EventKind::Step { place, .. } => match flow.places(at.block, *place).as_slice() {
            [step] if flow.at(*step).step().is_some() => Entity::Step(*step),
            // A listener as a whole, or a step in several branches.
            _ => Entity::Outside,
        },
        EventKind::Task { task, .. } => Entity::Task(*task),
        EventKind::Plan(_) => Entity::Plan,
        EventKind::Signal(_)
        | EventKind::Damaged
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_) => Entity::Outside,
    }
}

fn entities(flow: &Flow<'_>, at: At, event: &Event) -> BTreeSet<Entity> {
    let mut entities = BTreeSet::new();
    event.leaves(&mut |leaf| {
        entities.insert(entity(flow, at, leaf));
    });
    entities
}

/// Returns the possible states of an entity.
pub(super) fn states_of(flow: &Flow<'_>, at: At, entity: Entity) -> BTreeSet<u32> {
    match entity {
        Entity::Task(task) => flow.statuses(task).iter().map(|status| status.0).collect(),
        Entity::Step(step) => step_states()
            .filter(|(_, state)| step_can_be(flow, step, *state))
            .map(|(number, _)| number)
            .collect(),
        // The flow of the plan has ended before the plan does, so a statement in it only sees the plan running.
        Entity::Plan
            if !matches!(flow.at(at).kind, NodeKind::Listener(_))
                && flow.firing(at.block).is_none() =>
        {
            BTreeSet::from([0])
        }
        Entity::Plan | Entity::Outside => (0..=4).collect(),
    }
}

/// Returns the states that an event can leave the entity in.
fn eventful(flow: &Flow<'_>, at: At, entity: Entity) -> BTreeSet<u32> {
    let mut states = states_of(flow, at, entity);
    match entity {
        // Steps begin as pending and never return to it.
        Entity::Step(_) | Entity::Plan => drop(states.remove(&0)),
        // The start of a run is an event of each task.
        Entity::Task(_) | Entity::Outside => {}
    }
    states
}

fn step_can_be(flow: &Flow<'_>, at: At, state: StepState) -> bool {
    let effect = flow
        .at(at)
        .step()
        .map_or(Effect::Effect, |step| step.effect);
    match state {
        // An abort can come at any time and cancels steps that have not begun.
        StepState::Pending | StepState::Skipped | StepState::Cancelled => true,
        StepState::Queued | StepState::Running | StepState::Waiting | StepState::Failed => {
            flow.begins(at)
        }
        StepState::Completed => flow.begins(at) && flow.ends(at),
        // A read is simply repeated, so its outcome is never unknown.
        StepState::Unknown => flow.begins(at) && effect > Effect::Read,
    }
}

fn both(one: &Alternative, other: &Alternative) -> Option<Alternative> {
    let mut alternative = one.clone();
    for (entity, states) in other {
        let known = alternative.entry(*entity).or_insert_with(|| states.clone());
        *known = &*known & states;
        if known.is_empty() && *entity != Entity::Outside {
            return None;
        }
    }
    Some(alternative)
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
