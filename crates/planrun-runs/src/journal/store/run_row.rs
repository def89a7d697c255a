//! The properties of runs that a store knows without reading their events, and filters for runs.

use std::fmt;
use std::ops::Deref;

use planrun_lang::protocol::RunState;

use super::digest::{Digest, Origin};
use super::nanos;

/// The properties of a new run.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub run: &'a str,
    pub plan: &'a str,
    /// Digest of the plan and its inputs, which distinguishes the run from another one with the same id.
    pub digest: Digest,
    /// The pinned document: everything that the run is bound to.
    pub pinned: &'a [u8],
    /// Wall-clock time in nanoseconds since the Unix epoch.
    pub at: i128,
}

/// The result of creating a run.
#[derive(Debug)]
pub enum Created<D> {
    /// The run is new, and this process holds its lease.
    New(D),
    /// A run with the same plan and inputs existed.
    Exists(Box<RunRow>),
}

/// The properties of a run that lists show. Times are in nanoseconds since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    pub run: String,
    pub plan: String,
    /// As recorded by its last process; `None` before anything happened.
    pub state: Option<RunState>,
    pub ended: bool,
    pub created_at: i128,
    pub updated_at: i128,
    /// Time at which it resumes by itself.
    pub wake_at: Option<i128>,
    /// Class of its error.
    pub error: Option<String>,
    /// A short text for people, such as what the run waits for.
    pub note: Option<String>,
    pub steps_done: u64,
    pub steps_all: Option<u64>,
    /// Number of its events.
    pub events: u64,
}

impl RunInfo {
    /// The state of a run that has not begun.
    pub const PENDING: &str = "pending";

    /// Returns the name of its state; [`Self::PENDING`] before anything happened.
    #[must_use]
    pub fn state_name(&self) -> &'static str {
        self.state.map_or(Self::PENDING, RunState::name)
    }
}

/// A run in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub info: RunInfo,
    /// Digest of the plan and its inputs.
    pub digest: Digest,
    /// Hash of the pinned document.
    pub pinned: Digest,
    /// The value of the chain after the last event.
    pub head: Digest,
    /// The process that drives it, or that died without releasing it; `Store::is_driven` says which.
    pub holder: Option<Holder>,
}

impl Deref for RunRow {
    type Target = RunInfo;

    fn deref(&self) -> &RunInfo {
        &self.info
    }
}

impl RunRow {
    /// Returns the value of the chain before its first event.
    pub(super) fn origin(&self) -> Digest {
        let created_at = nanos(self.created_at);
        Origin {
            run: &self.run,
            plan: &self.plan,
            digest: self.digest,
            pinned: self.pinned,
            created_at,
        }
        .head()
    }
}

/// The process that holds the lease of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub driver: String,
    /// Process id on its machine.
    pub process: u32,
    pub machine: String,
    /// Beginning of the lease, in nanoseconds since the Unix epoch.
    pub since: i128,
    /// End of the lease if it is not renewed, in nanoseconds since the Unix epoch.
    pub until: i128,
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "process {} on `{}`", self.process, self.machine)?;
        let since = jiff::Timestamp::from_nanosecond(self.since)
            .map(|since| since.round(jiff::Unit::Second));
        if let Ok(Ok(since)) = since {
            write!(formatter, " (since {since})")?;
        }
        Ok(())
    }
}

/// Selects runs to list; by default all of them. Times are in nanoseconds since the Unix epoch.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub plan: Option<String>,
    /// Any of these states, or [`Self::pending`]; empty for all.
    pub states: Vec<RunState>,
    /// Runs that have not begun.
    pub pending: bool,
    /// Created at or after this time.
    pub since: Option<i128>,
    /// Resumes by itself at or before this time.
    pub due: Option<i128>,
    /// Maximum number of runs; the newest are listed.
    pub limit: Option<usize>,
}
