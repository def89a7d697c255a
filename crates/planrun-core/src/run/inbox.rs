//! Messages to a run: answers, signals, moves of tasks, cancellations.

use std::collections::VecDeque;

use planrun_lang::value::saturating_duration;

use super::agenda::Inquiry;
use super::clock::microseconds;
use super::frame::NodeRef;
use super::machine::Run;
use crate::journal::{AnswerError, InboxCommand, Message};

/// Messages that have not been taken yet, oldest first.
#[derive(Default)]
pub(super) struct Inbox(VecDeque<Message>);

impl Inbox {
    /// Adds a message, unless it is already there.
    pub(super) fn push(&mut self, message: Message) {
        if self.0.iter().all(|known| known.id != message.id) {
            self.0.push_back(message);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn first(&self) -> Option<&Message> {
        self.0.front()
    }

    fn next(&mut self) -> Option<Message> {
        self.0.pop_front()
    }
}

impl Run {
    /// Takes the oldest message, if there is one.
    pub(super) fn take_message(&mut self) {
        if self.ctx.is_suspended() {
            return;
        }
        let Some(sent_at) = self.inbox.first().map(|message| message.at) else {
            return;
        };
        let now = self.ctx.outbox.now.wall;
        let at = sent_at.map_or(now, |at| at.min(now));
        if self.ends_wait_before(at) {
            return;
        }
        let Some(Message { id, text, .. }) = self.inbox.next() else {
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
