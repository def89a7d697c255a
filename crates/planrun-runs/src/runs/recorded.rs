//! Recorded runs: what a run is bound to, its replay state, and its outcome so far.

use std::sync::Arc;

use planrun_lang::protocol::RunState;
use serde_json::Value as Json;

use super::job::Job;
use super::pinned::{Pinned, PinnedBase};
use super::redaction::redaction;
use super::replay::{read_events, replay};
use super::{Error, Inputs, Journal, Planrun, RunSummary};
use crate::journal::store::{Lease, RunRow};
use planrun_core::journal::{Event, EventError, EventKind, LineWriter, ReplayState};
use planrun_core::run::{Outcome, Program};

/// A run as recorded in the journal.
pub struct RecordedRun {
    pub(super) planrun: Planrun,
    pub(super) journal: Journal,
    pub(super) row: RunRow,
    pub(super) replay: ReplayState,
    pub(super) pinned: Pinned,
}

/// The program and inputs that a run is bound to, checked again as when it began.
pub struct Loaded {
    pub program: Arc<Program>,
    pub inputs: Inputs,
    pub max_steps: Option<u64>,
    /// Whether `recover` arms that only replace a result by a placeholder are disabled.
    pub strict: bool,
    /// How it was based on another run.
    pub(super) base: Option<PinnedBase>,
}

impl Planrun {
    /// Returns a recorded run, given by its id or a prefix of it.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if its record cannot be used.
    pub fn recorded(&self, run: &str) -> Result<RecordedRun, Error> {
        let journal = self.shared.journal_of(run)?;
        let row = journal.run(run)?;
        let replay = replay(&journal, &row.run)?;
        self.recorded_as(journal, row, replay)
    }

    pub(super) fn recorded_as(
        &self,
        journal: Journal,
        row: RunRow,
        replay: ReplayState,
    ) -> Result<RecordedRun, Error> {
        let pinned = Pinned::of(&journal, &row, &replay)?;
        Ok(RecordedRun {
            planrun: self.clone(),
            journal,
            row,
            replay,
            pinned,
        })
    }
}

impl RecordedRun {
    /// Returns true if the plans of the project that it was read with may see it: plans confined by grants see only runs
    /// of plans with the same ones.
    #[must_use]
    pub fn is_visible(&self) -> bool {
        let grants = self.planrun.confined.as_deref().unwrap_or_default();
        grants.is_empty() || *self.pinned.within == *grants
    }

    /// Returns true if a model has written its plan: see [`Planrun::confined`].
    #[must_use]
    pub fn is_by_model(&self) -> bool {
        self.pinned.confined
    }

    #[must_use]
    pub fn summary(&self) -> RunSummary {
        RunSummary::of(&self.journal, self.row.clone())
    }

    /// Returns the name of the plan's file, as given when the run began.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.pinned.file
    }

    /// Returns the text that the run is bound to now.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.pinned.text
    }

    /// Returns the name of the plan in its file.
    #[must_use]
    pub fn plan(&self) -> &str {
        &self.pinned.plan
    }

    /// Returns the inputs of the run as a JSON object, with its secrets redacted.
    ///
    /// # Errors
    /// Returns an error if the record of the run cannot be used.
    pub fn redacted_inputs(&self) -> Result<Json, Error> {
        let mut inputs = self.pinned.redacted_inputs()?;
        redaction(&self.journal, &self.row.run)?.json(&mut inputs);
        Ok(inputs)
    }

    /// Checks the pinned plan again, and returns it with its inputs.
    ///
    /// # Errors
    /// Returns an error if this version does not understand the plan, or if the inputs cannot be read.
    pub fn load(&self) -> Result<Loaded, Error> {
        let job = Job::pinned(self)?;
        Ok(Loaded {
            program: job.program,
            inputs: job.inputs,
            max_steps: job.setup.defaults.max_steps,
            strict: job.setup.defaults.strict,
            base: job.base,
        })
    }

    /// Returns the outcome of the run so far, from a replay of its recorded events that calls nothing.
    ///
    /// # Errors
    /// Returns an error if the record cannot be used.
    pub async fn outcome(self) -> Result<Outcome, Error> {
        let mut outcome = Job::pinned(&self)?.replay(self.replay).await;
        (outcome.state, outcome.interruption) = (self.row.state.unwrap_or(RunState::Running), None);
        Ok(outcome)
    }

    /// Records the beginning of a run whose process has died before anything of it was recorded, so that this death
    /// counts, too.
    ///
    /// # Errors
    /// Returns an error if something is recorded.
    pub(super) fn begin(
        &mut self,
        lease: &mut dyn Lease,
        until: Option<&str>,
    ) -> Result<(), Error> {
        let kind = EventKind::RunStarted {
            run: self.row.run.as_str().into(),
            plan: self.pinned.plan.as_str().into(),
            until: until.map(Into::into),
            steps: 0,
        };
        let event = append(lease, kind, self.planrun.host().now());
        let number = event.number;
        self.replay.take(event).map_err(|error| Error::Event {
            run: self.row.run.clone(),
            number,
            why: error.to_string(),
        })
    }

    /// Passes every event to `take`, in order.
    ///
    /// # Errors
    /// Returns an error if an event cannot be read, or if `take` refuses it.
    pub fn read_events(
        &self,
        take: impl FnMut(Event) -> Result<(), EventError>,
    ) -> Result<(), Error> {
        read_events(&self.journal, &self.row.run, take)
    }
}

/// Appends an event without large values to the record of a run, and returns it.
pub(super) fn append(lease: &mut dyn Lease, kind: EventKind, at: i128) -> Event {
    let event = Event {
        number: lease.last() + 1,
        at,
        kind,
        sensitive: Vec::new(),
    };
    let mut lines = LineWriter::default();
    lease.append(event.number, lines.entry(&event, &mut |_, _| {}));
    event
}
