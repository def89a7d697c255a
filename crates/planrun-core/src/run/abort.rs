//! Ending early: what is cancelled at once, what is awaited, and how a failure climbs.

use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::{OnFailure, StepKind};

use super::frame::{Ending, FrameId, Life, Record};
use super::leaf::Leaf;
use super::machine::{NodeRef, Run};
use super::settle::End;
use crate::journal::{EventKind, StepError};

impl Run {
    /// A step failed and nothing recovered it.
    pub(super) fn step_failed_for_good(&mut self, at: NodeRef, error: Arc<StepError>) {
        if self.fails_later(&self.program(at.0), at, &error) {
            return;
        }
        if self.pauses(at, &error) {
            return self.park(at, error);
        }
        self.settle(at, End::Failed(error.clone()));
        self.frame_failure(at.0, error, false);
    }

    /// A failure in a frame: under `settle` the rest goes on, else the frame ends. `forced` is a taken `fail` or `ensure`.
    pub(super) fn frame_failure(&mut self, frame: FrameId, error: Arc<StepError>, forced: bool) {
        let settles = self.scopes[self.frames[frame].scope].policy.on_failure == OnFailure::Settle;
        if settles && !forced && error.is_value() {
            self.frames[frame].first_failure.get_or_insert(error);
            return;
        }
        self.end_frame(frame, &Ending::Failed(error));
    }

    /// Ends a frame and those that work for it: nothing new starts, reads and waits are cancelled, and attempts of
    /// effects in flight are awaited, since cancelling them would make their outcome unknown.
    pub(super) fn end_frame(&mut self, frame: FrameId, ending: &Ending) {
        let mut open = vec![(frame, ending.clone())];
        while let Some((frame, ending)) = open.pop() {
            if self.frames[frame].ending.is_some() {
                continue;
            }
            self.frames[frame].ending = Some(ending);
            let program = self.program(frame);
            let count = u32::try_from(self.graph(&program, frame).nodes).unwrap_or(u32::MAX);
            for node in 0..count {
                for inner in self.withdraw((frame, node)) {
                    open.push((inner, Ending::Cancelled));
                }
            }
        }
    }

    /// Takes back one node of a frame that ends. Tells which frames work for it and must end too.
    fn withdraw(&mut self, at: NodeRef) -> Vec<FrameId> {
        match self.state_of(at) {
            StepState::Pending | StepState::Queued => {
                self.settle(at, End::Cancelled);
                Vec::new()
            }
            StepState::Running | StepState::Waiting => {
                if self.people.holds(at) && !self.leaves.contains_key(&at) {
                    self.settle(at, End::Cancelled);
                    return Vec::new();
                }
                let inner = self.live_frames(at);
                if let Some(error) = self.leave_parking(at) {
                    self.settle(at, End::Failed(error));
                    return Vec::new();
                }
                if let Some(error) = self.leave_doubt(at) {
                    self.drop_leaf(at);
                    self.settle(at, End::Failed(error));
                    return inner;
                }
                if self.leaves.get(&at).is_some_and(Leaf::must_be_awaited) {
                    return Vec::new();
                }
                if self.leaves.contains_key(&at) {
                    self.cut_off(at);
                    self.settle(at, End::Cancelled);
                    return inner;
                }
                if self.waits_for_event(at) {
                    self.compounds.remove(&at);
                    self.settle(at, End::Cancelled);
                    return inner;
                }
                inner
            }
            StepState::Completed
            | StepState::Failed
            | StepState::Skipped
            | StepState::Cancelled
            | StepState::Unknown => Vec::new(),
        }
    }

    /// Ends a call that nobody waits for any more.
    pub(super) fn cut_off(&mut self, at: NodeRef) {
        let Some(leaf) = self.leaves.get(&at) else {
            return;
        };
        let (is_held, may_land) = (leaf.is_held(), leaf.may_land());
        if is_held {
            self.take_back_announcement(at);
        }
        self.record(at.0, at.1).in_doubt |= may_land;
        self.drop_leaf(at);
    }

    /// An attempt that was told of has not gone out.
    pub(super) fn take_back_announcement(&mut self, at: NodeRef) {
        let path = self.own_path(at);
        self.emit(EventKind::StepQueued { path: path.clone() });
    }

    /// Whether a step only waits for an event, or has heard of it and not gone on.
    fn waits_for_event(&self, at: NodeRef) -> bool {
        let program = self.program(at.0);
        let step = self.node(&program, at).step();
        self.state_of(at) == StepState::Waiting
            && step.is_some_and(|step| matches!(step.kind, StepKind::Wait(_)))
    }

    /// The frames that work for a node and have not ended.
    pub(super) fn live_frames(&self, (frame, node): NodeRef) -> Vec<FrameId> {
        let record: &Record = &self.frames[frame].records[node as usize];
        let frames = record
            .details()
            .map(|details| details.frames.as_slice())
            .unwrap_or_default();
        frames
            .iter()
            .copied()
            .filter(|frame| self.is_live(*frame))
            .collect()
    }

    /// Whether a frame still has something to do; its firings count.
    fn is_live(&self, frame: FrameId) -> bool {
        self.frames[frame].life != Life::Ended
    }

    /// Everything in a frame has settled: tell the step that owns it.
    pub(super) fn frame_ended(&mut self, frame: FrameId) {
        if self.is_held_open(frame) {
            return;
        }
        let Some(owner) = self.frames[frame].owner else {
            self.finish();
            return;
        };
        let outcome = self.frame_outcome(frame);
        self.frames[frame].retire();
        self.inner_ended((owner.frame, owner.node), owner.role, frame, outcome);
    }

    fn frame_outcome(&mut self, frame: FrameId) -> Result<(), Ending> {
        let state = &self.frames[frame];
        if let Some(ending) = &state.ending {
            return Err(ending.clone());
        }
        state
            .first_failure
            .clone()
            .map_or(Ok(()), |failure| Err(Ending::Failed(failure)))
    }

    /// Cancels the other branches or elements of a step.
    pub(super) fn cancel_inner(&mut self, at: NodeRef, except: FrameId) {
        for frame in self.live_frames(at) {
            if frame != except {
                self.end_frame(frame, &Ending::Cancelled);
            }
        }
    }
}
