//! The work of tasks: a task whose `set` was to come from a firing fails with that firing, and is taken up again with it.

use std::sync::Arc;

use planrun_lang::sema::Status;
use planrun_lang::value::Value;

use super::event::{Subject, TaskRef};
use super::frame::{FrameId, Role};
use super::machine::{NodeRef, Run};
use crate::journal::{EventKind, StepError};

/// A task that has failed with a step which stands still, so that it can be taken up again.
pub(super) struct Failed {
    step: NodeRef,
    task: TaskRef,
    /// Its status before.
    before: Status,
}

impl Run {
    /// Something in a firing, or the firing itself, has failed and nothing caught that: the tasks that it would have set,
    /// and that have not ended, fail. A step that stands still may be done again.
    pub(super) fn work_failed(
        &mut self,
        frame: FrameId,
        error: &Arc<StepError>,
        stands_still: Option<NodeRef>,
    ) {
        let Some(firing) = self.firing_around(frame) else {
            return;
        };
        let program = self.program(firing);
        for (id, failed) in program.plan.fails_with(self.frames[firing].block) {
            let home = self.task_at(firing, id);
            let Some(before) = self.reactions.tasks.get(&home).map(|state| state.status) else {
                continue;
            };
            if program.plan.task(id).ends(before) {
                continue;
            }
            if let Some(step) = stands_still {
                self.parking.failed_work.push(Failed {
                    step,
                    task: home,
                    before,
                });
            }
            let reason = self.frames[firing].path.clone();
            self.change(home, failed, &Value::Null, reason, Some(error.clone()));
            self.tell_of_task(home, failed);
            self.commit(&[Subject::Task(home)]);
        }
    }

    /// A step that stood still is done again: what has failed with it stands where it stood. That fires nothing.
    pub(super) fn work_taken_up(&mut self, step: NodeRef) {
        let (again, rest) = std::mem::take(&mut self.parking.failed_work)
            .into_iter()
            .partition(|one| one.step == step);
        self.parking.failed_work = rest;
        for Failed { task, before, .. } in Vec::into_iter(again) {
            self.change(task, before, &Value::Null, "retried".into(), None);
            self.tell_of_task(task, before);
        }
    }

    /// The failure that the arm around a frame has caught.
    pub(super) fn caught_around(&self, mut frame: FrameId) -> Option<Arc<StepError>> {
        while let Some(owner) = self.frames[frame].owner {
            if owner.role == Role::Recover {
                return self.frames[owner.frame].records[owner.node as usize]
                    .details()?
                    .error
                    .clone();
            }
            frame = owner.frame;
        }
        None
    }

    fn tell_of_task(&mut self, at: TaskRef, status: Status) {
        let (program, path, context) =
            (self.program(at.0), self.task_path(at), self.context_of(at));
        let status = program.plan.task(at.1).status_name(status);
        self.emit(EventKind::TaskSet {
            path: path.clone(),
            status: status.into(),
            context,
        });
    }
}
