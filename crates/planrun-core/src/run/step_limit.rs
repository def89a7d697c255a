//! `max_steps`: how many steps of a plan, and of the plans that it calls, may be executed.
//!
//! Which step is the first beyond the limit depends on the order of answers, so it is recorded. A replay ends the run at
//! the same place.

use std::sync::Arc;

use planrun_lang::types::{Budget, ErrorClass};

use super::context::Context;
use super::frame::NodeRef;
use super::recording::Recording;
use super::tree::each_scope_around;
use crate::journal::{EventKind, ReplayState};

/// Counts a step that begins, for its plan instance and for those that called it. Returns true, and ends the run, if a
/// limit is exceeded.
pub(super) fn exceeds(ctx: &mut Context, at: NodeRef) -> bool {
    if ctx.tree[at.0].auxiliary || ctx.tree.record_mut(at).started.is_some() {
        return false;
    }
    let mut over = None;
    each_scope_around(&mut ctx.tree, at.0, |scope| {
        scope.steps += 1;
        let limit = scope.policy.max_steps;
        over = over.or((scope.steps > limit).then_some(limit));
    });
    let Some(limit) = over else { return false };
    let path = ctx.tree.own_path(at);
    let recording = &mut ctx.outbox.recording;
    if take(recording, &path) || !recording.is_replaying() {
        reached(ctx, path, limit);
    } else if recorded(recording).is_none() {
        // Everything that is recorded comes first.
        ctx.beyond_limit.get_or_insert((path, limit));
    }
    true
}

/// Takes a retried step out of the count, so that it counts once.
pub(super) fn count_once(ctx: &mut Context, at: NodeRef) {
    each_scope_around(&mut ctx.tree, at.0, |scope| {
        scope.steps = scope.steps.saturating_sub(1);
    });
}

/// Ends the run after a replay in which a step could not begin. Returns false if there was none, or if that is left to the
/// next process.
pub(super) fn end_after_replay(ctx: &mut Context) -> bool {
    let Some((path, limit)) = ctx.beyond_limit.take() else {
        return false;
    };
    let is_left = ctx.setup.replay_only && ctx.outbox.recording.is_replayed();
    if is_left || ctx.tree[0].ending.is_some() {
        return false;
    }
    reached(ctx, path, limit);
    true
}

fn reached(ctx: &mut Context, path: Arc<str>, limit: u64) {
    ctx.outbox.emit(EventKind::LimitReached { path, limit });
    end(ctx, limit);
}

/// Ends the run, because this number of steps has been executed and another one would begin.
pub(super) fn end(ctx: &mut Context, limit: u64) {
    let steps = if limit == 1 {
        "1 step has"
    } else {
        &format!("{limit} steps have")
    };
    let message = format!(
        "{steps} been executed, and no more are allowed; raise the limit with `policy {{ max_steps: … }}` or `--max-steps`"
    );
    ctx.fatal(ErrorClass::Budget(Budget::Calls), &message);
}

/// Returns the recorded step that could not begin, with the number of that event, if that is still to be replayed.
fn recorded(recording: &Recording) -> Option<(u64, &Arc<str>)> {
    recording.replay()?.external_inputs.limit()
}

/// Returns true if the replay has come to the event that this step could not begin.
pub(super) fn is_next(recording: &Recording, path: &str) -> bool {
    let next = recording
        .replay()
        .and_then(|replay| replay.external_inputs.next_limit());
    next.is_some_and(|(_, step)| **step == *path)
}

/// Replays that event here. Returns false if the replay has not come to it.
fn take(recording: &mut Recording, path: &str) -> bool {
    let is_next = is_next(recording, path);
    if is_next {
        let next = |replay: &mut ReplayState| replay.external_inputs.take_next();
        if let Some(input) = recording.replay_mut().and_then(next) {
            recording.advance_to(input.at);
        }
    }
    is_next
}
