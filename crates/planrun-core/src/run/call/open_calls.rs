//! Open calls, which have begun and not settled, and their slots.

use std::collections::{HashMap, VecDeque};

use foldhash::fast::FixedState;
use planrun_lang::protocol::StepState;

use super::budget::{is_counted, refund_call};
use super::slots::Slots;
use super::state::{CallState, Phase};
use crate::journal::EventKind;
use crate::run::agenda::Inquiry;
use crate::run::command::{CallId, Command};
use crate::run::context::Context;
use crate::run::frame::NodeRef;

/// The open calls: those that have begun and not settled.
#[derive(Default)]
pub(in crate::run) struct OpenCalls {
    pub calls: HashMap<NodeRef, Box<CallState>, FixedState>,
    /// Calls that are ready and wait until their event is durable, or until the replay has ended, in the order in which
    /// they became ready.
    pub held: VecDeque<NodeRef>,
    pub slots: Slots,
    /// Calls whose answers an earlier process lost, which are taken up one after the other.
    lost: VecDeque<NodeRef>,
}

impl OpenCalls {
    /// Removes a call whose step has settled.
    pub(in crate::run) fn settled(&mut self, ctx: &mut Context, at: NodeRef) {
        self.calls.remove(&at);
        self.slots.remove(ctx, at);
    }

    /// Releases the slot of a call while its peer waits for a reply.
    pub(in crate::run) fn wait_for_reply(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(state) = self.calls.get_mut(&at) else {
            return;
        };
        state.has_peer_questions = true;
        if !std::mem::replace(&mut state.awaits_reply, true) {
            self.slots.give(ctx, at.0);
        }
    }

    /// Takes a slot again after the peer of a call has got its reply.
    pub(in crate::run) fn resume_after_reply(&mut self, ctx: &mut Context, at: NodeRef) {
        let awaits_reply = self.calls.get_mut(&at).map(|state| &mut state.awaits_reply);
        if awaits_reply.is_some_and(std::mem::take) {
            self.slots.hold(ctx, at.0);
        }
    }

    /// Takes the call of an attempt that has ended, and withdraws the question of its peer. The call holds a slot
    /// again, which the caller releases as for any other call.
    pub(in crate::run) fn take(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
    ) -> Option<Box<CallState>> {
        let mut state = self.calls.remove(&at)?;
        if state.has_peer_questions {
            ctx.then(Inquiry::PeerWithdrawn(at));
        }
        if std::mem::take(&mut state.awaits_reply) {
            self.slots.hold(ctx, at.0);
        }
        Some(state)
    }

    /// Returns the next call that an earlier process had sent without getting an answer. Everything that follows from
    /// one is done before the next is returned, in the same order as on replay.
    pub(in crate::run) fn next_lost(&mut self) -> Option<NodeRef> {
        let is_lost = |state: &CallState| {
            matches!(state.phase, Phase::Lost | Phase::CutOff | Phase::Cancelled)
        };
        if self.lost.is_empty() {
            self.lost = self.in_source_order(is_lost).into();
        }
        self.lost.pop_front()
    }

    /// Returns the steps of the open calls that fulfil a condition, in source order.
    fn in_source_order(&self, condition: impl Fn(&CallState) -> bool) -> Vec<NodeRef> {
        let calls = self.calls.iter().filter(|(_, state)| condition(state));
        let mut steps: Vec<NodeRef> = calls.map(|(at, _)| *at).collect();
        steps.sort_unstable();
        steps
    }

    /// Returns true if no call is ready to be sent or waits for a slot.
    pub(in crate::run) fn is_quiet(&self) -> bool {
        self.slots.is_quiet() && self.held.is_empty()
    }

    /// Returns the open call of a step.
    pub(in crate::run) fn get(&self, at: NodeRef) -> Option<&CallState> {
        self.calls.get(&at).map(|state| &**state)
    }

    /// Returns all open calls with their steps, in no particular order.
    pub(in crate::run) fn iter(&self) -> impl Iterator<Item = (NodeRef, &CallState)> {
        self.calls.iter().map(|(at, state)| (*at, &**state))
    }

    /// Returns true if there is no open call.
    pub(in crate::run) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Stops a call without settling its step.
    pub(in crate::run) fn stop(&mut self, ctx: &mut Context, at: NodeRef) {
        self.slots.remove(ctx, at);
        self.stop_attempt(ctx, at);
    }

    /// Stops an attempt, removes its call from the open calls and returns it.
    pub(in crate::run) fn stop_attempt(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
    ) -> Option<Box<CallState>> {
        let state = self.remove(ctx, at)?;
        if state.phase == Phase::InFlight {
            ctx.outbox.push(Command::StopCall(CallId {
                at,
                number: state.number,
            }));
        }
        Some(state)
    }

    /// Removes a call from the open calls, releases its slot and returns it.
    pub(in crate::run) fn remove(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
    ) -> Option<Box<CallState>> {
        let state = self.calls.remove(&at)?;
        if state.has_peer_questions {
            ctx.then(Inquiry::PeerWithdrawn(at));
        }
        if state.has_slot() {
            self.slots.give(ctx, at.0);
        }
        if is_counted(ctx, at, &state) {
            refund_call(ctx, at);
        }
        Some(state)
    }

    /// Keeps a call without a slot until it is known how it continues. Returns the number of its next attempt.
    pub(in crate::run) fn keep_without_slot(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        mut state: Box<CallState>,
    ) -> u64 {
        let number = ctx.schedule.number();
        (state.number, state.phase) = (number, Phase::Waiting);
        ctx.tree.set_state(at, StepState::Waiting);
        self.calls.insert(at, state);
        number
    }

    /// Ends a call whose result is no longer needed.
    pub(in crate::run) fn cut_off(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(state) = self.calls.get(&at) else {
            return;
        };
        ctx.tree.record_mut(at).in_doubt |= state.may_take_effect();
        self.stop(ctx, at);
    }

    /// Records that the announced attempt of a call is not sent, if it was not. What ends the call is recorded after
    /// that, so that a replay can tell.
    pub(in crate::run) fn retract(&self, ctx: &mut Context, at: NodeRef) {
        if self.get(at).is_some_and(CallState::is_held) {
            let path = ctx.tree.own_path(at);
            ctx.outbox.emit(EventKind::StepQueued { path });
        }
    }

    /// Returns the call of an attempt in flight; `None` if the attempt has ended.
    pub(in crate::run) fn in_flight(
        &mut self,
        CallId { at, number }: CallId,
    ) -> Option<&mut CallState> {
        let state = self.calls.get_mut(&at)?;
        (state.number == number && state.phase == Phase::InFlight).then_some(state)
    }

    /// Suspends the calls with the run: held attempts are not sent, and attempts that the next process makes again are
    /// stopped.
    pub(in crate::run) fn suspend(&mut self, ctx: &mut Context) {
        while let Some(at) = self.held.pop_front() {
            self.retract(ctx, at);
        }
        for at in self.in_source_order(CallState::stops_on_suspend) {
            if let Some(CallState { number, .. }) = self.get(at) {
                let number = *number;
                ctx.outbox.push(Command::StopCall(CallId { at, number }));
            }
        }
    }
}
