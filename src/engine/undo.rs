//! `undo`: what a failed plan did is taken back, last first, one after the other; a failure stops none of the others.

use std::sync::Arc;

use super::dispatcher::{Dispatcher, NodeRef};
use super::frame::{Ending, FrameId, Role, Undone};
use crate::journal::StepError;
use crate::protocol::{Sent, StepState};
use crate::sema::Step;
use crate::types::{ErrorClass, Validation};
use crate::value::Value;

impl Dispatcher<'_> {
    /// A call has changed something, or may have: it, and every step around it, has something to take back. What an arm
    /// did to recover a step is not the step's.
    pub(super) fn note_change(&mut self, at: NodeRef) {
        if !self.aftermath.matters {
            return;
        }
        let mut inner = at;
        let mut counts = true;
        loop {
            if counts && self.undo_of(inner).is_some() {
                self.aftermath.touched.insert(inner);
            }
            let Some(owner) = self.frames[inner.0].owner else { return };
            counts = match owner.role {
                Role::Undo | Role::Verify => return,
                Role::Recover | Role::Firing(_) => false,
                Role::Body | Role::Element(_) | Role::Round | Role::Branch(_) => true,
            };
            inner = (owner.frame, owner.node);
        }
    }

    /// A step has settled: from now on it is in the log, where it has something to take back.
    pub(super) fn note_settled(&mut self, at: NodeRef) {
        if self.aftermath.touched.remove(&at) {
            self.aftermath.happened.push(at);
        }
    }

    fn undo_of(&self, at: NodeRef) -> Option<crate::sema::BlockId> {
        let program = self.program(at.0);
        self.node(&program, at).step().and_then(Step::undo)
    }

    /// What a plan instance has to take back, so that the last one of the list is the first. The `undo` of a step takes
    /// the place of those inside it.
    pub(super) fn to_take_back(&self, frame: FrameId) -> Vec<NodeRef> {
        let wanted = |at: &&NodeRef| {
            let (mut inner, mut within) = (at.0, false);
            loop {
                within |= inner == frame;
                let Some(owner) = self.frames[inner].owner else { return within };
                let outer = (owner.frame, owner.node);
                let replaced = !matches!(owner.role, Role::Recover | Role::Firing(_));
                if replaced && self.undo_of(outer).is_some() {
                    return false;
                }
                inner = owner.frame;
            }
        };
        let fresh = |at: &&NodeRef| {
            let record = &self.frames[at.0].records[at.1 as usize];
            record.details().is_none_or(|details| details.undone.is_none())
        };
        self.aftermath.happened.iter().filter(wanted).filter(fresh).copied().collect()
    }

    /// Takes a step back. Of one whose outcome is unknown it is found out first, where something can tell.
    pub(super) fn take_back(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        let verifies = self.node(&program, at).step().is_some_and(|step| self.verifies(&program, step));
        if self.state_of(at) == StepState::Unknown && verifies {
            return self.open_verify(at);
        }
        self.open_undo(at);
    }

    pub(super) fn open_undo(&mut self, at: NodeRef) {
        let program = self.program(at.0);
        if let Some(undo) = self.undo_of(at) {
            self.open_aside(&program, at, undo, Role::Undo);
        }
    }

    /// What was found out of a step whose outcome was unknown: whether there may be something to take back. What it gave
    /// is its value from now on.
    pub(super) fn resolved(&mut self, at: NodeRef, frame: FrameId, outcome: Result<(), Ending>) -> bool {
        match outcome {
            Ok(()) => {
                let value = self.frames[frame].values.pop().unwrap_or(Value::Null);
                let program = self.program(at.0);
                let slot = self.node(&program, at).slot;
                if let Some(place) = slot.and_then(|slot| self.frames[at.0].slots.get_mut(slot as usize)) {
                    *place = value;
                }
                true
            }
            Err(Ending::Failed(error)) => !super::aftermath::says_no(&error),
            Err(Ending::Cancelled) => true,
        }
    }

    pub(super) fn taken_back(&mut self, at: NodeRef, outcome: Result<(), Ending>) {
        let undone = match outcome {
            Ok(()) => Undone::Yes,
            Err(Ending::Failed(error)) => Undone::No(error),
            Err(Ending::Cancelled) => {
                let path: Arc<str> = format!("{}.undo", self.own_path(at)).into();
                Undone::No(Arc::new(StepError::new(ErrorClass::Cancelled, "it was not waited for", &path)))
            }
        };
        self.record(at.0, at.1).details_mut().undone = Some(undone);
    }

    /// Why steps could not be taken back: somebody must look after them.
    pub(super) fn not_undone(&self) -> Vec<Arc<StepError>> {
        let failed = |at: &NodeRef| match self.frames[at.0].records[at.1 as usize].details()?.undone.as_ref()? {
            Undone::Yes => None,
            Undone::No(error) => Some(error.clone()),
        };
        self.aftermath.happened.iter().filter_map(failed).collect()
    }
}

/// Whether a failed call may have changed something: nobody knows, or it answered with what its contract forbids.
pub(super) fn may_have_happened(error: &StepError) -> bool {
    match error.class {
        ErrorClass::UnknownOutcome => true,
        ErrorClass::Validation(Validation::Result) => error.sent == Sent::Answered,
        _ => false,
    }
}
