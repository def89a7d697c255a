//! Parking: under `on_failure: pause` or `on_exhausted: pause`, or after a changed contract, a failed step stays where
//! it is and nothing new begins, until the run is resumed and the step is retried.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::types::{Denied, ErrorClass};

use super::agenda::{Reaction, Subject};
use super::call::Calls;
use super::compensation::keep_changes;
use super::context::Context;
use super::frame::{Flags, FrameId, Microseconds, NodeRef};
use super::interruption::Interruption;
use super::step_limit;
use super::task::Tasks;
use super::tree::Tree;
use crate::journal::{EventKind, StepError};

/// The parked steps of a run.
#[derive(Default)]
pub(super) struct Parking {
    /// Steps that have failed without settling, with their failures.
    steps: BTreeMap<NodeRef, Arc<StepError>>,
    /// The same steps in the order in which they failed.
    in_order: Vec<NodeRef>,
    /// Nodes that would begin if no step were parked.
    deferred: Vec<NodeRef>,
}

impl Parking {
    /// Parks a step that has failed.
    pub(super) fn park(&mut self, ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
        let now = ctx.outbox.elapsed();
        let path = ctx.tree.own_path(at);
        let recorded = ctx.outbox.recording.recorded_duration(&path);
        let record = ctx.tree.record_mut(at);
        let since = |started: Microseconds| now.saturating_sub(started);
        record.duration = recorded.unwrap_or_else(|| record.started.map_or(0, since));
        record.details_mut().error = Some(error.clone());
        let (attempts, duration) = (record.attempts, Duration::from_micros(record.duration));
        ctx.tree.set_state(at, StepState::Waiting);
        ctx.tree[at.0].visible.insert(at.1, StepState::Failed);
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
        self.in_order.push(at);
        ctx.commit(Subject::Step(at));
        ctx.then(Reaction::WorkFailed {
            frame: at.0,
            error,
            parked: Some(at),
        });
    }

    /// Removes a parked step that ends for another reason. Returns its failure.
    pub(super) fn remove(&mut self, ctx: &mut Context, at: NodeRef) -> Option<Arc<StepError>> {
        let error = self.steps.remove(&at)?;
        self.in_order.retain(|parked| *parked != at);
        ctx.tree[at.0].visible.remove(&at.1);
        Some(error)
    }

    /// Returns true if a ready node has to wait because a step is parked. Firings continue to their end.
    pub(super) fn defer_if_parked(&mut self, ctx: &mut Context, at: NodeRef) -> bool {
        let holds = !self.steps.is_empty() && !runs_while_parked(&ctx.tree, at.0);
        if holds {
            self.deferred.push(at);
        }
        holds
    }

    /// Returns the failure of the parked step that has failed first.
    pub(super) fn first_failure(&self) -> Option<&Arc<StepError>> {
        self.steps.get(self.in_order.first()?)
    }

    /// Returns why the process suspends the run because of a parked step, when nothing else is running.
    pub(super) fn failed_and_quiet(&self, ctx: &Context, calls: &Calls) -> Option<Interruption> {
        let error = self.first_failure()?;
        let busy = ctx.is_suspended()
            || calls
                .open
                .iter()
                .any(|(at, _)| runs_while_parked(&ctx.tree, at.0));
        (!busy).then(|| Interruption::Failed(error.clone()))
    }

    /// Retries the parked steps, because the run was resumed, except for those that a person has refused. A permission may
    /// have changed since: it is checked again before the call.
    pub(super) fn retry_failed(&mut self, ctx: &mut Context, tasks: &mut Tasks) {
        let refused = ErrorClass::Denied(Denied::Human);
        let failed = self
            .steps
            .iter()
            .filter(|(_, error)| error.class != refused);
        let failed: Vec<NodeRef> = failed.map(|(at, _)| *at).collect();
        for at in failed {
            self.retry(ctx, tasks, at);
        }
    }

    /// Returns the step with this path that has failed and can be retried. Its failure may be held back, because a patch
    /// has put effects above it.
    pub(super) fn failed(&self, tree: &Tree, path: &str) -> Option<NodeRef> {
        let is_meant = |at: &NodeRef| *tree.own_path(*at) == *path;
        let parked = self.steps.keys().copied().find(is_meant);
        parked.or_else(|| tree.late_failures().find(is_meant))
    }

    /// Retries a step that has failed.
    pub(super) fn retry(&mut self, ctx: &mut Context, tasks: &mut Tasks, at: NodeRef) {
        let path = ctx.tree.own_path(at);
        ctx.outbox
            .emit(EventKind::StepRetried { path: path.clone() });
        tasks.take_up(ctx, at);
        step_limit::count_once(ctx, at);
        self.remove(ctx, at);
        ctx.tree[at.0].late.remove(&at.1);
        detach_finished_work(ctx, at);
        let record = ctx.tree.record_mut(at);
        (record.started, record.reused) = (None, false);
        let details = record.details_mut();
        details.error = None;
        details.frames.clear();
        ctx.tree.set_state(at, StepState::Pending);
        if at.0 == 0 && ctx.patched_order.retried(at.1) {
            let program = ctx.tree.program(at.0);
            ctx.tree[at.0].node(at.1).flags.clear(Flags::READY);
            ctx.flow(&program, at.0).offer(at.1);
        } else {
            ctx.schedule.ready.push(Reverse(at));
        }
        if self.steps.is_empty() {
            ctx.schedule
                .ready
                .extend(self.deferred.drain(..).map(Reverse));
        }
    }
}

/// Returns true if a frame continues while steps are parked: firings, and `verify` and `undo` blocks.
fn runs_while_parked(tree: &Tree, frame: FrameId) -> bool {
    tree[frame].auxiliary || tree.firing_around(frame).is_some()
}

/// Takes the frames that worked for a retried step out of the flow of the plan, and keeps what they have changed. A call
/// whose execution has not ended continues it; any other begins a new one. Every attempt belongs to one execution, so the
/// number of attempts is a number that no execution has had.
fn detach_finished_work(ctx: &mut Context, at: NodeRef) {
    let attempts = ctx.tree.record(at).attempts;
    let open = ctx.tree.record_mut(at).take_execution();
    let path = ctx.tree.own_path(at);
    ctx.executions.restart(path, attempts, open);
    keep_changes(ctx, at);
    let mut frames = ctx.tree.inner_frames(at).to_vec();
    while let Some(frame) = frames.pop() {
        ctx.tree[frame].auxiliary = true;
        let undoes = ctx.tree.is_within_undo(frame);
        for node in 0..u32::try_from(ctx.tree[frame].records.len()).unwrap_or(u32::MAX) {
            let inner = (frame, node);
            let attempts = ctx.tree.record(inner).attempts;
            let open = ctx.tree.record_mut(inner).take_execution();
            if attempts > 0 || open.is_some() {
                // The retried step is a new execution, so its undo is one, too: it has other arguments.
                let open = open.filter(|_| !undoes);
                let path = ctx.tree.own_path(inner);
                ctx.executions.restart_inner(path, attempts, open);
            }
            frames.extend_from_slice(ctx.tree.inner_frames(inner));
        }
    }
}
