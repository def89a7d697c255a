//! Slots: how many attempts may be in flight at once, in a plan instance and in those that called it.

use planrun_lang::protocol::StepState;

use super::machine::{NodeRef, Run, Timer};

impl Run {
    /// Takes a slot of a plan instance and of those that called it; false where one of them has none left.
    pub(super) fn take_slot(&mut self, scope: usize) -> bool {
        if !self.has_slot(scope) {
            return false;
        }
        self.hold_slot(scope);
        true
    }

    /// Takes a slot whether one is free or not: what an earlier process had begun is not held up, since its answers
    /// come in the order in which they came then.
    pub(super) fn hold_slot(&mut self, scope: usize) {
        let mut inner = Some(scope);
        while let Some(scope) = inner {
            self.scopes[scope].in_use += 1;
            inner = self.scopes[scope].outer;
        }
    }

    pub(super) fn has_slot(&self, scope: usize) -> bool {
        let mut inner = Some(scope);
        while let Some(scope) = inner {
            let scope = &self.scopes[scope];
            if scope.in_use >= scope.policy.concurrency {
                return false;
            }
            inner = scope.outer;
        }
        true
    }

    /// Gives a slot back and lets the first call that can use it try again.
    pub(super) fn give_slot(&mut self, scope: usize) {
        let mut inner = Some(scope);
        while let Some(scope) = inner {
            self.scopes[scope].in_use = self.scopes[scope].in_use.saturating_sub(1);
            inner = self.scopes[scope].outer;
        }
        self.wake_next();
    }

    /// A call waits for no slot any more. One that had been woken for a slot and will not take it passes it on.
    pub(super) fn leave_queue(&mut self, at: NodeRef) {
        self.queued.remove(&at);
        if self.woken.remove(&at) {
            self.wake_next();
        }
    }

    /// The slots are gone with the process: what has not begun waits for none, which is what its journal tells.
    pub(super) fn close_queue(&mut self) {
        for at in std::mem::take(&mut self.queued) {
            if !self.leaves.contains_key(&at) {
                self.frames[at.0].node(at.1).state = StepState::Pending;
            }
        }
    }

    fn wake_next(&mut self) {
        // One whose own plan has no slot left would take this one's place and leave the slot unused.
        let Some(at) = self.next_in_queue() else {
            return;
        };
        self.queued.remove(&at);
        self.woken.insert(at);
        if let Some(leaf) = self.leaves.get(&at) {
            // Between two attempts: it goes on where it was.
            let number = leaf.number;
            self.timers.push(std::cmp::Reverse((
                self.now.monotonic,
                number,
                Timer::Again(at, number),
            )));
        } else {
            self.frames[at.0].node(at.1).state = StepState::Pending;
            self.ready.push(std::cmp::Reverse(at));
        }
    }
}
