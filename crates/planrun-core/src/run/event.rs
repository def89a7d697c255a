//! Events inside a run: what has just happened, and whom it wakes. Each is tested on the state right after it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::sema::expr::StateTest;
use planrun_lang::sema::{BlockId, Event, EventKind, NodeKind, Place, PlanTest, TaskId, TaskTest};
use planrun_lang::value::Value;

use super::Program;
use super::frame::FrameId;
use super::listener::Hearing;
use super::machine::{NodeRef, Run};
use super::task::TaskState;
use crate::journal::StepError;

/// What an event speaks of.
#[derive(Clone, PartialEq)]
pub(super) enum Subject {
    /// A step, or a listener as a whole.
    Step(NodeRef),
    Task(TaskRef),
    /// A plan instance, by its scope.
    Plan(usize),
    Signal(Arc<str>),
}

/// A task of the frame that declares it.
pub(super) type TaskRef = (FrameId, TaskId);

/// What a run keeps for tasks, for listeners and for those that wait for events.
#[derive(Default)]
pub(super) struct Reactions {
    /// News are taken one at a time, each after all that followed from the one before: what a listener sees must be the
    /// same when the run is lived through again.
    pub in_order: bool,
    pub tasks: BTreeMap<TaskRef, TaskState>,
    /// Those that listen, in source order.
    pub listeners: BTreeMap<NodeRef, Hearing>,
    /// Those whose block has ended.
    pub deaf: BTreeMap<NodeRef, Hearing>,
    /// Steps that wait for an event.
    pub waits: BTreeSet<NodeRef>,
    /// Those of them whose event has come, with what it brought.
    pub due: VecDeque<(NodeRef, Result<Value, Arc<StepError>>)>,
    /// Signals that no `wait for` has taken, oldest first.
    pub signals: BTreeMap<Arc<str>, VecDeque<Value>>,
    /// What the latest signal carried.
    pub latest: Option<Value>,
    pub firings: u64,
    /// What came out of plan instances that have told their end, by scope.
    pub ends: BTreeMap<usize, RunState>,
    /// Nothing that the plan names can wake the run any more.
    pub stalled: Option<Arc<StepError>>,
}

/// Whether something in a plan, or in those that it calls, happens because of events.
pub(super) fn reacts(program: &Program) -> bool {
    let blocks = &program.plan.blocks;
    let here = blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .any(|node| node.event().is_some());
    here || program.plans.iter().any(|called| reacts(called))
}

impl Run {
    /// Something has happened, to all of these at once: whoever listens to one of them is tested, in source order.
    pub(super) fn commit(&mut self, subjects: &[Subject]) {
        if self.reactions.listeners.is_empty() && self.reactions.waits.is_empty() {
            return;
        }
        let listening: Vec<NodeRef> = self.reactions.listeners.keys().copied().collect();
        for at in listening {
            if self.is_left(at) {
                continue;
            }
            let program = self.program(at.0);
            let NodeKind::Listener(listener) = &self.node(&program, at).kind else {
                continue;
            };
            if self.names_one(at.0, &listener.on, subjects)
                && self.holds(at.0, &listener.on, subjects)
            {
                self.fire_listener(&program, at, listener, subjects);
            }
        }
        let waiting: Vec<NodeRef> = self.reactions.waits.iter().copied().collect();
        for at in waiting {
            let program = self.program(at.0);
            let Some(on) = self.node(&program, at).event() else {
                continue;
            };
            if self.names_one(at.0, on, subjects) {
                self.wake_if_met(&program, at, on, subjects);
            }
        }
    }

    /// Whether an event speaks of something that a condition names.
    fn names_one(&self, frame: FrameId, on: &Event, subjects: &[Subject]) -> bool {
        let mut found = false;
        on.leaves(&mut |leaf| {
            found = found
                || self
                    .subject(frame, leaf)
                    .is_some_and(|own| subjects.contains(&own))
        });
        found
    }

    /// What one part of a condition speaks of.
    pub(super) fn subject(&self, frame: FrameId, leaf: &Event) -> Option<Subject> {
        match &leaf.kind {
            EventKind::Step { place, .. } => self.step_at(frame, *place).map(Subject::Step),
            EventKind::Task { task, .. } => Some(Subject::Task(self.task_at(frame, *task))),
            EventKind::Plan(_) => Some(Subject::Plan(self.frames[frame].scope)),
            EventKind::Signal(name) => Some(Subject::Signal(name.clone())),
            EventKind::Not(_) | EventKind::All(_) | EventKind::Any(_) | EventKind::Damaged => None,
        }
    }

    /// Whether a condition holds right now, after an event that speaks of these.
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
            } => self.step_at(frame, *place).is_some_and(|at| {
                let state = self.heard_state(at);
                match test {
                    StateTest::State(wanted) => state == *wanted,
                    StateTest::Settled => state.is_settled(),
                }
            }),
            EventKind::Task { task, test } => {
                let at = self.task_at(frame, *task);
                let declared = self.scopes[self.frames[frame].scope]
                    .program
                    .plan
                    .task(*task);
                self.reactions
                    .tasks
                    .get(&at)
                    .is_some_and(|state| test.holds(declared, state.status))
            }
            EventKind::Plan(test) => {
                let end = self.reactions.ends.get(&self.frames[frame].scope);
                end.is_some_and(|end| plan_is(*test, *end))
            }
            EventKind::Not(inner) => !self.holds(frame, inner, subjects),
            EventKind::All(parts) => parts.iter().all(|part| self.holds(frame, part, subjects)),
            EventKind::Any(parts) => parts.iter().any(|part| self.holds(frame, part, subjects)),
            EventKind::Damaged => false,
        }
    }

    /// The part of a condition that holds and brings something: of alternatives the first one that holds.
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
            // That a signal has not come brings nothing.
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

    /// What an event brings: an error, the context of a task, the value of a step. Signals bring their own payload.
    pub(super) fn brought(&self, frame: FrameId, leaf: &Event) -> Value {
        match &leaf.kind {
            EventKind::Step { place, .. } => self
                .step_at(frame, *place)
                .map_or(Value::Null, |at| self.told_of(at)),
            EventKind::Task { task, .. } => self.context_of(self.task_at(frame, *task)),
            EventKind::Plan(_) => {
                let error = self.error_of(self.frames[frame].scope);
                error.map_or(Value::Null, |error| error.to_value())
            }
            EventKind::Signal(_)
            | EventKind::Not(_)
            | EventKind::All(_)
            | EventKind::Any(_)
            | EventKind::Damaged => Value::Null,
        }
    }

    /// The value of a step that completed, the error of one that failed, and null of any other.
    fn told_of(&self, at: NodeRef) -> Value {
        let frame = &self.frames[at.0];
        match self.heard_state(at) {
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
        let program = &self.scopes[frame.scope].program;
        let slot = program.plan.block(frame.block).nodes[at.1 as usize].slot;
        slot.and_then(|slot| frame.slots.get(slot as usize))
            .cloned()
            .unwrap_or(Value::Null)
    }

    /// The step that a name stands for, as seen from a frame.
    pub(super) fn step_at(&self, frame: FrameId, place: Place) -> Option<NodeRef> {
        let mut home = frame;
        for _ in 0..place.up {
            home = self.frames[home].outer?;
        }
        let owner = &self.frames[home];
        let graph = &self.scopes[owner.scope].program.graph.blocks[owner.block.0 as usize];
        owner.holder(graph, place.slot).map(|node| (home, node))
    }

    /// The task that a statement of a frame names: that of the nearest frame which declares it.
    pub(super) fn task_at(&self, frame: FrameId, task: TaskId) -> TaskRef {
        let block: BlockId = self.scopes[self.frames[frame].scope]
            .program
            .plan
            .task(task)
            .block;
        let mut home = frame;
        while self.frames[home].block != block {
            match self.frames[home].outer {
                Some(outer) => home = outer,
                None => break,
            }
        }
        (home, task)
    }

    /// The state of a step; of a listener that of its firings.
    pub(super) fn heard_state(&self, at: NodeRef) -> StepState {
        self.frames[at.0]
            .heard
            .get(&at.1)
            .copied()
            .unwrap_or_else(|| self.state_of(at))
    }
}

/// Whether a plan instance that came to this end passes a test.
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
