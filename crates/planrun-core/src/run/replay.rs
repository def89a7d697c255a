//! Replay of the external inputs that earlier processes recorded: answers, timers, signals, moves of tasks, retries. Each
//! goes to what waits for it, during the replay or, if a patch has delayed its receiver, after it.

use std::sync::Arc;

use super::call::slots::Slots;
use super::compensation::Compensation;
use super::context::Context;
use super::listener::Listeners;
use super::machine::Run;
use super::park::Parking;
use super::step_limit;
use super::task::Tasks;
use crate::journal::{Bound, ExternalInputKind};

impl Run {
    /// Replays the next external input that has a receiver. Returns false if nothing is left to replay.
    pub(super) fn replay(&mut self) -> bool {
        let (people, schedule, tree) = (&self.steps.people, &self.ctx.schedule, &self.ctx.tree);
        let is_bounded = |path: &str, timer: Bound| match timer {
            Bound::Deadline => true,
            Bound::Expires | Bound::Wait => people.is_waiting_at(path),
            Bound::Within => schedule.within.values().any(|own| *own.path == *path),
        };
        // Undos and checks are retried when the run has ended.
        let parking = &self.steps.parking;
        let has_failed =
            |path: &str| tree[0].unsettled == 0 || parking.failed(tree, path).is_some();
        let recording = &mut self.ctx.outbox.recording;
        let slots = &mut self.steps.calls.open.slots;
        let processes = self.ctx.processes.as_ref();
        let process = processes.and_then(|known| known.next_event());
        let before = slots.next_recorded().into_iter().chain(process).min();
        let next = recording.next_external_input(before, &people.questions, is_bounded, has_failed);
        let Some((input, at)) = next else {
            let goes_on = if process.is_some() && before == process {
                next_process(&mut self.ctx, &self.listeners)
            } else {
                wake_recorded(&mut self.ctx, slots)
            };
            self.perform();
            return goes_on;
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
            ) => (self.tasks).receive_move(ctx, &path, (&status, &context.to_json()), None),
            (ExternalInputKind::Limit { limit, .. }, _) => step_limit::end(ctx, limit),
            (ExternalInputKind::Given(answer), _) => steps.people.take_answer(ctx, &answer),
            (ExternalInputKind::Cancel { keep, force, .. }, _) => self.cancel(keep, force),
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
            Bound::Deadline => ctx.deadline_expired(path.into()),
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

/// Goes on to the next process. What was left to it begins. Returns false if there is none.
pub(super) fn next_process(ctx: &mut Context, listeners: &Listeners) -> bool {
    let next = ctx.processes.as_mut().and_then(|known| known.proceed());
    let Some((at, left)) = next else {
        return false;
    };
    if let Some(at) = at {
        ctx.outbox.recording.advance_to(at);
    }
    let program = ctx.tree.program(0);
    ctx.flow(&program, 0).offer_left(left);
    listeners.release(ctx, 0);
    true
}

/// Lets the next step go on that is recorded to have waited for a slot. If there is none, the replay ends.
fn wake_recorded(ctx: &mut Context, slots: &mut Slots) -> bool {
    if !ctx.outbox.recording.is_replaying() {
        return false;
    }
    if slots.wake_recorded(ctx) {
        return true;
    }
    ctx.outbox.recording.end_replay();
    slots.end_replay(ctx);
    step_limit::end_after_replay(ctx)
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
