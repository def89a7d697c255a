//! External inputs of a run, live or replayed: signals, answers, timers, moves of tasks.

use planrun_lang::value::saturating_duration;

use super::agenda::Inquiry;
use super::clock::microseconds;
use super::frame::NodeRef;
use super::machine::Run;
use crate::journal::{AnswerError, Bound, ExternalInputKind, InboxCommand, Message};

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
        let Some((input, at)) = recording.next_external_input(&people.questions, is_bounded) else {
            recording.end_replay();
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
                let is_compensation = self.compensation.replay_retry(ctx, &path);
                if !is_compensation {
                    let (tasks, compensation) = (&mut self.tasks, &mut self.compensation);
                    steps.parking.replay_retry(ctx, tasks, compensation, &path);
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

    /// Takes the oldest message, if there is one.
    pub(super) fn take_message(&mut self) {
        if self.ctx.is_suspended() {
            return;
        }
        let recording = &self.ctx.outbox.recording;
        let Some(sent_at) = recording.first_message().map(|message| message.at) else {
            return;
        };
        let now = self.ctx.outbox.now.wall;
        let at = sent_at.map_or(now, |at| at.min(now));
        if self.ends_wait_before(at) {
            return;
        }
        let Some(Message { id, text, .. }) = self.ctx.outbox.recording.next_message() else {
            return;
        };
        let (ctx, steps) = (&mut self.ctx, &mut self.steps);
        match InboxCommand::read(&text) {
            Ok(InboxCommand::Signal(signal)) => {
                let (name, payload) = (&signal.name, &signal.payload);
                steps.waits.receive_signal(ctx, name, payload, Some(id));
            }
            Ok(InboxCommand::Move(moved)) => {
                let to = (&*moved.status, &moved.context);
                self.tasks.receive_move(ctx, &moved.task, to, Some(id));
            }
            Ok(InboxCommand::Answer(given)) => {
                steps.people.receive_answer(ctx, &steps.peers, &given, at);
                ctx.then(Inquiry::MessageTaken(id));
            }
            Ok(InboxCommand::Cancel(cancel)) => {
                self.cancel(cancel.keep, cancel.force);
                self.ctx.then(Inquiry::MessageTaken(id));
            }
            Err(fault) => {
                let refusal = AnswerError::Unreadable(fault);
                ctx.outbox.refuse(refusal);
                ctx.then(Inquiry::MessageTaken(id));
            }
        }
        self.perform();
    }

    /// Ends the first wait whose `within` had already expired when a message was sent, however late a process reads it.
    /// Returns false if there is none. Everything that follows comes before the next one, as in a replay.
    fn ends_wait_before(&mut self, at: i128) -> bool {
        let ctx = &self.ctx;
        let ago = microseconds(saturating_duration(ctx.outbox.now.wall - at));
        let then = ctx.outbox.real_elapsed().saturating_sub(ago);
        let until = |at: &NodeRef| ctx.schedule.within.get(at).map(|within| within.until);
        let expired = self.steps.waits.waiting();
        let expired = expired.filter(|at| until(at).is_some_and(|until| until <= then));
        let Some(first) = expired.min_by_key(|at| (until(at), *at)) else {
            return false;
        };
        self.steps.within_expired(&mut self.ctx, first);
        self.perform();
        true
    }
}
