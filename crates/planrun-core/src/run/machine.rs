//! The machine behind [`Run`](super::Run): inputs go in with the time, commands come out. It does no I/O.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::secrets::Redactor;
use planrun_lang::sema::BlockId;
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::agenda::{Agenda, Inquiry, Reaction};
use super::clock::Moment;
use super::command::{Command, Input};
use super::compensation::Compensation;
use super::context::Context;
use super::execution::Executions;
use super::frame::{Ending, Lifecycle, NodeRef};
use super::idle::Idle;
use super::inbox::Inbox;
use super::interruption::Interruption;
use super::listener::Listeners;
use super::outbox::Outbox;
use super::patched_order::PatchedOrder;
use super::people::People;
use super::processes::Processes;
use super::program::Program;
use super::recording::Recording;
use super::renewed::Renewed;
use super::replay::next_process;
use super::schedule::{Schedule, Timer};
use super::setup::Setup;
use super::step::Steps;
use super::task::Tasks;
use super::tree::Tree;
use crate::journal::{EventKind, StepError};

/// Why effects of a cancelled run are not undone any more.
const FORCED: &str = "the run was cancelled by force";
const KEPT: &str = "the run was cancelled, and its effects are kept";

/// The state of a run: the lower layers, and the concepts that use them.
pub struct Run {
    pub(super) ctx: Context,
    pub(super) steps: Steps,
    pub(super) compensation: Compensation,
    pub(super) tasks: Tasks,
    pub(super) listeners: Listeners,
    /// Whether the run was asked to end.
    pub(super) cancelled: bool,
    pub(super) finished: bool,
    /// Whether what an earlier process left has not been taken up completely.
    catching_up: bool,
    /// Why this process suspends the run as soon as everything that was recorded has been replayed.
    suspends_after_replay: Option<Interruption>,
    /// Messages that have not been taken yet.
    pub(super) inbox: Inbox,
    /// Inputs that wait until everything has been done that followed from the one before, as on replay.
    deferred: VecDeque<Input>,
}

impl Run {
    /// Creates a run that begins, or that resumes from [`Setup::replay`]. The inputs have been checked against the
    /// plan's parameters.
    #[must_use]
    pub fn new(
        program: &Arc<Program>,
        inputs: &BTreeMap<Arc<str>, Value>,
        mut setup: Setup,
        now: Moment,
    ) -> Self {
        let mut replay = setup.replay.take();
        let until = setup.until.as_deref();
        let processes = Processes::new(program, until, replay.as_ref(), setup.replay_only);
        let patched_order = PatchedOrder::new(program, replay.as_ref());
        let begun_at = replay.as_ref().map_or(now.wall, |replay| replay.begun_at);
        let questions = replay.as_mut();
        let questions = questions.map(|replay| std::mem::take(&mut replay.questions));
        let answers = std::mem::take(&mut setup.answers);
        let people = People::new(questions.unwrap_or_default(), answers, setup.asks);
        let recording = Recording::new((setup.durable, setup.observed), replay, now.wall);
        let reacts = program.reacts();
        // A replay does everything that follows from one answer before it takes the next, so the process that writes
        // the journal must do the same.
        let catching_up = recording.is_replaying();
        let ctx = Context {
            in_order: setup.durable || catching_up || reacts,
            reacts,
            tree: Tree::default(),
            outbox: Outbox::new(recording, now, begun_at),
            schedule: Schedule::new(setup.order),
            agenda: Agenda::default(),
            patched_order,
            processes,
            executions: Executions::default(),
            renewed: Renewed::default(),
            no_arguments: Value::Map(Arc::default()),
            interruption: None,
            beyond_limit: None,
            setup,
        };
        let mut run = Self {
            ctx,
            steps: Steps::new(people),
            compensation: Compensation::new(program),
            tasks: Tasks::default(),
            listeners: Listeners::default(),
            cancelled: false,
            finished: false,
            catching_up,
            suspends_after_replay: None,
            inbox: Inbox::default(),
            deferred: VecDeque::new(),
        };
        run.begin(program, inputs);
        run
    }

    fn begin(&mut self, program: &Arc<Program>, inputs: &BTreeMap<Arc<str>, Value>) {
        let ctx = &mut self.ctx;
        ctx.open_scope(program, None);
        let nodes = program.plan.body().nodes.iter();
        let steps = nodes.filter(|node| node.step().is_some()).count();
        let until = ctx.setup.until.as_ref().map(|until| until.step.clone());
        if ctx.outbox.recording.is_replaying() {
            let until = until.clone();
            ctx.outbox.emit(EventKind::RunResumed { until });
        }
        ctx.outbox.emit(EventKind::RunStarted {
            run: ctx.setup.run_id.clone(),
            plan: program.plan.name.clone(),
            until,
            steps,
        });
        if !ctx.outbox.recording.is_replaying() {
            ctx.outbox.summarize((RunState::Running, None), None, None);
        }
        let deadline = ctx.tree.scopes[0].policy.deadline;
        if let Some(deadline) = deadline.filter(|_| !ctx.outbox.recording.had_ended()) {
            ctx.set_deadline(0, deadline);
        }
        let root = ctx.tree.open_frame(0, BlockId(0), None, None, "".into());
        let missing = ctx.bind_inputs(root, inputs);
        if let Some(error) = missing {
            ctx.end_block(root, Ending::Failed(Arc::new(error)));
        } else if self.steps.calls.approvals.consent.may_begin(ctx) {
            ctx.start(root);
        }
        self.perform();
    }

    /// Handles one input, which arrived at `now`. The resulting commands are added to `commands`.
    pub fn handle(&mut self, input: Input, now: Moment, commands: &mut Vec<Command>) {
        self.ctx.outbox.now = now;
        self.ctx.schedule.note_wait(false, now.monotonic);
        if !self.finished {
            self.accept(input);
            self.finish_if_suspended();
        }
        if self.finished {
            self.ctx.outbox.push(Command::End);
        }
        self.ctx.outbox.drain_into(commands);
    }

    fn accept(&mut self, input: Input) {
        let continues_a_step = matches!(input, Input::Asked { .. } | Input::Recalled { .. });
        if continues_a_step && self.ctx.in_order && self.has_ready() {
            return self.deferred.push_back(input);
        }
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        match input {
            Input::Continue => self.turn(),
            Input::Idle => self.idle(),
            Input::Wake => self.fire(),
            Input::CallHandle { call, handle } => steps.calls.handle_given(ctx, call, handle),
            Input::CallAsks {
                call,
                text,
                form,
                prefilled,
            } => steps.peer_asks(ctx, call, (text, form), prefilled),
            Input::Recalled { call, found } => steps.calls.recalled(ctx, call, found),
            Input::CallUsed { call, used } => steps.calls.usage_reported(ctx, call, used),
            Input::CallEnded { call, outcome } => ctx.schedule.answer_arrived(call, outcome),
            Input::Durable(number) => ctx.outbox.recording.set_durable(number),
            Input::JournalBroken(why) if !ctx.is_suspended() => {
                self.suspend(Interruption::Journal(why));
            }
            Input::Message(message) => self.inbox.push(message),
            Input::Asked { asking, given } => {
                steps.people.ask_ended(ctx, &steps.peers, asking, given);
            }
            Input::JournalBroken(_) => {}
            Input::Stop if self.is_stopped() => {}
            Input::Stop if self.ctx.outbox.recording.is_durable() => {
                self.suspend(Interruption::Asked);
            }
            // The run cannot be resumed, so it is cancelled. It keeps its effects, unless they are already being undone.
            Input::Stop => self.cancel(!self.compensation.is_undoing(), false),
        }
        self.perform();
    }

    /// Returns true if something can be done without another input than [`Input::Continue`].
    #[must_use]
    pub fn has_work(&self) -> bool {
        let ctx = &self.ctx;
        !self.finished
            && (self.has_ready()
                || self.is_catching_up()
                || !self.deferred.is_empty()
                || ctx.schedule.has_answers() && !ctx.in_order
                || !ctx.is_suspended() && self.has_message())
    }

    /// Returns true if the run still replays what earlier processes recorded.
    #[must_use]
    pub fn is_catching_up(&self) -> bool {
        self.catching_up || self.ctx.outbox.recording.is_late
    }

    /// Returns true if calls are held, such as effects until the events of their attempts are on disk.
    #[must_use]
    pub fn holds_calls(&self) -> bool {
        !self.steps.calls.open.held.is_empty()
    }

    /// Returns true if a statement can continue.
    fn has_ready(&self) -> bool {
        self.ctx.schedule.has_ready() || self.steps.waits.has_due()
    }

    /// Performs one turn of work: a batch of statements, then inputs that have arrived.
    fn turn(&mut self) {
        if !self.ctx.in_order {
            while self.receive() {}
            if !self.ctx.outbox.recording.is_replaying() {
                self.fire();
            }
        }
        self.work();
        let called = &mut self.steps.calls.called;
        if std::mem::take(called) || self.has_ready() || self.finished {
            return;
        }
        if let Some(input) = self.deferred.pop_front() {
            return self.accept(input);
        }
        if !self.catch_up() {
            self.take_message();
        }
    }

    /// Takes up one recorded item of an earlier process. Returns false if nothing is left.
    fn catch_up(&mut self) -> bool {
        if !self.is_catching_up() {
            return false;
        }
        if self.replay() {
            return true;
        }
        let replay_only = self.ctx.setup.replay_only;
        let suspends = self.suspends_after_replay.take();
        let stays = replay_only || suspends.is_some() || self.ctx.is_suspended();
        if !stays && next_process(&mut self.ctx, &self.listeners) {
            self.perform();
            return true;
        }
        if !stays && self.steps.calls.recover_next_lost(&mut self.ctx) {
            self.perform();
            return true;
        }
        self.ctx.outbox.recording.is_late = false;
        let was_replay = std::mem::take(&mut self.catching_up);
        if was_replay {
            // Only now it is known how many steps are done.
            (self.ctx.outbox).summarize((RunState::Running, None), None, None);
        }
        if let Some(why) = suspends {
            self.suspend(why);
        } else if was_replay && replay_only {
            let failed = (self.steps.parking).failed_and_quiet(&self.ctx, &self.steps.calls);
            self.suspend(failed.unwrap_or(Interruption::Asked));
        } else if was_replay && !self.suspend_if_reached() && self.ctx.setup.retries {
            let (tasks, compensation) = (&mut self.tasks, &mut self.compensation);
            let parking = &mut self.steps.parking;
            parking.retry_failed(&mut self.ctx, tasks);
            compensation.retry_failed(&mut self.ctx);
            self.perform();
        }
        true
    }

    /// Sends held calls, asks people, and waits, when nothing else is left to do.
    fn idle(&mut self) {
        self.suspend_if_reached();
        self.steps.calls.send_held(&mut self.ctx);
        let is_busy = |run: &Self| run.has_ready() || run.steps.calls.called;
        if !is_busy(self) && !self.finished {
            self.steps.people.ask_pending(&mut self.ctx);
            self.steps.dismiss_peers(&mut self.ctx);
            self.perform();
        }
        let called = std::mem::take(&mut self.steps.calls.called);
        if !called && !self.has_ready() && !self.finished {
            self.sleep();
        }
    }

    /// Suspends the run or waits for input, when nothing can be done without it.
    fn sleep(&mut self) {
        let failed = &self.steps.parking;
        if let Some(failed) = failed.failed_and_quiet(&self.ctx, &self.steps.calls) {
            return self.suspend(failed);
        }
        let wake = self.ctx.schedule.first_timer().map(|(at, _)| at);
        let wake = wake.filter(|_| !self.ctx.is_suspended());
        let idle = (wake.is_none() && self.steps.calls.open.is_empty())
            || !self.waiting().moves_by_itself();
        if idle && !self.steps.people.any_waiting() {
            return self.stuck();
        }
        if let Some(interruption) = self.waiting().quiesce() {
            return self.suspend(interruption);
        }
        if self.receive() {
            return;
        }
        let waits = self.waiting().only_others_are_awaited();
        // Meanwhile the clock of the deadline is stopped, so its timer would fire again and again.
        let wake = wake.and_then(|first| {
            let schedule = &self.ctx.schedule;
            if waits {
                schedule.first_but_deadlines()
            } else {
                Some(first)
            }
        });
        let now = self.ctx.outbox.now.monotonic;
        self.ctx.schedule.note_wait(waits, now);
        self.ctx.outbox.push(Command::Wait(wake));
    }

    /// Returns the view of the run that decides what it waits for.
    pub(super) fn waiting(&self) -> Idle<'_> {
        Idle {
            ctx: &self.ctx,
            steps: &self.steps,
            listeners: &self.listeners,
        }
    }

    /// Takes the answer to a call; false if there is none.
    fn receive(&mut self) -> bool {
        let Some((call, outcome)) = self.ctx.schedule.next_answer() else {
            return false;
        };
        self.steps.calls.receive(&mut self.ctx, call, outcome);
        self.perform();
        true
    }

    /// Works until nothing is ready, or a batch is complete.
    fn work(&mut self) {
        for _ in 0..self.ctx.schedule.batch_size() {
            if self.steps.waits.wake_due(&mut self.ctx) {
                self.perform();
                continue;
            }
            if let Some(frame) = self.ctx.schedule.ended.pop() {
                self.frame_ended(frame);
            } else if self.suspend_if_reached() {
                return;
            } else {
                let (tree, in_order) = (&self.ctx.tree, self.ctx.in_order);
                let replays = self.catching_up;
                // In order, only calls are drawn, and none before a ready node above it that is not a call.
                let is_call = |at: NodeRef| tree.is_call(&tree.program(at.0), at);
                let is_free = |at: NodeRef| !replays && (!in_order || is_call(at));
                let Some(at) = self.ctx.schedule.next_ready(is_free) else {
                    return;
                };
                if self.ctx.tree.state_of(at) == StepState::Pending {
                    self.process(at);
                }
            }
            self.perform();
            if self.steps.calls.called {
                return;
            }
        }
    }

    /// Suspends the run if the step up to which this process drives it has settled.
    fn suspend_if_reached(&mut self) -> bool {
        let Some(until) = &self.ctx.setup.until else {
            return false;
        };
        let processes = self.ctx.processes.as_ref();
        let leaves_out = |node: u32| processes.is_some_and(|known| known.leaves_out(node));
        let is_reached = until.is_reached(&self.ctx.tree[0], leaves_out);
        let suspends = is_reached && !self.is_catching_up() && !self.ctx.is_suspended();
        if suspends {
            self.suspend(Interruption::Reached);
        }
        suspends
    }

    /// Handles due timers.
    fn fire(&mut self) {
        if self.ctx.is_suspended() {
            return;
        }
        let now = self.ctx.outbox.now.monotonic;
        while let Some((at, timer)) = self.ctx.schedule.next_due(now) {
            let (ctx, steps) = (&mut self.ctx, &mut self.steps);
            match timer {
                Timer::NextAttempt(step, number) => steps.calls.again(ctx, step, number),
                Timer::Within(step, number) if ctx.schedule.is_bounded(step, number) => {
                    steps.within_expired(ctx, step);
                }
                Timer::Within(..) => {}
                Timer::Deadline(scope, known) => ctx.deadline_timer_fired(scope, at, known),
                Timer::Wait(step, number) => steps.people.wait_expired(ctx, step, number),
            }
            self.perform();
            if self.ctx.in_order {
                return;
            }
        }
    }

    /// Cancels the run. Its effects are undone, unless `keep` is set. If they are already being undone, this goes on
    /// unless `keep` or `force` is set.
    pub(super) fn cancel(&mut self, keep: bool, force: bool) {
        let ends_undo = (keep || force) && self.compensation.is_undoing();
        let will_undo = !self.cancelled || self.compensation.undoes_cancelled;
        if self.cancelled && !ends_undo && !(keep && will_undo) {
            return;
        }
        self.cancelled = true;
        self.compensation.undoes_cancelled = will_undo && !keep;
        self.ctx.outbox.emit(EventKind::RunCancelling {
            keep,
            force,
            replaces_end: false,
        });
        // Listeners may know already how the plan has ended.
        if self.ctx.tree.scope(0).end.is_none() {
            self.ctx.end_block(0, Ending::Cancelled);
        }
        self.ctx.then(Reaction::CancelFirings);
        self.ctx.then(Inquiry::EndChecks(Ending::Cancelled));
        if ends_undo {
            let why = if keep { KEPT } else { FORCED };
            self.ctx.then(Inquiry::AbandonUndo(why));
        }
    }

    /// Suspends the run: nothing new is sent, and the process waits only for attempts in flight that the next process
    /// could neither repeat nor reattach to. A replay is completed first, so that the outcome is that of the whole
    /// journal.
    pub(super) fn suspend(&mut self, why: Interruption) {
        if self.is_catching_up() {
            self.suspends_after_replay = Some(why);
            return;
        }
        self.ctx.interruption = Some(why);
        self.steps.calls.open.suspend(&mut self.ctx);
        self.finish_if_suspended();
    }

    /// Ends this process's part in a suspended run. Consequences of the last results that need no call are handled
    /// first, since a replay of the journal handles them, too.
    fn finish_if_suspended(&mut self) {
        self.finished |= !self.has_ready() && self.waiting().may_stop();
    }

    /// Handles a run in which nothing can continue although not everything has settled.
    fn stuck(&mut self) {
        if self.steps.waits.is_empty() {
            return self.fault();
        }
        let waiting = self.waiting();
        let (awaited, events) = (waiting.awaited(), waiting.conditions());
        let outside = !awaited.is_empty();
        if outside && self.ctx.outbox.recording.is_durable() {
            return self.suspend(Interruption::Waiting {
                wake: None,
                events,
                awaited,
            });
        }
        let message = if outside {
            format!(
                "only an external event could wake the run, but none can reach it without a journal: {events}"
            )
        } else {
            format!("the run waits for events that can no longer occur: {events}")
        };
        let root = &self.ctx.tree[0];
        if root.ending.is_none() && root.lifecycle == Lifecycle::Running {
            // A failure after which the other statements continued may be the reason why no event came.
            let cause = root.first_failure.clone();
            let error = StepError::new(ErrorClass::Cancelled, message, &"".into());
            self.ctx.tree.stalled = Some(Arc::new(StepError { cause, ..error }));
            self.ctx.end_block(0, Ending::Cancelled);
        }
        self.ctx.then(Reaction::CancelFirings);
        self.perform();
        if !self.has_work() {
            self.fault();
        }
    }

    /// Reports an internal error instead of hanging.
    fn fault(&mut self) {
        self.ctx.fatal(
            ErrorClass::Internal,
            "nothing can run any more, although not everything has settled; this is a defect of planrun",
        );
        self.perform();
        if !self.has_work() {
            self.finished = true;
        }
    }

    /// Returns true if [`Input::Stop`] would change nothing: this process already suspends the run, or the run cannot be
    /// suspended and was cancelled.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.ctx.is_suspended()
            || self.suspends_after_replay.is_some()
            || self.cancelled && !self.ctx.outbox.recording.is_durable()
    }

    /// Returns what must be redacted in the run's events.
    #[must_use]
    pub fn redactor(&self) -> &Redactor {
        &self.ctx.outbox.redactor
    }
}
