//! What runs ask people just now, as it may be seen, and whether an answer would be taken.

use std::sync::Arc;

use planrun_lang::protocol::RunState;

use super::redaction::redaction;
use super::replay::replay;
use super::{Error, Journal, Planrun};
use crate::journal::store::{Filter, RunRow, Seen};
use planrun_core::journal::{
    Accepted, AnswerError, EventRedactor, Given, InboxCommand, Question, ReplayState,
};

/// What a run asks, with what has been said to it and is not journaled yet.
pub struct OpenRun {
    pub(super) row: RunRow,
    past: ReplayState,
    redaction: EventRedactor,
    /// How much of the run had been written when it was read.
    pub(super) seen: Seen,
}

impl Planrun {
    /// The runs that may ask something, of this plan or of any, the oldest first.
    ///
    /// # Errors
    /// When what was written cannot be used.
    pub fn inbox(&self, plan: Option<&str>) -> Result<Vec<OpenRun>, Error> {
        let journal = self.shared.journal()?;
        let states = [RunState::Paused, RunState::Running]
            .map(|state| state.name().to_owned())
            .to_vec();
        let rows = journal.runs(&Filter {
            plan: plan.map(str::to_owned),
            states,
            ..Filter::default()
        })?;
        rows.into_iter()
            .rev()
            .filter(|row| !row.ended)
            .map(|row| OpenRun::of(&journal, row))
            .collect()
    }

    /// What one run asks, named by its id or the beginning of it.
    ///
    /// # Errors
    /// When there is no such run, or what was written cannot be used.
    pub fn questions(&self, run: &str) -> Result<OpenRun, Error> {
        let journal = self.shared.journal()?;
        OpenRun::of(&journal, journal.run(run)?)
    }
}

impl OpenRun {
    pub(super) fn of(journal: &Journal, row: RunRow) -> Result<Self, Error> {
        let said = journal.said(&row.run)?;
        let seen = Seen {
            events: Some(row.events),
            message: said.last().map_or(0, |message| message.id),
        };
        let past = replay(journal, &row.run)?;
        let mut open = Self {
            redaction: redaction(journal, &row.run)?,
            row,
            past,
            seen,
        };
        for message in said {
            if let Ok(InboxCommand::Answer(given)) = InboxCommand::read(&message.text) {
                // One that does not fit is refused again by whoever takes it.
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

    /// The questions by the paths under which they are answered, in the order in which they were asked.
    #[must_use]
    pub fn questions(&self) -> Vec<(Arc<str>, Question)> {
        if self.row.ended {
            return Vec::new();
        }
        let place = |path: &str| {
            let step = self.past.questions.step(path);
            step.and_then(|step| self.past.steps.get_index_of(step))
        };
        let mut open: Vec<_> = self.past.questions.open().collect();
        open.sort_by_key(|(path, question)| (question.asked_at, place(path)));
        open.into_iter()
            .map(|(path, question)| (path.clone(), self.redaction.question(question)))
            .collect()
    }

    /// Holds an answer against what is asked; one that fits stands from then on. The error is redacted.
    pub(super) fn accept(&mut self, given: &Given, now: i128) -> Result<Accepted, AnswerError> {
        let accepted = self.past.accept(given, now);
        let accepted = accepted
            .map_err(|error| error.map_text(|text| self.redaction.text(text).into_owned()))?;
        if let Accepted::Now(answer) = &accepted {
            self.past.questions.answered(answer, now);
        }
        Ok(accepted)
    }
}
