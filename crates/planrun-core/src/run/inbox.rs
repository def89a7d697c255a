//! Messages to a run: answers, signals, moves of tasks, cancellations.

use std::collections::VecDeque;
use std::sync::Arc;

use planrun_lang::value::saturating_duration;

use super::agenda::Inquiry;
use super::clock::microseconds;
use super::frame::NodeRef;
use super::machine::Run;
use super::people::People;
use super::tree::Tree;
use crate::journal::{AnswerError, Cancel, InboxCommand, Message};

/// Messages that have not been taken yet, oldest first.
#[derive(Default)]
pub(super) struct Inbox {
    next: VecDeque<Message>,
    /// Answers to questions of earlier processes which this one has not asked again, each with the path of its question.
    /// A patch may have put a call before the step that asks.
    early: Vec<(Arc<str>, Message)>,
}

impl Inbox {
    /// Adds a message, unless it is already there.
    pub(super) fn push(&mut self, message: Message) {
        let early = self.early.iter().map(|(_, message)| message);
        if self
            .next
            .iter()
            .chain(early)
            .all(|known| known.id != message.id)
        {
            self.next.push_back(message);
        }
    }

    fn is_empty(&self) -> bool {
        self.next.is_empty() && self.early.is_empty()
    }

    /// Returns true if a message can be taken. `is_early` returns true for the question of an early answer.
    pub(super) fn has_next(&self, is_early: impl Fn(&str) -> bool) -> bool {
        !self.next.is_empty() || self.early.iter().any(|(path, _)| !is_early(path))
    }

    /// Puts the answers first that are no longer early, and sets early ones aside.
    fn sort(&mut self, is_early: impl Fn(&str) -> bool) {
        let early = std::mem::take(&mut self.early).into_iter();
        let (early, due): (Vec<_>, Vec<_>) = early.partition(|(path, _)| is_early(path));
        self.early = early;
        for (_, message) in due.into_iter().rev() {
            self.next.push_front(message);
        }
        while let Some(message) = self.next.front() {
            let Ok(InboxCommand::Answer(given)) = InboxCommand::read(&message.text) else {
                return;
            };
            if !is_early(&given.path) {
                return;
            }
            let message = self.next.pop_front();
            self.early
                .extend(message.map(|message| (given.path, message)));
        }
    }

    /// Takes the first cancellation, with the id of its message.
    pub(super) fn take_cancel(&mut self) -> Option<(Cancel, u64)> {
        let cancel = |message: &Message| match InboxCommand::read(&message.text) {
            Ok(InboxCommand::Cancel(cancel)) => Some(cancel),
            Ok(InboxCommand::Signal(_) | InboxCommand::Move(_) | InboxCommand::Answer(_))
            | Err(_) => None,
        };
        let mut all = self.next.iter().enumerate();
        let (index, found) = all.find_map(|(index, message)| Some((index, cancel(message)?)))?;
        Some((found, self.next.remove(index)?.id))
    }

    fn first(&self) -> Option<&Message> {
        self.next.front()
    }

    fn next(&mut self) -> Option<Message> {
        self.next.pop_front()
    }
}

/// Returns true if an answer comes too early: the process will ask the question again, as far as it knows.
fn is_early(tree: &Tree, people: &People, path: &str) -> bool {
    tree[0].ending.is_none() && people.questions.is_to_be_asked(path)
}

impl Run {
    /// Returns true if there is a message that can be taken: by the next process, if this one suspends the run.
    #[must_use]
    pub fn has_message(&self) -> bool {
        let (tree, people) = (&self.ctx.tree, &self.steps.people);
        self.inbox.has_next(|path| is_early(tree, people, path))
    }

    /// Takes the oldest message, if there is one.
    pub(super) fn take_message(&mut self) {
        if self.inbox.is_empty() || self.ctx.is_suspended() {
            return;
        }
        let (tree, people) = (&self.ctx.tree, &self.steps.people);
        self.inbox.sort(|path| is_early(tree, people, path));
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
