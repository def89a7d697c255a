//! The meaning of a plan, statement by statement: the calls it makes, their partial order, and the result.
//!
//! The interpreter walks the checked plan without a graph, readiness or time. It uses the decisions of the real run
//! only where the language leaves them open: which of several concurrent failures came first, and how far the other
//! statements were by then.

mod frame;
mod undo;

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::sema::{
    BlockId, Call, Each, Node, NodeKind, OnFailure, Plan, Repeat, Step, StepKind, Target, Wait,
};
use planrun_lang::types::{ErrorClass, Signature, Validation};
use planrun_lang::value::{Key, Value};

use super::double::{DoubleSettings, answer};
use super::statement_order::{StatementOrder, block_does, data};
use frame::{Frame, Guard, guard};
use undo::Done;

/// The decisions of the real run.
#[derive(Default)]
pub struct World {
    /// The position and the state in which each step settled.
    pub settled: BTreeMap<String, (usize, StepState)>,
    /// Number of calls at each path.
    pub attempts: BTreeMap<String, u32>,
    /// The paths of the causes of each failure; those of the run itself have the empty path.
    pub origins: BTreeMap<String, Vec<String>>,
}

/// An expected call.
#[derive(Debug)]
pub struct Expected {
    pub path: String,
    pub tool: String,
    pub arguments: String,
    pub attempt: u32,
    /// The number of the block that a concurrent statement may have ended before the call began.
    pub optional: Option<usize>,
    /// The minimum duration of a wait, in milliseconds.
    pub takes: u128,
}

/// A failure.
#[derive(Clone, Debug)]
pub struct Fault {
    pub class: ErrorClass,
    /// The path of the step, or of the block that contains the statement.
    pub origin: String,
    /// A statement ended the block, regardless of the policy.
    forced: bool,
    /// A value that a condition reads has failed; if there are several, it may be any of them.
    pub upstream: bool,
}

/// The expected result of a run.
#[derive(Default)]
pub struct Meaning {
    pub calls: Vec<Expected>,
    /// Pairs of calls, where the first ends before the second begins.
    pub before: Vec<(usize, usize)>,
    pub error: Option<Fault>,
    /// The classes of all failures of steps that were not recovered.
    pub failures: Vec<ErrorClass>,
    pub reply: Option<Value>,
    /// The undone steps, in order, and whether each undo succeeded.
    pub undone: Vec<(String, bool)>,
    /// The tasks of the plan and their contexts.
    pub tasks: Vec<(String, Value)>,
    /// Whether statements ran concurrently.
    pub wide: bool,
}

/// The result of a block.
#[derive(Default)]
struct Ended {
    values: Vec<Value>,
    next: Option<Value>,
}

/// The effect of a statement on its block.
enum Flow {
    On,
    /// It does not run, because a value that it reads is missing.
    Skipped,
    Ends,
    Fails(Fault),
}

pub struct Oracle<'a> {
    settings: DoubleSettings,
    world: &'a World,
    meaning: Meaning,
    log: Vec<Done>,
    /// Whether the current step has changed something.
    changed: bool,
    attempts: BTreeMap<String, u32>,
    undoing: bool,
    /// Number of the last block that has failed.
    ended: usize,
}

type Outcome<T> = Result<T, Fault>;

/// Returns the meaning of a plan with this input.
pub fn meaning(plan: &Arc<Plan>, input: i64, settings: DoubleSettings, world: &World) -> Meaning {
    let meaning = Meaning::default();
    let attempts = BTreeMap::new();
    let mut oracle = Oracle {
        settings,
        world,
        meaning,
        log: Vec::new(),
        changed: false,
        attempts,
        undoing: false,
        ended: 0,
    };
    let frame = Frame::new(plan, BlockId(0), None, String::new());
    frame.put(0, Value::Int(input));
    let outcome = oracle.plan(&frame);
    let (values, error) = match outcome {
        Ok(ended) => (ended.values, None),
        Err(broken) => (broken.0.values, Some(broken.1)),
    };
    let forced = error.as_ref().is_some_and(|fault| fault.forced);
    let keeps = error.is_none() || plan.policy.on_failure == Some(OnFailure::Settle) && !forced;
    let Oracle { mut meaning, .. } = oracle;
    meaning.reply = values.last().cloned().filter(|_| keeps);
    meaning.error = error;
    let slot = |slot: u32| {
        frame.slots.borrow()[slot as usize]
            .clone()
            .unwrap_or(Value::Null)
    };
    meaning.tasks = plan
        .tasks
        .iter()
        .map(|task| (task.name.to_string(), slot(task.slot)))
        .collect();
    meaning
}

impl Oracle<'_> {
    /// Interprets a plan instance, and undoes its effects if it fails.
    fn plan(&mut self, frame: &Rc<Frame>) -> Result<Ended, Box<(Ended, Fault)>> {
        let (first_call, first_done) = self.mark();
        let outcome = self.block(frame, false);
        if let Err(broken) = &outcome {
            let fault = &broken.1;
            let aborts = fault.forced || !frame.settles();
            // If a concurrent statement has ended the run, the caller undoes the effects.
            let settled = self.world.settled.get(&frame.path);
            let is_cut = settled.is_none_or(|(_, state)| *state == StepState::Cancelled)
                && !frame.path.is_empty();
            if aborts && !is_cut && frame.plan.policy.on_failure != Some(OnFailure::Pause) {
                self.undo_all(first_call, first_done);
            }
        }
        outcome
    }

    /// Interprets the statements of a block in sequence.
    fn block(&mut self, frame: &Rc<Frame>, round: bool) -> Result<Ended, Box<(Ended, Fault)>> {
        let mut statement_order = StatementOrder::default();
        let count = frame.content().nodes.len();
        let mut ended = Ended::default();
        let mut starts = Vec::with_capacity(count + 1);
        let (mut faults, mut kept): (Vec<(usize, Fault)>, Vec<Fault>) = (Vec::new(), Vec::new());
        let mut over = None;
        for index in 0..count {
            starts.push(self.mark());
            statement_order.add(&frame.plan, frame.content());
            if over.is_none() && matches!(guard(frame, &frame.content().nodes[index]), Guard::False)
            {
                statement_order.skip(&frame.plan, frame.content(), true);
                continue;
            }
            if over.is_some()
                || faults
                    .iter()
                    .any(|(failed, _)| statement_order.is_before(*failed, index))
            {
                continue;
            }
            match self.statement(frame, index, round, &mut ended) {
                Flow::On => {}
                Flow::Skipped => statement_order.skip(&frame.plan, frame.content(), false),
                Flow::Ends => over = Some(index),
                Flow::Fails(fault) if fault.forced || !frame.settles() => {
                    let node = &frame.content().nodes[index];
                    if may_end(node) {
                        // It ends the block when all statements above it have ended; all statements below it are
                        // skipped.
                        over = Some(index);
                    } else if node.after.is_empty() {
                        statement_order.place(&frame.plan, frame.content());
                    }
                    faults.push((index, fault));
                }
                Flow::Fails(fault) => kept.push(fault),
            }
        }
        starts.push(self.mark());
        self.order(&statement_order, &starts, over);
        if let Some((failed, fault)) = self.first(&frame.path, faults) {
            let surely = |index: usize| {
                index == failed
                    || statement_order.is_before(index, failed)
                    || over == Some(failed) && index < failed
            };
            self.ended += 1;
            for index in (0..count).filter(|index| !surely(*index)) {
                self.make_optional(starts[index], starts[index + 1]);
                // The run may have ended before or after it.
                let kind = &frame.content().nodes[index].kind;
                self.meaning.wide |= matches!(kind, NodeKind::Set(_));
            }
            return Err(Box::new((ended, fault)));
        }
        let kept = kept.into_iter().map(|fault| (0, fault)).collect();
        match self.first(&frame.path, kept) {
            Some((_, fault)) => Err(Box::new((ended, fault))),
            None => Ok(ended),
        }
    }

    /// Records the order between the calls of a block.
    fn order(
        &mut self,
        statement_order: &StatementOrder,
        starts: &[(usize, usize)],
        over: Option<usize>,
    ) {
        for below in 0..starts.len() - 1 {
            for above in 0..below {
                let (one, other) = (
                    starts[above].0..starts[above + 1].0,
                    starts[below].0..starts[below + 1].0,
                );
                if statement_order.is_before(above, below) || over == Some(below) {
                    self.then(one, other);
                } else if !one.is_empty() && !other.is_empty() {
                    self.meaning.wide = true;
                }
            }
        }
    }

    fn then(&mut self, above: std::ops::Range<usize>, below: std::ops::Range<usize>) {
        let pairs = above.flat_map(|one| below.clone().map(move |other| (one, other)));
        self.meaning.before.extend(pairs);
    }

    fn make_optional(&mut self, from: (usize, usize), to: (usize, usize)) {
        for call in &mut self.meaning.calls[from.0..to.0] {
            call.optional = call.optional.or(Some(self.ended));
        }
        self.meaning.wide |= from.0 < to.0;
        let end = to.1.min(self.log.len());
        self.log[from.1.min(end)..end]
            .iter_mut()
            .for_each(|done| done.optional = true);
    }

    /// Returns the failure that came first: the only one, or the first in the real run.
    fn first(&self, owner: &str, mut faults: Vec<(usize, Fault)>) -> Option<(usize, Fault)> {
        let origins = self.world.origins.get(owner);
        let seen = |fault: &Fault| origins.is_some_and(|origins| origins.contains(&fault.origin));
        let first = faults
            .iter()
            .position(|(_, fault)| faults.len() > 1 && seen(fault))
            .unwrap_or(0);
        (!faults.is_empty()).then(|| faults.swap_remove(first))
    }

    fn statement(
        &mut self,
        frame: &Rc<Frame>,
        index: usize,
        round: bool,
        ended: &mut Ended,
    ) -> Flow {
        let node = &frame.content().nodes[index];
        let guarded = !node.guard.is_empty();
        let may_end = may_end(node);
        let sources = data(&frame.plan, frame.content(), index);
        let upstream = sources
            .iter()
            .find_map(|above| frame.results.borrow()[*above].failure.clone());
        match guard(frame, node) {
            Guard::Holds => {}
            Guard::False => return Flow::On,
            // If its condition has no value, the statement counts as taken.
            Guard::Upstream(fault) if may_end => {
                return Flow::Fails(Fault {
                    forced: true,
                    upstream: true,
                    ..fault
                });
            }
            Guard::Upstream(fault) => return give_nothing(frame, index, fault),
            // If its condition has no value, a statement that may end the block counts as taken, and any other
            // statement that reads a missing value is skipped.
            Guard::Failed if !may_end && upstream.is_some() => {}
            Guard::Failed => {
                let fault = expression(&frame.path_of(node));
                let Some(step) = node.step() else {
                    return Flow::Fails(Fault {
                        forced: true,
                        ..fault
                    });
                };
                return self.settle_step(frame, index, step, Err(fault), false, self.mark());
            }
        }
        if let Some(fault) = upstream {
            if matches!(node.kind, NodeKind::Ensure { .. }) {
                return Flow::Fails(Fault {
                    forced: true,
                    upstream: true,
                    ..fault
                });
            }
            if guarded && may_end {
                return Flow::Ends;
            }
            return give_nothing(frame, index, fault);
        }
        let broken = |_: EvalError| {
            Flow::Fails(Fault {
                forced: true,
                ..expression(&frame.path_of(node))
            })
        };
        match &node.kind {
            NodeKind::Condition(code) => {
                frame.results.borrow_mut()[index].truth = Some(frame.truth(code));
                Flow::On
            }
            NodeKind::Let(code) => {
                let value = frame.evaluate(code);
                frame.slots.borrow_mut()[node.slot.unwrap() as usize] = value;
                Flow::On
            }
            NodeKind::Ensure { condition, .. } => match frame.truth(condition) {
                Ok(true) => Flow::On,
                Ok(false) => {
                    Flow::Fails(ended_by(ErrorClass::Validation(Validation::Ensure), frame))
                }
                Err(error) => broken(error),
            },
            NodeKind::Fail(failing) => Flow::Fails(ended_by(failing.class.clone(), frame)),
            NodeKind::Reply(code) | NodeKind::Yield(code) => match frame.evaluate(code) {
                Ok(value) => {
                    ended.values.push(value);
                    if guarded && !round {
                        Flow::Ends
                    } else {
                        Flow::On
                    }
                }
                Err(error) => broken(error),
            },
            NodeKind::Next(code) => match frame.evaluate(code) {
                Ok(value) => {
                    ended.next = Some(value).filter(|value| *value != Value::Null);
                    if guarded { Flow::Ends } else { Flow::On }
                }
                Err(error) => broken(error),
            },
            NodeKind::Task(_) | NodeKind::Set(_) => {
                set_task(frame, node).map_or_else(broken, |()| Flow::On)
            }
            NodeKind::Step(step) => self.step(frame, index, step),
            NodeKind::Listener(_) => unreachable!("no generated plan listens"),
        }
    }

    fn step(&mut self, frame: &Rc<Frame>, index: usize, step: &Step) -> Flow {
        let around = std::mem::replace(&mut self.changed, false);
        let mark = self.mark();
        let outcome = self.body(frame, index, step);
        let changed = self.changed;
        let flow = self.settle_step(frame, index, step, outcome, changed, mark);
        self.changed |= around | changed;
        flow
    }

    /// Applies the `recover` arms of a step, and stores its result. `mark` is the state before the step.
    fn settle_step(
        &mut self,
        frame: &Rc<Frame>,
        index: usize,
        step: &Step,
        outcome: Outcome<Value>,
        changed: bool,
        mark: (usize, usize),
    ) -> Flow {
        let node = &frame.content().nodes[index];
        let path = frame.path_of(node);
        let is_call = matches!(
            &step.kind,
            StepKind::Call(Call {
                target: Target::Tool(_),
                ..
            })
        );
        let worked = outcome.is_ok();
        let result = outcome.as_ref().ok().cloned().unwrap_or(Value::Null);
        let arm = outcome
            .as_ref()
            .err()
            .and_then(|fault| step.recover.iter().find(|arm| arm.catches(&fault.class)));
        let outcome = match (outcome, arm) {
            (Err(fault), Some(arm)) => {
                let body = Frame::new(&frame.plan, arm.body, Some(frame.clone()), path.clone());
                body.put(0, error_value(&fault));
                let so_far = self.meaning.calls.len();
                let ended = self.block(&body, false);
                self.then(mark.0..so_far, so_far..self.meaning.calls.len());
                ended.map(value_of).map_err(|broken| broken.1)
            }
            (outcome, _) => outcome,
        };
        if step.undo().is_some() && changed && (is_call || worked) {
            if worked {
                for inner in &mut self.log[mark.1..] {
                    inner.covered.get_or_insert_with(|| path.clone());
                }
            }
            let covered = None;
            self.log.push(Done {
                path,
                frame: frame.clone(),
                node: index,
                result,
                optional: false,
                covered,
            });
        }
        match outcome {
            Ok(value) => {
                frame.put(node.slot.unwrap(), value);
                Flow::On
            }
            Err(fault) => {
                self.meaning.failures.push(fault.class.clone());
                frame.results.borrow_mut()[index].failure = Some(fault.clone());
                Flow::Fails(Fault {
                    forced: false,
                    ..fault
                })
            }
        }
    }

    /// Returns the number of calls so far, and of steps that can be undone.
    fn mark(&self) -> (usize, usize) {
        (self.meaning.calls.len(), self.log.len())
    }

    fn body(&mut self, frame: &Rc<Frame>, index: usize, step: &Step) -> Outcome<Value> {
        let path = frame.path_of(&frame.content().nodes[index]);
        match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(signature) => self.call(frame, &path, step, call, signature),
                Target::Plan(called, _) => {
                    let called = &frame.plan.plans[*called];
                    let inner = Frame::new(called, BlockId(0), None, path.clone());
                    for (name, value) in arguments(frame, call, &path)? {
                        let slot = called
                            .parameters
                            .iter()
                            .position(|parameter| parameter.name == name)
                            .unwrap();
                        inner.put(u32::try_from(slot).unwrap(), value);
                    }
                    self.plan(&inner).map(value_of).map_err(|broken| broken.1)
                }
            },
            StepKind::Do(body) => self.inner(frame, *body, &path),
            StepKind::Each(each) => self.each(frame, &path, each),
            StepKind::Repeat(repeat) => self.repeat(frame, &path, repeat),
            StepKind::Match { subject, arms } => {
                let value = frame.evaluate(subject).map_err(|_| expression(&path))?;
                let (_, body) = arms
                    .iter()
                    .find(|(pattern, _)| pattern.matches(&value))
                    .unwrap();
                self.inner(frame, *body, &path)
            }
            StepKind::Race(branches) => {
                let all: Vec<_> = branches
                    .iter()
                    .map(|(_, body)| self.inner(frame, *body, &path))
                    .collect();
                let won = all.iter().position(Result::is_ok).unwrap_or(all.len() - 1);
                all.into_iter().nth(won).unwrap()
            }
            StepKind::Wait(wait) => {
                let Wait::For(code) = &**wait else {
                    unreachable!("generated plans wait for a while")
                };
                let Ok(Value::Duration(nanos)) = frame.evaluate(code) else {
                    return Err(expression(&path));
                };
                let takes = u128::try_from(nanos).unwrap() / 1_000_000;
                self.expect(&path, "wait", "", takes);
                Ok(Value::Null)
            }
            StepKind::Input(_) | StepKind::Damaged => {
                unreachable!("no generated plan has one")
            }
        }
    }

    fn inner(&mut self, frame: &Rc<Frame>, body: BlockId, path: &str) -> Outcome<Value> {
        let inner = Frame::new(&frame.plan, body, Some(frame.clone()), path.to_owned());
        self.block(&inner, false)
            .map(value_of)
            .map_err(|broken| broken.1)
    }

    fn each(&mut self, frame: &Rc<Frame>, path: &str, each: &Each) -> Outcome<Value> {
        let bound =
            |code: &Option<CheckedExpr>| code.as_ref().map(|code| frame.evaluate(code)).transpose();
        let list = frame.evaluate(&each.list).map_err(|_| expression(path))?;
        let (max, width) = (bound(&each.max), bound(&each.parallel));
        let (Value::List(list), Ok(max), Ok(width)) = (list, max, width) else {
            return Err(expression(path));
        };
        if max.is_some_and(|max| list.len() > usize::try_from(whole(&max)).unwrap()) {
            return Err(expression(path));
        }
        let in_turn = width.map_or_else(
            || !block_does(&frame.plan, each.body).is_read_only(),
            |width| width == Value::Int(1),
        );
        let (mut values, mut faults) = (Vec::new(), Vec::new());
        let mut starts = Vec::new();
        for (index, element) in list.iter().enumerate() {
            starts.push(self.mark());
            if in_turn && !faults.is_empty() {
                continue;
            }
            let inner = Frame::new(
                &frame.plan,
                each.body,
                Some(frame.clone()),
                format!("{path}[{index}]"),
            );
            inner.put(0, element.clone());
            inner.put(1, Value::Int(i64::try_from(index).unwrap()));
            match self
                .block(&inner, false)
                .map(value_of)
                .map_err(|broken| broken.1)
            {
                Ok(value) if each.settle => values.push(result_value(Ok(value))),
                Err(fault) if each.settle => values.push(result_value(Err(&fault))),
                Ok(value) => values.push(value),
                Err(fault) => faults.push((index, fault)),
            }
        }
        starts.push(self.mark());
        for below in 0..list.len() {
            let (above, below) = (
                starts[0].0..starts[below].0,
                starts[below].0..starts[below + 1].0,
            );
            if in_turn {
                self.then(above, below);
            } else if !above.is_empty() && !below.is_empty() {
                self.meaning.wide = true;
            }
        }
        let Some((failed, fault)) = self.first(path, faults) else {
            return Ok(Value::List(Arc::new(values)));
        };
        self.ended += 1;
        for index in (0..list.len()).filter(|index| *index != failed && !in_turn) {
            self.make_optional(starts[index], starts[index + 1]);
        }
        Err(fault)
    }

    fn repeat(&mut self, frame: &Rc<Frame>, path: &str, repeat: &Repeat) -> Outcome<Value> {
        let mut carried = frame
            .evaluate(&repeat.initial)
            .map_err(|_| expression(path))?;
        let max = repeat
            .max
            .as_ref()
            .map(|code| frame.evaluate(code))
            .transpose()
            .map_err(|_| expression(path))?;
        let max = max.map_or(i64::MAX, |max| whole(&max));
        let first = self.meaning.calls.len();
        let mut yields = Vec::new();
        for round in 0.. {
            if round >= max {
                return Err(expression(path));
            }
            let so_far = self.meaning.calls.len();
            let inner = Frame::new(
                &frame.plan,
                repeat.body,
                Some(frame.clone()),
                format!("{path}[{round}]"),
            );
            inner.put(0, carried);
            let ended = self.block(&inner, true).map_err(|broken| broken.1);
            self.then(first..so_far, so_far..self.meaning.calls.len());
            let ended = ended?;
            yields.extend(ended.values);
            match ended.next {
                Some(next) => carried = next,
                None => break,
            }
        }
        Ok(Value::List(Arc::new(yields)))
    }

    fn expect(&mut self, path: &str, tool: &str, arguments: &str, takes: u128) -> u32 {
        let attempt = self.attempts.entry(path.to_owned()).or_default();
        *attempt += 1;
        let (path, tool, arguments) = (path.to_owned(), tool.to_owned(), arguments.to_owned());
        self.meaning.calls.push(Expected {
            path,
            tool,
            arguments,
            attempt: *attempt,
            optional: None,
            takes,
        });
        *attempt
    }

    /// Makes a call with its retries.
    fn call(
        &mut self,
        frame: &Frame,
        path: &str,
        step: &Step,
        call: &Call,
        tool: &Signature,
    ) -> Outcome<Value> {
        let map: IndexMap<Key, Value> = arguments(frame, call, path)?
            .into_iter()
            .map(|(name, value)| (Key::String(name), value))
            .collect();
        let (sent, name) = (Value::Map(Arc::new(map)).to_json().to_string(), tool.path());
        if call.effect.is_read_only() {
            return answer(self.settings, &sent, &name, 1)
                .map(|json| Value::Int(json.as_i64().unwrap()))
                .map_err(|(class, _)| Fault {
                    class,
                    origin: path.to_owned(),
                    forced: false,
                    upstream: false,
                });
        }
        let retry = step.retry();
        let tries = retry.and_then(|retry| retry.attempts).unwrap_or(3);
        let tries = if retry.is_some() || call.effect.repeatable() || self.undoing {
            tries
        } else {
            1
        };
        let first = self.meaning.calls.len();
        let mut doubt = false;
        for number in 1.. {
            let attempt = self.expect(path, &name, &sent, 0);
            let last = self.meaning.calls.len() - 1;
            self.then(first..last, last..last + 1);
            let (class, sent) = match answer(self.settings, path, &name, attempt) {
                Ok(json) => {
                    self.changed = true;
                    return Ok(Value::Int(json.as_i64().unwrap()));
                }
                Err(error) => error,
            };
            doubt |= sent == Sent::Maybe;
            let unknown = sent == Sent::Maybe && !call.effect.repeatable();
            let class = if unknown {
                ErrorClass::UnknownOutcome
            } else {
                class
            };
            let retried = match retry.and_then(|retry| retry.on.as_ref()) {
                Some(patterns) => patterns.iter().any(|pattern| pattern.matches(&class)),
                None => matches!(class, ErrorClass::Transient(_)),
            };
            if unknown || !retried || number >= tries {
                self.changed |= doubt;
                return Err(Fault {
                    class,
                    origin: path.to_owned(),
                    forced: false,
                    upstream: false,
                });
            }
        }
        unreachable!("attempts have an end")
    }
}

/// Returns true if a statement can end its block.
fn may_end(node: &Node) -> bool {
    matches!(
        node.kind,
        NodeKind::Ensure { .. }
            | NodeKind::Fail(_)
            | NodeKind::Reply(_)
            | NodeKind::Yield(_)
            | NodeKind::Next(_)
    )
}

/// Executes the declaration of a task, or a `set`.
fn set_task(frame: &Frame, node: &Node) -> Result<(), EvalError> {
    let (id, context) = match &node.kind {
        NodeKind::Set(set) => (
            set.task,
            set.context
                .as_ref()
                .map(|code| frame.evaluate(code))
                .transpose()?,
        ),
        NodeKind::Task(id) => (*id, None),
        _ => return Ok(()),
    };
    let task = frame.plan.task(id);
    let mut outwards = std::iter::successors(Some(frame), |frame| frame.outer.as_deref());
    let declares = |frame: &&Frame| frame.block == task.block;
    let frame = outwards
        .find(declares)
        .expect("the block of its task is around it");
    let slot = task.slot;
    let old = frame.slots.borrow()[slot as usize].clone()?;
    let mut entries: IndexMap<Key, Value> = match old {
        Value::Map(map) => (*map).clone(),
        _ => [(Key::from("note"), Value::Null)].into_iter().collect(),
    };
    if let Some(Value::Map(given)) = context {
        entries.extend(
            given
                .iter()
                .map(|(key, value)| (key.clone(), value.clone())),
        );
    }
    frame.put(slot, Value::Map(Arc::new(entries)));
    Ok(())
}

fn give_nothing(frame: &Frame, index: usize, fault: Fault) -> Flow {
    frame.results.borrow_mut()[index].failure = Some(fault);
    Flow::Skipped
}

fn arguments(frame: &Frame, call: &Call, path: &str) -> Outcome<Vec<(Arc<str>, Value)>> {
    let argument = |(name, code): &(Arc<str>, CheckedExpr)| {
        frame.evaluate(code).map(|value| (name.clone(), value))
    };
    call.arguments
        .iter()
        .map(argument)
        .collect::<Result<_, _>>()
        .map_err(|_| expression(path))
}

fn expression(origin: &str) -> Fault {
    let class = ErrorClass::Validation(Validation::Expression);
    Fault {
        class,
        origin: origin.to_owned(),
        forced: false,
        upstream: false,
    }
}

fn ended_by(class: ErrorClass, frame: &Frame) -> Fault {
    Fault {
        class,
        origin: frame.path.clone(),
        forced: true,
        upstream: false,
    }
}

fn whole(value: &Value) -> i64 {
    let Value::Int(number) = value else {
        panic!("{value} is no whole number")
    };
    *number
}

fn value_of(mut ended: Ended) -> Value {
    ended.values.pop().unwrap_or(Value::Null)
}

/// Returns an error as a plan sees it, with the fields that generated plans read.
fn error_value(fault: &Fault) -> Value {
    map([("class", Value::String(fault.class.to_string().into()))])
}

fn result_value(outcome: Result<Value, &Fault>) -> Value {
    match outcome {
        Ok(value) => map([("ok", Value::Bool(true)), ("value", value)]),
        Err(fault) => map([("ok", Value::Bool(false)), ("error", error_value(fault))]),
    }
}

fn map<const COUNT: usize>(entries: [(&str, Value); COUNT]) -> Value {
    Value::Map(Arc::new(
        entries
            .into_iter()
            .map(|(name, value)| (Key::from(name), value))
            .collect(),
    ))
}
