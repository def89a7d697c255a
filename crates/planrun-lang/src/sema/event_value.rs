//! The type of an event's value, by kind: the payload of a signal, the context of a task, the value or error of a step.

use super::checker::PlanChecker;
use super::expr::StateTest;
use super::plan::{Event, EventKind, PlanTest};
use super::scope::{Lookup, Scope as _};
use crate::protocol::StepState;
use crate::types::Type;

/// The values that a condition may have.
#[derive(Default)]
struct Sources {
    signals: Vec<Type>,
    others: Vec<Type>,
    /// Whether there always is a value.
    certain: bool,
}

impl Sources {
    fn one(ty: Type) -> Self {
        Self {
            signals: Vec::new(),
            others: vec![ty],
            certain: true,
        }
    }

    fn join(&mut self, other: Self) {
        self.signals.extend(other.signals);
        self.others.extend(other.others);
    }
}

/// Returns the type of an event's value: a union by kind of event. `payload` is the declared type of signals.
pub(super) fn event_value_type(
    checker: &PlanChecker<'_>,
    on: &Event,
    payload: Option<&Type>,
) -> Type {
    let mut has_signals = false;
    on.leaves(&mut |leaf| has_signals |= matches!(leaf.kind, EventKind::Signal(_)));
    if let Some(payload) = payload.filter(|_| !has_signals) {
        return payload.clone();
    }
    let Sources {
        signals,
        others,
        certain,
    } = sources(checker, on, on, payload);
    let nothing = (!certain).then_some(Type::Null);
    Type::union(signals.into_iter().chain(others).chain(nothing))
}

/// Returns the values of a part of a condition; `within` is the largest part that holds as a whole whenever this one
/// has a value.
fn sources(
    checker: &PlanChecker<'_>,
    part: &Event,
    within: &Event,
    payload: Option<&Type>,
) -> Sources {
    match &part.kind {
        // The first alternative that holds is used.
        EventKind::Any(parts) => {
            let mut all = Sources {
                certain: true,
                ..Sources::default()
            };
            for part in parts {
                let sources = sources(checker, part, part, payload);
                all.certain &= sources.certain;
                all.join(sources);
            }
            all
        }
        EventKind::All(parts) => first_of(
            parts
                .iter()
                .map(|part| sources(checker, part, within, payload)),
        ),
        EventKind::Not(inner) if matches!(inner.kind, EventKind::Signal(_)) => Sources::default(),
        EventKind::Not(inner) => Sources::one(leaf_type(checker, inner, within, true)),
        EventKind::Signal(_) => Sources {
            signals: vec![payload.cloned().unwrap_or(Type::Any)],
            others: Vec::new(),
            certain: true,
        },
        EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Plan(_)
        | EventKind::Damaged => Sources::one(leaf_type(checker, part, within, false)),
    }
}

fn leaf_type(checker: &PlanChecker<'_>, leaf: &Event, within: &Event, negated: bool) -> Type {
    match &leaf.kind {
        EventKind::Step { name, test, .. } => {
            let value = match checker.names.lookup(name) {
                Lookup::Found(binding) => {
                    Type::union(binding.definitions.iter().map(|given| given.ty.clone()))
                }
                Lookup::Later(_) | Lookup::Namespace | Lookup::Missing => Type::Any,
            };
            of_step(value, test.filter(|_| !negated))
        }
        EventKind::Task { task: id, .. } => match checker.tasks.get(id.0 as usize) {
            Some(task) => checker
                .contexts
                .snapshot_type(task, &within.statuses(*id, task)),
            None => Type::Any,
        },
        EventKind::Plan(PlanTest::Failed) if !negated => Type::Error,
        EventKind::Plan(PlanTest::Completed | PlanTest::Cancelled) if !negated => Type::Null,
        EventKind::Plan(_) => Type::Error.optional(),
        EventKind::Signal(_)
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_)
        | EventKind::Damaged => Type::Any,
    }
}

/// Returns the type of a step event's value in a state, or in any.
fn of_step(value: Type, test: Option<StateTest>) -> Type {
    match test {
        None | Some(StateTest::Settled) => Type::union([value, Type::Error, Type::Null]),
        Some(StateTest::State(state)) => match state {
            StepState::Completed => value,
            StepState::Failed | StepState::Unknown => Type::Error,
            StepState::Pending
            | StepState::Queued
            | StepState::Running
            | StepState::Waiting
            | StepState::Skipped
            | StepState::Cancelled => Type::Null,
        },
    }
}

/// Combines parts that hold together: the first signal is used, otherwise the first part that has a value.
fn first_of(parts: impl Iterator<Item = Sources>) -> Sources {
    let parts = parts.collect::<Vec<_>>();
    let sure = |sources: &Sources| {
        sources.certain && sources.others.is_empty() && !sources.signals.is_empty()
    };
    if let Some(last) = parts.iter().position(sure) {
        let signals = parts
            .into_iter()
            .take(last + 1)
            .flat_map(|sources| sources.signals)
            .collect();
        return Sources {
            signals,
            others: Vec::new(),
            certain: true,
        };
    }
    let no_signals = parts.iter().all(|sources| sources.signals.is_empty());
    let mut all = Sources::default();
    for sources in parts {
        let certain = sources.certain;
        all.join(sources);
        all.certain |= certain;
        if certain && no_signals {
            break;
        }
    }
    all
}
