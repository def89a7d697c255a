//! `on_failure: pause`, and contracts that have changed: a failed step stays where it is and nothing new begins, until
//! somebody resumes the run and the step is tried again.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::types::{Denied, ErrorClass};

use super::agenda::{Reaction, Subject};
use super::call::Calls;
use super::compensation::Compensation;
use super::context::Context;
use super::execution::Execution;
use super::frame::{FrameId, NodeRef};
use super::interruption::Interruption;
use super::task::Tasks;
use super::tree::Tree;
use crate::journal::{EventKind, StepError};

/// What stands still because something has failed.
#[derive(Default)]
pub(super) struct Parking {
    /// Steps that have failed, and are not over.
    steps: BTreeMap<NodeRef, Arc<StepError>>,
    /// What could begin, had nothing failed.
    held_back: Vec<NodeRef>,
}

impl Parking {
    /// A step has failed, and stands still.
    pub(super) fn park(&mut self, ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
        let now = ctx.outbox.elapsed();
        let record = ctx.tree.record_mut(at);
        record.duration = record.started.map_or(0, |started| now - started);
        record.details_mut().error = Some(error.clone());
        let (attempts, duration) = (record.attempts, Duration::from_micros(record.duration));
        ctx.tree.set_state(at, StepState::Waiting);
        ctx.tree[at.0].visible.insert(at.1, StepState::Failed);
        let path = ctx.tree.own_path(at);
        ctx.outbox.emit(EventKind::StepSettled {
            path: path.clone(),
            state: StepState::Failed,
            attempts,
            duration,
            recovered: false,
            reason: None,
            output: None,
            error: Some(error.clone()),
        });
        self.steps.insert(at, error.clone());
        ctx.commit(Subject::Step(at));
        ctx.then(Reaction::WorkFailed {
            frame: at.0,
            error,
            parked: Some(at),
        });
    }

    /// The error of a step that stands still, which ends because of something else.
    pub(super) fn leave(&mut self, ctx: &mut Context, at: NodeRef) -> Option<Arc<StepError>> {
        let error = self.steps.remove(&at)?;
        ctx.tree[at.0].visible.remove(&at.1);
        Some(error)
    }

    /// Whether what is ready in a frame has to wait, since something has failed. Firings go on to their end.
    pub(super) fn holds_back(&mut self, ctx: &mut Context, at: NodeRef) -> bool {
        let holds = !self.steps.is_empty() && !is_shielded(&ctx.tree, at.0);
        if holds {
            self.held_back.push(at);
        }
        holds
    }

    /// Why the process lets go of the run because of what has failed, as soon as nothing else is at work.
    pub(super) fn failed_and_quiet(&self, ctx: &Context, calls: &Calls) -> Option<Interruption> {
        let (_, error) = self.steps.first_key_value()?;
        let busy = ctx.is_suspended()
            || calls
                .open
                .iter()
                .any(|(at, _)| is_shielded(&ctx.tree, at.0));
        (!busy).then(|| Interruption::Failed(error.clone()))
    }

    /// Somebody wants the run to go on: what has failed is done again. Nothing is where somebody has said no, and where
    /// nobody knows what has happened.
    pub(super) fn retry_failed(
        &mut self,
        ctx: &mut Context,
        tasks: &mut Tasks,
        compensation: &mut Compensation,
    ) {
        let again = |error: &Arc<StepError>| {
            !matches!(
                error.class,
                ErrorClass::Denied(Denied::Policy | Denied::Human) | ErrorClass::UnknownOutcome
            )
        };
        if !self.steps.values().all(again) {
            return;
        }
        let failed: Vec<NodeRef> = self.steps.keys().copied().collect();
        for at in failed {
            self.retry_step(ctx, tasks, compensation, at);
        }
    }

    /// As an earlier process did.
    pub(super) fn retried_before(
        &mut self,
        ctx: &mut Context,
        tasks: &mut Tasks,
        compensation: &mut Compensation,
        path: &str,
    ) {
        let found = self
            .steps
            .keys()
            .copied()
            .find(|at| *ctx.tree.own_path(*at) == *path);
        if let Some(at) = found {
            self.retry_step(ctx, tasks, compensation, at);
        }
    }

    fn retry_step(
        &mut self,
        ctx: &mut Context,
        tasks: &mut Tasks,
        compensation: &mut Compensation,
        at: NodeRef,
    ) {
        let path = ctx.tree.own_path(at);
        ctx.outbox
            .emit(EventKind::StepRetried { path: path.clone() });
        tasks.take_up(ctx, at);
        ctx.counts_once(at);
        self.leave(ctx, at);
        leave_behind(ctx, compensation, at);
        let record = ctx.tree.record_mut(at);
        record.started = None;
        let details = record.details_mut();
        details.error = None;
        details.frames.clear();
        ctx.tree.set_state(at, StepState::Pending);
        ctx.schedule.ready.push(Reverse(at));
        if self.steps.is_empty() {
            ctx.schedule
                .ready
                .extend(self.held_back.drain(..).map(Reverse));
        }
    }
}

/// Whether a frame goes on while something stands still: firings, and what verifies or undoes a step.
fn is_shielded(tree: &Tree, frame: FrameId) -> bool {
    tree[frame].aside || tree.firing_around(frame).is_some()
}

/// What has worked for a step that is done again is no part of the plan's flow any more. A call whose execution has
/// not ended goes on with it; any other begins another one. Every attempt belongs to one execution, so their count is
/// a number that no execution has had.
fn leave_behind(ctx: &mut Context, compensation: &mut Compensation, at: NodeRef) {
    let attempts = ctx.tree.record(at).attempts;
    let open = leave_execution(ctx, compensation, at);
    let path = ctx.tree.own_path(at);
    ctx.executions.restart(path, attempts, open);
    let mut frames = ctx.tree.inner_frames(at).to_vec();
    while let Some(frame) = frames.pop() {
        ctx.tree[frame].aside = true;
        for node in 0..u32::try_from(ctx.tree[frame].records.len()).unwrap_or(u32::MAX) {
            let inner = (frame, node);
            let attempts = ctx.tree.record(inner).attempts;
            if attempts > 0 {
                let (path, open) = (
                    ctx.tree.own_path(inner),
                    leave_execution(ctx, compensation, inner),
                );
                ctx.executions.restart_inner(path, attempts, open);
            }
            frames.extend_from_slice(ctx.tree.inner_frames(inner));
        }
    }
}

/// The execution of a call that another frame goes on with: what it did is that one's to undo.
fn leave_execution(
    ctx: &mut Context,
    compensation: &mut Compensation,
    at: NodeRef,
) -> Option<Execution> {
    let record = ctx.tree.record_mut(at);
    let in_doubt = record.in_doubt;
    let open = record.details_mut().execution.take()?;
    compensation.forget(at);
    Some(Execution { in_doubt, ..open })
}
