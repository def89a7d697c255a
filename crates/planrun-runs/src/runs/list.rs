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
    /// Any of these states, or [`Self::interrupted`]; empty for all. `Running` excludes interrupted runs.
    pub states: Vec<RunState>,
    /// Runs that are recorded as running and that no process drives.
    pub interrupted: bool,
    /// Maximum number of runs; the newest are listed.
    pub limit: Option<usize>,
}

/// The reason for which a run wakes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    Resumes,
    /// A question of the run expires.
    QuestionExpires,
}

impl RunSummary {
    /// The state of a run that has not begun.
    pub const PENDING: &str = "pending";
    /// The state of a run that is recorded as running and that no process drives.
    pub const INTERRUPTED: &str = "interrupted";

    pub(super) fn of(journal: &Journal, row: RunRow) -> Self {
        Self {
            driven: journal.is_driven(&row),
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
        self.state == Some(RunState::Running) && !self.driven
    }
}

impl Planrun {
    /// Returns one run, given by its id or a prefix of it.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if more than one id has this prefix.
    pub fn run(&self, run: &str) -> Result<RunSummary, Error> {
        let journal = self.shared.journal()?;
        Ok(RunSummary::of(&journal, journal.run(run)?))
    }

    /// Returns one run that has not ended, given by its id or a prefix of it.
    ///
    /// # Errors
    /// As for [`Self::run`]; [`Error::Ended`].
    pub fn open_run(&self, run: &str) -> Result<RunSummary, Error> {
        let journal = self.shared.journal()?;
        Ok(RunSummary::of(&journal, open(&journal, run)?))
    }

    /// Returns the runs that pass the filter, newest first.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, Error> {
        let journal = self.shared.journal()?;
        // The journal does not know which of the running runs have lost their process.
        let mut states = filter.states.clone();
        states.extend(filter.interrupted.then_some(RunState::Running));
        let includes_running = states.contains(&RunState::Running);
        let limit = filter.limit.filter(|_| !includes_running);
        let rows = journal.runs(&Filter {
            plan: filter.plan.clone(),
            states,
            limit,
            ..Filter::default()
        })?;
        let mut rows: Vec<RunSummary> = rows
            .into_iter()
            .map(|row| RunSummary::of(&journal, row))
            .collect();
        if includes_running {
            rows.retain(|row| {
                let state = row.state.filter(|_| !row.is_interrupted());
                state.map_or(filter.interrupted, |state| filter.states.contains(&state))
            });
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
        let journal = self.shared.journal()?;
        let due = Filter {
            due: Some(self.host().now()),
            ..Filter::default()
        };
        // A run whose process has died waits for nothing but another process.
        let orphaned = Filter {
            states: vec![RunState::Running],
            ..Filter::default()
        };
        let paused = Filter {
            states: vec![RunState::Paused],
            ..Filter::default()
        };
        let mut rows = journal.runs(&due)?;
        let mut more = journal.runs(&orphaned)?;
        for row in journal.runs(&paused)? {
            if !journal.inbox(&row.run)?.is_empty() {
                more.push(row);
            }
        }
        for row in more {
            if rows.iter().all(|known| known.run != row.run) {
                rows.push(row);
            }
        }
        let rows = rows
            .into_iter()
            .filter(|row| !row.ended)
            .map(|row| RunSummary::of(&journal, row));
        Ok(rows.filter(|row| !row.driven).collect())
    }

    /// Returns why a run wakes by itself. A run that cannot be read is assumed to resume.
    #[must_use]
    pub fn wake(&self, run: &RunSummary) -> Wake {
        let replay = self
            .shared
            .journal()
            .and_then(|journal| replay(&journal, &run.run));
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
        if replay.is_ok_and(|replay| expires(&replay)) {
            Wake::QuestionExpires
        } else {
            Wake::Resumes
        }
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
