//! Calls of tools: attempts, retries and polls.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::{Call, Step, StepKind, Target};
use planrun_lang::types::{Effect, ErrorClass, Signature, Validation, sensitive_arguments};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::Program;
use super::arguments::{format_note, result};
use super::budget::used_by;
use super::command::{CallId, CallRequest, Command};
use super::copies::Again;
use super::frame::FrameId;
use super::leaf::{Leaf, Phase};
use super::machine::{NodeRef, Run, Timer};
use super::reached::Reached;
use super::sensitive::below;
use super::settle::End;
use crate::journal::{ARGUMENTS, Dispatch, EventKind, StepError, Used, Waiting};
use planrun_lang::call::CallOutcome;

impl Run {
    /// A call may run: take a slot, or wait for one.
    pub(super) fn start_call(&mut self, program: &Arc<Program>, at: NodeRef) {
        self.woken.remove(&at);
        if self.is_let_go() || self.setup.only_looks && !self.recording.knows(&self.own_path(at)) {
            // The next process begins with it.
            return;
        }
        if self.recording.is_replaying() && self.recording.has_begun(&self.own_path(at)) {
            self.hold_slot(self.frames[at.0].scope);
        } else if !self.take_slot(self.frames[at.0].scope) {
            self.frames[at.0].node(at.1).state = StepState::Queued;
            self.queued.insert(at);
            let path = self.path(program, at);
            self.emit(EventKind::StepQueued { path });
            return;
        }
        if self.too_many_steps(at) {
            return self.give_slot(self.frames[at.0].scope);
        }
        if let Err(error) = self.mark_started(program, at) {
            self.give_slot(self.frames[at.0].scope);
            return self.expression_failed(program, at, &error);
        }
        let Some((step, call, signature)) = tool_call(program, self, at) else {
            return;
        };
        let path = self.path(program, at);
        let open = self.open_execution(at, &path);
        if let Some(past) = self.recording.begun(&path) {
            return self.begin_again(at, call.effect, path, past);
        }
        let known = open.as_ref().map(|open| open.arguments.clone());
        let known = known.or_else(|| self.approved_arguments(at));
        let arguments = match known.map_or_else(|| self.arguments(at, call, &signature), Ok) {
            Ok(arguments) => arguments,
            Err(error) => {
                self.give_slot(self.frames[at.0].scope);
                return self.step_failed(at, error);
            }
        };
        if self.is_copied(program, at, (call, &signature), &arguments) {
            return self.give_slot(self.frames[at.0].scope);
        }
        if !call.arguments.is_empty() {
            self.record(at.0, at.1).details_mut().arguments = Some(arguments.clone());
        }
        let execution = self.first_execution(&path);
        let key = self.key(call.effect, &path, execution);
        let arrived = open.and_then(|open| open.arrived);
        let leaf = Leaf {
            arrived,
            ..Leaf::new(call.effect, arguments, execution, key)
        };
        self.attempt(program, at, step, &signature, leaf);
    }

    /// Why a call is made although another run has made it.
    fn again_of(&self, (frame, node): NodeRef) -> Option<&'static str> {
        self.frames[frame].records[node as usize]
            .details()?
            .again
            .map(Again::name)
    }

    /// Makes the next attempt; the slot is held.
    pub(super) fn attempt(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        leaf: Leaf,
    ) {
        let scope = self.frames[at.0].scope;
        let Some(mut leaf) = self.with_approval(program, at, step, leaf) else {
            return;
        };
        if let Some(error) = self.key_is_forgotten(at, signature, &leaf) {
            self.give_slot(scope);
            return self.doubt(at, leaf, Arc::new(error), false);
        }
        if self.budget_is_spent(at) {
            return self.give_slot(scope);
        }
        self.spend(at.0, 1, Used::default());
        leaf.attempt += 1;
        leaf.number = self.number();
        (leaf.handle, leaf.told_cost) = (None, false);
        if !leaf.effect.is_read_only() {
            leaf.sent_at = self.now.wall;
        }
        self.frames[at.0].node(at.1).state = StepState::Running;
        self.record(at.0, at.1).attempts += 1;
        let event = self.announce(program, at, signature, &leaf);
        self.note_open(at, &leaf);
        // What changes nothing may be asked at once; anything else only when nobody can forget that it was.
        let needed = if leaf.effect.is_read_only() { 0 } else { event };
        if self.recording.is_replaying() || needed > self.recording.durable() {
            leaf.phase = Phase::Held(needed);
            self.leaves.insert(at, leaf);
            self.held.push_back(at);
            return;
        }
        self.dispatch(program, at, step, signature, leaf);
    }

    /// Tells of an attempt before it is made; gives the number of the event.
    fn announce(
        &mut self,
        program: &Program,
        at: NodeRef,
        signature: &Arc<Signature>,
        leaf: &Leaf,
    ) -> u64 {
        if self.is_silent() {
            return 0;
        }
        let call = Dispatch {
            execution: leaf.execution,
            trial: leaf.attempt,
            key: leaf.key.clone(),
            effect: leaf.effect,
            arguments: leaf.arguments.clone(),
            again: self.again_of(at),
        };
        let labels = below(ARGUMENTS, &sensitive_arguments(signature, &leaf.arguments));
        let kind = EventKind::StepRunning {
            path: self.path(program, at),
            tool: self.tool_name(self.frames[at.0].scope, signature),
            attempt: self.frames[at.0].records[at.1 as usize].attempts,
            call: Some(call),
        };
        self.emit_labelled(kind, labels)
    }

    /// Sends what was held back and may go now.
    pub(super) fn send_held(&mut self) {
        if self.recording.is_replaying() || self.is_let_go() {
            return;
        }
        let durable = self.recording.durable();
        for _ in 0..self.held.len() {
            let Some(at) = self.held.pop_front() else {
                return;
            };
            let Some(leaf) = self.leaves.get(&at) else {
                continue;
            };
            match leaf.phase {
                Phase::Held(needed) if needed > durable => self.held.push_back(at),
                Phase::Held(_) => {
                    let Some(leaf) = self.leaves.remove(&at) else {
                        continue;
                    };
                    let program = self.program(at.0);
                    let Some((step, _, signature)) = tool_call(&program, self, at) else {
                        continue;
                    };
                    self.dispatch(&program, at, step, &signature, leaf);
                }
                Phase::InFlight
                | Phase::Waiting
                | Phase::Answered
                | Phase::Lost
                | Phase::CutOff => {}
            }
        }
    }

    pub(super) fn dispatch(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        mut leaf: Leaf,
    ) {
        leaf.phase = Phase::InFlight;
        let call = CallId {
            at,
            number: leaf.number,
        };
        self.commands.push(Command::Call(CallRequest {
            call,
            scope: self.frames[at.0].scope,
            path: self.path(program, at),
            signature: signature.clone(),
            arguments: leaf.arguments.clone(),
            key: leaf.key.clone(),
            handle: leaf.handle.clone(),
            timeout: self.timeout(at.0, step),
        }));
        self.called = !self.reactions.in_order;
        self.leaves.insert(at, leaf);
    }

    /// The call that an attempt in flight belongs to; none where it has ended.
    pub(super) fn flying(&mut self, CallId { at, number }: CallId) -> Option<&mut Leaf> {
        let leaf = self.leaves.get_mut(&at)?;
        (leaf.number == number && leaf.phase == Phase::InFlight).then_some(leaf)
    }

    /// A call can be taken up again with this.
    pub(super) fn handle_given(&mut self, call: CallId, handle: Json) {
        let Some(leaf) = self.flying(call) else {
            return;
        };
        leaf.handle = Some(handle.clone());
        let path = self.own_path(call.at);
        self.emit(EventKind::HandleGiven { path, handle });
    }

    /// A call says what it has cost since it last did.
    pub(super) fn cost_told(&mut self, call: CallId, used: Used) {
        let Some(leaf) = self.flying(call) else {
            return;
        };
        leaf.told_cost = true;
        self.report_usage(call.at, used);
    }

    /// An answer from outside; one of an earlier phase comes too late and is dropped.
    pub(super) fn receive(&mut self, CallId { at, number }: CallId, outcome: CallOutcome) {
        if self.flying(CallId { at, number }).is_none() {
            return;
        }
        let Some(mut leaf) = self.leaves.remove(&at) else {
            return;
        };
        self.end_peer_question(at, &mut leaf);
        if self.is_let_go() && leaf.effect.repeatable() {
            // It was stopped, and the next process makes it again.
            return;
        }
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else {
            return;
        };
        self.attempt_ended(&program, at, step, &signature, leaf, outcome);
        self.let_go_if_quiet();
    }

    fn attempt_ended(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        signature: &Arc<Signature>,
        mut leaf: Leaf,
        outcome: CallOutcome,
    ) {
        let scope = self.frames[at.0].scope;
        self.give_slot(scope);
        let max_result = self.scopes[scope].policy.max_result;
        let attempts = self.record(at.0, at.1).attempts;
        match outcome {
            Ok(answer) => {
                if !leaf.told_cost {
                    self.report_usage(at, used_by(signature, &answer));
                }
                let note = format_note(signature, &answer);
                match result(signature, answer, max_result) {
                    Ok(value) => {
                        if let Some(note) = note {
                            let path = self.path(program, at);
                            self.emit(EventKind::ResultNoted {
                                path: path.clone(),
                                note: note.into(),
                            });
                        }
                        self.answered(program, at, step, leaf, value);
                    }
                    Err(fault) => {
                        let path = self.path(program, at);
                        let mut error = StepError::new(
                            ErrorClass::Validation(Validation::Result),
                            fault,
                            &path,
                        );
                        (error.attempt, error.sent) = (attempts, Sent::Answered);
                        self.note_failure(at, leaf.effect, &error);
                        self.step_failed(at, Arc::new(error));
                    }
                }
            }
            Err(error) => {
                self.reached(at, Reached::Failed(error.class.clone()));
                let path = self.path(program, at);
                let error = Arc::new(StepError::attempt(error, leaf.effect, &path, attempts));
                if error.sent != Sent::No {
                    leaf.arrived = leaf.arrived.or(Some(leaf.sent_at));
                }
                self.note_open(at, &leaf);
                self.note_failure(at, leaf.effect, &error);
                self.attempt_failed(at, (step, signature), leaf, error);
            }
        }
    }

    fn answered(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        step: &Step,
        leaf: Leaf,
        value: Value,
    ) {
        self.note_success(at);
        let Some(until) = step.until() else {
            return self.settle(at, End::Completed(value));
        };
        if let Some(place) = self
            .node(program, at)
            .slot
            .and_then(|slot| self.frames[at.0].slots.get_mut(slot as usize))
        {
            *place = value.clone();
        }
        match self.evaluate(at.0, &until.condition) {
            Ok(Value::Bool(true)) => self.settle(at, End::Completed(value)),
            Ok(_) => self.poll_again(program, at, until, leaf, None),
            Err(error) => self.expression_failed(program, at, &error),
        }
    }

    fn attempt_failed(
        &mut self,
        at: NodeRef,
        (step, signature): (&Step, &Signature),
        leaf: Leaf,
        error: Arc<StepError>,
    ) {
        let policy = &self.scopes[self.frames[at.0].scope].policy;
        let (backoff, on) =
            policy.backoff(self.setup.defaults.retry_of(step, signature), leaf.effect);
        let wanted = on.iter().any(|pattern| pattern.matches(&error.class));
        // Whatever the plan says: what may have happened is not simply done again.
        let broken = error.class == ErrorClass::Validation(Validation::Result)
            && error.sent == Sent::Answered;
        let unknown = error.class == ErrorClass::UnknownOutcome || broken;
        let ending = self.frames[at.0].ending.is_some();
        let program = self.program(at.0);
        if let Some(until) = step
            .until()
            .filter(|_| !ending && matches!(error.class, ErrorClass::Transient(_)))
        {
            return self.poll_again(&program, at, until, leaf, Some(error));
        }
        if ending || unknown || !wanted || !error.is_value() {
            return self.call_failed(at, leaf, error);
        }
        if leaf.attempt >= backoff.attempts {
            if self.pauses_when_exhausted(at, &error) && !self.can_park(at.0) {
                let message = format!(
                    "{} (the run would pause here, and without a journal it cannot)",
                    error.message
                );
                return self.step_failed(
                    at,
                    Arc::new(StepError {
                        message: message.into(),
                        ..(*error).clone()
                    }),
                );
            }
            return self.step_failed(at, error);
        }
        let wait = super::failure::wait(
            &backoff,
            &self.setup.run_id,
            &error.step,
            leaf.attempt,
            error.retry_after,
        );
        // Only where the contract says that nothing has happened is the execution over; anything else keeps its key.
        let leaf = if error.ends_execution() {
            self.next_execution(&program, at, leaf)
        } else {
            leaf
        };
        self.wait(at, leaf, Waiting::Retry, wait, Some(error));
    }

    /// Waits for the next attempt or poll.
    pub(super) fn wait(
        &mut self,
        at: NodeRef,
        mut leaf: Leaf,
        what: Waiting,
        wait: Duration,
        error: Option<Arc<StepError>>,
    ) {
        leaf.number = self.number();
        leaf.phase = Phase::Waiting;
        self.frames[at.0].node(at.1).state = StepState::Waiting;
        let program = self.program(at.0);
        let path = self.path(&program, at);
        let attempt = self.record(at.0, at.1).attempts;
        self.emit(EventKind::StepWaiting {
            path: path.clone(),
            attempt,
            what,
            wait,
            error,
        });
        self.after(wait, Timer::Again(at, leaf.number));
        self.leaves.insert(at, leaf);
    }

    /// The wait is over.
    pub(super) fn again(&mut self, at: NodeRef, number: u64) {
        if self
            .leaves
            .get(&at)
            .is_none_or(|leaf| leaf.number != number)
        {
            return;
        }
        self.woken.remove(&at);
        if self.must_ask_again(at) {
            return self.ask_again(at);
        }
        if !self.take_slot(self.frames[at.0].scope) {
            self.frames[at.0].node(at.1).state = StepState::Queued;
            self.queued.insert(at);
            return;
        }
        let Some(leaf) = self.leaves.remove(&at) else {
            return;
        };
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else {
            return;
        };
        self.attempt(&program, at, step, &signature, leaf);
    }

    /// Takes a call back from its slot, until somebody has approved of it.
    pub(super) fn hold_back(&mut self, at: NodeRef, leaf: Leaf) {
        self.give_slot(self.frames[at.0].scope);
        self.put_aside(at, leaf);
    }

    /// Stops a call without settling its step.
    pub(super) fn drop_leaf(&mut self, at: NodeRef) {
        self.leave_queue(at);
        self.stop_flight(at);
    }

    /// Stops an attempt, and takes its call out of those that have begun.
    pub(super) fn stop_flight(&mut self, at: NodeRef) -> Option<Leaf> {
        let leaf = self.leave_flight(at)?;
        if leaf.phase == Phase::InFlight {
            self.commands.push(Command::StopCall(CallId {
                at,
                number: leaf.number,
            }));
        }
        Some(leaf)
    }

    /// Takes a call out of those that have begun, and gives its slot back.
    pub(super) fn leave_flight(&mut self, at: NodeRef) -> Option<Leaf> {
        let leaf = self.leaves.remove(&at)?;
        self.close_peer_question(at);
        if leaf.has_slot() {
            self.give_slot(self.frames[at.0].scope);
        }
        Some(leaf)
    }

    /// Keeps a call without a slot, until it is known how it goes on.
    pub(super) fn put_aside(&mut self, at: NodeRef, leaf: Leaf) {
        let number = self.number();
        self.frames[at.0].node(at.1).state = StepState::Waiting;
        self.leaves.insert(
            at,
            Leaf {
                number,
                phase: Phase::Waiting,
                ..leaf
            },
        );
    }

    fn timeout(&self, frame: FrameId, step: &Step) -> Duration {
        let own = step.timeout().map(|timeout| self.evaluate(frame, timeout));
        match own {
            Some(Ok(Value::Duration(nanos))) => {
                Duration::from_nanos(u64::try_from(nanos).unwrap_or(0))
            }
            // A pure call bounds itself, as `sys.sleep` does; only a lost answer needs a bound from outside.
            _ if step.effect == Effect::Pure => super::clock::FARTHEST,
            _ => self.scopes[self.frames[frame].scope].policy.timeout,
        }
    }
}

/// The step of a node that calls a tool.
pub(super) fn tool_call<'p>(
    program: &'p Program,
    run: &Run,
    at: NodeRef,
) -> Option<(&'p Step, &'p Call, Arc<Signature>)> {
    let step = run.node(program, at).step()?;
    let StepKind::Call(call) = &step.kind else {
        return None;
    };
    let Target::Tool(signature) = &call.target else {
        return None;
    };
    Some((step, call, signature.clone()))
}
