//! `on_failure: pause`: what has failed stays where it is, nothing new begins, and the run waits for somebody who resumes
//! it; then what has failed is done again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{OnFailure, StepKind};
use planrun_lang::types::ErrorClass;

use super::attempt::tool_call;
use super::event::Subject;
use super::execution::{Before, Execution};
use super::frame::{FrameId, Role};
use super::machine::{NodeRef, Run};
use super::outcome::Interruption;
use super::work::Failed;
use crate::journal::{EventKind, StepError};

/// What stands still because something has failed.
#[derive(Default)]
pub(super) struct Parking {
    /// Steps that have failed, and are not over.
    steps: BTreeMap<NodeRef, Arc<StepError>>,
    /// What could begin, had nothing failed.
    held_back: Vec<NodeRef>,
    /// Tasks that have failed with them.
    pub(super) failed_work: Vec<Failed>,
    /// What was called before at the paths of what is done again.
    before: BTreeMap<Arc<str>, Before>,
}

impl Parking {
    /// What was called at a path before the step there is done again.
    pub(super) fn before(&self, path: &str) -> Option<&Before> {
        self.before.get(path)
    }
}

/// What takes the failure of a step inside it, so that nothing around it fails.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Catcher {
    /// An arm that is for it.
    Arm,
    /// An `each` that settles its elements, or a race that may have another winner.
    Others,
}

impl Run {
    /// Whether the failure of a step makes the run wait for somebody instead of ending it.
    pub(super) fn pauses(&self, at: NodeRef, error: &StepError) -> bool {
        let frame = &self.frames[at.0];
        let always = self.scopes[frame.scope].policy.on_failure == OnFailure::Pause;
        let may = self.can_park(at.0) && frame.ending.is_none() && error.is_value();
        may && (always || self.pauses_when_exhausted(at, error))
            && self.catcher(at, &error.class).is_none()
    }

    /// What catches a failure of this class around a step, the nearest first.
    pub(super) fn catcher(&self, at: NodeRef, class: &ErrorClass) -> Option<Catcher> {
        let mut inner = at.0;
        while let Some(owner) = self.frames[inner].owner {
            let program = self.program(owner.frame);
            let step = self.node(&program, (owner.frame, owner.node)).step()?;
            let arms = match owner.role {
                Role::Firing(_) | Role::Verify | Role::Undo => return None,
                Role::Branch(_) => return Some(Catcher::Others),
                Role::Element(_) if matches!(&step.kind, StepKind::Each(each) if each.settle) => {
                    return Some(Catcher::Others);
                }
                Role::Body | Role::Element(_) | Role::Round => step.recover.iter(),
                // What fails in an arm is not caught by the arms beside it.
                Role::Recover => [].iter(),
            };
            if arms.into_iter().any(|arm| self.takes(&program, arm, class)) {
                return Some(Catcher::Arm);
            }
            inner = owner.frame;
        }
        None
    }

    /// Whether the retries of a call were for this failure, and the run shall pause when they are used up.
    pub(super) fn pauses_when_exhausted(&self, at: NodeRef, error: &StepError) -> bool {
        let program = self.program(at.0);
        let Some((step, call, signature)) = tool_call(&program, self, at) else {
            return false;
        };
        let retry = self.setup.defaults.retry_of(step, &signature);
        let policy = &self.scopes[self.frames[at.0].scope].policy;
        let retries = retry.is_some() || call.effect.repeatable();
        let (_, on) = policy.backoff(retry, call.effect);
        retries
            && policy.pauses_when_exhausted(retry)
            && on.iter().any(|pattern| pattern.matches(&error.class))
    }

    /// Whether something in a frame can stand still until another process goes on with the run.
    pub(super) fn can_park(&self, frame: FrameId) -> bool {
        !self.frames[frame].aside && (self.recording.is_durable() || self.setup.only_looks)
    }

    /// A step has failed, and stands still.
    #[expect(clippy::needless_pass_by_value, reason = "the step keeps it")]
    pub(super) fn park(&mut self, at: NodeRef, error: Arc<StepError>) {
        self.drop_leaf(at);
        self.release_hold(at);
        self.within.remove(&at);
        self.compounds.remove(&at);
        let now = self.elapsed();
        let record = self.record(at.0, at.1);
        record.duration = record.started.map_or(0, |started| now - started);
        record.details_mut().error = Some(error.clone());
        let (attempts, duration) = (record.attempts, Duration::from_micros(record.duration));
        self.frames[at.0].node(at.1).state = StepState::Waiting;
        self.frames[at.0].heard.insert(at.1, StepState::Failed);
        let path = self.own_path(at);
        self.emit(EventKind::StepSettled {
            path: path.clone(),
            state: StepState::Failed,
            attempts,
            duration,
            recovered: false,
            reason: None,
            output: None,
            error: Some(error.clone()),
        });
        self.parking.steps.insert(at, error.clone());
        self.commit(&[Subject::Step(at)]);
        self.work_failed(at.0, &error, Some(at));
    }

    /// The error of a step that stands still, which ends because of something else.
    pub(super) fn leave_parking(&mut self, at: NodeRef) -> Option<Arc<StepError>> {
        let error = self.parking.steps.remove(&at)?;
        self.frames[at.0].heard.remove(&at.1);
        Some(error)
    }

    /// Whether what is ready in a frame has to wait, since something has failed. Firings go on to their end.
    pub(super) fn holds_back(&mut self, at: NodeRef) -> bool {
        let holds = !self.parking.steps.is_empty() && !self.is_shielded(at.0);
        if holds {
            self.parking.held_back.push(at);
        }
        holds
    }

    fn is_shielded(&self, frame: FrameId) -> bool {
        self.frames[frame].aside || self.firing_around(frame).is_some()
    }

    /// Why the process lets go of the run because of what has failed, as soon as nothing else is at work.
    pub(super) fn failed_and_quiet(&self) -> Option<Interruption> {
        let (_, error) = self.parking.steps.first_key_value()?;
        let busy = self.is_let_go() || self.leaves.keys().any(|at| self.is_shielded(at.0));
        (!busy).then(|| Interruption::Failed(error.clone()))
    }

    /// Somebody wants the run to go on: what has failed is done again. Nothing is where somebody has said no, and where
    /// nobody knows what has happened.
    pub(super) fn retry_failed(&mut self) {
        let again = |error: &Arc<StepError>| {
            !matches!(
                error.class,
                ErrorClass::Denied(_) | ErrorClass::UnknownOutcome
            )
        };
        if !self.parking.steps.values().all(again) {
            return;
        }
        let failed: Vec<NodeRef> = self.parking.steps.keys().copied().collect();
        for at in failed {
            self.retry_step(at);
        }
    }

    /// As an earlier process did.
    pub(super) fn retried_before(&mut self, path: &str) {
        if self.verified_again_before(path) {
            return;
        }
        let found = self
            .parking
            .steps
            .keys()
            .copied()
            .find(|at| *self.own_path(*at) == *path);
        if let Some(at) = found {
            self.retry_step(at);
        }
    }

    fn retry_step(&mut self, at: NodeRef) {
        let path = self.own_path(at);
        self.emit(EventKind::StepRetried { path: path.clone() });
        self.work_taken_up(at);
        self.counts_once(at);
        self.leave_parking(at);
        self.leave_behind(at);
        let record = self.record(at.0, at.1);
        record.started = None;
        let details = record.details_mut();
        details.error = None;
        details.frames.clear();
        self.frames[at.0].node(at.1).state = StepState::Pending;
        self.ready.push(Reverse(at));
        if self.parking.steps.is_empty() {
            self.ready
                .extend(self.parking.held_back.drain(..).map(Reverse));
        }
    }

    /// What has worked for a step that is done again is no part of the plan's flow any more. A call whose execution has
    /// not ended goes on with it; any other begins another one. Every attempt belongs to one execution, so their count is
    /// a number that no execution has had.
    fn leave_behind(&mut self, at: NodeRef) {
        let attempts = self.record(at.0, at.1).attempts;
        let open = self.leave_execution(at);
        let path = self.own_path(at);
        self.parking.before.insert(path, Before { attempts, open });
        let mut frames = self.inner_frames(at);
        while let Some(frame) = frames.pop() {
            self.frames[frame].aside = true;
            for node in 0..u32::try_from(self.frames[frame].records.len()).unwrap_or(u32::MAX) {
                let inner = (frame, node);
                let attempts = self.record(frame, node).attempts;
                if attempts > 0 {
                    let (path, open) = (self.own_path(inner), self.leave_execution(inner));
                    let before = self.parking.before.entry(path).or_default();
                    before.attempts += attempts;
                    before.open = open;
                }
                frames.extend(self.inner_frames(inner));
            }
        }
    }

    /// The execution of a call that another frame goes on with: what it did is that one's to take back.
    fn leave_execution(&mut self, at: NodeRef) -> Option<Execution> {
        let record = self.record(at.0, at.1);
        let in_doubt = record.in_doubt;
        let open = record.details_mut().execution.take()?;
        self.aftermath.happened.retain(|happened| *happened != at);
        Some(Execution { in_doubt, ..open })
    }

    fn inner_frames(&self, (frame, node): NodeRef) -> Vec<FrameId> {
        let details = self.frames[frame].records[node as usize].details();
        details
            .map(|details| details.frames.clone())
            .unwrap_or_default()
    }
}
