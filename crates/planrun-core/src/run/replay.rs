//! Replay of the external inputs that earlier processes recorded: answers, timers, signals, moves of tasks, retries. Each
//! goes to what waits for it, during the replay or, if a patch has delayed its receiver, after it.

use std::sync::Arc;

use super::compensation::Compensation;
use super::context::Context;
use super::machine::Run;
use super::park::Parking;
use super::task::Tasks;
use crate::journal::{Bound, ExternalInputKind};

impl Run {
    /// Replays the next external input that has a receiver. Returns false if nothing is left to replay.
    pub(super) fn replay(&mut self) -> bool {
        let (people, schedule, tree) = (&self.steps.people, &self.ctx.schedule, &self.ctx.tree);
        let is_bounded = |path: &str, timer: Bound| match timer {
            Bound::Deadline => true,
            Bound::Expires | Bound::Wait => people.waits(path),
            Bound::Within => schedule.within.values().any(|own| *own.path == *path),
        };
        // Undos and checks are retried when the run has ended.
        let parking = &self.steps.parking;
        let has_failed =
            |path: &str| tree[0].unsettled == 0 || parking.failed(tree, path).is_some();
        let recording = &mut self.ctx.outbox.recording;
        let slots = &mut self.steps.calls.open.slots;
        let before = slots.next_recorded();
        let next = recording.next_external_input(before, &people.questions, is_bounded, has_failed);
        let Some((input, at)) = next else {
            let is_replaying = self.ctx.outbox.recording.is_replaying();
            if is_replaying && slots.wake_recorded(&mut self.ctx) {
                return true;
            }
            self.ctx.outbox.recording.end_replay();
            if is_replaying {
                slots.end_replay(&mut self.ctx);
            }
            return false;
        };
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        match (input.kind, at) {
            (ExternalInputKind::Answer { outcome, .. }, Some(at)) => {
                steps.calls.replay_answer(ctx, at, outcome);
            }
            (ExternalInputKind::Timer { path, timer }, _) => self.replay_timer(&path, timer),
            (ExternalInputKind::Signal { signal, payload }, _) => {
                let payload = payload.to_json();
                steps.waits.receive_signal(ctx, &signal, &payload, None);
            }
            (
                ExternalInputKind::TaskMoved {
                    path,
                    status,
                    context,
                },
                _,
            ) => {
                let context = context.to_json();
                self.tasks
                    .receive_move(ctx, &path, (&status, &context), None);
            }
            (ExternalInputKind::Given(answer), _) => steps.people.take_answer(ctx, &answer),
            (ExternalInputKind::Cancel { keep, force }, _) => self.cancel(keep, force),
            (ExternalInputKind::Retried { path }, _) => {
                let (tasks, compensation) = (&mut self.tasks, &mut self.compensation);
                replay_retry(ctx, &mut steps.parking, tasks, compensation, path);
                steps.calls.open.slots.wake_with_retries(ctx);
            }
            (ExternalInputKind::Answer { .. }, None) => {}
        }
        self.perform();
        true
    }

    fn replay_timer(&mut self, path: &str, timer: Bound) {
        let ctx = &mut self.ctx;
        match timer {
            Bound::Deadline => ctx.deadline_expired(),
            Bound::Expires | Bound::Wait => self.steps.people.replay_hold_end(ctx, path),
            Bound::Within => {
                let tree = &ctx.tree;
                let mut bounded = ctx.schedule.within.iter();
                let found = bounded.find(|(at, own)| *own.path == *path && tree.is_under_way(**at));
                if let Some(at) = found.map(|(at, _)| *at) {
                    self.steps.within_expired(ctx, at);
                }
            }
        }
    }
}

/// Replays the retry of a failed step, of a failed undo, or of a failed check of `verify`. The steps that a process has
/// retried begin together, and so do the checks.
fn replay_retry(
    ctx: &mut Context,
    parking: &mut Parking,
    tasks: &mut Tasks,
    compensation: &mut Compensation,
    path: Arc<str>,
) {
    let mut next = Some(path);
    while let Some(path) = next {
        ctx.outbox.recording.replay_retry(&path);
        if !compensation.replay_retry(ctx, &path) {
            let Some(at) = parking.failed(&ctx.tree, &path) else {
                return;
            };
            parking.retry(ctx, tasks, at);
        }
        let tree = &ctx.tree;
        let has_failed = |path: &str| {
            parking.failed(tree, path).is_some() || compensation.has_not_verified(tree, path)
        };
        next = ctx.outbox.recording.next_retry(has_failed);
    }
}
