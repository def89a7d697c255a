//! The work of tasks: a task that a firing was to `set` fails with that firing, and is restored when the failed step is
//! retried.

use std::sync::Arc;

use planrun_lang::sema::Status;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::{Failed, Tasks};
use crate::journal::{EventKind, StepError};
use crate::run::agenda::{FailedWork, Reaction, Subject};
use crate::run::context::Context;
use crate::run::frame::{FrameId, NodeRef, TaskRef};
use crate::run::signal::external_move;

impl Tasks {
    /// Fails a task together with a firing, unless the task has ended.
    pub(in crate::run) fn fail(&mut self, ctx: &mut Context, failed: FailedWork) {
        let FailedWork {
            firing,
            task,
            status,
            error,
            parked,
        } = failed;
        let program = ctx.tree.program(firing);
        let home = ctx.tree.task_at(firing, task);
        let Some(before) = self.states.get(&home).map(|state| state.status) else {
            return;
        };
        if program.plan.task(task).ends(before) {
            return;
        }
        if let Some(step) = parked {
            let task = home;
            self.failed_work.push(Failed { step, task, before });
        }
        let reason = ctx.tree[firing].path.clone();
        self.change(ctx, home, status, &Value::Null, reason, Some(error));
        emit_task_set(ctx, home, status);
        ctx.commit(Subject::Task(home));
    }

    /// Restores the tasks that failed with a parked step which is retried. That fires no listeners.
    pub(in crate::run) fn take_up(&mut self, ctx: &mut Context, step: NodeRef) {
        let (again, rest) = std::mem::take(&mut self.failed_work)
            .into_iter()
            .partition(|one| one.step == step);
        self.failed_work = rest;
        for Failed { task, before, .. } in Vec::into_iter(again) {
            self.change(ctx, task, before, &Value::Null, "retried".into(), None);
            emit_task_set(ctx, task, before);
        }
    }

    /// Handles a move of a task from outside.
    pub(in crate::run) fn receive_move(
        &mut self,
        ctx: &mut Context,
        name: &str,
        (status, context): (&str, &Json),
        message: Option<u64>,
    ) {
        let program = ctx.tree.scopes[0].program.clone();
        let found = self.states.keys().copied().find(|at| {
            let own = ctx.tree[at.0].scope == 0;
            own && *ctx.tree.task_path(*at) == *name
        });
        let moved = match found {
            Some(at) => {
                external_move(program.plan.task(at.1), status, context).map(|moved| (at, moved))
            }
            None => Err(format!("there is no task `{name}`")),
        };
        let (raw, refused) = (Value::from_json(context), moved.as_ref().err().cloned());
        ctx.outbox.emit(EventKind::TaskMoved {
            path: name.into(),
            status: status.into(),
            context: raw,
            refused: refused.map(Into::into),
        });
        ctx.outbox.message_taken(message);
        if let Ok((at, (status, given))) = moved {
            self.change(ctx, at, status, &given, "signal".into(), None);
            ctx.commit(Subject::Task(at));
        }
    }
}

/// Fails the tasks that a firing would have set and that have not ended, after an uncaught failure in the firing, or of
/// the firing itself. A parked step may be retried.
pub(in crate::run) fn work_failed(
    ctx: &mut Context,
    frame: FrameId,
    error: &Arc<StepError>,
    parked: Option<NodeRef>,
) {
    let Some(firing) = ctx.tree.firing_around(frame) else {
        return;
    };
    let program = ctx.tree.program(firing);
    for (task, status) in program.plan.fails_with(ctx.tree[firing].block) {
        ctx.then(Reaction::FailTask(Box::new(FailedWork {
            firing,
            task,
            status,
            error: error.clone(),
            parked,
        })));
    }
}

fn emit_task_set(ctx: &mut Context, at: TaskRef, status: Status) {
    let (program, path, context) = (
        ctx.tree.program(at.0),
        ctx.tree.task_path(at),
        ctx.tree.context_of(at),
    );
    let status = program.plan.task(at.1).status_name(status);
    ctx.outbox.emit(EventKind::TaskSet {
        path: path.clone(),
        status: status.into(),
        context,
    });
}
