//! A run as the journal has it: what it is bound to, how far it has come, and how it stands.

use std::sync::Arc;

use planrun_lang::protocol::RunState;

use super::pinned::Pinned;
use super::replay::{read_events, replay};
use super::run::Job;
use super::{Error, Inputs, Journal, Planrun, RunSummary};
use crate::journal::store::RunRow;
use planrun_core::journal::{Event, EventError, ReplayState};
use planrun_core::run::{Outcome, Program};

/// A run as the journal has it.
pub struct RecordedRun {
    pub(super) planrun: Planrun,
    pub(super) journal: Journal,
    pub(super) row: RunRow,
    pub(super) past: ReplayState,
    pub(super) pinned: Pinned,
}

/// What a run is bound to, checked again as it was when it began.
pub struct Loaded {
    pub program: Arc<Program>,
    pub inputs: Inputs,
    pub max_steps: Option<u64>,
    /// No `recover` arm puts a value in the place of a result.
    pub strict: bool,
}

impl Planrun {
    /// A run, named by its id or the beginning of it, with all that was written of it.
    ///
    /// # Errors
    /// When there is no such run, or what was written cannot be used.
    pub fn recorded(&self, run: &str) -> Result<RecordedRun, Error> {
        let journal = self.shared.journal()?;
        let row = journal.run(run)?;
        let past = replay(&journal, &row.run)?;
        self.recorded_as(journal, row, past)
    }

    pub(super) fn recorded_as(
        &self,
        journal: Journal,
        row: RunRow,
        past: ReplayState,
    ) -> Result<RecordedRun, Error> {
        let pinned = Pinned::of(&journal, &row, &past)?;
        Ok(RecordedRun {
            planrun: self.clone(),
            journal,
            row,
            past,
            pinned,
        })
    }
}

impl RecordedRun {
    #[must_use]
    pub fn summary(&self) -> RunSummary {
        RunSummary::of(&self.journal, self.row.clone())
    }

    /// The name of the plan's file, as it was given when the run began.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.pinned.file
    }

    /// The text that it is bound to now.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.pinned.text
    }

    /// The name of the plan in its file.
    #[must_use]
    pub fn plan(&self) -> &str {
        &self.pinned.plan
    }

    /// Its plan and its inputs of then.
    ///
    /// # Errors
    /// When this version does not understand the plan, or the inputs cannot be read.
    pub fn load(&self) -> Result<Loaded, Error> {
        let job = Job::pinned(self)?;
        Ok(Loaded {
            program: job.program,
            inputs: job.inputs,
            max_steps: job.max_steps,
            strict: job.strict,
        })
    }

    /// The outcome of the run so far, from a replay of its recorded events that calls nothing.
    ///
    /// # Errors
    /// When what was written cannot be used.
    pub async fn outcome(self) -> Result<Outcome, Error> {
        let mut outcome = Job::pinned(&self)?.replay(self.past).await;
        (outcome.state, outcome.interruption) = (
            RunState::find(&self.row.state).unwrap_or(RunState::Running),
            None,
        );
        Ok(outcome)
    }

    /// Gives every event to a reader, in order.
    ///
    /// # Errors
    /// When one cannot be read, or the reader refuses it.
    pub fn read_events(
        &self,
        take: impl FnMut(Event) -> Result<(), EventError>,
    ) -> Result<(), Error> {
        read_events(&self.journal, &self.row.run, take)
    }
}
