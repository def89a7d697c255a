//! Steps that hold others: `do`, `each`, `repeat`, `race`, `match` and called plans.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::sema::{BlockId, Call, Each, Repeat, StepKind};
use planrun_lang::value::{Key, Value};

use super::Program;
use super::frame::{Ending, FrameId, Owner, Role};
use super::machine::{NodeRef, Run};
use super::reached::Reached;
use super::settle::End;
use crate::journal::StepError;

/// What is known of a step that holds others, while it runs.
pub(super) enum Compound {
    /// One body at a time.
    Body,
    Each(EachState),
    Repeat(RepeatState),
    Race(RaceState),
    /// Its time is over; it fails as soon as what works for it has ended.
    Ending(Arc<StepError>),
}

pub(super) struct EachState {
    list: Arc<Vec<Value>>,
    /// What stands in the brackets of each path.
    labels: Vec<Arc<str>>,
    /// By index; null until it is there.
    results: Vec<Value>,
    next: usize,
    running: usize,
    width: usize,
    settle: bool,
    failure: Option<Arc<StepError>>,
}

pub(super) struct RepeatState {
    yields: Vec<Value>,
    round: usize,
    max: usize,
}

pub(super) struct RaceState {
    names: Vec<Arc<str>>,
    running: usize,
    winner: Option<(usize, Value)>,
    failures: Vec<Option<Arc<StepError>>>,
}

impl Run {
    /// Starts another plan as the body of a step.
    pub(super) fn call_plan(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        call: &Call,
        index: usize,
    ) {
        let Some(called) = program.plans.get(index).cloned() else {
            return;
        };
        let inputs = match self.plan_inputs(at, call, &called.plan.parameters) {
            Ok(inputs) => inputs,
            Err(error) => return self.step_failed(at, error),
        };
        let outer = self.frames[at.0].scope;
        let scope = self.open_scope(&called, Some(outer));
        if let Some(deadline) = self.scopes[scope].policy.deadline {
            self.set_deadline(deadline);
        }
        let path = self.path(program, at);
        let owner = Owner {
            frame: at.0,
            node: at.1,
            role: Role::Body,
        };
        let frame = self.open_frame(scope, BlockId(0), None, Some(owner), path.clone());
        match self.bind_inputs(frame, &inputs) {
            Some(error) => {
                self.start_frame(frame);
                self.end_frame(frame, &Ending::Failed(Arc::new(error)));
            }
            None => self.start_frame(frame),
        }
    }

    pub(super) fn start_each(&mut self, program: &Arc<Program>, at: NodeRef, each: &Each) {
        let state = match self.each_state(program, at, each) {
            Ok(state) => state,
            Err(error) => return self.expression_failed(program, at, &error),
        };
        self.reached(at, Reached::Elements(state.list.len()));
        self.compounds.insert(at, Compound::Each(state));
        self.next_elements(program, at, each);
    }

    fn each_state(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        each: &Each,
    ) -> Result<EachState, EvalError> {
        let fail = |message: String| EvalError::plain(message, each.list.span);
        let list = match self.evaluate(at.0, &each.list)? {
            Value::List(list) => list,
            other => {
                return Err(fail(format!(
                    "`each` runs over a list, and this is {}",
                    other.preview(80)
                )));
            }
        };
        if let Some(max) = self.count(at.0, each.max.as_ref())?
            && list.len() > max
        {
            return Err(fail(format!(
                "the list has {} elements, more than `max {max}`",
                list.len()
            )));
        }
        let width = match self.count(at.0, each.parallel.as_ref())? {
            Some(width) => width.max(1),
            None if each.in_turn => 1,
            None => self.scopes[self.frames[at.0].scope].policy.concurrency as usize,
        };
        let labels = self.labels(program, at, each, &list)?;
        Ok(EachState {
            results: vec![Value::Null; list.len()],
            labels,
            list,
            next: 0,
            running: 0,
            width,
            settle: each.settle,
            failure: None,
        })
    }

    /// The indices, or the keys of `by`, which must differ.
    fn labels(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        each: &Each,
        list: &[Value],
    ) -> Result<Vec<Arc<str>>, EvalError> {
        let Some(by) = &each.by else {
            return Ok((0..list.len())
                .map(|index| index.to_string().into())
                .collect());
        };
        let mut labels = Vec::with_capacity(list.len());
        let mut seen = BTreeSet::new();
        // A frame that only lends its slots to `by`, and is gone before anything else is opened.
        let scratch = self.make_body(program, at, each.body, Role::Element(0), |path| path);
        let mut fault = None;
        for (index, element) in list.iter().enumerate() {
            self.put_element(scratch, element, index);
            match self.evaluate(scratch, by) {
                Ok(key) => {
                    let label: Arc<str> = serde_json::to_string(&key).unwrap_or_default().into();
                    if !seen.insert(label.clone()) {
                        let message = format!("`by` gives {} for two elements", key.preview(80));
                        fault = Some(EvalError::plain(message, by.span));
                    }
                    labels.push(label);
                }
                Err(error) => fault = Some(error),
            }
            if fault.is_some() {
                break;
            }
        }
        self.frames.truncate(scratch);
        self.record(at.0, at.1).details_mut().frames.pop();
        fault.map_or(Ok(labels), Err)
    }

    fn put_element(&mut self, frame: FrameId, element: &Value, index: usize) {
        let slots = &mut self.frames[frame].slots;
        if let [first, second, ..] = slots.as_mut_slice() {
            *first = element.clone();
            *second = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
        }
    }

    fn next_elements(&mut self, program: &Arc<Program>, at: NodeRef, each: &Each) {
        loop {
            let Some(Compound::Each(state)) = self.compounds.get_mut(&at) else {
                return;
            };
            let stop = state.failure.is_some()
                || state.next >= state.list.len()
                || state.running >= state.width;
            if stop {
                break;
            }
            let index = state.next;
            let (element, label) = (state.list[index].clone(), state.labels[index].clone());
            state.next += 1;
            state.running += 1;
            let role = Role::Element(u32::try_from(index).unwrap_or(u32::MAX));
            let frame = self.make_body(program, at, each.body, role, |path| {
                format!("{path}[{label}]").into()
            });
            self.put_element(frame, &element, index);
            self.start_frame(frame);
        }
        let Some(Compound::Each(state)) = self.compounds.get_mut(&at) else {
            return;
        };
        if state.running > 0 {
            return;
        }
        let results = std::mem::take(&mut state.results);
        match state.failure.take() {
            Some(failure) => self.inner_failed(program, at, &failure),
            None => self.complete(at, Value::List(Arc::new(results))),
        }
    }

    pub(super) fn start_repeat(&mut self, program: &Arc<Program>, at: NodeRef, repeat: &Repeat) {
        let initial = self.evaluate(at.0, &repeat.initial);
        let max = self.count(at.0, repeat.max.as_ref());
        match (initial, max) {
            (Ok(initial), Ok(max)) => {
                let state = RepeatState {
                    yields: Vec::new(),
                    round: 0,
                    max: max.unwrap_or(usize::MAX),
                };
                self.compounds.insert(at, Compound::Repeat(state));
                self.round(program, at, repeat.body, initial);
            }
            (Err(error), _) | (_, Err(error)) => self.expression_failed(program, at, &error),
        }
    }

    fn round(&mut self, program: &Arc<Program>, at: NodeRef, body: BlockId, carried: Value) {
        let Some(Compound::Repeat(state)) = self.compounds.get_mut(&at) else {
            return;
        };
        let round = state.round;
        if round >= state.max {
            let message = format!(
                "`repeat` has reached its `max` of {} rounds, and `next` was not null",
                state.max
            );
            return self.expression_failed(
                program,
                at,
                &EvalError::plain(message, planrun_lang::source::Span::at(0)),
            );
        }
        state.round += 1;
        if round == 1 {
            self.reached(at, Reached::Again);
        }
        let frame = self.make_body(program, at, body, Role::Round, |path| {
            format!("{path}[{round}]").into()
        });
        if let Some(first) = self.frames[frame].slots.first_mut() {
            *first = carried;
        }
        self.start_frame(frame);
    }

    pub(super) fn start_race(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        branches: &[(Arc<str>, BlockId)],
    ) {
        let names = branches
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>();
        let failures = vec![None; branches.len()];
        let state = RaceState {
            names,
            running: branches.len(),
            winner: None,
            failures,
        };
        self.compounds.insert(at, Compound::Race(state));
        for (index, (_, body)) in branches.iter().enumerate() {
            let role = Role::Branch(u32::try_from(index).unwrap_or(u32::MAX));
            self.open_body(program, at, *body, role, |path| path);
        }
    }

    /// What works for a step has ended.
    pub(super) fn inner_ended(
        &mut self,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let program = self.program(at.0);
        if let Some(Compound::Ending(error)) = self.compounds.get(&at) {
            let error = error.clone();
            if self.live_frames(at).is_empty() {
                self.compounds.remove(&at);
                self.out_of_time(at, error);
            }
            return;
        }
        match role {
            Role::Body | Role::Recover => self.body_ended(&program, at, role, frame, outcome),
            Role::Element(index) => {
                self.element_ended(&program, at, index as usize, frame, outcome)
            }
            Role::Round => self.round_ended(&program, at, frame, outcome),
            Role::Branch(index) => self.branch_ended(&program, at, index as usize, frame, outcome),
            Role::Firing(_) => self.firing_ended(at, frame, outcome),
            Role::Verify | Role::Undo => self.aside_ended(at, role, frame, outcome),
        }
    }

    fn body_ended(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match outcome {
            Ok(()) => {
                let value = self.frames[frame].values.pop().unwrap_or(Value::Null);
                if role == Role::Recover {
                    self.record(at.0, at.1).recovered = true;
                }
                self.complete(at, value);
            }
            Err(Ending::Failed(error)) if role == Role::Recover => {
                let path = self.path(program, at);
                self.compounds.remove(&at);
                self.step_failed_for_good(at, Arc::new(StepError::of_inner(&error, &path)));
            }
            Err(Ending::Failed(error)) => self.inner_failed(program, at, &error),
            Err(Ending::Cancelled) => self.cancelled(at),
        }
    }

    fn element_ended(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        index: usize,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let value = self.frames[frame].values.pop().unwrap_or(Value::Null);
        let Some(Compound::Each(state)) = self.compounds.get_mut(&at) else {
            return self.cancelled(at);
        };
        state.running -= 1;
        let mut failed_now = false;
        match outcome {
            Ok(()) => {
                state.results[index] = if state.settle {
                    result_value(Ok(value))
                } else {
                    value
                }
            }
            Err(Ending::Failed(error)) if state.settle && error.is_value() => {
                state.results[index] = result_value(Err(&error));
            }
            Err(Ending::Failed(error)) => {
                failed_now = state.failure.is_none();
                state.failure.get_or_insert(error);
            }
            Err(Ending::Cancelled) => {}
        }
        if failed_now {
            self.cancel_inner(at, frame);
        }
        if self.frames[at.0].ending.is_some() {
            if self.live_frames(at).is_empty() {
                self.cancelled(at);
            }
            return;
        }
        let node = self.node(program, at);
        if let Some(StepKind::Each(each)) = node.step().map(|step| &step.kind) {
            self.next_elements(program, at, each);
        }
    }

    fn round_ended(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match outcome {
            Ok(()) => {}
            Err(Ending::Failed(error)) => return self.inner_failed(program, at, &error),
            Err(Ending::Cancelled) => return self.cancelled(at),
        }
        let yields = std::mem::take(&mut self.frames[frame].values);
        let next = self.frames[frame]
            .next
            .take()
            .filter(|next| !matches!(next, Value::Null));
        let Some(Compound::Repeat(state)) = self.compounds.get_mut(&at) else {
            return;
        };
        state.yields.extend(yields);
        let Some(next) = next else {
            let yields = std::mem::take(&mut state.yields);
            if state.round == 1 {
                self.reached(at, Reached::Once);
            }
            return self.complete(at, Value::List(Arc::new(yields)));
        };
        let node = self.node(program, at);
        if let Some(StepKind::Repeat(repeat)) = node.step().map(|step| &step.kind) {
            self.round(program, at, repeat.body, next);
        }
    }

    fn branch_ended(
        &mut self,
        program: &Arc<Program>,
        at: NodeRef,
        index: usize,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let value = self.frames[frame].values.pop().unwrap_or(Value::Null);
        let Some(Compound::Race(state)) = self.compounds.get_mut(&at) else {
            return self.cancelled(at);
        };
        state.running -= 1;
        let mut won = false;
        match outcome {
            Ok(()) if state.winner.is_none() => {
                state.winner = Some((index, value));
                won = true;
            }
            Err(Ending::Failed(error)) => state.failures[index] = Some(error),
            Ok(()) | Err(Ending::Cancelled) => {}
        }
        if won {
            self.cancel_inner(at, frame);
        }
        let Some(Compound::Race(state)) = self.compounds.get_mut(&at) else {
            return;
        };
        if state.running > 0 {
            return;
        }
        if let Some((index, value)) = state.winner.take() {
            let name = state.names[index].clone();
            self.record(at.0, at.1).details_mut().winner = Some(name);
            return self.complete(at, value);
        }
        let failures = state.failures.iter().flatten().cloned().collect::<Vec<_>>();
        match failures.split_last() {
            Some((last, others)) => {
                let error = with_others(last, others);
                self.inner_failed(program, at, &Arc::new(error));
            }
            None => self.cancelled(at),
        }
    }

    /// The step has its value.
    pub(super) fn complete(&mut self, at: NodeRef, value: Value) {
        self.compounds.remove(&at);
        self.settle(at, End::Completed(value));
    }

    /// The failure of what works for a step is the step's.
    fn inner_failed(&mut self, program: &Arc<Program>, at: NodeRef, error: &Arc<StepError>) {
        self.compounds.remove(&at);
        let path = self.path(program, at);
        self.step_failed(at, Arc::new(StepError::of_inner(error, &path)));
    }

    fn cancelled(&mut self, at: NodeRef) {
        if self.live_frames(at).is_empty() {
            self.compounds.remove(&at);
            self.settle(at, End::Cancelled);
        }
    }

    /// A bound such as `max`, if it is written: a whole number that is not negative.
    fn count(
        &self,
        frame: FrameId,
        code: Option<&planrun_lang::sema::expr::Code>,
    ) -> Result<Option<usize>, EvalError> {
        let Some(code) = code else { return Ok(None) };
        match self.evaluate(frame, code)? {
            Value::Int(count) if count >= 0 => {
                Ok(Some(usize::try_from(count).unwrap_or(usize::MAX)))
            }
            other => {
                let message = format!("{} is no bound", other.preview(80));
                Err(EvalError::new(FailureKind::NoOverload, message, code.span))
            }
        }
    }
}

/// `{ ok: true, value: … }` or `{ ok: false, error: … }`
fn result_value(outcome: Result<Value, &Arc<StepError>>) -> Value {
    let (ok, name, value) = match outcome {
        Ok(value) => (true, "value", value),
        Err(error) => (false, "error", error.to_value()),
    };
    let map: IndexMap<Key, Value> = [(Key::from("ok"), Value::Bool(ok)), (Key::from(name), value)]
        .into_iter()
        .collect();
    Value::Map(Arc::new(map))
}

/// The failure of the last branch of a race, with what became of the others.
fn with_others(last: &Arc<StepError>, others: &[Arc<StepError>]) -> StepError {
    let mut message = last.message.to_string();
    for other in others {
        // Writing to a string cannot fail.
        let _ = write!(
            message,
            "; {}: {} ({})",
            other.step, other.message, other.class
        );
    }
    StepError {
        message: message.into(),
        cause: Some(last.clone()),
        ..(**last).clone()
    }
}
