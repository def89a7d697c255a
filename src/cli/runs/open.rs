//! What a run asks just now, as it may be seen, and whether an answer would be taken.

use std::sync::Arc;

use super::shown::shown;
use crate::cli::Failure;
use crate::cli::question::Asked;
use crate::cli::run::fold;
use crate::cli::workspace::real_host;
use crate::diag::render::Look;
use crate::journal::store::{Journal, RunRow, Seen};
use crate::journal::{Accepted, AnswerError, Given, Past, Question, Said, Shown};

/// What a run asks, with what has been said to it and is not journaled yet.
pub(super) struct Open {
    pub row: RunRow,
    /// The folder of its project, where that is not the current one.
    pub project: Option<String>,
    past: Past,
    shown: Shown,
    /// What of the run was looked at.
    pub seen: Seen,
}

impl Open {
    /// The questions of a run of the project in this folder; nothing where a command means it anyway.
    ///
    /// # Errors
    /// When what was written cannot be used.
    pub(super) fn of(journal: &Journal, row: RunRow, project: Option<&str>) -> Result<Self, Failure> {
        let said = journal.said(&row.run)?;
        let seen = Seen { events: Some(row.events), message: said.last().map_or(0, |message| message.id) };
        let past = fold(journal, &row.run)?;
        let mut open = Self { shown: shown(journal, &row.run)?, project: project.map(str::to_owned), row, past, seen };
        for message in said {
            if let Ok(Said::Answer(given)) = Said::read(&message.text) {
                // One that does not fit is refused again by whoever takes it.
                let _ = open.accept(&given, message.at);
            }
        }
        Ok(open)
    }

    /// The questions, in the order in which they were asked.
    pub(super) fn questions(&self) -> Vec<(Arc<str>, Question)> {
        if self.row.ended {
            return Vec::new();
        }
        let place = |path: &str| {
            let step = self.past.questions.step(path);
            step.and_then(|step| self.past.steps.get_index_of(step))
        };
        let mut open: Vec<_> = self.past.questions.open().collect();
        open.sort_by_key(|(path, question)| (question.asked_at, place(path)));
        open.into_iter().map(|(path, question)| (path.clone(), self.shown.question(question))).collect()
    }

    /// A question as people and programs see it.
    pub(super) fn asked<'a>(&'a self, path: &'a str, question: &'a Question) -> Asked<'a> {
        Asked { project: self.project.as_deref(), run: Some((&self.row.run, &self.row.plan)), path, question }
    }

    /// All questions for people, as lines; empty where nothing is asked.
    pub(super) fn told(&self, look: Look) -> String {
        let now = real_host().now();
        self.questions().iter().map(|(path, question)| self.asked(path, question).told(now, look)).collect()
    }

    /// Holds an answer against what is asked; one that fits stands from then on.
    pub(super) fn accept(&mut self, given: &Given, now: i128) -> Result<Accepted, AnswerError> {
        let accepted = self.past.accept(given, now)?;
        if let Accepted::Now(answer) = &accepted {
            self.past.questions.answered(answer, now);
        }
        Ok(accepted)
    }

    /// A text about the run as it may be seen.
    pub(super) fn text(&self, text: &str) -> String {
        self.shown.text(text).into_owned()
    }
}
