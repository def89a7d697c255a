//! The open questions of runs, redacted, and the validation of answers.

use std::sync::Arc;

use planrun_lang::protocol::RunState;

use super::redaction::redaction;
use super::replay::replay;
use super::{Error, Journal, Planrun};
use crate::journal::store::{Filter, RunRow, Seen};
use planrun_core::journal::{
    Accepted, AnswerError, EventRedactor, InboxCommand, Question, ReplayState, SubmittedAnswer,
};

/// A run that may ask questions, with the messages that are not part of its events yet.
pub struct OpenRun {
    pub(super) row: RunRow,
    replay: ReplayState,
    redaction: EventRedactor,
    /// How much of the run had been recorded when it was read.
    pub(super) seen: Seen,
}

/// The runs that may ask questions.
#[derive(Default)]
pub struct Inbox {
    /// Oldest first.
    pub runs: Vec<OpenRun>,
    /// The ids of the runs whose records cannot be used, each with the reason.
    pub unreadable: Vec<(String, Error)>,
}

impl Planrun {
    /// Returns the runs that may ask questions, of one plan or of all plans.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn inbox(&self, plan: Option<&str>) -> Result<Inbox, Error> {
        let Some(journal) = self.shared.existing_journal()? else {
            return Ok(Inbox::default());
        };
        let rows = journal.runs(&Filter {
            plan: plan.map(str::to_owned),
            states: vec![RunState::Paused, RunState::Running],
            ..Filter::default()
        })?;
        let mut inbox = Inbox::default();
        for row in rows.into_iter().rev().filter(|row| !row.ended) {
            let run = row.run.clone();
            match OpenRun::of(&journal, row) {
                Ok(open) => inbox.runs.push(open),
                Err(error) => inbox.unreadable.push((run, error)),
            }
        }
        Ok(inbox)
    }

    /// Returns the questions of one run, given by its id or a prefix of it.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if its record cannot be used.
    pub fn questions(&self, run: &str) -> Result<OpenRun, Error> {
        let journal = self.shared.journal_of(run)?;
        OpenRun::of(&journal, journal.run(run)?)
    }
}

impl OpenRun {
    pub(super) fn of(journal: &Journal, row: RunRow) -> Result<Self, Error> {
        let messages = journal.inbox(&row.run)?;
        let seen = Seen {
            events: Some(row.events),
            message: messages.last().map_or(0, |message| message.id),
        };
        let replay = replay(journal, &row.run)?;
        let mut open = Self {
            redaction: redaction(journal, &row.run)?,
            row,
            replay,
            seen,
        };
        for message in messages {
            if let Ok(InboxCommand::Answer(given)) = InboxCommand::read(&message.text) {
                // The run itself refuses invalid answers.
                let _ = open.accept(&given, message.at);
            }
        }
        Ok(open)
    }

    #[must_use]
    pub fn run(&self) -> &str {
        &self.row.run
    }

    #[must_use]
    pub fn plan(&self) -> &str {
        &self.row.plan
    }

    /// Returns the open questions by the paths under which they are answered, in the order in which they were asked.
    #[must_use]
    pub fn questions(&self) -> Vec<(Arc<str>, Question)> {
        if self.row.ended {
            return Vec::new();
        }
        let place = |path: &str| {
            let step = self.replay.questions.step(path);
            step.and_then(|step| self.replay.steps.get_index_of(step))
        };
        let mut open: Vec<_> = self.replay.questions.open().collect();
        open.sort_by_key(|(path, question)| (question.asked_at, place(path)));
        open.into_iter()
            .map(|(path, question)| (path.clone(), self.redaction.question(question)))
            .collect()
    }

    /// Checks an answer against the open questions and records it if it is accepted. The error is redacted.
    pub(super) fn accept(
        &mut self,
        given: &SubmittedAnswer,
        now: i128,
    ) -> Result<Accepted, AnswerError> {
        let accepted = self.replay.accept(given, now);
        let accepted = accepted
            .map_err(|error| error.map_text(|text| self.redaction.text(text).into_owned()))?;
        if let Accepted::New(answer) = &accepted {
            self.replay.questions.answered(answer, now);
        }
        Ok(accepted)
    }
}
