//! Lists of runs, and how each stands.

use std::ops::Deref;

use planrun_lang::protocol::RunState;

use super::replay::replay;
use super::{Error, Journal, Planrun};
pub use crate::journal::store::RunInfo;
use crate::journal::store::{Filter, RunRow};
use planrun_core::journal::ReplayState;

/// What is known of a run without reading its events, and whether it is driven. The fields of [`RunInfo`] are its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    info: RunInfo,
    /// Whether a process that lives drives it.
    pub driven: bool,
}

impl Deref for RunSummary {
    type Target = RunInfo;

    fn deref(&self) -> &RunInfo {
        &self.info
    }
}

/// Which runs to list; without anything, all.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    pub plan: Option<String>,
    /// Any of these, as [`RunSummary::standing`] gives them; empty for all.
    pub states: Vec<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// What happens at the moment at which a run wakes by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wake {
    GoesOn,
    /// What it asks somebody expires.
    QuestionExpires,
}

impl RunSummary {
    /// The state of a run that is running and has lost its process.
    pub const INTERRUPTED: &str = "interrupted";

    pub(super) fn of(journal: &Journal, row: RunRow) -> Self {
        Self {
            driven: journal.is_driven(&row),
            info: row.info,
        }
    }

    /// Its state; [`Self::INTERRUPTED`] where a process left it in the middle.
    #[must_use]
    pub fn standing(&self) -> &str {
        if self.state == RunState::Running.name() && !self.driven {
            Self::INTERRUPTED
        } else {
            &self.state
        }
    }
}

impl Planrun {
    /// One run, named by its id or the beginning of it.
    ///
    /// # Errors
    /// When there is no such run, or more than one begins so.
    pub fn run(&self, run: &str) -> Result<RunSummary, Error> {
        let journal = self.shared.journal()?;
        Ok(RunSummary::of(&journal, journal.run(run)?))
    }

    /// One run that has not ended, named by its id or the beginning of it.
    ///
    /// # Errors
    /// As for [`Self::run`]; [`Error::Ended`].
    pub fn open_run(&self, run: &str) -> Result<RunSummary, Error> {
        let journal = self.shared.journal()?;
        Ok(RunSummary::of(&journal, open(&journal, run)?))
    }

    /// The runs that pass the filter, the newest first.
    ///
    /// # Errors
    /// What the journal says.
    pub fn list(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, Error> {
        let journal = self.shared.journal()?;
        // The journal does not know who of those that are running has lost its process.
        let running = RunState::Running.name();
        let stored = filter.states.iter().map(|state| {
            if state == RunSummary::INTERRUPTED {
                running
            } else {
                state
            }
        });
        let states: Vec<String> = stored.map(str::to_owned).collect();
        let wants_running = states.iter().any(|state| state == running);
        let limit = filter.limit.filter(|_| !wants_running);
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
        if wants_running {
            rows.retain(|row| filter.states.iter().any(|state| state == row.standing()));
            rows.truncate(filter.limit.unwrap_or(usize::MAX));
        }
        Ok(rows)
    }

    /// The runs whose time to go on has come, and those whose process has died.
    ///
    /// # Errors
    /// What the journal says.
    pub fn due(&self) -> Result<Vec<RunSummary>, Error> {
        let journal = self.shared.journal()?;
        let due = Filter {
            due: Some(self.host().now()),
            ..Filter::default()
        };
        // A run whose process has died waits for nothing but another process.
        let orphaned = Filter {
            states: vec![RunState::Running.name().to_owned()],
            ..Filter::default()
        };
        let mut rows = journal.runs(&due)?;
        for row in journal.runs(&orphaned)? {
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

    /// What happens when a run wakes by itself. Of what cannot be read nothing is known.
    #[must_use]
    pub fn wake(&self, run: &RunSummary) -> Wake {
        let past = self
            .shared
            .journal()
            .and_then(|journal| replay(&journal, &run.run));
        let expires = |past: &ReplayState| {
            let mut asked = past
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
        if past.is_ok_and(|past| expires(&past)) {
            Wake::QuestionExpires
        } else {
            Wake::GoesOn
        }
    }
}

/// The run, which must not have ended.
pub(super) fn open(journal: &Journal, run: &str) -> Result<RunRow, Error> {
    let row = journal.run(run)?;
    if row.ended {
        Err(Error::Ended {
            run: row.info.run,
            state: row.info.state,
        })
    } else {
        Ok(row)
    }
}

/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;
