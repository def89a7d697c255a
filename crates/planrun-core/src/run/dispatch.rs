//! Takes work from the agenda and passes it to the concept that it belongs to.

use std::sync::Arc;

use planrun_lang::protocol::RunState;
use planrun_lang::sema::{BlockId, NodeKind, OnFailure};
use planrun_lang::types::{ErrorClass, Validation, convert, without_absent};
use planrun_lang::value::Value;

use super::agenda::{Inquiry, Next, Reaction, Subject, Withdrawal};
use super::compensation::open_verify;
use super::context::Context;
use super::frame::{Ending, FrameId, Lifecycle, NodeRef, Role, WHOLE_RUN};
use super::inbox::Inbox;
use super::interruption::Interruption;
use super::listener::firing_failed;
use super::machine::Run;
use super::settle::advance;
use super::statement::Statement;
use super::step::end_deadline;
use super::task::work::work_failed;
use super::unknown_outcome::UnknownOutcome;
use crate::journal::{Cancel, EventKind, StepError};

impl Run {
    /// Performs the items of the agenda, and what follows from them.
    pub(super) fn perform(&mut self) {
        while let Some(next) = self.ctx.agenda.pop() {
            self.perform_one(next);
        }
    }

    fn perform_one(&mut self, next: Next) {
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        match next {
            Next::Start(frame) => self.start(frame),
            Next::StartNodes(frame) => {
                let program = ctx.tree.program(frame);
                ctx.flow(&program, frame).start();
            }
            Next::Settle(at, end) => self.settle(at, end),
            Next::PassOn(at, available) => {
                let program = ctx.tree.program(at.0);
                self.pass_on(&program, at, available);
            }
            Next::Advance(at) => advance(ctx, &ctx.tree.program(at.0), at),
            Next::Offer(at) => {
                let program = ctx.tree.program(at.0);
                let mut flow = ctx.flow(&program, at.0);
                flow.advance();
                flow.offer(at.1);
            }
            Next::StepFailed(at, error) => steps.failed(ctx, at, error),
            Next::StepFailedForGood(at, error) => steps.failed_for_good(ctx, at, error),
            Next::BlockFailed {
                frame,
                error,
                forced,
            } => block_failed(ctx, frame, error, forced),
            Next::EndBlock(frame, ending) => {
                let open = vec![(frame, ending)];
                let nodes = 0..0;
                steps.end_blocks(ctx, Box::new(Withdrawal { frame, nodes, open }));
            }
            Next::Withdraw(blocks) => steps.end_blocks(ctx, blocks),
            Next::ReportEnd(frame) => ctx.report_end(frame),
            Next::CloseFrame(frame) => self.close_frame(frame),
            Next::OpenBody(at, body, role) => {
                let program = ctx.tree.program(at.0);
                let frame = ctx.tree.open_body(&program, at, body, role, |path| path);
                self.start(frame);
            }
            Next::BeginBlock(at) => steps.begin(ctx, &self.tasks, at),
            Next::OpenElements(at) => steps.blocks.next_elements(ctx, at),
            Next::ElementOver(at) => steps.blocks.element_over(ctx, at),
            Next::BranchOver(at) => steps.blocks.branch_over(ctx, at),
            Next::BeginCall(at) => steps.calls.begin(ctx, at),
            Next::GiveSlot(frame) => steps.calls.open.slots.give(ctx, frame),
            Next::Inquiry(inquiry) => self.inquire(inquiry),
            Next::Reaction(reaction) => self.react(reaction),
        }
    }

    fn inquire(&mut self, inquiry: Inquiry) {
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        match inquiry {
            Inquiry::OutcomeUnknown {
                at,
                call,
                error,
                orphaned,
            } => {
                let outcome = UnknownOutcome { error, orphaned };
                steps
                    .unknown
                    .begin(ctx, &mut steps.calls, at, call, outcome);
            }
            Inquiry::Ask(at, question) => steps.people.ask_first(ctx, at, *question),
            Inquiry::AskAgain(at, recorded) => steps.people.replay_question(ctx, at, *recorded),
            Inquiry::FindAnswer(at) => steps.people.find_answer(ctx, &steps.peers, at),
            Inquiry::Approved(at, question) => steps.calls.approved(ctx, at, question),
            Inquiry::RunApproved(answer) => steps.calls.approvals.consent.answered(ctx, &answer),
            Inquiry::OutcomeAnswered(at, answer) if self.compensation.asks(at) => {
                self.compensation.answered(ctx, at, &answer);
            }
            Inquiry::OutcomeAnswered(at, answer) => {
                steps.unknown.answered(ctx, &mut steps.calls, at, &answer);
            }
            Inquiry::Unanswered(WHOLE_RUN, error) => {
                ctx.end_block(WHOLE_RUN.0, Ending::Failed(error));
            }
            Inquiry::Unanswered(at, error) if self.compensation.asks(at) => {
                self.compensation.unanswered(ctx, at, error);
            }
            Inquiry::Unanswered(at, error) => steps.unanswered(ctx, at, error),
            Inquiry::PeerAnswered(at, answer) => steps.peer_answered(ctx, at, &answer),
            Inquiry::PeerUnanswered(at) => steps.peer_unanswered(ctx, at),
            Inquiry::PeerWithdrawn(at) => steps.close_peer_question(ctx, at),
            Inquiry::ReplayPeerQuestions(at, asked) => steps.replay_peer_questions(ctx, at, asked),
            Inquiry::MessageTaken(message) => ctx.outbox.message_taken(Some(message)),
            Inquiry::OpenVerify(at) => open_verify(ctx, at),
            Inquiry::VerifyAgain(at) => self.compensation.verify_step_again(ctx, at),
            Inquiry::Verified(at) => self.compensation.note_verified(at),
            Inquiry::EndChecks(ending) => self.compensation.end_checks(ctx, &ending),
            Inquiry::HandOver(at) => self.compensation.hand_over(ctx, at),
            Inquiry::AbandonUndo(why) => {
                self.compensation.abandon_undo(ctx, &mut steps.people, why);
            }
        }
    }

    fn react(&mut self, reaction: Reaction) {
        let (ctx, listeners) = (&mut self.ctx, &mut self.listeners);
        match reaction {
            Reaction::Commit(subjects) => {
                for (at, _) in listeners.listening() {
                    ctx.then(Reaction::Notify(at, subjects.clone()));
                }
                ctx.then(Reaction::WakeWaits(subjects));
            }
            Reaction::Listen(at) => listeners.listen(ctx, at),
            Reaction::Notify(at, subjects) => {
                let latest = self.steps.waits.latest.as_ref();
                listeners.notify(ctx, &self.tasks, latest, at, &subjects);
            }
            Reaction::WakeWaits(subjects) => self.steps.waits.wake(ctx, &self.tasks, &subjects),
            Reaction::NextFiring(at) => listeners.next_firing(ctx, at),
            Reaction::FiringFailed {
                listener,
                firing,
                error,
            } => firing_failed(ctx, listener, firing, &error),
            Reaction::FiringOver(frame) => listeners.firing_over(ctx, frame),
            Reaction::WorkFailed {
                frame,
                error,
                parked,
            } => work_failed(ctx, frame, &error, parked),
            Reaction::FailTask(failed) => self.tasks.fail(ctx, *failed),
            Reaction::CancelFirings => listeners.cancel_firings(ctx),
        }
    }

    /// Starts the statements of a frame.
    fn start(&mut self, frame: FrameId) {
        let ctx = &mut self.ctx;
        let program = ctx.tree.program(frame);
        ctx.flow(&program, frame).advance();
        self.listeners.begin(ctx, &mut self.tasks, &program, frame);
        if ctx.agenda.is_clean() {
            ctx.flow(&program, frame).start();
        } else {
            ctx.then(Next::StartNodes(frame));
        }
    }

    /// Runs or skips a node of the ready set.
    pub(super) fn process(&mut self, at: NodeRef) {
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        if steps.parking.defer_if_parked(ctx, at) {
            // A slot that it was woken for goes to the next call.
            return steps.calls.open.slots.remove(ctx, at);
        }
        if ctx.leave(at) {
            return;
        }
        let program = &ctx.tree.program(at.0);
        let mut statement = Statement { ctx, program, at };
        if !statement.prepare_to_run() {
            return;
        }
        match &program.plan.block(statement.ctx.tree[at.0].block).nodes[at.1 as usize].kind {
            NodeKind::Condition(code) => statement.condition(code),
            NodeKind::Let(code) => statement.binding(code),
            // Already decided.
            NodeKind::Ensure { .. } => statement.ctx.complete(at, Value::Null),
            NodeKind::Fail(failing) => statement.fail(failing),
            NodeKind::Reply(code) => statement.give(code, true),
            NodeKind::Yield(code) => statement.give(code, false),
            NodeKind::Next(code) => statement.carry(code),
            NodeKind::Step(step) => steps.start(statement.ctx, program, at, step),
            NodeKind::Task(id) => self.tasks.run_task(statement.ctx, at, *id),
            NodeKind::Set(set) => self.tasks.run_set(statement.ctx, program, at, set),
            NodeKind::Listener(_) => self.listeners.run(statement.ctx, at),
        }
    }

    /// Handles a frame in which everything has settled: firings run to their end, then compensation, and listeners are
    /// notified once of the end of their plan.
    pub(super) fn frame_ended(&mut self, frame: FrameId) {
        let ctx = &mut self.ctx;
        if frame == 0 && ctx.processes.take().is_some() {
            ctx.setup.until = None;
            self.listeners.release(ctx, frame);
        }
        let is_reported = ctx.tree.scope(frame).end.is_some();
        if self.listeners.has_firings(frame) || ctx.tree[frame].block != BlockId(0) || is_reported {
            return self.close_frame(frame);
        }
        if ctx.tree[frame].owner.is_none() {
            if let Some(cancel) = cancel_before_end(ctx, &mut self.inbox) {
                self.cancelled = true;
                self.compensation.undoes_cancelled = !cancel.keep;
            }
            check_reply(ctx);
        }
        if self.compensation.proceed(ctx, frame) {
            ctx.tree[frame].lifecycle = Lifecycle::Closing;
            return;
        }
        let scope = ctx.tree[frame].scope;
        ctx.tree.scopes[scope].end = Some(end_of(ctx, frame));
        end_deadline(ctx, frame);
        ctx.commit(Subject::Plan(scope));
        ctx.then(Next::CloseFrame(frame));
    }

    /// Closes a frame that waits for nothing but its firings. Without any, its owner is notified.
    fn close_frame(&mut self, frame: FrameId) {
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        if self.listeners.has_firings(frame) {
            ctx.tree[frame].lifecycle = Lifecycle::Closing;
            return;
        }
        self.listeners.close(frame);
        ctx.tree[frame].lifecycle = Lifecycle::Ended;
        let Some(owner) = ctx.tree[frame].owner else {
            if self.compensation.continue_retries(ctx) {
                ctx.tree[frame].lifecycle = Lifecycle::Closing;
                return;
            }
            steps.people.cancel_wait(ctx, WHOLE_RUN);
            ctx.interruption = ctx
                .interruption
                .take()
                .filter(Interruption::outlasts_the_run);
            self.finished = true;
            return;
        };
        let outcome = ctx.tree[frame].outcome();
        ctx.tree[frame].free_flow_state();
        let at = (owner.frame, owner.node);
        if steps.blocks.is_out_of_time(ctx, at) {
            return;
        }
        match owner.role {
            Role::Body | Role::Recover | Role::Element(_) | Role::Round | Role::Branch(_) => {
                steps
                    .blocks
                    .inner_ended(ctx, at, owner.role, frame, outcome);
            }
            Role::Firing(_) => self.listeners.firing_ended(ctx, at, frame, outcome),
            Role::Verify | Role::Undo if steps.unknown.has(at) => {
                let calls = &mut steps.calls;
                steps.unknown.verified(ctx, calls, at, frame, outcome);
            }
            Role::Verify | Role::Undo => {
                self.compensation
                    .auxiliary_ended(ctx, at, owner.role, frame, outcome);
            }
        }
    }
}

/// Handles a failure in a frame: under `settle` the other statements continue, otherwise the frame ends. `forced`: a
/// taken `fail` or `ensure`.
fn block_failed(ctx: &mut Context, frame: FrameId, error: Arc<StepError>, forced: bool) {
    let settles = ctx.tree.scope(frame).policy.on_failure == OnFailure::Settle;
    if settles && !forced && error.is_value() {
        ctx.tree[frame].first_failure.get_or_insert(error);
        return;
    }
    ctx.end_block(frame, Ending::Failed(error));
}

/// Returns the final state of a plan instance.
fn end_of(ctx: &Context, frame: FrameId) -> RunState {
    let state = &ctx.tree[frame];
    match &state.ending {
        _ if ctx.tree.stalled.is_some() && frame == 0 => RunState::Stalled,
        Some(Ending::Failed(_)) => RunState::Failed,
        Some(Ending::Cancelled) => RunState::Cancelled,
        None if state.first_failure.is_some() => RunState::Failed,
        None => RunState::Completed,
    }
}

/// Cancels the run in place of its end, which nobody has been told, if a cancellation has arrived: also if this process
/// only now finds out that nothing is left to do.
fn cancel_before_end(ctx: &mut Context, inbox: &mut Inbox) -> Option<Cancel> {
    if ctx.tree[0].ending.is_some() {
        return None;
    }
    let recording = &mut ctx.outbox.recording;
    let recorded = recording.replay_mut();
    let recorded = recorded.and_then(|replay| replay.external_inputs.take_cancel_of_end());
    let is_open = recording.is_replayed() && !ctx.is_suspended();
    let (cancel, message) = match recorded {
        Some(recorded) => (recorded, None),
        None if is_open => {
            let (cancel, message) = inbox.take_cancel()?;
            (cancel, Some(message))
        }
        None => return None,
    };
    ctx.tree[0].ending = Some(Ending::Cancelled);
    ctx.outbox.emit(EventKind::RunCancelling {
        keep: cancel.keep,
        force: cancel.force,
        replaces_end: true,
    });
    if let Some(message) = message {
        ctx.then(Inquiry::MessageTaken(message));
    }
    Some(cancel)
}

/// Converts the reply to the type that the plan declares. If that is impossible, the run fails.
fn check_reply(ctx: &mut Context) {
    let program = ctx.tree.program(0);
    let root = &mut ctx.tree[0];
    if root.ending.is_some() {
        return;
    }
    let Some(reply) = root.values.last_mut() else {
        return;
    };
    match convert(reply.clone(), &program.plan.returns) {
        Ok(converted) => *reply = without_absent(&converted, &program.plan.returns),
        Err(mismatch) => {
            let message = format!("the reply does not have the declared type: {mismatch}");
            let class = ErrorClass::Validation(Validation::Expression);
            let error = StepError::new(class, message, &"".into());
            root.ending = Some(Ending::Failed(Arc::new(error)));
        }
    }
}
