//! Retries of a run that has ended: verifications and `undo`s that have failed are repeated.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::Value;

use super::kept::{has_changed, keep_changes_in, nodes};
use super::undo::open_undo;
use super::{Check, Compensation, Phase, open_verify};
use crate::journal::{EventKind, EventName};
use crate::run::agenda::Inquiry;
use crate::run::context::Context;
use crate::run::frame::{FrameId, NodeRef, Role, Undone};
use crate::run::tree::Tree;

impl Compensation {
    /// Continues with the retries of what has failed, after everything else of the run has ended. Returns false when
    /// nothing is left to do.
    pub(in crate::run) fn continue_retries(&mut self, ctx: &mut Context) -> bool {
        if self.proceed(ctx, 0) {
            return true;
        }
        if !self.matters {
            return false;
        }
        let (left, current, again) = (Vec::new(), None, true);
        let phase = if self.is_verified_again(ctx) {
            Phase::Verifying(BTreeSet::new())
        } else if self.is_undone_again(ctx) {
            Phase::Undoing {
                left,
                current,
                again,
            }
        } else {
            return false;
        };
        self.phases.insert(0, phase);
        true
    }

    /// Retries what has failed, after everything that was recorded has been replayed.
    pub(in crate::run) fn retry_failed(&mut self, ctx: &mut Context) {
        match self.phases.get_mut(&0) {
            Some(Phase::Verifying(steps)) if steps.is_empty() => {
                for at in self.not_verified() {
                    ctx.then(Inquiry::VerifyAgain(at));
                }
            }
            Some(Phase::Undoing { again: true, .. }) => {
                let undos = self.undos_to_retry(ctx);
                if let Some(Phase::Undoing { left, .. }) = self.phases.get_mut(&0) {
                    // The last one is undone first.
                    *left = undos;
                    ctx.schedule.ended.push(0);
                }
            }
            Some(Phase::Verifying(_) | Phase::Undoing { .. } | Phase::Over) | None => {}
        }
    }

    /// Replays a retry of an earlier process. Returns false if the path is that of neither a verified step nor an
    /// `undo`.
    pub(in crate::run) fn replay_retry(&mut self, ctx: &mut Context, path: &str) -> bool {
        let mut verified = self.not_verified().into_iter();
        if let Some(at) = verified.find(|at| *ctx.tree.own_path(*at) == *path) {
            self.verify_step_again(ctx, at);
            return true;
        }
        let mut undos = self.undos_to_retry(ctx).into_iter();
        let found = undos.find(|at| *undo_path(ctx, *at) == *path);
        let (
            Some(at),
            Some(Phase::Undoing {
                left, again: true, ..
            }),
        ) = (found, self.phases.get_mut(&0))
        else {
            return false;
        };
        // Another one may still be in progress, or wait for it.
        left.insert(0, at);
        ctx.schedule.ended.push(0);
        true
    }

    /// Returns true if a failed verification is to be retried, now or later in the replay.
    pub(super) fn is_verified_again(&self, ctx: &Context) -> bool {
        let recording = &ctx.outbox.recording;
        let later = |at: &NodeRef| {
            recording.has_unreplayed(EventName::StepRetried, &ctx.tree.own_path(*at))
        };
        let again = |at: &NodeRef| ctx.setup.retries && recording.had_ended() || later(at);
        recording.is_replaying() && self.not_verified().iter().any(again)
    }

    /// Returns true if the verification of the step with this path has failed.
    pub(in crate::run) fn has_not_verified(&self, tree: &Tree, path: &str) -> bool {
        let mut steps = self.not_verified().into_iter();
        steps.any(|at| *tree.own_path(at) == *path)
    }

    /// Returns the steps whose verification has failed.
    fn not_verified(&self) -> Vec<NodeRef> {
        let fails = |(at, check): (&NodeRef, &Check)| check.failure().map(|_| *at);
        self.checks.iter().filter_map(fails).collect()
    }

    pub(in crate::run) fn verify_step_again(&mut self, ctx: &mut Context, at: NodeRef) {
        let path = ctx.tree.own_path(at);
        ctx.outbox.emit(EventKind::StepRetried { path });
        let check = self.checks.remove(&at);
        let failure = check.as_ref().and_then(Check::failure);
        // The failure of the run follows from the checks.
        let root = &mut ctx.tree[0];
        let own = root.first_failure.as_ref().zip(failure);
        if own.is_some_and(|(first, failure)| Arc::ptr_eq(first, failure)) {
            root.first_failure = None;
        }
        if let Some(Phase::Verifying(steps)) = self.phases.get_mut(&0) {
            steps.insert(at);
        }
        open_verify(ctx, at);
    }

    /// Returns true if a failed `undo` is to be retried, now or later in the replay.
    pub(super) fn is_undone_again(&self, ctx: &Context) -> bool {
        let recording = &ctx.outbox.recording;
        let later =
            |at: &NodeRef| recording.has_unreplayed(EventName::StepRetried, &undo_path(ctx, *at));
        let again = |at: &NodeRef| ctx.setup.retries && recording.had_ended() || later(at);
        recording.is_replaying() && self.undos_to_retry(ctx).iter().any(again)
    }

    /// Returns the paths of the steps whose `undo` has failed and can be retried.
    pub(in crate::run) fn retryable(&self, ctx: &Context) -> Vec<Arc<str>> {
        if !ctx.outbox.recording.is_durable() && !ctx.setup.replay_only {
            return Vec::new();
        }
        let steps = self.undos_to_retry(ctx).into_iter();
        steps.map(|at| ctx.tree.own_path(at)).collect()
    }

    fn undos_to_retry(&self, ctx: &Context) -> Vec<NodeRef> {
        if self.abandoned.is_some() {
            return Vec::new();
        }
        // A retried step or `undo` leaves an older one at the same path; only the latest one counts.
        let is_latest = |at: &NodeRef| !ctx.tree[at.0].auxiliary;
        let failed = self.happened.iter().copied().filter(is_latest);
        failed.filter(|at| can_retry_undo(ctx, *at)).collect()
    }
}

/// Undoes a step again. Calls of the failed `undo` that have completed and changed something are not repeated.
pub(super) fn undo_step_again(ctx: &mut Context, at: NodeRef) {
    let path = undo_path(ctx, at);
    ctx.outbox.emit(EventKind::StepRetried { path });
    let failed = undo_frame(ctx, at);
    let details = ctx.tree.record_mut(at).details_mut();
    details.undone = None;
    details.frames.retain(|frame| Some(*frame) != failed);
    let Some(failed) = failed else { return };
    keep_executions(ctx, failed);
    let gave = ctx.tree[failed].slots.first().cloned();
    open_undo(ctx, at, gave.unwrap_or(Value::Null));
}

/// Returns true if the `undo` of a step has failed, was not refused, and contains no call that changes something and
/// could happen twice.
fn can_retry_undo(ctx: &Context, at: NodeRef) -> bool {
    let details = ctx.tree.record(at).details();
    let undone = details.and_then(|details| details.undone.as_ref());
    let refused = ErrorClass::Denied(Denied::Human);
    let has_failed = matches!(undone, Some(Undone::No(error)) if error.class != refused);
    let is_safe = |frame| {
        let mut inside = nodes_inside(ctx, frame).into_iter();
        inside.all(|at| {
            let program = ctx.tree.program(at.0);
            let record = ctx.tree.record(at);
            let effect = ctx
                .tree
                .tool_call(&program, at)
                .map(|(step, ..)| step.effect);
            let is_lost = record.in_doubt
                && effect.is_some_and(|effect| !effect.repeatable())
                && (record.recovered || ctx.tree.state_of(at) != StepState::Completed);
            let undone = record.details().and_then(|details| details.undone.as_ref());
            !is_lost && !matches!(undone, Some(Undone::No(_) | Undone::Skipped(_)))
        })
    };
    has_failed && undo_frame(ctx, at).is_some_and(is_safe)
}

/// Returns true if nothing that a frame has called can have changed anything.
pub(super) fn has_done_nothing(ctx: &Context, frame: FrameId) -> bool {
    let mut inside = nodes_inside(ctx, frame).into_iter();
    inside.all(|at| {
        let program = ctx.tree.program(at.0);
        let call = ctx.tree.tool_call(&program, at);
        let changes = call.is_some_and(|(step, ..)| !step.effect.is_read_only());
        let is_completed = ctx.tree.state_of(at) == StepState::Completed;
        !changes || !(is_completed || ctx.tree.record(at).in_doubt)
    })
}

/// Returns the result of the `undo` of a step if it also holds for the step that takes over the call: an `undo` that must
/// not be repeated, or that is partly done, is not begun again.
pub(in crate::run) fn lasting_undone(ctx: &Context, at: NodeRef) -> Option<Undone> {
    let undone = ctx.tree.record(at).details()?.undone.clone()?;
    let has_changed = |frame| {
        let mut inside = nodes_inside(ctx, frame).into_iter();
        inside.any(|at| has_changed(ctx, at))
    };
    let is_free = can_retry_undo(ctx, at) && !undo_frame(ctx, at).is_some_and(has_changed);
    (!is_free).then_some(undone)
}

/// Ends the executions of the calls in an `undo`. The same `undo` of another execution of its step has others.
pub(super) fn end_executions(ctx: &mut Context, undo: FrameId) {
    for at in nodes_inside(ctx, undo) {
        let (path, attempts) = (ctx.tree.own_path(at), ctx.tree.record(at).attempts);
        if attempts > 0 {
            ctx.executions.restart_inner(path, attempts, None);
        }
    }
}

/// Keeps what is known of the calls in an `undo` that is retried: those that have not ended are continued, and those
/// that have changed something are not made again.
fn keep_executions(ctx: &mut Context, failed: FrameId) {
    for at in nodes_inside(ctx, failed) {
        if let Some(open) = ctx.tree.record_mut(at).take_execution() {
            let path = ctx.tree.own_path(at);
            ctx.executions.restart_inner(path, 0, Some(open));
        }
    }
    keep_changes_in(ctx, failed);
}

/// Returns the nodes of a frame, and of the frames that work for them.
fn nodes_inside(ctx: &Context, frame: FrameId) -> Vec<NodeRef> {
    let mut inside = Vec::new();
    let mut frames = vec![frame];
    while let Some(frame) = frames.pop() {
        for at in nodes(ctx, frame) {
            inside.push(at);
            frames.extend_from_slice(ctx.tree.inner_frames(at));
        }
    }
    inside
}

/// Returns the frame of the latest `undo` of a step.
fn undo_frame(ctx: &Context, at: NodeRef) -> Option<FrameId> {
    let mut frames = ctx.tree.inner_frames(at).iter().copied();
    frames.rfind(|frame| {
        let owner = ctx.tree[*frame].owner;
        owner.is_some_and(|owner| owner.role == Role::Undo)
    })
}

fn undo_path(ctx: &Context, at: NodeRef) -> Arc<str> {
    format!("{}.undo", ctx.tree.own_path(at)).into()
}
