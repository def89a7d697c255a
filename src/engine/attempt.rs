//! Calls of tools: slots, attempts, retries and polls.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Program;
use super::dispatcher::{Dispatcher, NodeRef, Timer};
use super::event::EventKind;
use super::failure::{StepError, timed_out};
use super::frame::FrameId;
use super::settle::End;
use crate::protocol::StepState;
use crate::sema::{Call, Step, StepKind, Target};
use crate::tools::{CallError, Outcome, Reply, Request, Sent};
use crate::types::{Budget, Effect, ErrorClass, Signature, Validation};
use crate::value::Value;

/// How long a transport gets to stop after a timeout, such as a program to die.
const CLEAN_UP: Duration = Duration::from_secs(2);

/// A call that has begun and not settled.
pub(super) struct Leaf {
    /// Tells answers and timers of this phase from those of earlier ones.
    number: u64,
    phase: Phase,
    effect: Effect,
    arguments: Value,
    /// Executions end with an answer; attempts of one execution share its key.
    execution: u32,
    /// Of the current series of retries; a poll begins a new one.
    attempt: u32,
    /// Stops the attempt in flight.
    cancel: Option<CancellationToken>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    InFlight,
    /// Between attempts or polls; holds no slot.
    Waiting,
}

impl Leaf {
    /// Whether an attempt is under way.
    pub(super) fn in_flight(&self) -> bool {
        self.phase == Phase::InFlight
    }

    /// Whether cancelling it now would leave open if it happened.
    pub(super) fn must_be_awaited(&self) -> bool {
        self.in_flight() && !self.effect.repeatable()
    }
}

/// What an attempt tells the dispatcher.
pub(super) struct Message {
    at: NodeRef,
    number: u64,
    outcome: Outcome,
}

impl Dispatcher<'_> {
    /// A call may run: take a slot, or wait for one.
    pub(super) fn start_call(&mut self, program: &Arc<Program>, at: NodeRef) {
        self.woken.remove(&at);
        if !self.take_slot(self.frames[at.0].scope) {
            self.frames[at.0].node(at.1).state = StepState::Queued;
            self.queued.insert(at);
            let path = self.path(program, at);
            self.emit(EventKind::StepQueued { path: &path });
            return;
        }
        if let Err(error) = self.mark_started(program, at) {
            self.give_slot(self.frames[at.0].scope);
            return self.expression_failed(program, at, &error);
        }
        let Some((step, call, signature)) = tool_call(program, self, at) else { return };
        let arguments = match self.arguments(at, call, &signature) {
            Ok(arguments) => arguments,
            Err(error) => {
                self.give_slot(self.frames[at.0].scope);
                return self.step_failed(at, error);
            }
        };
        if !call.arguments.is_empty() {
            self.record(at.0, at.1).details_mut().arguments = Some(arguments.clone());
        }
        let leaf = Leaf {
            number: 0,
            phase: Phase::InFlight,
            effect: call.effect,
            arguments,
            execution: 0,
            attempt: 0,
            cancel: None,
        };
        self.attempt(program, at, step, &signature, leaf);
    }

    /// Makes the next attempt; the slot is held.
    fn attempt(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        mut leaf: Leaf,
    ) {
        let scope = self.frames[at.0].scope;
        if self.budget_is_spent(scope) {
            self.give_slot(scope);
            return;
        }
        self.calls += 1;
        leaf.attempt += 1;
        leaf.number = self.number();
        leaf.phase = Phase::InFlight;
        self.frames[at.0].node(at.1).state = StepState::Running;
        let record = self.record(at.0, at.1);
        record.attempts += 1;
        let attempts = record.attempts;
        let path = self.path(program, at);
        let called = self.called(scope, signature);
        self.emit(EventKind::StepRunning { path: &path, tool: &called.path, attempt: attempts });
        let key: Arc<str> = if leaf.effect == Effect::Pure {
            // Nothing remembers a pure call, so nothing needs to tell two of them apart.
            Arc::default()
        } else {
            idempotency_key(&self.context.run_id, &path, leaf.execution).into()
        };
        let cancel = self.spare_token.take().unwrap_or_default();
        let request = Request {
            signature: signature.clone(),
            arguments: leaf.arguments.clone(),
            idempotency_key: key,
            cancel: cancel.clone(),
        };
        let Some(transport) = &called.transport else {
            let message = format!("nothing tells where `{}` is; name its app file in `planrun.yaml`", called.path);
            let error = CallError { class: ErrorClass::Internal, message, sent: Sent::No, retry_after: None };
            return self.attempt_ended(program, at, step, signature, leaf, Err(error));
        };
        match transport.call(request) {
            Reply::Now(outcome) => {
                self.spare_token = Some(cancel);
                self.attempt_ended(program, at, step, signature, leaf, outcome);
            }
            Reply::Later(answer) => {
                let limit = self.timeout(at.0, step);
                self.spawn(at, leaf.number, cancel.clone(), limit, answer);
                self.leaves.insert(at, Leaf { cancel: Some(cancel), ..leaf });
            }
        }
    }

    fn spawn(
        &self,
        at: NodeRef,
        number: u64,
        cancel: CancellationToken,
        limit: Duration,
        answer: std::pin::Pin<Box<dyn Future<Output = Outcome> + Send>>,
    ) {
        let sender = self.sender.clone();
        tokio::spawn(async move {
            let mut answer = answer;
            let outcome = tokio::select! {
                biased;
                outcome = &mut answer => outcome,
                () = tokio::time::sleep(limit) => {
                    cancel.cancel();
                    // The transport cleans up, and what it still says comes too late.
                    let _ = tokio::time::timeout(CLEAN_UP, answer).await;
                    Err(timed_out(limit))
                }
            };
            // The dispatcher is gone only when the run is over.
            let _ = sender.send(Message { at, number, outcome });
        });
    }

    /// An answer from outside; one of an earlier phase comes too late and is dropped.
    pub(super) fn receive(&mut self, message: Message) {
        let at = message.at;
        if self.leaves.get(&at).is_none_or(|leaf| leaf.number != message.number || !leaf.in_flight()) {
            return;
        }
        let Some(leaf) = self.leaves.remove(&at) else { return };
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else { return };
        self.attempt_ended(&program, at, step, &signature, leaf, message.outcome);
    }

    fn attempt_ended(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        leaf: Leaf,
        outcome: Outcome,
    ) {
        let scope = self.frames[at.0].scope;
        self.give_slot(scope);
        let max_result = self.scopes[scope].policy.max_result;
        let attempts = self.record(at.0, at.1).attempts;
        match outcome {
            Ok(answer) => match self.contracts.result(signature, answer, max_result) {
                Ok(value) => self.answered(program, at, step, leaf, value),
                Err(fault) => {
                    let path = self.path(program, at);
                    let mut error = StepError::new(ErrorClass::Validation(Validation::Result), fault, &path);
                    (error.attempt, error.sent) = (attempts, Sent::Answered);
                    self.step_failed(at, Arc::new(error));
                }
            },
            Err(error) => {
                let path = self.path(program, at);
                let error = Arc::new(StepError::attempt(error, leaf.effect, &path, attempts));
                self.attempt_failed(at, step, leaf, error);
            }
        }
    }

    fn answered(&mut self, program: &Arc<Program>, at: NodeRef, step: &Step, leaf: Leaf, value: Value) {
        let Some(until) = step.until() else { return self.settle(at, End::Completed(value)) };
        if let Some(place) = self.node(program, at).slot.and_then(|slot| self.frames[at.0].slots.get_mut(slot as usize))
        {
            *place = value.clone();
        }
        match self.evaluate(at.0, &until.condition) {
            Ok(Value::Bool(true)) => self.settle(at, End::Completed(value)),
            Ok(_) => {
                let wait = match self.evaluate(at.0, &until.every) {
                    Ok(Value::Duration(nanos)) => Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)),
                    Ok(_) => Duration::ZERO,
                    Err(error) => return self.expression_failed(program, at, &error),
                };
                // Each poll is an execution of its own.
                let leaf = Leaf { execution: leaf.execution + 1, attempt: 0, ..leaf };
                self.wait(at, leaf, wait.max(Duration::from_millis(1)), None);
            }
            Err(error) => self.expression_failed(program, at, &error),
        }
    }

    fn attempt_failed(&mut self, at: NodeRef, step: &Step, leaf: Leaf, error: Arc<StepError>) {
        let policy = &self.scopes[self.frames[at.0].scope].policy;
        let (backoff, on) = policy.backoff(step.retry(), leaf.effect);
        let wanted = on.iter().any(|pattern| pattern.matches(&error.class));
        // Whatever the plan says: what may have happened is not simply done again.
        let unknown = error.class == ErrorClass::UnknownOutcome;
        let ending = self.frames[at.0].ending.is_some();
        if ending || unknown || !wanted || !error.is_value() {
            return self.step_failed(at, error);
        }
        if leaf.attempt >= backoff.attempts {
            let pauses = step.retry().is_some() || leaf.effect.repeatable();
            if pauses && policy.pauses_when_exhausted(step.retry()) {
                let message = format!("{} (the run would pause here, and without a journal it cannot)", error.message);
                return self.step_failed(at, Arc::new(StepError { message: message.into(), ..(*error).clone() }));
            }
            return self.step_failed(at, error);
        }
        let wait = super::failure::wait(&backoff, &self.context.run_id, &error.step, leaf.attempt, error.retry_after);
        // An answered failure ends the execution; one that never arrived, or may have, keeps its key.
        let execution = leaf.execution + u32::from(error.sent == Sent::Answered);
        self.wait(at, Leaf { execution, ..leaf }, wait, Some(&error));
    }

    /// Waits for the next attempt or poll.
    fn wait(&mut self, at: NodeRef, mut leaf: Leaf, wait: Duration, error: Option<&StepError>) {
        leaf.number = self.number();
        leaf.phase = Phase::Waiting;
        leaf.cancel = None;
        self.frames[at.0].node(at.1).state = StepState::Waiting;
        let program = self.program(at.0);
        let path = self.path(&program, at);
        let attempt = self.record(at.0, at.1).attempts;
        self.emit(EventKind::StepWaiting { path: &path, attempt, wait, error });
        self.after(wait, Timer::Again(at, leaf.number));
        self.leaves.insert(at, leaf);
    }

    /// The wait is over.
    pub(super) fn again(&mut self, at: NodeRef, number: u64) {
        if self.leaves.get(&at).is_none_or(|leaf| leaf.number != number) {
            return;
        }
        self.woken.remove(&at);
        if !self.take_slot(self.frames[at.0].scope) {
            self.frames[at.0].node(at.1).state = StepState::Queued;
            self.queued.insert(at);
            return;
        }
        let Some(leaf) = self.leaves.remove(&at) else { return };
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else { return };
        self.attempt(&program, at, step, &signature, leaf);
    }

    /// Stops a call without settling its step.
    pub(super) fn drop_leaf(&mut self, at: NodeRef) {
        self.leave_queue(at);
        if let Some(leaf) = self.leaves.remove(&at) {
            if let Some(cancel) = &leaf.cancel {
                cancel.cancel();
            }
            if leaf.in_flight() {
                self.give_slot(self.frames[at.0].scope);
            }
        }
    }

    fn budget_is_spent(&mut self, scope: usize) -> bool {
        let Some(limit) = self.scopes[scope].policy.budget_calls.filter(|limit| self.calls >= *limit) else {
            return false;
        };
        let message = format!("the budget of {limit} calls is spent");
        self.fatal(ErrorClass::Budget(Budget::Calls), &message);
        true
    }

    fn timeout(&self, frame: FrameId, step: &Step) -> Duration {
        let own = step.timeout().map(|timeout| self.evaluate(frame, timeout));
        match own {
            Some(Ok(Value::Duration(nanos))) => Duration::from_nanos(u64::try_from(nanos).unwrap_or(0)),
            // A pure call bounds itself, as `sys.sleep` does; only a lost answer needs a bound from outside.
            _ if step.effect == Effect::Pure => super::clock::FARTHEST,
            _ => self.scopes[self.frames[frame].scope].policy.timeout,
        }
    }

    /// Takes a slot of a plan instance and of those that called it; false where one of them has none left.
    fn take_slot(&mut self, scope: usize) -> bool {
        if !self.has_slot(scope) {
            return false;
        }
        let mut inner = Some(scope);
        while let Some(scope) = inner {
            self.scopes[scope].in_use += 1;
            inner = self.scopes[scope].outer;
        }
        true
    }

    fn has_slot(&self, scope: usize) -> bool {
        let mut inner = Some(scope);
        while let Some(scope) = inner {
            let scope = &self.scopes[scope];
            if scope.in_use >= scope.policy.concurrency {
                return false;
            }
            inner = scope.outer;
        }
        true
    }

    /// Gives a slot back and lets the first call that can use it try again.
    fn give_slot(&mut self, scope: usize) {
        let mut inner = Some(scope);
        while let Some(scope) = inner {
            self.scopes[scope].in_use = self.scopes[scope].in_use.saturating_sub(1);
            inner = self.scopes[scope].outer;
        }
        self.wake_next();
    }

    /// A call waits for no slot any more. One that had been woken for a slot and will not take it passes it on.
    pub(super) fn leave_queue(&mut self, at: NodeRef) {
        self.queued.remove(&at);
        if self.woken.remove(&at) {
            self.wake_next();
        }
    }

    fn wake_next(&mut self) {
        // One whose own plan has no slot left would take this one's place and leave the slot unused.
        let next = self.queued.iter().copied().find(|at| self.has_slot(self.frames[at.0].scope));
        let Some(at) = next else { return };
        self.queued.remove(&at);
        self.woken.insert(at);
        if let Some(leaf) = self.leaves.get(&at) {
            // Between two attempts: it goes on where it was.
            let number = leaf.number;
            self.timers.push(std::cmp::Reverse((super::clock::now(), number, Timer::Again(at, number))));
        } else {
            self.frames[at.0].node(at.1).state = StepState::Pending;
            self.ready.push(std::cmp::Reverse(at));
        }
    }
}

/// The step of a node that calls a tool.
fn tool_call<'p>(
    program: &'p Program,
    dispatcher: &Dispatcher<'_>,
    at: NodeRef,
) -> Option<(&'p Step, &'p Call, Arc<Signature>)> {
    let step = dispatcher.node(program, at).step()?;
    let StepKind::Call(call) = &step.kind else { return None };
    let Target::Tool(signature) = &call.target else { return None };
    Some((step, call, signature.clone()))
}

/// H(run, path, execution, direction): the same for every attempt of one execution, and for no other.
fn idempotency_key(run: &str, path: &str, execution: u32) -> String {
    let mut hash = blake3::Hasher::new();
    for part in [run.as_bytes(), path.as_bytes(), &execution.to_le_bytes(), b"forward"] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().to_hex()[..32].to_owned()
}
