//! The life cycle of a step, whatever kind of work it does: start, failure, timeout, cancellation.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{BlockId, OnFailure, Step, StepKind, Target, Wait};
use planrun_lang::types::{ErrorClass, Transient, Validation};

use super::agenda::{End, Inquiry, Next, Subject, Withdrawal};
use super::block::{Blocks, call_plan};
use super::call::state::CallState;
use super::call::take_over::is_kept;
use super::call::{Calls, end_if_replaced, outcome_unknown};
use super::context::Context;
use super::frame::{Ending, Frame, FrameId, NodeRef, Role, WHOLE_RUN};
use super::park::Parking;
use super::peer::Peers;
use super::people::People;
use super::program::Program;
use super::reached::Reached;
use super::signal::Waits;
use super::step_limit;
use super::task::Tasks;
use super::unknown_outcome::{UnknownOutcomes, outranks_first_failure};
use crate::journal::{Bound, EventKind, StepError, Waiting};

/// The concepts that work for steps, or that steps wait for.
pub(super) struct Steps {
    pub calls: Calls,
    pub blocks: Blocks,
    pub people: People,
    /// Questions that peers ask during calls.
    pub peers: Peers,
    pub waits: Waits,
    pub unknown: UnknownOutcomes,
    pub parking: Parking,
}

impl Steps {
    pub(super) fn new(people: People) -> Self {
        Self {
            calls: Calls::default(),
            blocks: Blocks::default(),
            people,
            peers: Peers::default(),
            waits: Waits::default(),
            unknown: UnknownOutcomes::default(),
            parking: Parking::default(),
        }
    }

    /// Starts a step, unless it has to be approved first.
    pub(super) fn start(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
    ) {
        if ctx.setup.replay_only && !may_have_begun(ctx, at, step) {
            // The next process begins it.
            return;
        }
        end_if_replaced(ctx, program, at);
        if self.calls.approvals.must_be_asked(ctx, program, at, step) {
            return;
        }
        let tool = if let StepKind::Call(call) = &step.kind {
            match &call.target {
                Target::Tool(_) => return self.calls.start(ctx, program, at),
                Target::Plan(_, name) => name.clone(),
            }
        } else {
            "".into()
        };
        if step_limit::exceeds(ctx, at) {
            return;
        }
        match ctx.note_start(program, at) {
            Ok(false) => {}
            Ok(true) => {
                self.blocks.begin(at);
                ctx.outbox.emit(EventKind::StepRunning {
                    path: ctx.tree.path(program, at),
                    tool,
                    attempt: 1,
                    call: None,
                });
                ctx.commit(Subject::Step(at));
            }
            Err(error) => return ctx.expression_failed(at, &error),
        }
        ctx.then(Next::BeginBlock(at));
    }

    /// Begins the work of a step that calls no tool.
    pub(super) fn begin(&mut self, ctx: &mut Context, tasks: &Tasks, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let Some(step) = ctx.tree.step(&program, at) else {
            return;
        };
        if matches!(step.kind, StepKind::Input(_) | StepKind::Wait(_)) {
            let (path, none) = (ctx.tree.own_path(at), ctx.no_arguments.clone());
            if is_kept(ctx, at, &path, &none) {
                return;
            }
        }
        match &step.kind {
            StepKind::Call(call) => {
                if let Target::Plan(index, _) = &call.target {
                    call_plan(ctx, &program, at, call, *index);
                }
            }
            StepKind::Do(body) => ctx.then(Next::OpenBody(at, *body, Role::Body)),
            StepKind::Each(each) => self.blocks.start_each(ctx, &program, at, each),
            StepKind::Repeat(repeat) => self.blocks.start_repeat(ctx, &program, at, repeat),
            StepKind::Race(branches) => self.blocks.start_race(ctx, at, branches),
            StepKind::Match { subject, arms } => {
                let value = match ctx.tree.evaluate(at.0, subject) {
                    Ok(value) => value,
                    Err(error) => return ctx.expression_failed(at, &error),
                };
                if let Some(arm) = arms.iter().position(|(pattern, _)| pattern.matches(&value)) {
                    let (_, body) = &arms[arm];
                    ctx.reached(at, Reached::Arm(arm));
                    ctx.then(Next::OpenBody(at, *body, Role::Body));
                } else {
                    let message = format!("no arm matches {}", value.preview(80));
                    let error = EvalError::new(FailureKind::NoOverload, message, subject.span);
                    ctx.expression_failed(at, &error);
                }
            }
            StepKind::Input(input) => self.people.start_input(ctx, at, step, input),
            StepKind::Wait(wait) => match &**wait {
                Wait::Event { on, .. } => self.waits.start(ctx, tasks, at, on),
                Wait::For(moment) | Wait::Until(moment) => {
                    self.people.start_sleep(ctx, at, moment);
                }
            },
            StepKind::Damaged => {
                let path = ctx.tree.path(&program, at);
                let message = "a step with errors cannot run";
                let error = StepError::new(ErrorClass::Internal, message, &path);
                ctx.step_failed(at, Arc::new(error));
            }
        }
    }

    /// Cleans up after a step that has settled. What had to be stopped for its end was stopped before.
    pub(super) fn settled(&mut self, ctx: &mut Context, at: NodeRef) {
        self.calls.open.settled(ctx, at);
        self.release(ctx, at);
    }

    /// Stops whatever a step does, because it is parked or out of time.
    fn stop(&mut self, ctx: &mut Context, at: NodeRef) {
        self.calls.open.stop(ctx, at);
        self.release(ctx, at);
    }

    /// Forgets what the concepts hold for a step that stops, except for its call.
    fn release(&mut self, ctx: &mut Context, at: NodeRef) {
        ctx.schedule.within.remove(&at);
        self.unknown.remove(at);
        self.waits.remove(at);
        self.calls.approvals.withdraw(ctx, at);
        self.forget_peer(ctx, at);
        self.people.cancel_wait(ctx, at);
        self.blocks.settled(at);
    }

    /// Handles the failure of a step: the first arm that catches it recovers the step, otherwise the step fails for
    /// good.
    pub(super) fn failed(&mut self, ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
        let program = ctx.tree.program(at.0);
        let Some(step) = ctx.tree.step(&program, at) else {
            return;
        };
        ctx.reached(at, Reached::Failed(error.class.clone()));
        self.waits.remove(at);
        let is_caught = error.is_value() && ctx.tree[at.0].ending.is_none();
        let arm = ctx.tree.arm_for(&program, at, &error.class);
        let Some(arm) = arm.filter(|_| is_caught) else {
            return self.failed_for_good(ctx, at, error);
        };
        ctx.reached(at, Reached::Recovered(arm));
        // An expression in a clause may have failed before the step began; then the recovery is its beginning.
        let now = ctx.outbox.elapsed();
        let record = ctx.tree.record_mut(at);
        if record.started.is_none() {
            record.started = Some(now);
            ctx.reached(at, Reached::Started);
        }
        self.calls.open.stop(ctx, at);
        ctx.tree.set_state(at, StepState::Running);
        self.blocks.begin(at);
        ctx.outbox.emit(EventKind::StepRecovering {
            path: ctx.tree.path(&program, at),
            error: error.clone(),
        });
        ctx.tree.record_mut(at).details_mut().error = Some(error.clone());
        let body = step.recover[arm].body;
        let frame = ctx
            .tree
            .open_body(&program, at, body, Role::Recover, |path| path);
        if let Some(slot) = ctx.tree[frame].slots.first_mut() {
            *slot = error.to_value();
        }
        ctx.start(frame);
    }

    /// Handles a failure that nothing recovers: the run may pause, or the block may end.
    pub(super) fn failed_for_good(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        error: Arc<StepError>,
    ) {
        let settles = ctx.tree.scope(at.0).policy.on_failure == OnFailure::Settle;
        let program = ctx.tree.program(at.0);
        if !settles
            && ctx.tree[at.0].ending.is_none()
            && ctx.flow(&program, at.0).fails_later(at.1, &error)
        {
            // Its answer must not be lost with the process.
            ctx.outbox.emit(EventKind::StepWaiting {
                path: ctx.tree.path(&program, at),
                attempt: ctx.tree.record(at).attempts,
                what: Waiting::Effects,
                wait: Duration::ZERO,
                error: Some(error),
            });
            return;
        }
        if ctx.pauses(at, &error) {
            self.stop(ctx, at);
            return self.parking.park(ctx, at, error);
        }
        ctx.settle(at, End::Failed(error.clone()));
        outranks_first_failure(&mut ctx.tree, at, &error);
        ctx.block_failed(at.0, error, false);
    }

    /// Fails a step whose question was not answered, or answered with no. An arm may recover it, so its `within` goes on,
    /// and a call that has begun is stopped only when it is known what follows from the failure.
    pub(super) fn unanswered(&mut self, ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
        self.calls.approvals.withdraw(ctx, at);
        self.blocks.settled(at);
        ctx.step_failed(at, error);
    }

    /// Fails a step whose `within` has expired, whatever it was doing.
    pub(super) fn within_expired(&mut self, ctx: &mut Context, at: NodeRef) {
        if ctx.schedule.within.remove(&at).is_none() || !ctx.tree.is_under_way(at) {
            return;
        }
        let program = ctx.tree.program(at.0);
        let Some(step) = ctx.tree.step(&program, at) else {
            return;
        };
        let path = ctx.tree.path(&program, at);
        self.calls.open.retract(ctx, at);
        ctx.outbox.emit(EventKind::TimerFired {
            path: path.clone(),
            timer: Bound::Within,
        });
        let error = Arc::new(self.timeout_error(ctx, at, step, &path));
        if error.class == ErrorClass::UnknownOutcome
            && ctx.pauses(at, &error)
            && let Some(call) = self.calls.open.stop_attempt(ctx, at)
        {
            return outcome_unknown(ctx, at, call, error, false);
        }
        self.calls.open.cut_off(ctx, at);
        self.stop(ctx, at);
        let inner = ctx.tree.live_frames(at);
        if inner.is_empty() {
            return ctx.out_of_time(at, error);
        }
        self.blocks.end_with(at, error);
        for frame in inner {
            ctx.end_block(frame, Ending::Cancelled);
        }
    }

    /// Returns the failure of a step whose `within` has expired.
    fn timeout_error(
        &mut self,
        ctx: &Context,
        at: NodeRef,
        step: &Step,
        path: &Arc<str>,
    ) -> StepError {
        let polls = step.until().is_some();
        let (class, message) = match &step.kind {
            StepKind::Wait(_) => (
                ErrorClass::Expired,
                "the awaited event did not occur in time",
            ),
            _ if polls => (
                ErrorClass::Validation(Validation::Until),
                "the condition of `until` was not met in time",
            ),
            _ => (
                ErrorClass::Transient(Transient::Timeout),
                "the time limit of `within` has expired",
            ),
        };
        let mut error = StepError::new(class, message, path);
        let in_flight = self.calls.open.get(at).is_some_and(CallState::in_flight);
        if in_flight {
            error.sent = Sent::Maybe;
        }
        if polls {
            error.cause = self.calls.poll_error(ctx, at);
        }
        if self.unknown.remove(at).is_some() || (in_flight && !step.effect.repeatable()) {
            let message =
                "it is unknown whether this happened: the time limit of `within` has expired";
            let cause = Some(Arc::new(error));
            let unknown = StepError::new(ErrorClass::UnknownOutcome, message, path);
            error = StepError {
                cause,
                sent: Sent::Maybe,
                ..unknown
            };
        }
        error
    }

    /// Ends blocks and those that work for them. Nothing new starts, reads and waits are cancelled, and attempts at
    /// effects in flight are awaited, because cancelling them would make their outcome unknown.
    pub(super) fn end_blocks(&mut self, ctx: &mut Context, mut blocks: Box<Withdrawal>) {
        loop {
            let Some(node) = blocks.nodes.next() else {
                let Some((frame, ending)) = blocks.open.pop() else {
                    return;
                };
                if ctx.tree[frame].ending.is_none() {
                    ctx.tree[frame].ending = Some(ending);
                    end_deadline(ctx, frame);
                    let program = ctx.tree.program(frame);
                    let count = ctx.tree.graph(&program, frame).nodes;
                    blocks.frame = frame;
                    blocks.nodes = 0..u32::try_from(count).unwrap_or(u32::MAX);
                    if frame == WHOLE_RUN.0 {
                        self.end_outlasting(ctx);
                    }
                }
                continue;
            };
            let inner = self.withdraw(ctx, (blocks.frame, node)).into_iter();
            blocks
                .open
                .extend(inner.map(|frame| (frame, Ending::Cancelled)));
            if !ctx.agenda.is_clean() {
                return ctx.then(Next::Withdraw(blocks));
            }
        }
    }

    /// Ends the calls about which people are asked although their blocks have ended.
    fn end_outlasting(&mut self, ctx: &mut Context) {
        for (at, error) in self.unknown.take_outlasting(&ctx.tree) {
            self.calls.open.stop(ctx, at);
            ctx.settle(at, End::Failed(error));
        }
    }

    /// Withdraws one node of a block that ends. Returns the frames that work for the node and must end, too.
    fn withdraw(&mut self, ctx: &mut Context, at: NodeRef) -> Vec<FrameId> {
        match ctx.tree.state_of(at) {
            StepState::Pending | StepState::Queued => {
                ctx.settle(at, End::Cancelled);
                return Vec::new();
            }
            StepState::Running | StepState::Waiting => {}
            StepState::Completed
            | StepState::Failed
            | StepState::Skipped
            | StepState::Cancelled
            | StepState::Unknown => return Vec::new(),
        }
        let call = self.calls.open.get(at);
        if self.people.is_waiting(at) && call.is_none() {
            ctx.settle(at, End::Cancelled);
            return Vec::new();
        }
        if let Some(error) = self.parking.remove(ctx, at) {
            ctx.settle(at, End::Failed(error));
            return Vec::new();
        }
        if self.people.is_waiting(at) && self.unknown.outlasts_block(ctx, at) {
            return Vec::new();
        }
        let inner = ctx.tree.live_frames(at);
        if let Some(error) = self.unknown.remove(at) {
            self.calls.open.stop(ctx, at);
            ctx.settle(at, End::Failed(error));
        } else if let Some(call) = call {
            if call.must_be_awaited() {
                if call.awaits_reply {
                    ctx.then(Inquiry::PeerUnanswered(at));
                }
                return Vec::new();
            }
            self.calls.open.retract(ctx, at);
            self.calls.open.cut_off(ctx, at);
            ctx.settle(at, End::Cancelled);
        } else if waits_for_event(ctx, at) {
            ctx.settle(at, End::Cancelled);
        }
        inner
    }
}

/// Returns true if an earlier process may have begun a step. The search of the cache is not recorded, but what it has
/// caused may be.
fn may_have_begun(ctx: &Context, at: NodeRef, step: &Step) -> bool {
    let recording = &ctx.outbox.recording;
    let is_recorded = recording.step(&ctx.tree.own_path(at)).is_some();
    let input = recording
        .replay()
        .and_then(|replay| replay.external_inputs.first_number());
    is_recorded || step.cache().is_some() && input.is_some()
}

/// Returns true if a step only waits for an event, or was woken by it and has not continued.
fn waits_for_event(ctx: &Context, at: NodeRef) -> bool {
    let program = ctx.tree.program(at.0);
    let step = ctx.tree.step(&program, at);
    ctx.tree.state_of(at) == StepState::Waiting
        && step.is_some_and(|step| matches!(step.kind, StepKind::Wait(_)))
}

/// Removes the deadline of a called plan that has ended, or begins to: it bounds neither its undo nor its caller.
pub(super) fn end_deadline(ctx: &mut Context, frame: FrameId) {
    let Frame { scope, block, .. } = ctx.tree[frame];
    let is_called = scope != 0 && block == BlockId(0);
    if is_called && ctx.tree.scopes[scope].policy.deadline.is_some() {
        ctx.schedule.remove_deadline(scope);
    }
}
