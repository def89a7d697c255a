//! Tasks: each has a status and a context that change together, and a history of these changes.

pub(super) mod work;

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use planrun_lang::eval::EvalError;
use planrun_lang::sema::{Set, Status, Task, TaskId};
use planrun_lang::types::{Type, check_value};
use planrun_lang::value::{Key, Value};
use serde::Serialize;

use crate::journal::{EventKind, StepError};
use crate::run::agenda::{End, Subject};
use crate::run::context::Context;
use crate::run::frame::{FrameId, Microseconds, NodeRef, TaskRef};
use crate::run::program::Program;

/// The state of a task. Its context is in a slot of the frame that declares it.
#[derive(Debug)]
pub(in crate::run) struct TaskState {
    pub status: Status,
    trace: Vec<Move>,
}

/// The tasks of a run.
#[derive(Default)]
pub(in crate::run) struct Tasks {
    pub(in crate::run) states: BTreeMap<TaskRef, TaskState>,
    /// Tasks that failed with a parked step.
    failed_work: Vec<Failed>,
}

/// A task that failed with a parked step, so that it can be restored.
#[derive(Debug)]
pub(in crate::run) struct Failed {
    pub step: NodeRef,
    pub task: TaskRef,
    /// Its status before the failure.
    pub before: Status,
}

/// One change of a task.
#[derive(Debug)]
struct Move {
    status: Status,
    reason: Arc<str>,
    at: Microseconds,
    error: Option<Arc<StepError>>,
}

/// The report of one task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskReport {
    pub name: Arc<str>,
    pub status: Arc<str>,
    pub context: Value,
    /// Every change, including the initial one.
    pub trace: Vec<TaskMove>,
}

/// One change of a task.
#[derive(Clone, Debug, Serialize)]
pub struct TaskMove {
    pub status: Arc<str>,
    /// `initialized`, `set`, the path of the firing that set it or failed, `retried`, or `signal`.
    pub reason: Arc<str>,
    /// The failure behind the change: that of the firing, or the one that the arm around the `set` has caught.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Value>,
    /// RFC 3339.
    pub at: String,
}

impl Tasks {
    /// Creates a task in its first status, with a context whose fields are null.
    pub(in crate::run) fn declare(&mut self, ctx: &mut Context, frame: FrameId, id: TaskId) {
        let program = ctx.tree.program(frame);
        let task = program.plan.task(id);
        let fields = fields(&task.context).map(|name| (Key::String(name.clone()), Value::Null));
        let context: IndexMap<Key, Value> = fields.collect();
        if let Some(place) = ctx.tree[frame].slots.get_mut(task.slot as usize) {
            *place = Value::Map(Arc::new(context));
        }
        let first = Move {
            status: Status(0),
            reason: "initialized".into(),
            at: ctx.outbox.elapsed(),
            error: None,
        };
        self.states.insert(
            (frame, id),
            TaskState {
                status: Status(0),
                trace: vec![first],
            },
        );
    }

    /// Runs the declaration of a task. A task under a condition begins here.
    pub(in crate::run) fn run_task(&mut self, ctx: &mut Context, at: NodeRef, id: TaskId) {
        let own = (at.0, id);
        let begins = !self.states.contains_key(&own);
        if begins {
            self.declare(ctx, at.0, id);
        }
        let context = ctx.tree.context_of(own);
        ctx.settle(at, End::Completed(context));
        if begins {
            ctx.commit(Subject::Task(own));
        }
    }

    /// Runs a `set`, which changes status and context in one event.
    pub(in crate::run) fn run_set(
        &mut self,
        ctx: &mut Context,
        program: &Program,
        at: NodeRef,
        set: &Set,
    ) {
        let home = ctx.tree.task_at(at.0, set.task);
        let task = program.plan.task(set.task);
        let given = set.context.as_ref().map(|code| {
            let value = ctx.tree.evaluate(at.0, code)?;
            fit(task, &value).map_err(|fault| EvalError::plain(fault, code.span))?;
            Ok(value)
        });
        let given = match given.transpose() {
            Ok(given) => given.unwrap_or(Value::Null),
            Err(error) => return ctx.expression_failed(at, &error),
        };
        let firing = ctx.tree.firing_around(at.0);
        let reason = firing.map_or_else(|| "set".into(), |firing| ctx.tree[firing].path.clone());
        let caught = ctx.tree.caught_around(at.0);
        self.change(ctx, home, set.status, &given, reason, caught);
        let (path, context) = (ctx.tree.task_path(home), ctx.tree.context_of(home));
        ctx.outbox.emit(EventKind::TaskSet {
            path: path.clone(),
            status: task.status_name(set.status).into(),
            context,
        });
        ctx.settle(at, End::Completed(Value::Null));
        ctx.commit(Subject::Task(home));
    }

    /// Changes the status of a task and merges fields into its context.
    pub(in crate::run) fn change(
        &mut self,
        ctx: &mut Context,
        at: TaskRef,
        status: Status,
        given: &Value,
        reason: Arc<str>,
        error: Option<Arc<StepError>>,
    ) {
        if !self.states.contains_key(&at) {
            // The declaration is under a condition that did not hold.
            self.declare(ctx, at.0, at.1);
        }
        let slot = ctx.tree.program(at.0).plan.task(at.1).slot;
        if let (Some(Value::Map(context)), Value::Map(given)) =
            (ctx.tree[at.0].slots.get_mut(slot as usize), given)
        {
            let context = Arc::make_mut(context);
            context.extend(
                given
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone())),
            );
        }
        let now = ctx.outbox.elapsed();
        if let Some(state) = self.states.get_mut(&at) {
            state.status = status;
            state.trace.push(Move {
                status,
                reason,
                at: now,
                error,
            });
        }
    }

    /// Returns the reports of the plan's own tasks; those of called plans are private.
    pub(in crate::run) fn reports(&self, ctx: &Context) -> Vec<TaskReport> {
        let own = self
            .states
            .iter()
            .filter(|((frame, _), _)| ctx.tree[*frame].scope == 0);
        let report = |(at, state): (&TaskRef, &TaskState)| {
            let task = ctx.tree.scopes[0].program.plan.task(at.1);
            let name = |status: Status| Arc::from(task.status_name(status));
            let task_move = |moved: &Move| TaskMove {
                status: name(moved.status),
                reason: moved.reason.clone(),
                at: ctx.outbox.instant(moved.at),
                error: moved.error.as_ref().map(|error| error.to_value()),
            };
            TaskReport {
                name: ctx.tree.task_path(*at),
                status: name(state.status),
                context: ctx.tree.context_of(*at),
                trace: state.trace.iter().map(task_move).collect(),
            }
        };
        own.map(report).collect()
    }
}

/// Returns the names of a context's fields.
fn fields(context: &Type) -> impl Iterator<Item = &Arc<str>> {
    let object = if let Type::Object(object) = context {
        Some(object)
    } else {
        None
    };
    object
        .into_iter()
        .flat_map(|object| &object.fields)
        .map(|field| &field.name)
}

/// Checks a context against its declaration. A field may always be null.
pub(in crate::run) fn fit(task: &Task, given: &Value) -> Result<(), String> {
    let (Type::Object(object), Value::Map(given)) = (&task.context, given) else {
        return Err(format!(
            "the context of `{}` must be an object, but this is {}",
            task.name,
            given.preview(80)
        ));
    };
    for (key, value) in given.iter() {
        let field = object
            .fields
            .iter()
            .find(|field| matches!(key, Key::String(name) if *name == field.name));
        let Some(field) = field else {
            return Err(format!(
                "the context of `{}` has no field `{key}`",
                task.name
            ));
        };
        if matches!(value, Value::Null) {
            continue;
        }
        if let Err(mismatch) = check_value(value, &field.ty) {
            return Err(format!(
                "`{}` in the context of `{}` does not fit: {mismatch}",
                field.name, task.name
            ));
        }
    }
    Ok(())
}
