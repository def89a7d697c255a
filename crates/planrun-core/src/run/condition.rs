//! Conditions over steps, tasks, plans and signals, which wake listeners and waiting steps. They are evaluated right
//! after each event.

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::sema::{Event, EventKind, PlanTest, TaskTest};
use planrun_lang::value::Value;

use super::agenda::Subject;
use super::frame::{FrameId, NodeRef};
use super::task::Tasks;
use super::tree::Tree;

/// The state right after an event, on which conditions are evaluated.
pub(super) struct Conditions<'a> {
    pub tree: &'a Tree,
    pub tasks: &'a Tasks,
}

impl Conditions<'_> {
    /// Returns true if a condition names one of the subjects of an event.
    pub(super) fn names_one(&self, frame: FrameId, on: &Event, subjects: &[Subject]) -> bool {
        let mut found = false;
        on.leaves(&mut |leaf| {
            found = found
                || self
                    .subject(frame, leaf)
                    .is_some_and(|own| subjects.contains(&own));
        });
        found
    }

    /// Returns the subject of one part of a condition; `None` if it has none.
    pub(super) fn subject(&self, frame: FrameId, leaf: &Event) -> Option<Subject> {
        match &leaf.kind {
            EventKind::Step { place, .. } => self.tree.step_at(frame, *place).map(Subject::Step),
            EventKind::Task { task, .. } => Some(Subject::Task(self.tree.task_at(frame, *task))),
            EventKind::Plan(_) => Some(Subject::Plan(self.tree[frame].scope)),
            EventKind::Signal(name) => Some(Subject::Signal(name.clone())),
            EventKind::Not(_) | EventKind::All(_) | EventKind::Any(_) | EventKind::Damaged => None,
        }
    }

    /// Returns true if a condition holds right after an event with these subjects.
    pub(super) fn holds(&self, frame: FrameId, on: &Event, subjects: &[Subject]) -> bool {
        let happened = || {
            self.subject(frame, on)
                .is_some_and(|own| subjects.contains(&own))
        };
        match &on.kind {
            EventKind::Step { test: None, .. }
            | EventKind::Task {
                test: TaskTest::Any,
                ..
            }
            | EventKind::Plan(PlanTest::Any)
            | EventKind::Signal(_) => happened(),
            EventKind::Step {
                place,
                test: Some(test),
                ..
            } => self
                .tree
                .step_at(frame, *place)
                .is_some_and(|at| test.holds(self.tree.visible_state(at))),
            EventKind::Task { task, test } => {
                let at = self.tree.task_at(frame, *task);
                let declared = self.tree.scope(frame).program.plan.task(*task);
                self.tasks
                    .states
                    .get(&at)
                    .is_some_and(|state| test.holds(declared, state.status))
            }
            EventKind::Plan(test) => {
                let end = self.tree.scope(frame).end;
                end.is_some_and(|end| plan_is(*test, end))
            }
            EventKind::Not(inner) => !self.holds(frame, inner, subjects),
            EventKind::All(parts) => parts.iter().all(|part| self.holds(frame, part, subjects)),
            EventKind::Any(parts) => parts.iter().any(|part| self.holds(frame, part, subjects)),
            EventKind::Damaged => false,
        }
    }

    /// Returns the part of a condition that provides the value of the event: the first alternative that holds, and of
    /// parts that hold together a signal first.
    pub(super) fn source<'e>(
        &self,
        frame: FrameId,
        on: &'e Event,
        subjects: &[Subject],
    ) -> Option<&'e Event> {
        match &on.kind {
            EventKind::Any(parts) => {
                let held = parts
                    .iter()
                    .find(|part| self.holds(frame, part, subjects))?;
                self.source(frame, held, subjects)
            }
            EventKind::All(parts) => {
                let sources = || {
                    parts
                        .iter()
                        .filter_map(|part| self.source(frame, part, subjects))
                };
                sources()
                    .find(|leaf| matches!(leaf.kind, EventKind::Signal(_)))
                    .or_else(|| sources().next())
            }
            // The absence of a signal has no value.
            EventKind::Not(inner) => {
                Some(&**inner).filter(|inner| !matches!(inner.kind, EventKind::Signal(_)))
            }
            EventKind::Damaged => None,
            EventKind::Step { .. }
            | EventKind::Task { .. }
            | EventKind::Plan(_)
            | EventKind::Signal(_) => Some(on),
        }
    }

    /// Returns the value of an event: an error, the context of a task, or the value of a step. Signals carry their own
    /// payload.
    pub(super) fn event_value(&self, frame: FrameId, leaf: &Event) -> Value {
        match &leaf.kind {
            EventKind::Step { place, .. } => self
                .tree
                .step_at(frame, *place)
                .map_or(Value::Null, |at| self.step_value(at)),
            EventKind::Task { task, .. } => self.tree.context_of(self.tree.task_at(frame, *task)),
            EventKind::Plan(_) => {
                let error = self.tree.error_of(self.tree[frame].scope);
                error.map_or(Value::Null, |error| error.to_value())
            }
            EventKind::Signal(_)
            | EventKind::Not(_)
            | EventKind::All(_)
            | EventKind::Any(_)
            | EventKind::Damaged => Value::Null,
        }
    }

    /// Returns the value of a step that completed, the error of one that failed, and null for any other.
    fn step_value(&self, at: NodeRef) -> Value {
        let frame = &self.tree[at.0];
        match self.tree.visible_state(at) {
            StepState::Completed => {}
            StepState::Failed | StepState::Unknown => {
                let details = frame
                    .records
                    .get(at.1 as usize)
                    .and_then(|record| record.details());
                let error = details.and_then(|details| details.error.as_ref());
                return error.map_or(Value::Null, |error| error.to_value());
            }
            StepState::Pending
            | StepState::Queued
            | StepState::Running
            | StepState::Waiting
            | StepState::Skipped
            | StepState::Cancelled => return Value::Null,
        }
        let program = &self.tree.scopes[frame.scope].program;
        let slot = program.plan.block(frame.block).nodes[at.1 as usize].slot;
        slot.and_then(|slot| frame.slots.get(slot as usize))
            .cloned()
            .unwrap_or(Value::Null)
    }
}

/// Returns true if the state of a plan instance that has ended passes a test.
fn plan_is(test: PlanTest, end: RunState) -> bool {
    match test {
        PlanTest::Any => false,
        PlanTest::Completed => end == RunState::Completed,
        PlanTest::Failed => end == RunState::Failed,
        PlanTest::Cancelled => end == RunState::Cancelled,
        PlanTest::Stalled => end == RunState::Stalled,
        PlanTest::Settled => end.is_ended(),
    }
}
