//! Steps with bodies: `do`, `each`, `repeat`, `race`, `match` and called plans.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::eval::EvalError;
use planrun_lang::sema::{BlockId, Call, Each, Repeat, StepKind};
use planrun_lang::value::{Key, Value, counted};

use super::agenda::{End, Next};
use super::context::Context;
use super::frame::{Ending, FrameId, NodeRef, Owner, Role};
use super::program::Program;
use super::reached::Reached;
use super::tree::width;
use crate::journal::StepError;

const SECRET_KEY: &str = "`by` evaluates to a key that contains a secret, and the paths of the steps contain the key; \
     omit `by`, or use a part of the element that is not secret";

/// The state of a running step that holds other steps.
pub(super) enum BlockState {
    /// One body at a time, or none in a step that only waits.
    Body,
    Each(EachState),
    Repeat(RepeatState),
    Race(RaceState),
    /// Its `within` has expired; it fails when all frames that work for it have ended.
    Ending(Arc<StepError>),
}

pub(super) struct EachState {
    list: Arc<Vec<Value>>,
    /// The text in the brackets of each element's path.
    labels: Vec<Arc<str>>,
    /// Results by index; null until an element has ended.
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

/// The running steps that hold other steps.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: BTreeMap<NodeRef, BlockState>,
}

impl Blocks {
    /// Begins a step that holds others, or that only waits.
    pub(super) fn begin(&mut self, at: NodeRef) {
        self.blocks.insert(at, BlockState::Body);
    }

    /// Removes the state of a step that has settled.
    pub(super) fn settled(&mut self, at: NodeRef) {
        self.blocks.remove(&at);
    }

    /// Lets a step fail with this error, because its `within` has expired, when all frames that work for it have ended.
    pub(super) fn end_with(&mut self, at: NodeRef, error: Arc<StepError>) {
        self.blocks.insert(at, BlockState::Ending(error));
    }

    /// Called when a frame of a step has ended. Returns true if the `within` of the step has expired, in which case the
    /// step fails with its last frame.
    pub(super) fn is_out_of_time(&mut self, ctx: &mut Context, at: NodeRef) -> bool {
        let Some(BlockState::Ending(error)) = self.blocks.get(&at) else {
            return false;
        };
        if ctx.tree.live_frames(at).is_empty() {
            let error = error.clone();
            self.blocks.remove(&at);
            ctx.out_of_time(at, error);
        }
        true
    }

    /// Handles the end of a body of a step.
    pub(super) fn inner_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match role {
            Role::Body | Role::Recover => self.body_ended(ctx, at, role, frame, outcome),
            Role::Element(index) => self.element_ended(ctx, at, index as usize, frame, outcome),
            Role::Round => {
                let program = ctx.tree.program(at.0);
                self.round_ended(ctx, &program, at, frame, outcome);
            }
            Role::Branch(index) => self.branch_ended(ctx, at, index as usize, frame, outcome),
            Role::Firing(_) | Role::Verify | Role::Undo => {}
        }
    }

    pub(super) fn start_each(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        each: &Each,
    ) {
        let state = match each_state(ctx, program, at, each) {
            Ok(state) => state,
            Err(error) => return ctx.expression_failed(at, &error),
        };
        ctx.reached(at, Reached::Elements(state.list.len()));
        self.blocks.insert(at, BlockState::Each(state));
        self.next_elements(ctx, at);
    }

    /// Opens an element if one is left and the limit of parallel elements permits it. After the last element the step
    /// has its value, or fails.
    pub(super) fn next_elements(&mut self, ctx: &mut Context, at: NodeRef) {
        let program = ctx.tree.program(at.0);
        let (Some(StepKind::Each(each)), Some(BlockState::Each(state))) = (
            ctx.tree.step(&program, at).map(|step| &step.kind),
            self.blocks.get_mut(&at),
        ) else {
            return;
        };
        let is_full = state.running >= state.width;
        if state.failure.is_none() && state.next < state.list.len() && !is_full {
            let index = state.next;
            let (element, label) = (state.list[index].clone(), state.labels[index].clone());
            state.next += 1;
            state.running += 1;
            let role = Role::Element(u32::try_from(index).unwrap_or(u32::MAX));
            let frame = ctx.tree.open_body(&program, at, each.body, role, |path| {
                format!("{path}[{label}]").into()
            });
            put_element(ctx, frame, &element, index);
            ctx.start(frame);
            return ctx.then(Next::OpenElements(at));
        }
        if state.running > 0 {
            return;
        }
        let results = std::mem::take(&mut state.results);
        match state.failure.take() {
            Some(failure) => self.inner_failed(ctx, at, &failure),
            None => ctx.complete(at, Value::List(Arc::new(results))),
        }
    }

    pub(super) fn start_repeat(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        repeat: &Repeat,
    ) {
        let initial = ctx.tree.evaluate(at.0, &repeat.initial);
        let max = ctx.tree.count(at.0, repeat.max.as_ref());
        match (initial, max) {
            (Ok(initial), Ok(max)) => {
                let state = RepeatState {
                    yields: Vec::new(),
                    round: 0,
                    max: max.unwrap_or(usize::MAX),
                };
                self.blocks.insert(at, BlockState::Repeat(state));
                self.round(ctx, program, at, repeat.body, initial);
            }
            (Err(error), _) | (_, Err(error)) => ctx.expression_failed(at, &error),
        }
    }

    fn round(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        body: BlockId,
        carried: Value,
    ) {
        let Some(BlockState::Repeat(state)) = self.blocks.get_mut(&at) else {
            return;
        };
        let round = state.round;
        if round >= state.max {
            let message = format!(
                "`repeat` reached its `max` of {}, but `next` was not null",
                counted(state.max, "round")
            );
            let place = match ctx.tree.step(program, at).map(|step| &step.kind) {
                Some(StepKind::Repeat(repeat)) => repeat.max.as_ref().map(|max| max.root.span),
                _ => None,
            };
            let error = EvalError::plain(message, place.unwrap_or_default());
            return ctx.expression_failed(at, &error);
        }
        state.round += 1;
        if round == 1 {
            ctx.reached(at, Reached::SecondRound);
        }
        let frame = ctx.tree.open_body(program, at, body, Role::Round, |path| {
            format!("{path}[{round}]").into()
        });
        if let Some(first) = ctx.tree[frame].slots.first_mut() {
            *first = carried;
        }
        ctx.start(frame);
    }

    pub(super) fn start_race(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        branches: &[(Arc<str>, BlockId)],
    ) {
        let names = branches
            .iter()
            .map(|(name, _)| name.clone())
            .collect::<Vec<_>>();
        let state = RaceState {
            names,
            running: branches.len(),
            winner: None,
            failures: vec![None; branches.len()],
        };
        self.blocks.insert(at, BlockState::Race(state));
        for (index, (_, body)) in branches.iter().enumerate() {
            let role = Role::Branch(u32::try_from(index).unwrap_or(u32::MAX));
            ctx.then(Next::OpenBody(at, *body, role));
        }
    }

    fn body_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        role: Role,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match outcome {
            Ok(()) => {
                let value = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
                if role == Role::Recover {
                    ctx.tree.record_mut(at).recovered = true;
                }
                ctx.complete(at, value);
            }
            Err(Ending::Failed(error)) if role == Role::Recover => {
                let path = ctx.tree.own_path(at);
                self.blocks.remove(&at);
                ctx.fail_step(at, Arc::new(StepError::of_inner(&error, &path)));
            }
            Err(Ending::Failed(error)) => self.inner_failed(ctx, at, &error),
            Err(Ending::Cancelled) => self.cancelled(ctx, at),
        }
    }

    fn element_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        index: usize,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let value = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
        let Some(BlockState::Each(state)) = self.blocks.get_mut(&at) else {
            return self.cancelled(ctx, at);
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
            cancel_inner(ctx, at, frame);
            return ctx.then(Next::ElementOver(at));
        }
        self.element_over(ctx, at);
    }

    /// Handles the end of an element, after those that it cancelled: other elements may begin.
    pub(super) fn element_over(&mut self, ctx: &mut Context, at: NodeRef) {
        if ctx.tree[at.0].ending.is_some() {
            if ctx.tree.live_frames(at).is_empty() {
                self.cancelled(ctx, at);
            }
            return;
        }
        self.next_elements(ctx, at);
    }

    fn round_ended(
        &mut self,
        ctx: &mut Context,
        program: &Arc<Program>,
        at: NodeRef,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        match outcome {
            Ok(()) => {}
            Err(Ending::Failed(error)) => return self.inner_failed(ctx, at, &error),
            Err(Ending::Cancelled) => return self.cancelled(ctx, at),
        }
        let yields = std::mem::take(&mut ctx.tree[frame].values);
        let next = ctx.tree[frame]
            .next
            .take()
            .filter(|next| !matches!(next, Value::Null));
        let Some(BlockState::Repeat(state)) = self.blocks.get_mut(&at) else {
            return;
        };
        state.yields.extend(yields);
        let Some(next) = next else {
            let yields = std::mem::take(&mut state.yields);
            if state.round == 1 {
                ctx.reached(at, Reached::Once);
            }
            return ctx.complete(at, Value::List(Arc::new(yields)));
        };
        let node = ctx.tree.node(program, at);
        if let Some(StepKind::Repeat(repeat)) = node.step().map(|step| &step.kind) {
            self.round(ctx, program, at, repeat.body, next);
        }
    }

    fn branch_ended(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        index: usize,
        frame: FrameId,
        outcome: Result<(), Ending>,
    ) {
        let value = ctx.tree[frame].values.pop().unwrap_or(Value::Null);
        let Some(BlockState::Race(state)) = self.blocks.get_mut(&at) else {
            return self.cancelled(ctx, at);
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
            cancel_inner(ctx, at, frame);
            return ctx.then(Next::BranchOver(at));
        }
        self.branch_over(ctx, at);
    }

    /// Handles the end of a branch, after those that it cancelled: with the last one, the race ends.
    pub(super) fn branch_over(&mut self, ctx: &mut Context, at: NodeRef) {
        let Some(BlockState::Race(state)) = self.blocks.get_mut(&at) else {
            return;
        };
        if state.running > 0 {
            return;
        }
        if let Some((index, value)) = state.winner.take() {
            let name = state.names[index].clone();
            ctx.tree.record_mut(at).details_mut().winner = Some(name);
            return ctx.complete(at, value);
        }
        let failures = state.failures.iter().flatten().cloned().collect::<Vec<_>>();
        match failures.split_last() {
            Some((last, others)) => {
                let error = with_others(last, others);
                self.inner_failed(ctx, at, &Arc::new(error));
            }
            None => self.cancelled(ctx, at),
        }
    }

    /// Fails a step with the failure of a frame that works for it.
    fn inner_failed(&mut self, ctx: &mut Context, at: NodeRef, error: &Arc<StepError>) {
        self.blocks.remove(&at);
        let path = ctx.tree.own_path(at);
        ctx.step_failed(at, Arc::new(StepError::of_inner(error, &path)));
    }

    fn cancelled(&mut self, ctx: &mut Context, at: NodeRef) {
        if ctx.tree.live_frames(at).is_empty() {
            self.blocks.remove(&at);
            ctx.settle(at, End::Cancelled);
        }
    }
}

fn each_state(
    ctx: &mut Context,
    program: &Arc<Program>,
    at: NodeRef,
    each: &Each,
) -> Result<EachState, EvalError> {
    let fail = |message: String| EvalError::plain(message, each.list.span);
    let list = match ctx.tree.evaluate(at.0, &each.list)? {
        Value::List(list) => list,
        other => {
            return Err(fail(format!(
                "`each` iterates over a list, but this is {}",
                other.preview(80)
            )));
        }
    };
    if let Some(max) = ctx.tree.count(at.0, each.max.as_ref())?
        && list.len() > max
    {
        return Err(fail(format!(
            "the list has {}, more than `max {max}`",
            counted(list.len(), "element")
        )));
    }
    let width = match width(&ctx.tree, at.0, each.parallel.as_ref())? {
        Some(width) => width.max(1),
        None if each.in_turn => 1,
        None => ctx.tree.scope(at.0).policy.concurrency as usize,
    };
    let labels = labels(ctx, program, at, each, &list)?;
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

/// Returns the indices of the elements, or their keys from `by`, which must differ. A key with a secret in it is an
/// error, since paths are displayed as they are.
fn labels(
    ctx: &mut Context,
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
    // A frame that only provides slots for `by`, and is discarded before another frame is opened.
    let scratch = ctx
        .tree
        .open_body(program, at, each.body, Role::Element(0), |path| path);
    let mut fault = None;
    for (index, element) in list.iter().enumerate() {
        put_element(ctx, scratch, element, index);
        match ctx.tree.evaluate(scratch, by) {
            Ok(key) => {
                let label: Arc<str> = serde_json::to_string(&key).unwrap_or_default().into();
                if ctx.outbox.redactor.value(&key).is_some() {
                    fault = Some(EvalError::plain(SECRET_KEY, by.span));
                } else if !seen.insert(label.clone()) {
                    let message = format!("`by` evaluates to {} for two elements", key.preview(80));
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
    ctx.tree.discard_frame(scratch);
    fault.map_or(Ok(labels), Err)
}

/// Opens the frame of a called plan as the body of a step.
pub(super) fn call_plan(
    ctx: &mut Context,
    program: &Arc<Program>,
    at: NodeRef,
    call: &Call,
    index: usize,
) {
    let Some(called) = program.plans.get(index).cloned() else {
        return;
    };
    let inputs = match ctx.plan_inputs(at, call, &called.plan.parameters) {
        Ok(inputs) => inputs,
        Err(error) => return ctx.step_failed(at, error),
    };
    let outer = ctx.tree[at.0].scope;
    let scope = ctx.open_scope(&called, Some(outer));
    if let Some(deadline) = ctx.tree.scopes[scope].policy.deadline {
        ctx.set_deadline(scope, deadline);
    }
    let path = ctx.tree.path(program, at);
    let owner = Owner {
        frame: at.0,
        node: at.1,
        role: Role::Body,
    };
    let frame = ctx
        .tree
        .open_frame(scope, BlockId(0), None, Some(owner), path.clone());
    match ctx.bind_inputs(frame, &inputs) {
        Some(error) => {
            ctx.start(frame);
            ctx.end_block(frame, Ending::Failed(Arc::new(error)));
        }
        None => ctx.start(frame),
    }
}

fn put_element(ctx: &mut Context, frame: FrameId, element: &Value, index: usize) {
    let slots = &mut ctx.tree[frame].slots;
    if let [first, second, ..] = slots.as_mut_slice() {
        *first = element.clone();
        *second = Value::Int(i64::try_from(index).unwrap_or(i64::MAX));
    }
}

/// Cancels the other branches or elements of a step.
fn cancel_inner(ctx: &mut Context, at: NodeRef, except: FrameId) {
    for frame in ctx.tree.live_frames(at) {
        if frame != except {
            ctx.end_block(frame, Ending::Cancelled);
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

/// Returns the failure of the last branch of a race, with the failures of the other branches in its message.
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
