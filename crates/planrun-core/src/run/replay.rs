//! Replay of the external inputs that earlier processes recorded: answers, timers, signals, moves of tasks.

use super::machine::Run;
use crate::journal::{Bound, ExternalInputKind};

impl Run {
    /// Replays the next external input. Returns false if nothing is left to replay.
    pub(super) fn replay(&mut self) -> bool {
        if !self.ctx.outbox.recording.is_replaying() {
            return false;
        }
        let (people, schedule) = (&self.steps.people, &self.ctx.schedule);
        let is_bounded = |path: &str, timer: Bound| match timer {
            Bound::Deadline => true,
            Bound::Expires | Bound::Wait => people.waits(path),
            Bound::Within => schedule.within.values().any(|own| *own.path == *path),
        };
        let recording = &mut self.ctx.outbox.recording;
        let slots = &mut self.steps.calls.open.slots;
        let before = slots.next_recorded();
        let next = recording.next_external_input(before, &people.questions, is_bounded);
        let Some((input, at)) = next else {
            if slots.wake_recorded(&mut self.ctx) {
                return true;
            }
            self.ctx.outbox.recording.end_replay();
            slots.end_replay(&mut self.ctx);
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
                ctx.outbox.recording.replay_retry();
                let (tasks, compensation) = (&mut self.tasks, &mut self.compensation);
                let is_retried = compensation.replay_retry(ctx, &path)
                    || (steps.parking).replay_retry(ctx, tasks, compensation, &path);
                if !is_retried {
                    ctx.outbox.recording.pass_over_retry(&path, input.number);
                }
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
