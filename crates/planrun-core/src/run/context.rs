//! The context that is passed to every concept: the lower layers of a run.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::eval::EvalError;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{NodeId, OnFailure, Step, StepKind};
use planrun_lang::types::{Budget, ErrorClass};
use planrun_lang::value::{Value, saturating_duration};

use super::agenda::{Agenda, End, Inquiry, Next, Reaction, Subject};
use super::clock::microseconds;
use super::command::{Command, ScopeId};
use super::execution::Executions;
use super::flow::Flow;
use super::frame::{Ending, FrameId, Microseconds, NodeRef, Role};
use super::interruption::Interruption;
use super::outbox::Outbox;
use super::patched_order::PatchedOrder;
use super::policy::Effective;
use super::processes::Processes;
use super::program::Program;
use super::reached::Reached;
use super::renewed::Renewed;
use super::schedule::{Schedule, Timer, Within};
use super::scope::{Scope, Spent};
use super::setup::Setup;
use super::tree::Tree;
use crate::journal::{Bound, EventKind, StepError};

/// The state below the concepts of a run, which is passed to each of their methods. None of it depends on a concept.
pub(super) struct Context {
    pub setup: Setup,
    pub tree: Tree,
    pub outbox: Outbox,
    pub schedule: Schedule,
    /// Follow-up work.
    pub agenda: Agenda,
    /// Why the process ends before the run does.
    pub interruption: Option<Interruption>,
    /// The first step that could not begin in a replay because of a limit on steps, and the limit.
    pub beyond_limit: Option<(Arc<str>, u64)>,
    /// Whether external inputs are handled one at a time, each after everything that followed from the one before, so
    /// that listeners see the same order on replay.
    pub in_order: bool,
    /// Whether anything in the run listens to events or waits for them.
    pub reacts: bool,
    pub patched_order: PatchedOrder,
    /// The processes of the run; `None` if each drives it to its end.
    pub processes: Option<Box<Processes>>,
    /// Earlier executions at the paths of retried steps.
    pub executions: Executions,
    /// Effects of the run, if it copies results of another one.
    pub renewed: Renewed,
    /// The shared value of empty arguments.
    pub no_arguments: Value,
}

impl Context {
    /// Requests follow-up work, which is performed after the current item, and before everything that was requested
    /// earlier.
    pub(super) fn then(&mut self, next: impl Into<Next>) {
        self.agenda.push(next.into());
    }

    /// Settles a node.
    pub(super) fn settle(&mut self, at: NodeRef, end: End) {
        self.then(Next::Settle(at, end));
    }

    /// Completes a step with its value.
    pub(super) fn complete(&mut self, at: NodeRef, value: Value) {
        self.settle(at, End::Completed(value));
    }

    /// Fails a step, unless a `recover` arm catches the failure.
    pub(super) fn step_failed(&mut self, at: NodeRef, error: Arc<StepError>) {
        self.then(Next::StepFailed(at, error));
    }

    /// Handles an expression that failed: a step fails with it, any other statement fails its block.
    pub(super) fn expression_failed(&mut self, at: NodeRef, error: &EvalError) {
        let program = self.tree.program(at.0);
        let path = self.tree.path(&program, at);
        let error = Arc::new(StepError::expression(error, &program.plan, &path));
        if self.tree.step(&program, at).is_some() {
            return self.step_failed(at, error);
        }
        self.statement_failed(at, error);
    }

    /// Ends a block with the failure of a statement that is not a step, whatever the policy says.
    pub(super) fn statement_failed(&mut self, at: NodeRef, error: Arc<StepError>) {
        self.complete(at, Value::Null);
        self.block_failed(at.0, error, true);
    }

    /// Ends a block before its statements have ended.
    pub(super) fn end_block(&mut self, frame: FrameId, ending: Ending) {
        self.then(Next::EndBlock(frame, ending));
    }

    /// Fails a step that nothing recovers.
    pub(super) fn fail_step(&mut self, at: NodeRef, error: Arc<StepError>) {
        self.then(Next::StepFailedForGood(at, error));
    }

    /// Fails a step whose `within` has expired, after everything that worked for it has ended. A `recover` arm may
    /// catch that, unless an arm was already running when `within` expired.
    pub(super) fn out_of_time(&mut self, at: NodeRef, error: Arc<StepError>) {
        let details = self.tree.record(at).details();
        if details.is_some_and(|details| details.error.is_some()) {
            self.fail_step(at, error);
        } else {
            self.step_failed(at, error);
        }
    }

    /// Starts the statements of a frame.
    pub(super) fn start(&mut self, frame: FrameId) {
        self.then(Next::Start(frame));
    }

    /// Reports a failure in a block. A `forced` failure ends the block whatever its policy says.
    pub(super) fn block_failed(&mut self, frame: FrameId, error: Arc<StepError>, forced: bool) {
        self.then(Next::BlockFailed {
            frame,
            error,
            forced,
        });
    }

    /// Notifies listeners and waiting steps of an event.
    pub(super) fn commit(&mut self, subject: Subject) {
        if self.reacts {
            self.then(Reaction::Commit(Arc::new([subject])));
        }
    }

    /// As [`Self::commit`], for an event with several subjects.
    pub(super) fn commit_all(&mut self, subjects: Arc<[Subject]>) {
        if self.reacts {
            self.then(Reaction::Commit(subjects));
        }
    }

    /// Ends the run with a failure that no step can recover from. Once every statement of the plan has settled, it only
    /// ends firings and checks: the run keeps its reply, and nothing is undone.
    pub(super) fn fatal(&mut self, class: ErrorClass, message: &str) {
        let error = StepError::new(class, message, &"".into());
        let ending = Ending::Failed(Arc::new(error));
        let root = &self.tree[0];
        if root.unsettled == 0 && root.ending.is_none() {
            self.then(Inquiry::EndChecks(ending));
        } else {
            self.end_block(0, ending);
        }
        self.then(Reaction::CancelFirings);
    }

    /// Returns true if this process suspends the run.
    pub(super) fn is_suspended(&self) -> bool {
        self.interruption.is_some()
    }

    /// Leaves a statement that would run to a later process, if it is to. Returns false if it runs now.
    pub(super) fn leave(&mut self, (frame, node): NodeRef) -> bool {
        let processes = self.processes.as_mut().filter(|_| frame == 0);
        processes.is_some_and(|processes| processes.leave(node))
    }

    /// Returns true if a firing of a listener is left to a later process.
    pub(super) fn leaves_firing(&self, listener: NodeRef, firing: FrameId) -> bool {
        let Some(processes) = self.processes.as_ref().filter(|_| listener.0 == 0) else {
            return false;
        };
        let program = self.tree.program(0);
        let mut nodes = self.tree.block(&program, firing).nodes.iter();
        let has_steps = nodes.any(|node| node.step().is_some());
        processes.leaves_firing(&self.tree[firing].path, has_steps)
    }

    /// Returns a frame with the order of its statements.
    pub(super) fn flow<'a>(&'a mut self, program: &'a Program, frame: FrameId) -> Flow<'a> {
        Flow {
            id: frame,
            block: self.tree.block(program, frame),
            graph: self.tree.graph(program, frame),
            frame: &mut self.tree[frame],
            schedule: &mut self.schedule,
            processes: self.processes.as_deref(),
            patched_order: &self.patched_order,
        }
    }

    /// Ends a frame if everything in it has settled.
    pub(super) fn report_end(&mut self, frame: FrameId) {
        if self.tree[frame].unsettled == 0 {
            self.schedule.end(frame, &mut self.tree[frame]);
        }
    }

    /// Reports a coverage point to the driver, if it wants coverage. Statements in `verify` and `undo` blocks are not
    /// reported one by one.
    pub(super) fn reached(&mut self, (frame, node): NodeRef, what: Reached) {
        if !self.setup.watched || self.tree[frame].auxiliary {
            return;
        }
        let (program, block) = (self.tree.program(frame), self.tree[frame].block);
        let node = NodeId(node);
        self.outbox.push(Command::Reached {
            program,
            block,
            node,
            what,
        });
    }

    /// Sets a timer that may have been set by an earlier process: the time since then counts.
    pub(super) fn after(&mut self, wait: Duration, timer: Timer) {
        let waited = self
            .outbox
            .real_elapsed()
            .saturating_sub(self.outbox.elapsed());
        self.set_timer(wait.saturating_sub(Duration::from_micros(waited)), timer);
    }

    /// Sets a timer that starts now.
    pub(super) fn set_timer(&mut self, wait: Duration, timer: Timer) {
        let number = self.schedule.number();
        self.schedule
            .set(self.outbox.now.after(wait), number, timer);
    }

    /// Lets a call that waits between two attempts continue at once.
    pub(super) fn wake_call(&mut self, at: NodeRef, number: u64) {
        let now = self.outbox.now.monotonic;
        self.schedule
            .set(now, number, Timer::NextAttempt(at, number));
    }
}

impl Context {
    /// Returns true if the failure of a step pauses the run instead of ending it.
    pub(super) fn pauses(&self, at: NodeRef, error: &StepError) -> bool {
        let frame = &self.tree[at.0];
        let always = self.tree.scopes[frame.scope].policy.on_failure == OnFailure::Pause;
        let may = self.can_park(at.0) && frame.ending.is_none();
        let by_policy = error.is_value() && (always || self.pauses_when_exhausted(at, error));
        may && (by_policy || error.breaks_contract())
            && self.tree.catcher(at, &error.class).is_none()
    }

    /// Returns true if a step of this frame can be parked until another process resumes the run.
    pub(super) fn can_park(&self, frame: FrameId) -> bool {
        !self.tree[frame].auxiliary && self.is_recorded()
    }

    /// Returns true if the run is in a journal.
    pub(super) fn is_recorded(&self) -> bool {
        self.outbox.recording.is_durable() || self.setup.replay_only
    }

    /// Returns true if the call was retried for this failure, and its policy pauses the run when the retries are
    /// exhausted.
    pub(super) fn pauses_when_exhausted(&self, at: NodeRef, error: &StepError) -> bool {
        let program = self.tree.program(at.0);
        let Some((step, call, signature)) = self.tree.tool_call(&program, at) else {
            return false;
        };
        let retry = self.setup.defaults.retry_of(step, signature);
        let policy = &self.tree.scope(at.0).policy;
        let retries = retry.is_some() || call.effect.repeatable();
        let (_, on) = policy.backoff(retry, call.effect);
        retries
            && policy.pauses_when_exhausted(retry)
            && on.iter().any(|pattern| pattern.matches(&error.class))
    }
}

impl Context {
    /// Opens a plan instance with its settings. Its tools belong to the driver.
    pub(super) fn open_scope(&mut self, program: &Arc<Program>, outer: Option<ScopeId>) -> ScopeId {
        let scope = self.tree.scopes.len();
        let begun = self.outbox.working_time(self.schedule.waited());
        self.tree.scopes.push(Scope {
            program: program.clone(),
            policy: Effective::new(&program.plan.policy, &self.setup.defaults),
            called: BTreeMap::new(),
            outer,
            body: None,
            in_use: 0,
            spent: Spent::default(),
            steps: 0,
            firings: 0,
            low: Vec::new(),
            begun,
            end: None,
        });
        self.outbox.push(Command::OpenScope {
            scope,
            outer,
            program: program.clone(),
        });
        scope
    }

    /// Sets the deadline of a plan that begins, or that began in an earlier process. Idle time, in which the run
    /// neither worked nor waited for a timer, does not count.
    pub(super) fn set_deadline(&mut self, scope: ScopeId, deadline: Duration) {
        let since = Duration::from_micros(
            self.outbox
                .real_elapsed()
                .saturating_sub(self.outbox.elapsed()),
        );
        let (_, idle) = self.outbox.recording.idle(self.outbox.now.wall);
        let counted = since.saturating_sub(idle);
        let number = self.schedule.number();
        let timer = Timer::Deadline(scope, self.schedule.waited());
        self.schedule.set(
            self.outbox.now.after(deadline.saturating_sub(counted)),
            number,
            timer,
        );
    }

    /// Handles the timer of the deadline of a plan instance that was set for this time. The deadline is later by the time
    /// in which people were waited for since then.
    pub(super) fn deadline_timer_fired(&mut self, scope: ScopeId, at: Duration, known: Duration) {
        let waited = self.schedule.waited();
        let extra = waited.saturating_sub(known);
        if extra.is_zero() {
            return self.deadline_expired(caller(&self.tree, scope));
        }
        let number = self.schedule.number();
        self.schedule
            .set(at + extra, number, Timer::Deadline(scope, waited));
    }

    /// Ends the run because the deadline of a plan has passed. `path` is that of the step that calls it; empty for the
    /// plan of the run.
    pub(super) fn deadline_expired(&mut self, path: Arc<str>) {
        let message = if path.is_empty() {
            "the deadline of the plan has passed".to_owned()
        } else {
            format!("the deadline of the plan that `{path}` calls has passed")
        };
        self.outbox.emit(EventKind::TimerFired {
            path,
            timer: Bound::Deadline,
        });
        self.fatal(ErrorClass::Budget(Budget::Time), &message);
    }

    /// Records the start of a step, and starts its `within` timer. Returns false if it had begun before.
    pub(super) fn note_start(&mut self, program: &Program, at: NodeRef) -> Result<bool, EvalError> {
        self.tree.set_state(at, StepState::Running);
        if self.tree.record(at).started.is_some() {
            return Ok(false);
        }
        let mut start = self.outbox.elapsed();
        let recording = &self.outbox.recording;
        if recording.is_replaying() {
            let path = self.tree.path(program, at);
            let now = if self.setup.replay_only {
                start
            } else {
                self.outbox.real_elapsed()
            };
            let is_call = self.tree.is_call(program, at);
            start = recording.start_of(&path, is_call, now);
        }
        self.tree.record_mut(at).started = Some(start);
        self.reached(at, Reached::Started);
        if let Some(step) = self.tree.step(program, at) {
            self.bound_in_time(program, at, step, start)?;
            // A call whose timeout has no value is not made.
            if let Some(timeout) = step.timeout() {
                self.tree.evaluate(at.0, timeout)?;
            }
        }
        Ok(true)
    }

    /// Sets the `within` timer of a step.
    fn bound_in_time(
        &mut self,
        program: &Program,
        at: NodeRef,
        step: &Step,
        start: Microseconds,
    ) -> Result<(), EvalError> {
        // The `within` of a form is the expiry of its question.
        let asks = matches!(step.kind, StepKind::Input(_));
        let Some(within) = step.within().filter(|_| !asks) else {
            return Ok(());
        };
        let Value::Duration(nanos) = self.tree.evaluate(at.0, within)? else {
            return Ok(());
        };
        let wait = saturating_duration(nanos);
        let path = self.tree.path(program, at);
        let until = start.saturating_add(microseconds(wait));
        let number = self.schedule.number();
        let bound = Within {
            path,
            number,
            until,
        };
        self.schedule.within.insert(at, bound);
        let owner = self.tree[at.0].owner;
        if owner.is_some_and(|owner| matches!(owner.role, Role::Verify | Role::Undo)) {
            // The full time: no `verify` or `undo` ran while there was no process, and a negative result of `verify`
            // requires the whole time.
            self.set_timer(wait, Timer::Within(at, number));
        } else {
            // It may be replayed before it has begun.
            let later = start.saturating_sub(self.outbox.elapsed());
            let wait = wait.saturating_add(Duration::from_micros(later));
            self.after(wait, Timer::Within(at, number));
        }
        Ok(())
    }
}

/// Returns the path of the step that calls a plan instance; the empty path if none does.
fn caller(tree: &Tree, scope: ScopeId) -> Arc<str> {
    let owner = tree.scopes[scope].body.and_then(|body| tree[body].owner);
    owner.map_or_else(
        || "".into(),
        |owner| tree.own_path((owner.frame, owner.node)),
    )
}
