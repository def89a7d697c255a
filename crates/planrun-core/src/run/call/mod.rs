//! Calls of tools: the checks before an attempt, and starting them.

pub(super) mod approval;
pub(super) mod attempt;
pub(super) mod budget;
pub(super) mod open_calls;
pub(super) mod poll;
pub(super) mod reattach;
pub(super) mod recall;
pub(super) mod slots;
pub(super) mod state;
pub(super) mod take_over;

use std::cmp::Reverse;
use std::sync::Arc;

use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{Call, Step};
use planrun_lang::types::{ErrorClass, Signature};
use planrun_lang::value::{Value, saturating_duration};

use self::approval::{Approvals, Verdict};
use self::budget::{Budgets, is_counted, refund_call};
use self::open_calls::OpenCalls;
use self::state::CallState;
use self::take_over::{is_copied, is_kept};
use crate::journal::{EndWithoutCall, EventKind, Question, RecordedCall, StepError, Waiting};
use crate::run::agenda::{Inquiry, Next, Subject};
use crate::run::context::Context;
use crate::run::duration_text::short_duration;
use crate::run::execution::{Execution, idempotency_key};
use crate::run::frame::NodeRef;
use crate::run::program::Program;
use crate::run::reached::Reached;
use crate::run::recording::LeftQueue;
use crate::run::step_limit;

/// The calls of tools, their approvals and budgets.
#[derive(Default)]
pub(in crate::run) struct Calls {
    pub open: OpenCalls,
    pub approvals: Approvals,
    pub budgets: Budgets,
    /// Whether a call was sent whose answer may already have arrived.
    pub called: bool,
}

impl Calls {
    /// Starts a call if a slot is free; otherwise queues it.
    pub(in crate::run) fn start(&mut self, ctx: &mut Context, program: &Program, at: NodeRef) {
        self.open.slots.clear_woken(at);
        if ctx.is_suspended() {
            // The next process begins with this call.
            return;
        }
        if !self.gets_slot(ctx, at) {
            return;
        }
        if step_limit::exceeds(ctx, at) {
            return ctx.then(Next::GiveSlot(at.0));
        }
        match ctx.note_start(program, at) {
            Ok(is_first) => {
                if is_first {
                    ctx.commit(Subject::Step(at));
                }
                ctx.then(Next::BeginCall(at));
            }
            Err(error) => {
                self.open.slots.give(ctx, at.0);
                ctx.expression_failed(at, &error);
            }
        }
    }

    /// Takes a slot for a call that begins, or queues the call.
    fn gets_slot(&mut self, ctx: &mut Context, at: NodeRef) -> bool {
        let recording = &ctx.outbox.recording;
        let is_recorded = recording.is_replaying() || recording.has_begun(&ctx.tree.own_path(at));
        if is_recorded {
            return self.gets_slot_again(ctx, at);
        }
        self.gets_free_slot(ctx, at)
    }

    fn gets_free_slot(&mut self, ctx: &mut Context, at: NodeRef) -> bool {
        let is_free = self.open.slots.take(ctx, at.0);
        if !is_free {
            self.open.slots.wait(ctx, at, None);
            let path = ctx.tree.own_path(at);
            ctx.outbox.emit(EventKind::StepQueued { path });
        }
        is_free
    }

    /// Takes a slot in a replay, or for a recorded call. A recorded call gets one at once, because its answer is
    /// replayed at its place, and so does a step that has asked or ended before its first attempt. One that had to wait
    /// gets it where it is recorded to have gone on, so that its time begins there, or after the replay.
    fn gets_slot_again(&mut self, ctx: &mut Context, at: NodeRef) -> bool {
        let path = ctx.tree.own_path(at);
        let recording = &ctx.outbox.recording;
        // A process that drove the run only up to a step may have left it alone. The search of the cache is not recorded.
        let end = recording.end_without_call(&path);
        let execution = ctx.executions.first(&path);
        let has_asked = recording
            .question(&path, Waiting::Confirm, execution)
            .is_some();
        let is_left =
            end == Some(EndWithoutCall::Cancelled) && !has_asked && !searches_cache(ctx, at);
        let left = recording.left_queue(&path);
        let is_recorded = match left.or_else(|| is_left.then_some(LeftQueue::Never)) {
            Some(_) if self.open.slots.is_released(at) || step_limit::is_next(recording, &path) => {
                true
            }
            Some(left) => {
                self.open.slots.wait_in_replay(ctx, at, left);
                return false;
            }
            None => recording.has_begun(&path) || end.is_some() || has_asked,
        };
        if is_recorded {
            self.open.slots.hold(ctx, at.0);
        } else if ctx.setup.replay_only && !searches_cache(ctx, at) {
            // The next process begins it.
            return false;
        } else if !self.gets_free_slot(ctx, at) {
            return false;
        }
        ctx.outbox.recording.begin_unqueued(&path);
        true
    }

    /// Begins the work of a call that holds a slot.
    pub(in crate::run) fn begin(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some((step, call, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        let path = ctx.tree.path(&program, at);
        let open = open_execution(ctx, at, &path);
        if let Some(open) = open.as_ref().filter(|open| open.at != at) {
            ctx.then(Inquiry::HandOver(open.at));
        }
        if ctx.executions.in_doubt(&path, call.effect).is_some()
            && let Some(open) = open
        {
            if is_kept(ctx, at, &path, &open.arguments) {
                ctx.tree.record_mut(at).details_mut().execution = Some(open);
                return ctx.then(Next::GiveSlot(at.0));
            }
            return self.begin_in_doubt(ctx, at, call.effect, path, open);
        }
        let recorded = ctx.outbox.recording.begun(&path);
        let was_cached = recorded.as_ref().is_some_and(|recorded| recorded.cached);
        if let Some(recorded) = recorded.filter(|recorded| !recorded.cached) {
            return self.begin_recorded(ctx, at, call.effect, path, recorded);
        }
        let known = open.as_ref().map(|open| open.arguments.clone());
        let known = known.or_else(|| self.approvals.arguments(at));
        let arguments = match known.map_or_else(|| ctx.arguments(at, call, signature), Ok) {
            Ok(arguments) => arguments,
            Err(error) => {
                self.open.slots.give(ctx, at.0);
                return ctx.step_failed(at, error);
            }
        };
        if is_copied(ctx, at, &path, (call, signature), &arguments) {
            return ctx.then(Next::GiveSlot(at.0));
        }
        let state = new_state(ctx, at, (path, call, signature), arguments, open.as_ref());
        if was_cached {
            return self.replay_recall(ctx, at, state);
        }
        if was_refused(ctx, &state) {
            // Nothing was found in the cache.
            return self.attempt(ctx, at, step, signature, state);
        }
        match self.unless_cached(ctx, at, step, state) {
            Ok(Some(state)) => self.attempt(ctx, at, step, signature, state),
            Ok(None) => {}
            Err(error) => {
                self.open.slots.give(ctx, at.0);
                ctx.expression_failed(at, &error);
            }
        }
    }

    /// Returns the call if it is approved as it is; otherwise asks again, or fails the step, and returns `None`.
    pub(in crate::run) fn with_approval(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        state: Box<CallState>,
    ) -> Option<Box<CallState>> {
        let verdict = self.approvals.check(ctx, at, step, &state);
        if !matches!(verdict, Verdict::Free) && is_counted(ctx, at, &state) {
            refund_call(ctx, at);
        }
        match verdict {
            Verdict::Free => return Some(state),
            Verdict::Expired(error) => {
                self.open.slots.give(ctx, at.0);
                ctx.step_failed(at, error);
            }
            Verdict::AskAgain => {
                self.open.slots.give(ctx, at.0);
                self.open.keep_without_slot(ctx, at, state);
                self.ask_again(ctx, at);
            }
        }
        None
    }

    /// Returns true if a call was approved, and its next attempt belongs to another execution.
    pub(in crate::run) fn must_ask_again(&self, ctx: &Context, at: NodeRef) -> bool {
        let program = ctx.tree.program(at.0);
        let (Some(state), Some(step)) = (self.open.calls.get(&at), ctx.tree.step(&program, at))
        else {
            return false;
        };
        self.approvals.is_for_another(ctx, at, step, state)
    }

    /// Asks before another execution of a call that has begun.
    pub(in crate::run) fn ask_again(&self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        if let (Some(state), Some(step)) = (self.open.calls.get(&at), ctx.tree.step(&program, at)) {
            self.approvals.ask_for_another(ctx, at, step, state);
        }
    }

    /// Continues after an approval: a call that has begun is resumed, any other step begins.
    pub(in crate::run) fn approved(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        question: Arc<Question>,
    ) {
        ctx.reached(at, Reached::Approved);
        self.approvals.approve(at, question);
        if let Some(state) = self.open.calls.get(&at) {
            if was_refused(ctx, state) {
                // No other event tells that it went on.
                self.open.slots.hold(ctx, at.0);
                return self.begin_again(ctx, at);
            }
            return ctx.wake_call(at, state.number);
        }
        ctx.tree.set_state(at, StepState::Pending);
        ctx.schedule.ready.push(Reverse(at));
    }

    /// Sends the same execution again, with its key and arguments, after it was found not to have taken effect.
    pub(in crate::run) fn send_again(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(state) = self.open.calls.get_mut(&at) else {
            return;
        };
        state.sends += 1;
        state.forget_attempts();
        let number = state.number;
        self.again(ctx, at, number);
    }

    /// Replays [`Self::send_again`] of an earlier process.
    pub(in crate::run) fn resend_recorded(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        path: Arc<str>,
        recorded: RecordedCall,
    ) {
        let Some(state) = self.open.calls.remove(&at) else {
            return;
        };
        self.open.slots.hold(ctx, at.0);
        self.begin_recorded(ctx, at, state.effect, path, recorded);
        if let Some(again) = self.open.calls.get_mut(&at) {
            again.sends = state.sends + 1;
        }
    }
}

/// Returns the state of a call that begins with these arguments, or goes on with an open execution.
fn new_state(
    ctx: &mut Context,
    at: NodeRef,
    (path, call, signature): (Arc<str>, &Call, &Arc<Signature>),
    arguments: Value,
    open: Option<&Execution>,
) -> Box<CallState> {
    if !call.arguments.is_empty() {
        ctx.tree.record_mut(at).details_mut().arguments = Some(arguments.clone());
    }
    let execution = ctx.executions.first(&path);
    let key = idempotency_key(&ctx.setup.run_id, call.effect, &path, execution);
    let named = (path, ctx.tree.scope_mut(at.0).tool_name(signature));
    let state = CallState::new(named, call.effect, arguments, execution, key);
    Box::new(CallState {
        arrived: open.and_then(|open| open.arrived),
        ..state
    })
}

/// Returns true if an earlier process has refused to send a call.
fn was_refused(ctx: &Context, call: &CallState) -> bool {
    let end = ctx.outbox.recording.end_without_call(&call.path);
    matches!(
        end,
        Some(EndWithoutCall::ApprovalExpired | EndWithoutCall::BudgetSpent)
    )
}

/// Returns true if a step looks for a cached result before its call.
fn searches_cache(ctx: &Context, at: NodeRef) -> bool {
    let program = ctx.tree.program(at.0);
    let step = ctx.tree.step(&program, at);
    step.is_some_and(|step| step.cache().is_some())
}

/// Ends the execution of a call if a patch has made it another call, which needs its own key and approval.
pub(in crate::run) fn end_if_replaced(ctx: &mut Context, program: &Program, at: NodeRef) {
    let path = ctx.tree.own_path(at);
    let replay = ctx.outbox.recording.replay();
    let is_patched = replay.is_some_and(|replay| replay.patched.is_some());
    if !is_patched || ctx.executions.open(&path).is_none() {
        return;
    }
    if let Some((_, call, signature)) = ctx.tree.tool_call(program, at)
        && let Ok(arguments) = ctx.arguments(at, call, signature)
    {
        ctx.executions
            .replaced(&path, &signature.path(), &arguments);
    }
}

/// Returns the open execution that a call continues.
fn open_execution(ctx: &mut Context, at: NodeRef, path: &str) -> Option<Execution> {
    let open = ctx.executions.open(path)?.clone();
    ctx.tree.record_mut(at).in_doubt |= open.in_doubt;
    Some(open)
}

/// Requests handling of a call whose outcome is unknown. `orphaned`: the process that had sent it is gone.
pub(in crate::run) fn outcome_unknown(
    ctx: &mut Context,
    at: NodeRef,
    call: Box<CallState>,
    error: Arc<StepError>,
    orphaned: bool,
) {
    ctx.then(Inquiry::OutcomeUnknown {
        at,
        call,
        error,
        orphaned,
    });
}

/// Turns the call into its next execution.
pub(in crate::run) fn next_execution(ctx: &Context, state: &mut CallState) {
    let execution = state.execution + 1;
    let key = idempotency_key(&ctx.setup.run_id, state.effect, &state.path, execution);
    state.begin_execution(execution, key);
}

/// Returns why a call may not be sent again: its key reached the peer so long ago that the peer may have forgotten it,
/// and would treat the repetition as another call.
pub(in crate::run) fn key_is_forgotten(
    ctx: &Context,
    at: NodeRef,
    signature: &Signature,
    state: &CallState,
) -> Option<StepError> {
    let (ttl, arrived) = (signature.key_ttl?, state.arrived?);
    let age = ctx.outbox.now.wall - arrived;
    if state.effect.is_read_only() || age < i128::try_from(ttl.as_nanos()).unwrap_or(i128::MAX) {
        return None;
    }
    let message = format!(
        "it is unknown whether this happened: it was sent {} ago, but `{}` recognizes a repetition only for {}",
        short_duration(saturating_duration(age)),
        signature.path(),
        short_duration(ttl),
    );
    let attempt = ctx.tree.record(at).attempts;
    let error = StepError::new(ErrorClass::UnknownOutcome, message, &ctx.tree.own_path(at));
    Some(StepError {
        attempt,
        sent: Sent::Maybe,
        ..error
    })
}
