//! Signals and moves of `external` tasks that arrive during a run, and the steps that wait for them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::diag::nearest;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{
    Event, EventKind as Condition, Node, Plan, Status, Step, StepKind, Task, TaskTest, Wait,
};
use planrun_lang::types::{ErrorClass, Field, Type, Validation, decode};
use planrun_lang::value::{Key, Value};
use serde_json::Value as Json;

use super::agenda::{End, Subject};
use super::condition::Conditions;
use super::context::Context;
use super::frame::NodeRef;
use super::interruption::Awaited;
use super::program::Program;
use super::task::{Tasks, fit};
use crate::journal::{EventKind, StepError};

/// Maximum number of signals of one name that are kept until a `wait for` takes them.
const MAX_KEPT: usize = 10_000;

/// The steps that wait for events, and the signals that have arrived.
#[derive(Default)]
pub(super) struct Waits {
    /// Steps that wait for an event.
    steps: BTreeSet<NodeRef>,
    /// Steps whose event has happened, with its value.
    due: VecDeque<(NodeRef, Result<Value, Arc<StepError>>)>,
    /// Signals that no `wait for` has taken, oldest first.
    signals: BTreeMap<Arc<str>, VecDeque<Value>>,
    /// The payload of the latest signal.
    pub latest: Option<Value>,
}

impl Waits {
    /// Handles a signal. It is an event, and if the plan has a `wait for` for it, it is kept until that takes it.
    pub(super) fn receive_signal(
        &mut self,
        ctx: &mut Context,
        name: &str,
        payload: &Json,
        message: Option<u64>,
    ) {
        let program = &ctx.tree.scopes[0].program;
        let misfit = payload_types(program, name)
            .into_iter()
            .find_map(|ty| decode(payload, &ty).err());
        let is_kept = is_taken(program, name);
        let kept = self.signals.get(name).map_or(0, VecDeque::len);
        let refused = match misfit {
            Some(mismatch) => Some(format!(
                "the payload does not have the declared type: {mismatch}"
            )),
            None if is_kept && kept >= MAX_KEPT => Some(format!(
                "{MAX_KEPT} signals of this name wait to be taken, and no more are kept"
            )),
            None => None,
        };
        let value = Value::from_json(payload);
        ctx.outbox.emit(EventKind::SignalReceived {
            signal: name.into(),
            payload: value.clone(),
            refused: refused.as_deref().map(Into::into),
        });
        ctx.outbox.message_taken(message);
        if refused.is_some() {
            return;
        }
        let name: Arc<str> = name.into();
        self.latest = Some(value.clone());
        if is_kept {
            let kept = self.signals.entry(name.clone()).or_default();
            kept.push_back(value);
        }
        ctx.commit(Subject::Signal(name));
    }

    /// Starts a `wait for`, which completes at once if its condition already holds.
    pub(super) fn start(&mut self, ctx: &mut Context, tasks: &Tasks, at: NodeRef, on: &Event) {
        ctx.tree.set_state(at, StepState::Waiting);
        self.steps.insert(at);
        self.wake_if_met(ctx, tasks, at, on, &[]);
    }

    /// Returns the steps that still wait for an event.
    pub(super) fn waiting(&self) -> impl Iterator<Item = NodeRef> {
        self.steps.iter().copied()
    }

    /// Returns true if no step waits for an event.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Returns true if the event of some step has happened.
    pub(super) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Removes a step that no longer waits, because it has settled or failed.
    pub(super) fn remove(&mut self, at: NodeRef) {
        self.steps.remove(&at);
        self.due.retain(|(due, _)| *due != at);
    }

    /// Wakes the steps that wait for such an event.
    pub(super) fn wake(&mut self, ctx: &mut Context, tasks: &Tasks, subjects: &[Subject]) {
        let waiting: Vec<NodeRef> = self.waiting().collect();
        for at in waiting {
            let program = ctx.tree.program(at.0);
            let Some(on) = ctx.tree.node(&program, at).event() else {
                continue;
            };
            if conditions(ctx, tasks).names_one(at.0, on, subjects) {
                self.wake_if_met(ctx, tasks, at, on, subjects);
            }
        }
    }

    /// Wakes a step if its condition holds. Earlier signals that were not taken count.
    fn wake_if_met(
        &mut self,
        ctx: &Context,
        tasks: &Tasks,
        at: NodeRef,
        on: &Event,
        subjects: &[Subject],
    ) {
        let mut seen: Vec<Subject> = subjects.to_vec();
        seen.retain(|subject| !matches!(subject, Subject::Signal(_)));
        on.leaves(&mut |leaf| {
            if let Condition::Signal(name) = &leaf.kind
                && self
                    .signals
                    .get(name)
                    .is_some_and(|queue| !queue.is_empty())
            {
                seen.push(Subject::Signal(name.clone()));
            }
        });
        let conditions = conditions(ctx, tasks);
        if !conditions.holds(at.0, on, &seen) {
            return;
        }
        let program = ctx.tree.program(at.0);
        let source = conditions.source(at.0, on, &seen);
        let value = match source.map(|leaf| (&leaf.kind, leaf)) {
            Some((Condition::Signal(name), _)) => {
                self.signals.get_mut(name).and_then(VecDeque::pop_front)
            }
            Some((_, leaf)) => Some(conditions.event_value(at.0, leaf)),
            None => None,
        };
        let value = value.unwrap_or(Value::Null);
        let outcome = match declared(on, source, payload_type(ctx.tree.node(&program, at))) {
            Some(ty) => decode(&value.to_json(), ty).map_err(|mismatch| {
                let message =
                    format!("the value of the event does not have the declared type: {mismatch}");
                let class = ErrorClass::Validation(Validation::Expression);
                Arc::new(StepError::new(class, message, &ctx.tree.path(&program, at)))
            }),
            None => Ok(value),
        };
        self.steps.remove(&at);
        self.due.push_back((at, outcome));
    }

    /// Completes the next step whose event has happened. Returns false if there is none.
    pub(super) fn wake_due(&mut self, ctx: &mut Context) -> bool {
        let Some((at, outcome)) = self.due.pop_front() else {
            return false;
        };
        if ctx.tree.state_of(at) == StepState::Waiting {
            match outcome {
                Ok(value) => ctx.settle(at, End::Completed(value)),
                Err(error) => ctx.step_failed(at, error),
            }
        }
        true
    }
}

/// Returns the conditions on the current state.
fn conditions<'a>(ctx: &'a Context, tasks: &'a Tasks) -> Conditions<'a> {
    Conditions {
        tree: &ctx.tree,
        tasks,
    }
}

/// Returns the type that a condition declares for the value of its source: signals have it, and if the condition names
/// no signal, any source.
pub(super) fn declared<'t>(
    on: &Event,
    source: Option<&Event>,
    payload: Option<&'t Type>,
) -> Option<&'t Type> {
    let mut signals = false;
    on.leaves(&mut |leaf| signals |= matches!(leaf.kind, Condition::Signal(_)));
    let is_signal = source.is_some_and(|source| matches!(source.kind, Condition::Signal(_)));
    payload.filter(|_| is_signal || !signals)
}

/// Converts a value to its declared type. A value that does not fit is returned unchanged, so that its readers report
/// it.
pub(super) fn typed(value: &Value, ty: &Type) -> Value {
    decode(&value.to_json(), ty).unwrap_or_else(|_| value.clone())
}

fn payload_type(node: &planrun_lang::sema::Node) -> Option<&Type> {
    let StepKind::Wait(wait) = &node.step()?.kind else {
        return None;
    };
    if let Wait::Event { payload, .. } = &**wait {
        payload.as_ref()
    } else {
        None
    }
}

/// Checks whether anything in a plan waits for a signal.
///
/// # Errors
/// Returns a sentence that says what the plan waits for instead.
pub fn expects_signal(program: &Program, name: &str) -> Result<(), String> {
    let mut known = BTreeSet::new();
    signals(program, &mut known);
    if known.contains(name) {
        return Ok(());
    }
    let listed = |names: &BTreeSet<Arc<str>>| {
        let names = names.iter().map(|known| format!("`{known}`"));
        names.collect::<Vec<_>>().join(", ")
    };
    let tasks = program.plan.tasks.iter().filter(|task| task.external);
    let tasks: BTreeSet<Arc<str>> = tasks.map(|task| task.name.clone()).collect();
    let mut why = format!("the plan does not wait for the signal `{name}`; it waits for ");
    if known.is_empty() {
        why.push_str("no signals");
    } else {
        why.push_str(&listed(&known));
    }
    if !tasks.is_empty() {
        let _ = write!(why, ", and {} can be moved", listed(&tasks));
    }
    if let Some(near) = nearest(name, known.iter().chain(&tasks).map(|name| &**name)) {
        let _ = write!(why, "; did you mean `{}`?", near.name);
    }
    Err(why)
}

/// Checks whether a plan accepts a signal.
///
/// # Errors
/// Returns a sentence that says why not: nothing in the plan waits for the signal, or the payload does not fit.
pub fn accepts_signal(program: &Program, name: &str, payload: &Json) -> Result<(), String> {
    expects_signal(program, name)?;
    let misfit = payload_types(program, name)
        .into_iter()
        .find_map(|ty| decode(payload, &ty).err());
    misfit.map_or(Ok(()), |mismatch| {
        Err(format!(
            "the payload of `{name}` does not have the declared type: {mismatch}"
        ))
    })
}

/// Checks whether a task may be moved from outside to this status with this context.
///
/// # Errors
/// Returns a sentence that says why not.
pub fn accepts_move(task: &Task, status: &str, context: &Json) -> Result<(), String> {
    external_move(task, status, context).map(drop)
}

/// Returns true if a `wait for` of a plan, or of one that it calls, takes a signal.
fn is_taken(program: &Program, name: &str) -> bool {
    let waits = |node: &Node| {
        let is_wait = |step: &Step| matches!(step.kind, StepKind::Wait(_));
        let on = node.event().filter(|_| node.step().is_some_and(is_wait));
        let mut takes = false;
        if let Some(on) = on {
            on.leaves(&mut |leaf| {
                takes |= matches!(&leaf.kind, Condition::Signal(signal) if **signal == *name);
            });
        }
        takes
    };
    let mut nodes = program.plan.blocks.iter().flat_map(|block| &block.nodes);
    nodes.any(waits) || program.plans.iter().any(|called| is_taken(called, name))
}

fn signals(program: &Program, known: &mut BTreeSet<Arc<str>>) {
    for on in program
        .plan
        .blocks
        .iter()
        .flat_map(|block| &block.nodes)
        .filter_map(|node| node.event())
    {
        on.leaves(&mut |leaf| {
            if let Condition::Signal(name) = &leaf.kind {
                known.insert(name.clone());
            }
        });
    }
    program
        .plans
        .iter()
        .for_each(|called| signals(called, known));
}

/// Returns the types that a plan, and those that it calls, declare for the payload of a signal.
fn payload_types(program: &Program, name: &str) -> Vec<Type> {
    let own = program.plan.payloads().into_iter();
    let own = own.filter(|payload| **payload.signal == *name);
    let own = own.map(|payload| payload.ty.clone());
    let called = program.plans.iter();
    own.chain(called.flat_map(|called| payload_types(called, name)))
        .collect()
}

/// Returns the status and context that a move from outside results in, or why it is refused.
pub(super) fn external_move(
    task: &Task,
    status: &str,
    context: &Json,
) -> Result<(Status, Value), String> {
    if !task.external {
        return Err(format!(
            "`{}` is not declared `external`, so only the plan can move it",
            task.name
        ));
    }
    let found = task.status(status).ok_or_else(|| {
        let known = task
            .statuses
            .iter()
            .map(|known| &**known)
            .collect::<Vec<_>>()
            .join(", ");
        format!(
            "`{}` has no status `{status}`; its statuses are {known}",
            task.name
        )
    })?;
    let fields = match context {
        Json::Null => return Ok((found, Value::Null)),
        Json::Object(fields) => fields,
        _ => return Err(format!("the context of `{}` must be an object", task.name)),
    };
    let mut given: IndexMap<Key, Value> = IndexMap::new();
    for (name, json) in fields {
        let value = match field(task, name) {
            Some(field) if !json.is_null() || !field.may_be_null() => decode(json, &field.ty)
                .map_err(|mismatch| {
                    format!(
                        "`{name}` in the context of `{}` does not fit: {mismatch}",
                        task.name
                    )
                })?,
            Some(_) | None => Value::from_json(json),
        };
        given.insert(Key::String(name.as_str().into()), value);
    }
    let given = Value::Map(Arc::new(given));
    fit(task, &given)?;
    Ok((found, given))
}

fn field<'t>(task: &'t Task, name: &str) -> Option<&'t Field> {
    let Type::Object(context) = &task.context else {
        return None;
    };
    context.field(name)
}

/// Returns what can make parts of a condition true from outside: signals, and moves of external tasks if the condition
/// stands in the plan `at_root`.
pub(super) fn awaited_from_outside(on: &Event, plan: &Plan, at_root: bool) -> Vec<Awaited> {
    let mut awaited = Vec::new();
    on.leaves(&mut |leaf| match &leaf.kind {
        Condition::Signal(name) => {
            let payloads = plan.payloads();
            let payload = payloads.iter().find(|payload| **payload.signal == **name);
            awaited.push(Awaited::Signal {
                name: name.clone(),
                payload: payload.map(|payload| payload.ty.clone()),
            });
        }
        Condition::Task { task: id, test } => {
            let task = plan.task(*id);
            let status = match test {
                TaskTest::Is(status) => Some(task.status_name(*status).into()),
                TaskTest::Any | TaskTest::Settled => None,
            };
            let name = task.name.clone();
            if at_root && task.external {
                awaited.push(Awaited::Task { name, status });
            }
        }
        Condition::Step { .. }
        | Condition::Plan(_)
        | Condition::Not(_)
        | Condition::All(_)
        | Condition::Any(_)
        | Condition::Damaged => {}
    });
    awaited
}
