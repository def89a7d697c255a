//! Attempts at calls: sending them, receiving their answers, and retrying.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::{CallOutcome, sensitive_arguments};
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::Step;
use planrun_lang::types::{Effect, ErrorClass, Signature, Validation};
use planrun_lang::value::{Value, saturating_duration};
use serde_json::Value as Json;

use super::budget::{budget_is_spent, is_counted, used_by};
use super::recall::remember;
use super::state::{CallState, Phase};
use super::take_over::note_made;
use super::{Calls, key_is_forgotten, next_execution, outcome_unknown};
use crate::journal::{ARGUMENTS, Dispatch, EventKind, StepError, Used, Waiting};
use crate::run::agenda::{End, Next};
use crate::run::arguments::{format_note, result};
use crate::run::command::{CallId, CallRequest, Command};
use crate::run::context::Context;
use crate::run::copies::RepeatReason;
use crate::run::frame::{FrameId, NodeRef};
use crate::run::program::Program;
use crate::run::reached::Reached;
use crate::run::schedule::Timer;
use crate::run::sensitive::below;

impl Calls {
    /// Makes the next attempt at a call that holds a slot.
    pub(in crate::run) fn attempt(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        state: Box<CallState>,
    ) {
        let Some(mut state) = self.with_approval(ctx, at, step, state) else {
            return;
        };
        if let Some(error) = key_is_forgotten(ctx, at, signature, &state) {
            self.open.slots.give(ctx, at.0);
            return outcome_unknown(ctx, at, state, Arc::new(error), false);
        }
        if !is_counted(ctx, at, &state) {
            if budget_is_spent(ctx, at) {
                return ctx.then(Next::GiveSlot(at.0));
            }
            self.budgets.spend(ctx, at.0, 1, Used::default());
        }
        self.approvals.consent.spend(ctx, at, signature);
        note_made(ctx, at, state.effect);
        state.attempt += 1;
        state.number = ctx.schedule.number();
        (state.handle, state.has_reported_usage) = (None, false);
        if !state.effect.is_read_only() {
            state.sent_at = ctx.outbox.now.wall;
        }
        ctx.tree.set_state(at, StepState::Running);
        ctx.tree.record_mut(at).attempts += 1;
        let event = announce(ctx, at, signature, &state);
        ctx.tree.record_mut(at).note_open(at, &state);
        // A call without effects may usually be sent at once; any other only when its event is durable.
        let needed = if state.effect.is_read_only() {
            ctx.outbox.recording.sends_after
        } else {
            event
        };
        if ctx.outbox.recording.is_replaying() || needed > ctx.outbox.recording.durable() {
            state.phase = Phase::Held(needed);
            self.open.calls.insert(at, state);
            self.open.held.push_back(at);
            return;
        }
        self.dispatch(ctx, at, step, signature, state);
    }

    /// Sends held attempts whose events are durable, and begins lookups of cached results that were held back.
    pub(in crate::run) fn send_held(&mut self, ctx: &mut Context) {
        if ctx.outbox.recording.is_replaying() || ctx.is_suspended() {
            return;
        }
        let durable = ctx.outbox.recording.durable();
        for _ in 0..self.open.held.len() {
            let Some(at) = self.open.held.pop_front() else {
                return;
            };
            let Some(state) = self.open.calls.get(&at) else {
                continue;
            };
            match state.phase {
                Phase::Held(needed) if needed > durable => self.open.held.push_back(at),
                Phase::Held(_) => {
                    let Some(state) = self.open.calls.remove(&at) else {
                        continue;
                    };
                    let program = ctx.tree.program(at.0);
                    let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
                        continue;
                    };
                    self.dispatch(ctx, at, step, signature, state);
                }
                Phase::ToRecall(age) => self.recall(ctx, at, age),
                Phase::InFlight
                | Phase::Recalling
                | Phase::Waiting
                | Phase::Answered
                | Phase::Lost
                | Phase::CutOff
                | Phase::Cancelled => {}
            }
        }
    }

    pub(in crate::run) fn dispatch(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        mut state: Box<CallState>,
    ) {
        state.phase = Phase::InFlight;
        let call = CallId {
            at,
            number: state.number,
        };
        ctx.outbox.push(Command::Call(CallRequest {
            call,
            scope: ctx.tree[at.0].scope,
            path: state.path.clone(),
            signature: signature.clone(),
            arguments: state.arguments.clone(),
            key: state.key.clone(),
            handle: state.handle.clone(),
            timeout: timeout(ctx, at.0, step),
        }));
        self.called = !ctx.in_order;
        self.open.calls.insert(at, state);
    }

    /// Records the handle of an attempt.
    pub(in crate::run) fn handle_given(&mut self, ctx: &mut Context, call: CallId, handle: Json) {
        let Some(state) = self.open.in_flight(call) else {
            return;
        };
        state.handle = Some(handle.clone());
        let path = ctx.tree.own_path(call.at);
        ctx.outbox.emit(EventKind::HandleGiven { path, handle });
    }

    /// Records usage that a call reports during an attempt.
    pub(in crate::run) fn usage_reported(&mut self, ctx: &mut Context, call: CallId, used: Used) {
        let Some(state) = self.open.in_flight(call) else {
            return;
        };
        state.has_reported_usage = true;
        self.budgets.report_usage(ctx, call.at, used);
    }

    /// Takes an answer from outside. An answer to an attempt that is no longer in flight is dropped.
    pub(in crate::run) fn receive(
        &mut self,
        ctx: &mut Context,
        CallId { at, number }: CallId,
        outcome: CallOutcome,
    ) {
        let Some(state) = self.open.in_flight(CallId { at, number }) else {
            return;
        };
        if ctx.is_suspended() && state.effect.repeatable() {
            // The attempt was stopped, and the next process makes it again. The call stays open, since an answer may
            // still cancel its step.
            return;
        }
        let Some(state) = self.open.take(ctx, at) else {
            return;
        };
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        self.attempt_ended(ctx, &program, at, (step, signature), state, outcome);
    }

    fn attempt_ended(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        (step, signature): (&Step, &Arc<Signature>),
        mut state: Box<CallState>,
        outcome: CallOutcome,
    ) {
        let scope = ctx.tree[at.0].scope;
        self.open.slots.give(ctx, at.0);
        let max_result = ctx.tree.scopes[scope].policy.max_result;
        let attempts = ctx.tree.record(at).attempts;
        match outcome {
            Ok(answer) => {
                if !state.has_reported_usage {
                    self.budgets
                        .report_usage(ctx, at, used_by(signature, &answer));
                }
                let note = format_note(signature, &answer);
                match result(signature, answer, max_result) {
                    Ok(value) => {
                        if let Some(note) = note {
                            ctx.outbox.emit(EventKind::ResultNoted {
                                path: state.path.clone(),
                                note: note.into(),
                            });
                        }
                        self.answered(ctx, program, at, (step, signature), state, value);
                    }
                    Err(fault) => {
                        let mut error = StepError::new(
                            ErrorClass::Validation(Validation::Result),
                            fault,
                            &state.path,
                        );
                        (error.attempt, error.sent) = (attempts, Sent::Answered);
                        ctx.tree.record_mut(at).note_failure(state.effect, &error);
                        ctx.step_failed(at, Arc::new(error));
                    }
                }
            }
            Err(error) => {
                ctx.reached(at, Reached::Failed(error.class.clone()));
                let error = StepError::attempt(error, state.effect, &state.path, attempts);
                let error = Arc::new(error);
                if error.sent != Sent::No {
                    state.arrived = state.arrived.or(Some(state.sent_at));
                }
                ctx.tree.record_mut(at).note_open(at, &state);
                ctx.tree.record_mut(at).note_failure(state.effect, &error);
                self.attempt_failed(ctx, at, (step, signature), state, error);
            }
        }
    }

    fn answered(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        (step, signature): (&Step, &Arc<Signature>),
        state: Box<CallState>,
        value: Value,
    ) {
        ctx.tree.record_mut(at).note_success();
        remember(ctx, at, (step, signature), &state, &value);
        let Some(until) = step.until() else {
            return ctx.settle(at, End::Completed(value));
        };
        if let Some(place) = ctx
            .tree
            .node(program, at)
            .slot
            .and_then(|slot| ctx.tree[at.0].slots.get_mut(slot as usize))
        {
            *place = value.clone();
        }
        match ctx.tree.evaluate(at.0, &until.condition) {
            Ok(Value::Bool(true)) => ctx.settle(at, End::Completed(value)),
            Ok(_) => self.poll_again(ctx, at, until, state, None),
            Err(error) => ctx.expression_failed(at, &error),
        }
    }

    fn attempt_failed(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        (step, signature): (&Step, &Signature),
        mut state: Box<CallState>,
        error: Arc<StepError>,
    ) {
        let policy = &ctx.tree.scope(at.0).policy;
        let (backoff, on) =
            policy.backoff(ctx.setup.defaults.retry_of(step, signature), state.effect);
        let is_retried = on.iter().any(|pattern| pattern.matches(&error.class));
        // A call that may have taken effect is not simply repeated, even if the plan retries its error.
        let broken = error.class == ErrorClass::Validation(Validation::Result)
            && error.sent == Sent::Answered;
        let unknown = error.class == ErrorClass::UnknownOutcome || broken;
        let ending = ctx.tree[at.0].ending.is_some();
        if let Some(until) = step
            .until()
            .filter(|_| !ending && matches!(error.class, ErrorClass::Transient(_)))
        {
            return self.poll_again(ctx, at, until, state, Some(error));
        }
        if ending || unknown || !is_retried || !error.is_value() {
            return call_failed(ctx, at, state, error);
        }
        if state.attempt >= backoff.attempts {
            if ctx.pauses_when_exhausted(at, &error) && !ctx.can_park(at.0) {
                let message = format!(
                    "{} (the run would be paused here, but it has no journal)",
                    error.message
                );
                return ctx.step_failed(
                    at,
                    Arc::new(StepError {
                        message: message.into(),
                        ..(*error).clone()
                    }),
                );
            }
            return ctx.step_failed(at, error);
        }
        let wait = crate::run::failure::wait(
            &backoff,
            &ctx.setup.run_id,
            &error.step,
            state.attempt,
            error.retry_after,
        );
        // The execution ends only if the contract says that nothing has happened; otherwise the next attempt keeps its
        // key.
        if error.ends_execution() {
            next_execution(ctx, &mut state);
        }
        self.wait(ctx, at, state, Waiting::Retry, wait, Some(error));
    }

    /// Waits for the next attempt or poll.
    pub(in crate::run) fn wait(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        mut state: Box<CallState>,
        what: Waiting,
        wait: Duration,
        error: Option<Arc<StepError>>,
    ) {
        state.number = ctx.schedule.number();
        state.phase = Phase::Waiting;
        ctx.tree.set_state(at, StepState::Waiting);
        let attempt = ctx.tree.record(at).attempts;
        ctx.outbox.emit(EventKind::StepWaiting {
            path: state.path.clone(),
            attempt,
            what,
            wait,
            error,
        });
        ctx.after(wait, Timer::NextAttempt(at, state.number));
        self.open.calls.insert(at, state);
    }

    /// Makes the next attempt, after the wait for it.
    pub(in crate::run) fn again(&mut self, ctx: &mut Context, at: NodeRef, number: u64) {
        if self
            .open
            .calls
            .get(&at)
            .is_none_or(|state| state.number != number)
        {
            return;
        }
        self.open.slots.clear_woken(at);
        if self.must_ask_again(ctx, at) {
            return self.ask_again(ctx, at);
        }
        if !self.open.slots.take(ctx, at.0) {
            self.open.slots.wait(ctx, at, Some(number));
            return;
        }
        self.begin_again(ctx, at);
    }

    /// Makes the next attempt at a call that waits and holds a slot.
    pub(in crate::run) fn begin_again(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(state) = self.open.calls.remove(&at) else {
            return;
        };
        // It waits neither for its next attempt nor for a slot, so a spent budget fails it.
        ctx.tree.set_state(at, StepState::Running);
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        self.attempt(ctx, at, step, signature, state);
    }
}

/// Emits the event of an attempt before the attempt is made. Returns the number of the event.
fn announce(ctx: &mut Context, at: NodeRef, signature: &Arc<Signature>, state: &CallState) -> u64 {
    if ctx.outbox.recording.is_silent() {
        return 0;
    }
    let call = Dispatch {
        execution: state.execution,
        trial: state.attempt,
        key: state.key.clone(),
        effect: state.effect,
        arguments: state.arguments.clone(),
        again: repeat_reason(ctx, at).map(Into::into),
    };
    let labels = below(ARGUMENTS, &sensitive_arguments(signature, &state.arguments));
    let kind = EventKind::StepRunning {
        path: state.path.clone(),
        tool: ctx.tree.scope_mut(at.0).tool_name(signature),
        attempt: ctx.tree.record(at).attempts,
        call: Some(call),
    };
    ctx.outbox.emit_labelled(kind, labels)
}

/// Handles the failure of a call that is not retried.
pub(in crate::run) fn call_failed(
    ctx: &mut Context,
    at: NodeRef,
    state: Box<CallState>,
    error: Arc<StepError>,
) {
    if error.class == ErrorClass::UnknownOutcome {
        return outcome_unknown(ctx, at, state, error, false);
    }
    ctx.step_failed(at, error);
}

fn timeout(ctx: &Context, frame: FrameId, step: &Step) -> Duration {
    let own = step
        .timeout()
        .map(|timeout| ctx.tree.evaluate(frame, timeout));
    match own {
        Some(Ok(Value::Duration(nanos))) => saturating_duration(nanos),
        // A pure call bounds its own duration, as `sys.sleep` does; only an answer that can be lost needs a timeout.
        _ if step.effect == Effect::Pure => Duration::MAX,
        _ => ctx.tree.scope(frame).policy.timeout,
    }
}

/// Returns why a call is made although another run has already made it.
fn repeat_reason(ctx: &Context, (frame, node): NodeRef) -> Option<&'static str> {
    ctx.tree
        .record((frame, node))
        .details()?
        .again
        .map(RepeatReason::name)
}
