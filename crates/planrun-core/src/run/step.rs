//! Ready nodes: evaluating what is pure, starting what calls.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{BlockId, Call, Failing, NodeKind, Recover, Step, StepKind, Target, Wait};
use planrun_lang::types::{Budget, ErrorClass, Transient, Validation, convert, without_absent};
use planrun_lang::value::Value;

use super::Program;
use super::compound::Compound;
use super::event::Subject;
use super::frame::Microseconds;
use super::frame::{Flags, FrameId, Owner, Role};
use super::leaf::Leaf;
use super::machine::{NodeRef, Run, Timer, Within};
use super::reached::Reached;
use super::settle::End;
use crate::journal::{Bound, EventKind, StepError};

impl Run {
    /// Runs or skips a node of the ready set.
    pub(super) fn process(&mut self, frame: FrameId, node: u32) {
        let at = (frame, node);
        let entry = self.frames[frame].nodes[node as usize];
        if entry.state != StepState::Pending || self.holds_back(at) || self.is_left(at) {
            return;
        }
        let program = self.program(frame);
        if node as usize >= self.graph(&program, frame).nodes {
            let end = if entry.flags.has(Flags::UPSTREAM) {
                End::Upstream
            } else {
                End::Completed(Value::Null)
            };
            return self.settle(at, end);
        }
        if let Some(error) = self.frames[frame].late.remove(&node) {
            return self.step_failed_for_good(at, error);
        }
        if let Some(taken) = self.taken(at).cloned() {
            return self.take_effect(&program, at, &taken);
        }
        if !entry.flags.is_skipped() && self.is_undecided(&program, at) {
            return self.decide(&program, at);
        }
        if entry.flags.has(Flags::GUARD_UPSTREAM) {
            return self.settle(at, End::Upstream);
        }
        if !entry.flags.has(Flags::GUARD_HOLDS) {
            return self.settle(at, End::GuardFalse);
        }
        if entry.flags.has(Flags::UPSTREAM) {
            return self.settle(at, End::Upstream);
        }
        if entry.flags.has(Flags::GUARD_FAILED) {
            if self.fails_elsewhere(&program, at) {
                return self.settle(at, End::GuardFalse);
            }
            let error = self.guard_error(&program, at);
            return error
                .into_iter()
                .for_each(|error| self.expression_failed(&program, at, &error));
        }
        self.run_node(&program, at);
    }

    pub(super) fn run_node(&mut self, program: &Arc<Program>, at: NodeRef) {
        let frame = at.0;
        match &self.node(program, at).kind {
            NodeKind::Condition(code) => {
                let outcome = self
                    .evaluate(frame, code)
                    .and_then(|value| truth(&value, code.span));
                self.condition_decided(at, outcome);
            }
            NodeKind::Let(code) => {
                match self.evaluate(frame, code) {
                    Ok(value) => self.settle(at, End::Completed(value)),
                    Err(error) => {
                        // The error belongs to whoever reads the value.
                        if let Some(slot) = self.node(program, at).slot {
                            self.frames[frame].let_errors.insert(slot, error);
                        }
                        self.settle(at, End::Completed(Value::Null));
                    }
                }
            }
            NodeKind::Step(step) => self.start_step(program, at, step),
            // Decided before: see `ending`.
            NodeKind::Ensure { .. } => self.settle(at, End::Completed(Value::Null)),
            NodeKind::Fail(failing) => self.fail_statement(at, failing),
            NodeKind::Reply(code) | NodeKind::Yield(code) => match self.evaluate(frame, code) {
                Ok(value) => {
                    if matches!(self.node(program, at).kind, NodeKind::Reply(_)) {
                        self.reached(at, Reached::Replied);
                    }
                    self.frames[frame].values.push(value);
                    self.settle(at, End::Completed(Value::Null));
                }
                Err(error) => self.expression_failed(program, at, &error),
            },
            NodeKind::Next(code) => match self.evaluate(frame, code) {
                Ok(value) => {
                    self.frames[frame].next = Some(value);
                    self.settle(at, End::Completed(Value::Null));
                }
                Err(error) => self.expression_failed(program, at, &error),
            },
            NodeKind::Task(id) => self.run_task(at, *id),
            NodeKind::Set(set) => self.run_set(program, at, set),
            NodeKind::Listener(listener) => self.run_listener(program, at, listener),
        }
    }

    fn fail_statement(&mut self, at: NodeRef, failing: &Failing) {
        let message = failing
            .message
            .as_ref()
            .map(|message| self.evaluate(at.0, message));
        let message = match message {
            Some(Ok(text)) => plain(&text),
            Some(Err(error)) => error.to_string(),
            None => format!("the plan failed with {}", failing.class),
        };
        self.end_by_statement(at, failing.class.clone(), message);
    }

    /// A taken `fail`, or an `ensure` that does not hold, ends its block whatever the policy says.
    pub(super) fn end_by_statement(&mut self, at: NodeRef, class: ErrorClass, message: String) {
        let path = self.frames[at.0].path.clone();
        let error = Arc::new(StepError::new(class, message, &path));
        self.settle(at, End::Completed(Value::Null));
        self.frame_failure(at.0, error, true);
    }

    /// An expression without a value: a step fails by it, any other statement fails its block.
    pub(super) fn expression_failed(&mut self, program: &Program, at: NodeRef, error: &EvalError) {
        let path = self.path(program, at);
        let error = Arc::new(StepError::expression(error, &program.plan, &path));
        if self.node(program, at).step().is_some() {
            self.step_failed(at, error);
        } else {
            self.settle(at, End::Completed(Value::Null));
            self.frame_failure(at.0, error, true);
        }
    }

    fn start_step(&mut self, program: &Arc<Program>, at: NodeRef, step: &Step) {
        if self.needs_approval(program, at, step) {
            return;
        }
        if matches!(
            &step.kind,
            StepKind::Call(Call {
                target: Target::Tool(_),
                ..
            })
        ) {
            return self.start_call(program, at);
        }
        if self.too_many_steps(at) {
            return;
        }
        if let Err(error) = self.mark_started(program, at) {
            return self.expression_failed(program, at, &error);
        }
        match &step.kind {
            StepKind::Call(call) => {
                if let Target::Plan(index, _) = &call.target {
                    self.call_plan(program, at, call, *index);
                }
            }
            StepKind::Do(body) => drop(self.open_body(program, at, *body, Role::Body, |path| path)),
            StepKind::Each(each) => self.start_each(program, at, each),
            StepKind::Repeat(repeat) => self.start_repeat(program, at, repeat),
            StepKind::Race(branches) => self.start_race(program, at, branches),
            StepKind::Match { subject, arms } => {
                let value = match self.evaluate(at.0, subject) {
                    Ok(value) => value,
                    Err(error) => return self.expression_failed(program, at, &error),
                };
                if let Some(arm) = arms.iter().position(|(pattern, _)| pattern.matches(&value)) {
                    let (_, body) = &arms[arm];
                    self.reached(at, Reached::Arm(arm));
                    self.open_body(program, at, *body, Role::Body, |path| path);
                } else {
                    let message = format!("no arm matches {}", value.preview(80));
                    let error = EvalError::new(FailureKind::NoOverload, message, subject.span);
                    self.expression_failed(program, at, &error);
                }
            }
            StepKind::Input(input) => self.start_input(program, at, step, input),
            StepKind::Wait(wait) => match &**wait {
                Wait::Event { on, .. } => self.start_wait(program, at, on),
                Wait::For(moment) | Wait::Until(moment) => self.start_sleep(program, at, moment),
            },
            StepKind::Ask(_) | StepKind::Infer(_) | StepKind::Damaged => {
                self.cannot_run(program, at, step);
            }
        }
    }

    fn cannot_run(&mut self, program: &Program, at: NodeRef, step: &Step) {
        let what = step.kind.word().unwrap_or("a call");
        let path = self.path(program, at);
        let error = StepError::new(
            ErrorClass::Internal,
            format!("{what} cannot run yet"),
            &path,
        );
        self.step_failed(at, Arc::new(error));
    }

    /// Notes the start of a step, and sets the timer of its `within`.
    pub(super) fn mark_started(&mut self, program: &Program, at: NodeRef) -> Result<(), EvalError> {
        self.frames[at.0].node(at.1).state = StepState::Running;
        if self.record(at.0, at.1).started.is_some() {
            return Ok(());
        }
        let now = self.elapsed();
        self.record(at.0, at.1).started = Some(now);
        self.reached(at, Reached::Started);
        let Some(step) = self.node(program, at).step() else {
            return Ok(());
        };
        self.bound_in_time(program, at, step, now)?;
        let tool = match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(_),
                ..
            }) => {
                self.commit(&[Subject::Step(at)]);
                return Ok(());
            }
            StepKind::Call(Call {
                target: Target::Plan(_, name),
                ..
            }) => name.clone(),
            StepKind::Do(_)
            | StepKind::Each(_)
            | StepKind::Repeat(_)
            | StepKind::Race(_)
            | StepKind::Match { .. }
            | StepKind::Ask(_)
            | StepKind::Infer(_)
            | StepKind::Input(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => "".into(),
        };
        self.compounds.insert(at, Compound::Body);
        let path = self.path(program, at);
        self.emit(EventKind::StepRunning {
            path: path.clone(),
            tool,
            attempt: 1,
            call: None,
        });
        self.commit(&[Subject::Step(at)]);
        Ok(())
    }

    /// Sets the timer of `within`.
    fn bound_in_time(
        &mut self,
        program: &Program,
        at: NodeRef,
        step: &Step,
        now: Microseconds,
    ) -> Result<(), EvalError> {
        // A form has its end with its question.
        let asks = matches!(step.kind, StepKind::Input(_));
        let Some(within) = step.within().filter(|_| !asks) else {
            return Ok(());
        };
        let Value::Duration(nanos) = self.evaluate(at.0, within)? else {
            return Ok(());
        };
        let wait = Duration::from_nanos(u64::try_from(nanos).unwrap_or(0));
        let path = self.path(program, at);
        let until = now.saturating_add(u64::try_from(wait.as_micros()).unwrap_or(u64::MAX));
        let number = self.number();
        let bound = Within {
            path,
            number,
            until,
        };
        self.within.insert(at, bound);
        if self.frames[at.0].aside {
            // Nobody looked while no process was there, and "it did not happen" wants the whole time.
            self.set_timer(wait, Timer::Within(at, number));
        } else {
            self.after(wait, Timer::Within(at, number));
        }
        Ok(())
    }

    /// Whether a timer is the one that bounds a step now.
    pub(super) fn is_bounded(&self, at: NodeRef, number: u64) -> bool {
        let within = self.within.get(&at);
        within.is_some_and(|within| within.number == number)
    }

    /// `within` has passed: the step fails, whatever it was doing.
    pub(super) fn within_is_over(&mut self, at: NodeRef) {
        if self.within.remove(&at).is_none()
            || !matches!(self.state_of(at), StepState::Running | StepState::Waiting)
        {
            return;
        }
        let program = self.program(at.0);
        let Some(step) = self.node(&program, at).step() else {
            return;
        };
        let path = self.path(&program, at);
        self.emit(EventKind::TimerFired {
            path: path.clone(),
            timer: Bound::Within,
        });
        let error = self.over_time(at, step, &path);
        if error.class == ErrorClass::UnknownOutcome
            && self.pauses(at, &error)
            && let Some(leaf) = self.stop_flight(at)
        {
            return self.doubt(at, leaf, Arc::new(error), false);
        }
        self.cut_off(at);
        self.drop_leaf(at);
        self.release_hold(at);
        let inner = self.live_frames(at);
        self.compounds.remove(&at);
        if inner.is_empty() {
            return self.out_of_time(at, Arc::new(error));
        }
        self.compounds.insert(at, Compound::Ending(Arc::new(error)));
        for frame in inner {
            self.end_frame(frame, &super::frame::Ending::Cancelled);
        }
    }

    /// What a step fails with whose time is over.
    fn over_time(&mut self, at: NodeRef, step: &Step, path: &Arc<str>) -> StepError {
        let polls = step.until().is_some();
        let (class, message) = match &step.kind {
            StepKind::Wait(_) => (
                ErrorClass::Expired,
                "what this waits for did not come in time",
            ),
            _ if polls => (
                ErrorClass::Validation(Validation::Until),
                "what `until` waits for did not come",
            ),
            _ => (
                ErrorClass::Transient(Transient::Timeout),
                "the time of `within` is over",
            ),
        };
        let mut error = StepError::new(class, message, path);
        let in_flight = self.leaves.get(&at).is_some_and(Leaf::in_flight);
        if in_flight {
            error.sent = Sent::Maybe;
        }
        if polls {
            error.cause = self.unheard(at);
        }
        if self.leave_doubt(at).is_some() || (in_flight && !step.effect.repeatable()) {
            let message = "whether this happened is not known: the time of `within` is over";
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

    /// The time of a step is over and nothing works for it any more. An arm may still catch that; one that was already
    /// at work when the time ended has failed with it.
    pub(super) fn out_of_time(&mut self, at: NodeRef, error: Arc<StepError>) {
        let recovering = self
            .record(at.0, at.1)
            .details()
            .is_some_and(|details| details.error.is_some());
        if recovering {
            self.step_failed_for_good(at, error);
        } else {
            self.step_failed(at, error);
        }
    }

    /// A step failed: take the first arm that catches it, or let it be the step's end.
    pub(super) fn step_failed(&mut self, at: NodeRef, error: Arc<StepError>) {
        let program = self.program(at.0);
        let Some(step) = self.node(&program, at).step() else {
            return;
        };
        self.reached(at, Reached::Failed(error.class.clone()));
        let arm = step
            .recover
            .iter()
            .position(|arm| self.takes(&program, arm, &error.class));
        let arm = arm.filter(|_| error.is_value());
        let ending = self.frames[at.0].ending.is_some();
        let Some(arm) = arm.filter(|_| !ending) else {
            return self.step_failed_for_good(at, error);
        };
        self.reached(at, Reached::Recovered(arm));
        let arm = &step.recover[arm];
        // An expression in a clause may have failed before the step began; recovering is its beginning then.
        let now = self.elapsed();
        if self.record(at.0, at.1).started.is_none() {
            self.record(at.0, at.1).started = Some(now);
            self.reached(at, Reached::Started);
        }
        self.drop_leaf(at);
        self.frames[at.0].node(at.1).state = StepState::Running;
        self.compounds.insert(at, Compound::Body);
        let path = self.path(&program, at);
        self.emit(EventKind::StepRecovering {
            path: path.clone(),
            error: error.clone(),
        });
        self.record(at.0, at.1).details_mut().error = Some(error.clone());
        let frame = self.make_body(&program, at, arm.body, Role::Recover, |path| path);
        if let Some(slot) = self.frames[frame].slots.first_mut() {
            *slot = error.to_value();
        }
        self.start_frame(frame);
    }

    /// Whether an arm is for this class. A strict run takes none that only puts a value in the place of a result.
    pub(super) fn takes(&self, program: &Program, arm: &Recover, class: &ErrorClass) -> bool {
        arm.catches(class) && !(self.setup.defaults.strict && program.plan.is_placeholder(arm))
    }

    /// Opens and starts the body of a step.
    pub(super) fn open_body(
        &mut self,
        program: &Program,
        at: NodeRef,
        body: BlockId,
        role: Role,
        path: impl FnOnce(Arc<str>) -> Arc<str>,
    ) -> FrameId {
        let frame = self.make_body(program, at, body, role, path);
        self.start_frame(frame);
        frame
    }

    /// Opens the body of a step; the caller fills in its first slots and starts it.
    pub(super) fn make_body(
        &mut self,
        program: &Program,
        at: NodeRef,
        body: BlockId,
        role: Role,
        path: impl FnOnce(Arc<str>) -> Arc<str>,
    ) -> FrameId {
        let own = path(self.path(program, at));
        let path = match &program.plan.block(body).label {
            Some(label) => format!("{own}.{label}").into(),
            None => own,
        };
        let owner = Owner {
            frame: at.0,
            node: at.1,
            role,
        };
        let scope = self.frames[at.0].scope;
        self.open_frame(scope, body, Some(at.0), Some(owner), path)
    }

    /// Counts a step that begins, for its plan and for those that call it; true where one of them may execute no more.
    pub(super) fn too_many_steps(&mut self, at: NodeRef) -> bool {
        if self.frames[at.0].aside || self.record(at.0, at.1).started.is_some() {
            return false;
        }
        let mut inner = Some(self.frames[at.0].scope);
        let mut over = None;
        while let Some(scope) = inner {
            let scope = &mut self.scopes[scope];
            scope.steps += 1;
            over =
                over.or((scope.steps > scope.policy.max_steps).then_some(scope.policy.max_steps));
            inner = scope.outer;
        }
        let Some(limit) = over else { return false };
        let steps = if limit == 1 {
            "1 step has"
        } else {
            &format!("{limit} steps have")
        };
        let message = format!(
            "{steps} been executed, and no more may be; `policy {{ max_steps: … }}` or `--max-steps` sets the limit"
        );
        self.fatal(ErrorClass::Budget(Budget::Calls), &message);
        true
    }

    /// A step is done again: it counts once.
    pub(super) fn counts_once(&mut self, at: NodeRef) {
        let mut inner = Some(self.frames[at.0].scope);
        while let Some(scope) = inner {
            self.scopes[scope].steps = self.scopes[scope].steps.saturating_sub(1);
            inner = self.scopes[scope].outer;
        }
    }

    /// The reply has the type that the plan promises.
    pub(super) fn check_reply(&mut self) {
        let program = self.program(0);
        let root = &self.frames[0];
        if root.ending.is_some() {
            return;
        }
        let Some(reply) = root.values.last() else {
            return;
        };
        let reply = match convert(reply.clone(), &program.plan.returns) {
            Ok(reply) => reply,
            Err(mismatch) => {
                let message = format!("the reply does not have the promised type: {mismatch}");
                let error = StepError::new(
                    ErrorClass::Validation(Validation::Expression),
                    message,
                    &"".into(),
                );
                self.frames[0].ending = Some(super::frame::Ending::Failed(Arc::new(error)));
                return;
            }
        };
        let told = without_absent(&reply, &program.plan.returns);
        if let Some(reply) = self.frames[0].values.last_mut() {
            *reply = told;
        }
    }
}

/// A condition's value as a decision.
pub(super) fn truth(value: &Value, span: planrun_lang::source::Span) -> Result<bool, EvalError> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        other => {
            let message = format!(
                "a condition came out as {}, which is no bool",
                other.preview(80)
            );
            Err(EvalError::new(FailureKind::NoOverload, message, span))
        }
    }
}

/// Text without quotes.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.to_string(),
        other => other.preview(80),
    }
}
