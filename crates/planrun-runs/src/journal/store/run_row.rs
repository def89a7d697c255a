//! What a store knows of a run without reading its events, and which runs somebody wants to see.

use std::fmt;
use std::ops::Deref;

use super::digest::{Digest, Origin};
use super::nanos;

/// What a run is, when it is new.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub run: &'a str,
    pub plan: &'a str,
    /// Of the plan and its inputs: what tells the same run from another one of the same id.
    pub digest: Digest,
    /// Everything that the run is bound to, as one document.
    pub pinned: &'a [u8],
    /// Nanoseconds since 1970.
    pub at: i128,
}

/// What became of a wish to create a run.
#[derive(Debug)]
pub enum Created<D> {
    /// It is new, and this process has its lease.
    New(D),
    /// It was there, with the same plan and inputs.
    Exists(Box<RunRow>),
}

/// What lists tell of a run. Moments are nanoseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunInfo {
    pub run: String,
    pub plan: String,
    /// As its last process wrote it: the name of a `RunState`, or `pending` before anything happened.
    pub state: String,
    pub ended: bool,
    pub created_at: i128,
    pub updated_at: i128,
    /// When it goes on by itself.
    pub wake_at: Option<i128>,
    /// The class of its error.
    pub error: Option<String>,
    /// A short text for people, such as what it waits for.
    pub note: Option<String>,
    pub steps_done: u64,
    pub steps_all: Option<u64>,
    /// How many events it has.
    pub events: u64,
}

/// A run as a store has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunRow {
    pub info: RunInfo,
    /// Of the plan and its inputs.
    pub digest: Digest,
    /// The hash of the pinned document.
    pub pinned: Digest,
    /// The chain after the last event.
    pub head: Digest,
    /// Who drives it, or did so and ended without giving it back; `Store::is_driven` tells which.
    pub holder: Option<Holder>,
}

impl Deref for RunRow {
    type Target = RunInfo;

    fn deref(&self) -> &RunInfo {
        &self.info
    }
}

impl RunRow {
    /// The chain before its first event.
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

/// The process that has the lease of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub driver: String,
    /// The id of its process on its machine.
    pub process: u32,
    pub machine: String,
    /// In nanoseconds since 1970.
    pub since: i128,
    /// When its lease ends if it is not heard of until then, in nanoseconds since 1970.
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

/// Which runs to list; without anything, all. Moments are nanoseconds since 1970.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub plan: Option<String>,
    /// Any of these; empty for all.
    pub states: Vec<String>,
    /// Created at or after this moment.
    pub since: Option<i128>,
    /// Wants to go on by itself at or before this moment.
    pub due: Option<i128>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}
