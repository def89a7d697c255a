//! Calls that an earlier process of the run has begun: they resume from their recorded state.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::types::{Effect, ErrorClass, Transient};
use planrun_lang::value::{Value, saturating_duration};

use super::attempt::call_failed;
use super::budget::refund_call;
use super::state::{CallState, Phase};
use super::take_over::note_made;
use super::{Calls, key_is_forgotten, outcome_unknown};
use crate::journal::{EventName, RecordedCall, RecordedPhase, StepError, Waiting};
use crate::run::agenda::{End, Inquiry};
use crate::run::compensation::lasting_undone;
use crate::run::context::Context;
use crate::run::copies::RepeatReason;
use crate::run::execution::{Execution, idempotency_key};
use crate::run::frame::NodeRef;
use crate::run::schedule::Timer;
use crate::run::sensitive::in_arguments;

impl Calls {
    /// Begins a recorded call with its arguments and its key, in its recorded phase. If the class of its tool has
    /// changed since it was sent, the stricter one counts: what was sent as an effect is not repeated.
    pub(in crate::run) fn begin_recorded(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        effect: Effect,
        path: Arc<str>,
        recorded: RecordedCall,
    ) {
        let effect = effect.max(recorded.effect);
        self.note_recorded(ctx, at, effect, &recorded);
        if !recorded.key.is_empty() {
            self.approvals.note_used(at, recorded.execution);
        }
        let labels = ctx
            .tree
            .step(&ctx.tree.program(at.0), at)
            .map(|step| in_arguments(step, &recorded.arguments))
            .unwrap_or_default();
        ctx.outbox.note_secrets(&recorded.arguments, &labels);
        let number = ctx.schedule.number();
        let key = if recorded.key.is_empty() {
            idempotency_key(&ctx.setup.run_id, effect, &path, recorded.execution)
        } else {
            recorded.key
        };
        let state = Box::new(CallState {
            number,
            phase: phase(recorded.phase),
            arrived: recorded.arrived,
            sent_at: recorded.sent_at,
            handle: recorded.handle,
            poll_error: recorded.poll_error,
            attempt: recorded.trial,
            has_peer_questions: !recorded.asked.is_empty(),
            ..CallState::new(
                (path.clone(), recorded.tool),
                effect,
                recorded.arguments,
                recorded.execution,
                key,
            )
        });
        ctx.tree.set_state(at, StepState::Running);
        ctx.tree.record_mut(at).note_open(at, &state);
        self.open.calls.insert(at, state);
        if !recorded.asked.is_empty() {
            ctx.then(Inquiry::ReplayPeerQuestions(at, recorded.asked));
        }
        match recorded.phase {
            RecordedPhase::Answered => ctx.outbox.recording.expect(path, at),
            RecordedPhase::InFlight | RecordedPhase::Ended | RecordedPhase::Cancelled => {}
            RecordedPhase::Waiting { since, wait } => {
                let recording = &ctx.outbox.recording;
                let asked = recording.question(&path, Waiting::Confirm, recorded.execution);
                // An earlier question is over: an attempt was sent on its answer.
                let has_asked = asked.is_some_and(|asked| asked.further);
                self.resume_wait(ctx, at, has_asked, (since, wait));
            }
        }
    }

    /// Begins a call that may have happened before its step was retried, and must not happen twice.
    pub(in crate::run) fn begin_in_doubt(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        effect: Effect,
        path: Arc<str>,
        open: Execution,
    ) {
        let key = idempotency_key(&ctx.setup.run_id, effect, &path, open.number);
        let (arguments, number) = (open.arguments, open.number);
        let undone = lasting_undone(ctx, open.at);
        let record = ctx.tree.record_mut(at);
        let details = record.details_mut();
        (details.arguments, details.undone) = (Some(arguments.clone()), undone);
        let mut state = Box::new(CallState::new(
            (path, open.tool),
            effect,
            arguments,
            number,
            key,
        ));
        state.arrived = open.arrived;
        record.note_open(at, &state);
        let recording = &ctx.outbox.recording;
        let is_recorded = recording.end_without_call(&state.path).is_some()
            || recording.has_unreplayed(EventName::StepWaiting, &state.path);
        if recording.is_replaying() && !is_recorded {
            // An earlier process has retried the step, and nothing else.
            state.phase = Phase::Lost;
            ctx.tree.set_state(at, StepState::Running);
            self.open.calls.insert(at, state);
            return;
        }
        self.open.slots.give(ctx, at.0);
        let error = maybe_sent(ctx, at, effect);
        outcome_unknown(ctx, at, state, Arc::new(error), true);
    }

    /// Resumes the wait of a recorded call for its next attempt or for an approval.
    fn resume_wait(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        has_asked: bool,
        (since, wait): (i128, Duration),
    ) {
        ctx.tree.set_state(at, StepState::Waiting);
        self.open.slots.give(ctx, at.0);
        if has_asked {
            return self.ask_again(ctx, at);
        }
        let Some(number) = self.open.get(at).map(|state| state.number) else {
            return;
        };
        let left = wait.saturating_sub(saturating_duration(ctx.outbox.now.wall - since));
        let again = Timer::NextAttempt(at, number);
        ctx.schedule.set(ctx.outbox.now.after(left), number, again);
    }

    /// Restores the record of a step from the attempts that an earlier process made.
    fn note_recorded(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        effect: Effect,
        recorded: &RecordedCall,
    ) {
        let record = ctx.tree.record_mut(at);
        let made = recorded.attempts.saturating_sub(record.attempts);
        record.attempts = recorded.attempts;
        record.in_doubt |= recorded.may_have_happened && !effect.is_read_only();
        if recorded.again.is_some() {
            record.details_mut().again = RepeatReason::ALL
                .into_iter()
                .find(|again| recorded.again.as_deref() == Some(again.name()));
        }
        if !matches!(&recorded.arguments, Value::Map(map) if map.is_empty()) {
            record.details_mut().arguments = Some(recorded.arguments.clone());
        }
        note_made(ctx, at, effect);
        self.budgets.spend(ctx, at.0, made, recorded.used);
        let program = ctx.tree.program(at.0);
        if let Some((.., tool)) = ctx.tree.tool_call(&program, at) {
            self.approvals.consent.spend(ctx, at, tool);
        }
    }

    /// Takes up the next call that an earlier process had sent without getting an answer; false if none is left. A call
    /// with a handle is reattached, a repeatable one is sent again, and the outcome of any other is unknown.
    pub(in crate::run) fn recover_next_lost(&mut self, ctx: &mut Context) -> bool {
        let Some(at) = self.open.next_lost() else {
            return false;
        };
        let is_lost = |state: &CallState| {
            matches!(state.phase, Phase::Lost | Phase::CutOff | Phase::Cancelled)
        };
        if self.open.get(at).is_some_and(is_lost)
            && let Some(state) = self.open.calls.remove(&at)
        {
            self.recover_lost(ctx, at, state);
        }
        true
    }

    fn recover_lost(&mut self, ctx: &mut Context, at: NodeRef, mut state: Box<CallState>) {
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        state.arrived = state.arrived.or(Some(state.sent_at));
        if state.phase == Phase::Lost && state.handle.is_some() {
            state.number = ctx.schedule.number();
            return self.dispatch(ctx, at, step, signature, state);
        }
        ctx.tree.record_mut(at).in_doubt |= !state.effect.is_read_only();
        let ending = ctx.tree[at.0].ending.is_some();
        let forgotten = key_is_forgotten(ctx, at, signature, &state);
        if state.effect.repeatable() && !ending && forgotten.is_none() {
            // The lost attempt is repeated, so it does not count.
            state.attempt = state.attempt.saturating_sub(1);
            if self.open.slots.give_excess(ctx, at.0) {
                let number = self.open.keep_without_slot(ctx, at, state);
                return self.open.slots.wait(ctx, at, Some(number));
            }
            return self.attempt(ctx, at, step, signature, state);
        }
        let error = forgotten.unwrap_or_else(|| maybe_sent(ctx, at, state.effect));
        self.open.slots.give(ctx, at.0);
        if error.class == ErrorClass::UnknownOutcome {
            outcome_unknown(ctx, at, state, Arc::new(error), true);
        } else {
            ctx.step_failed(at, Arc::new(error));
        }
    }

    pub(in crate::run) fn replay_answer(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        outcome: Result<Value, Arc<StepError>>,
    ) {
        let Some(state) = self.open.remove(ctx, at) else {
            return;
        };
        let details = ctx.tree.record(at).details();
        if details.is_some_and(|details| details.cached) {
            refund_call(ctx, at);
        }
        match outcome {
            Ok(value) => {
                ctx.tree.record_mut(at).note_success();
                ctx.settle(at, End::Completed(value));
            }
            Err(error) => {
                ctx.tree.record_mut(at).note_failure(state.effect, &error);
                if matches!(error.class, ErrorClass::Budget(_)) {
                    ctx.fatal(error.class.clone(), &error.message);
                }
                call_failed(ctx, at, state, error);
            }
        }
    }
}

/// Returns the phase in which a process takes up a recorded call.
fn phase(recorded: RecordedPhase) -> Phase {
    match recorded {
        RecordedPhase::InFlight => Phase::Lost,
        RecordedPhase::Ended => Phase::CutOff,
        RecordedPhase::Cancelled => Phase::Cancelled,
        RecordedPhase::Waiting { .. } => Phase::Waiting,
        RecordedPhase::Answered => Phase::Answered,
    }
}

/// Returns the failure of a call that may have happened, since it got no answer.
fn maybe_sent(ctx: &Context, at: NodeRef, effect: Effect) -> StepError {
    let attempts = ctx.tree.record(at).attempts;
    let message = if attempts == 0 {
        "it may have been done before the step was retried"
    } else {
        "the process that sent it ended before an answer arrived"
    };
    let class = ErrorClass::Transient(Transient::Network);
    let lost = CallError::new(class, message, Sent::Maybe);
    StepError::attempt(lost, effect, &ctx.tree.own_path(at), attempts)
}
