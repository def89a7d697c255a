//! The calls that have begun and not settled, with their slots.

use std::collections::{BTreeMap, VecDeque};

use planrun_lang::protocol::StepState;

use super::slots::Slots;
use super::state::{CallState, Phase};
use crate::journal::EventKind;
use crate::run::agenda::Inquiry;
use crate::run::command::{CallId, Command};
use crate::run::context::Context;
use crate::run::frame::NodeRef;

/// The calls that have begun and not settled.
#[derive(Default)]
pub(in crate::run) struct OpenCalls {
    pub calls: BTreeMap<NodeRef, Box<CallState>>,
    /// Those that are ready to go out and wait until that is on disk, in the order in which they became ready.
    pub held: VecDeque<NodeRef>,
    pub slots: Slots,
    /// Those that an earlier process lost, and this one takes up next.
    lost: VecDeque<NodeRef>,
}

impl OpenCalls {
    /// The step of a call has settled.
    pub(in crate::run) fn settled(&mut self, ctx: &mut Context, at: NodeRef) {
        self.calls.remove(&at);
        self.slots.leave(ctx, at);
    }

    /// A call that waits for somebody's reply to its peer holds no slot.
    pub(in crate::run) fn wait_for_reply(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(state) = self.calls.get_mut(&at) else {
            return;
        };
        state.talks = true;
        if !std::mem::replace(&mut state.asks, true) {
            self.slots.give(ctx, at.0);
        }
    }

    /// Its peer has got the reply: the call holds a slot again.
    pub(in crate::run) fn go_on_after_reply(&mut self, ctx: &mut Context, at: NodeRef) {
        let asks = self.calls.get_mut(&at).map(|state| &mut state.asks);
        if asks.is_some_and(std::mem::take) {
            self.slots.hold(ctx, at.0);
        }
    }

    /// Takes the call of an attempt that has ended. Whatever its peer asked is withdrawn, and its slot is held as that of
    /// any other.
    pub(in crate::run) fn take(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
    ) -> Option<Box<CallState>> {
        let mut state = self.calls.remove(&at)?;
        if state.talks {
            ctx.then(Inquiry::PeerWithdrawn(at));
        }
        if std::mem::take(&mut state.asks) {
            self.slots.hold(ctx, at.0);
        }
        Some(state)
    }

    /// Takes up the next call that an earlier process had sent and never got an answer to. All that follows from one
    /// comes before the next, as it does when the journal is replayed.
    pub(in crate::run) fn next_lost(&mut self) -> Option<NodeRef> {
        let is_lost = |state: &CallState| matches!(state.phase, Phase::Lost | Phase::CutOff);
        if self.lost.is_empty() {
            let lost = self.calls.iter().filter(|(_, state)| is_lost(state));
            self.lost = lost.map(|(at, _)| *at).collect();
        }
        self.lost.pop_front()
    }

    /// Whether no call is ready to go out, or waits for a slot.
    pub(in crate::run) fn is_quiet(&self) -> bool {
        self.slots.is_quiet() && self.held.is_empty()
    }

    /// A call that has begun and not settled.
    pub(in crate::run) fn get(&self, at: NodeRef) -> Option<&CallState> {
        self.calls.get(&at).map(|state| &**state)
    }

    /// All calls that have begun and not settled, with their steps.
    pub(in crate::run) fn iter(&self) -> impl Iterator<Item = (NodeRef, &CallState)> {
        self.calls.iter().map(|(at, state)| (*at, &**state))
    }

    /// Whether no call has begun and not settled.
    pub(in crate::run) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Stops a call without settling its step.
    pub(in crate::run) fn stop(&mut self, ctx: &mut Context, at: NodeRef) {
        self.slots.leave(ctx, at);
        self.stop_attempt(ctx, at);
    }

    /// Stops an attempt, and takes its call out of those that have begun.
    pub(in crate::run) fn stop_attempt(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
    ) -> Option<Box<CallState>> {
        let state = self.leave(ctx, at)?;
        if state.phase == Phase::InFlight {
            ctx.outbox.push(Command::StopCall(CallId {
                at,
                number: state.number,
            }));
        }
        Some(state)
    }

    /// Takes a call out of those that have begun, and gives its slot back.
    pub(in crate::run) fn leave(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
    ) -> Option<Box<CallState>> {
        let state = self.calls.remove(&at)?;
        if state.talks {
            ctx.then(Inquiry::PeerWithdrawn(at));
        }
        if state.has_slot() {
            self.slots.give(ctx, at.0);
        }
        Some(state)
    }

    /// Keeps a call without a slot, until it is known how it goes on.
    pub(in crate::run) fn put_aside(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        mut state: Box<CallState>,
    ) {
        (state.number, state.phase) = (ctx.schedule.number(), Phase::Waiting);
        ctx.tree.set_state(at, StepState::Waiting);
        self.calls.insert(at, state);
    }

    /// Ends a call that nobody waits for any more.
    pub(in crate::run) fn cut_off(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(state) = self.calls.get(&at) else {
            return;
        };
        let (is_held, may_land) = (state.is_held(), state.may_land());
        if is_held {
            retract(ctx, at);
        }
        ctx.tree.record_mut(at).in_doubt |= may_land;
        self.stop(ctx, at);
    }

    /// The call that an attempt in flight belongs to; none where it has ended.
    pub(in crate::run) fn flying(
        &mut self,
        CallId { at, number }: CallId,
    ) -> Option<&mut CallState> {
        let state = self.calls.get_mut(&at)?;
        (state.number == number && state.phase == Phase::InFlight).then_some(state)
    }

    /// This process lets go of the run: what has not gone out does not, and what the next process makes again is stopped.
    pub(in crate::run) fn suspend(&mut self, ctx: &mut Context) {
        while let Some(at) = self.held.pop_front() {
            if self.get(at).is_some_and(CallState::is_held) {
                retract(ctx, at);
            }
        }
        let stopped = self.calls.iter();
        for (at, state) in stopped.filter(|(_, state)| state.stops_with_its_process()) {
            let (at, number) = (*at, state.number);
            ctx.outbox.push(Command::StopCall(CallId { at, number }));
        }
    }
}

/// An attempt that was told of has not gone out.
pub(in crate::run) fn retract(ctx: &mut Context, at: NodeRef) {
    let path = ctx.tree.own_path(at);
    ctx.outbox
        .emit(EventKind::StepQueued { path: path.clone() });
}
