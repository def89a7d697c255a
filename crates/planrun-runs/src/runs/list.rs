//! Lists of runs, with their states.

use std::ops::Deref;

use planrun_lang::protocol::RunState;

use super::replay::replay;
use super::{Error, Journal, Planrun};
pub use crate::journal::store::RunInfo;
use crate::journal::store::{Filter, RunRow};
use planrun_core::journal::ReplayState;

/// The properties of a run that are known without reading its events, and whether it is driven. Dereferences to
/// [`RunInfo`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    info: RunInfo,
    /// Whether a live process drives it.
    pub driven: bool,
    /// Whether the last process that drove it has died.
    is_orphaned: bool,
}

impl Deref for RunSummary {
    type Target = RunInfo;

    fn deref(&self) -> &RunInfo {
        &self.info
    }
}

/// Selects runs to list; by default all of them.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    pub plan: Option<String>,
    /// Any of these states, or [`Self::pending`], or [`Self::interrupted`]; empty for all. `Running` excludes
    /// interrupted runs.
    pub states: Vec<RunState>,
    /// Runs that have not begun, except those whose process has died before that.
    pub pending: bool,
    /// Runs whose process has died.
    pub interrupted: bool,
    /// Maximum number of runs; the newest are listed.
    pub limit: Option<usize>,
}

/// What makes a paused run go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    /// An answer or a signal was delivered to it and has not been read yet.
    Delivered,
    /// The time at which it resumes by itself.
    Resumes,
    /// A question of the run expires.
    QuestionExpires,
}

impl RunSummary {
    /// The state of a run that has not begun.
    pub const PENDING: &str = RunInfo::PENDING;
    /// The state of a run whose process has died.
    pub const INTERRUPTED: &str = "interrupted";

    pub(super) fn of(journal: &Journal, row: RunRow) -> Self {
        let driven = journal.is_driven(&row);
        Self {
            driven,
            is_orphaned: row.holder.is_some() && !driven,
            info: row.info,
        }
    }

    /// Returns its state; [`Self::INTERRUPTED`] if its process died.
    #[must_use]
    pub fn status(&self) -> &'static str {
        if self.is_interrupted() {
            Self::INTERRUPTED
        } else {
            self.state_name()
        }
    }

    fn is_interrupted(&self) -> bool {
        match self.state {
            Some(state) => state == RunState::Running && !self.driven,
            // A run that is handed over to another process before it begins has been released.
            None => self.is_orphaned,
        }
    }

    fn passes(&self, filter: &RunFilter) -> bool {
        if self.is_interrupted() {
            return filter.interrupted;
        }
        self.state
            .map_or(filter.pending, |state| filter.states.contains(&state))
    }
}

impl Planrun {
    /// Returns one run, given by its id or a prefix of it.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if more than one id has this prefix.
    pub fn run(&self, run: &str) -> Result<RunSummary, Error> {
        let journal = self.shared.journal_of(run)?;
        Ok(RunSummary::of(&journal, journal.run(run)?))
    }

    /// Returns one run that has not ended, given by its id or a prefix of it.
    ///
    /// # Errors
    /// As for [`Self::run`]; [`Error::Ended`].
    pub fn open_run(&self, run: &str) -> Result<RunSummary, Error> {
        let journal = self.shared.journal_of(run)?;
        Ok(RunSummary::of(&journal, open(&journal, run)?))
    }

    /// Returns the runs that pass the filter, newest first.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, Error> {
        let Some(journal) = self.shared.existing_journal()? else {
            return Ok(Vec::new());
        };
        // The journal does not know which runs have lost their process.
        let mut states = filter.states.clone();
        states.extend(filter.interrupted.then_some(RunState::Running));
        let pending = filter.pending || filter.interrupted;
        let is_exact = !pending && !states.contains(&RunState::Running);
        let limit = filter.limit.filter(|_| is_exact);
        let rows = journal.runs(&Filter {
            plan: filter.plan.clone(),
            states,
            pending,
            limit,
            ..Filter::default()
        })?;
        let mut rows: Vec<RunSummary> = rows
            .into_iter()
            .map(|row| RunSummary::of(&journal, row))
            .collect();
        if !is_exact {
            rows.retain(|row| row.passes(filter));
            rows.truncate(filter.limit.unwrap_or(usize::MAX));
        }
        Ok(rows)
    }

    /// Returns the runs whose time to resume has come, those whose process has died, and those that have got messages
    /// which no process has taken.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn due(&self) -> Result<Vec<RunSummary>, Error> {
        let Some(journal) = self.shared.existing_journal()? else {
            return Ok(Vec::new());
        };
        let due = Filter {
            due: Some(self.host().now()),
            ..Filter::default()
        };
        let others = Filter {
            states: vec![RunState::Running, RunState::Paused],
            pending: true,
            ..Filter::default()
        };
        let summary = |row| RunSummary::of(&journal, row);
        let mut rows: Vec<_> = journal.runs(&due)?.into_iter().map(summary).collect();
        for row in journal.runs(&others)?.into_iter().map(summary) {
            // A run whose process has died waits for nothing but another process.
            let is_due = row.is_interrupted() || !journal.inbox(&row.run)?.is_empty();
            if is_due && rows.iter().all(|known| known.run != row.run) {
                rows.push(row);
            }
        }
        rows.retain(|row| !row.ended && !row.driven);
        Ok(rows)
    }

    /// Returns what makes a run that waits go on; `None` if it waits for an answer or a signal only. A run that cannot be
    /// read is assumed to resume by itself.
    #[must_use]
    pub fn wake(&self, run: &RunSummary) -> Option<Wake> {
        if run.ended {
            return None;
        }
        let journal = self.shared.journal();
        let has_messages =
            |journal: &Journal| journal.inbox(&run.run).is_ok_and(|inbox| !inbox.is_empty());
        if !run.driven && journal.as_ref().is_ok_and(has_messages) {
            return Some(Wake::Delivered);
        }
        run.wake_at?;
        let replay = journal.and_then(|journal| replay(&journal, &run.run));
        let expires = |replay: &ReplayState| {
            let mut asked = replay
                .steps
                .values()
                .flat_map(|step| &step.asked)
                .filter(|asked| asked.answer.is_none());
            let at = |expires: i128| {
                run.wake_at
                    .is_some_and(|wake| (expires - wake).abs() < SECOND)
            };
            asked.any(|asked| asked.question.expires.is_some_and(at))
        };
        Some(if replay.is_ok_and(|replay| expires(&replay)) {
            Wake::QuestionExpires
        } else {
            Wake::Resumes
        })
    }
}

/// Returns the run, which must not have ended.
pub(super) fn open(journal: &Journal, run: &str) -> Result<RunRow, Error> {
    let row = journal.run(run)?;
    if row.ended {
        Err(Error::Ended {
            state: row.state_name(),
            run: row.info.run,
        })
    } else {
        Ok(row)
    }
}

/// One second in nanoseconds.
const SECOND: i128 = 1_000_000_000;
