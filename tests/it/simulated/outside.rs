//! What a simulated world sends to a run: signals, moves of external tasks, answers, and cancellations.

use std::sync::Arc;

use planrun_core::journal::{Cancel, InboxCommand, Message, Move, Signal, SubmittedAnswer};
use planrun_core::run::Program;
use planrun_lang::sema::Plan;
use planrun_lang::types::to_schema;
use serde_json::Value as Json;

use crate::generate::Dice;
use crate::generated::edges::answer;

/// Maximum number of messages to one run.
const MAX_MESSAGES: u64 = 6;

/// The inbox of a run, and what may be sent to it.
pub struct Outside {
    /// The signals that the plan knows, with the schemas of their payloads.
    signals: Vec<(Arc<str>, Json)>,
    /// The external tasks with their statuses, and the schemas of their contexts.
    tasks: Vec<(Arc<str>, Vec<Arc<str>>, Json)>,
    /// The messages that no event records, oldest first.
    inbox: Vec<Message>,
    /// Number of messages that have been sent, answers not counted.
    sent: u64,
    /// Number of the last message.
    last: u64,
}

impl Outside {
    pub fn new(program: &Program) -> Self {
        let plans = program.plan.with_called().into_iter();
        let payloads = plans.flat_map(Plan::payloads);
        let signals = payloads.map(|payload| (payload.signal.clone(), to_schema(payload.ty)));
        let tasks = program.plan.tasks.iter().filter(|task| task.external);
        let tasks = tasks.map(|task| {
            let context = to_schema(&task.context);
            (task.name.clone(), task.statuses.clone(), context)
        });
        Self {
            tasks: tasks.collect(),
            signals: signals.collect(),
            inbox: Vec::new(),
            sent: 0,
            last: 0,
        }
    }

    /// Returns true if something in the plan reacts to signals or moves.
    pub fn expects_events(&self) -> bool {
        !self.signals.is_empty() || !self.tasks.is_empty()
    }

    /// Sends a message. Returns false if enough have been sent.
    pub fn send(&mut self, dice: &mut Dice, now: i128) -> bool {
        if self.sent == MAX_MESSAGES {
            return false;
        }
        self.sent += 1;
        let (signals, tasks) = (self.signals.len(), self.tasks.len());
        let command = if signals + tasks == 0 || dice.one_in(4) {
            InboxCommand::Cancel(Cancel {
                cancel: true,
                keep: dice.one_in(4),
                force: dice.one_in(4),
            })
        } else if dice.below(signals + tasks) < signals {
            let (name, schema) = &self.signals[dice.below(signals)];
            InboxCommand::Signal(Signal {
                name: name.clone(),
                payload: answer(schema, dice),
            })
        } else {
            let (task, statuses, schema) = &self.tasks[dice.below(tasks)];
            InboxCommand::Move(Move {
                task: task.clone(),
                status: dice.pick(statuses).clone(),
                context: answer(schema, dice),
            })
        };
        self.push(&command, now);
        true
    }

    /// Sends an answer.
    pub fn answer(&mut self, given: SubmittedAnswer, now: i128) {
        self.push(&InboxCommand::Answer(given), now);
    }

    fn push(&mut self, command: &InboxCommand, now: i128) {
        self.last += 1;
        self.inbox.push(Message {
            id: self.last,
            at: Some(now),
            text: command.to_text(),
        });
    }

    /// Returns the messages that no event records.
    pub fn waiting(&self) -> &[Message] {
        &self.inbox
    }

    /// Removes a message that an event records.
    pub fn taken(&mut self, id: u64) {
        self.inbox.retain(|message| message.id != id);
    }
}
