//! The interface of all stores of runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::digest::Digest;
use super::failure::JournalError;
use super::run_row::{Created, Filter, NewRun, RunRow};
use crate::journal::{Log, ResultCache};

/// A store of runs, each written by one driver at a time, and readable by all processes. Runs are given by their full
/// ids, unless stated otherwise. `tests/it/journal/conformance.rs` tests every store.
pub trait Store: fmt::Debug + Send + Sync {
    /// Creates a new run and takes its lease, unless a run with this id and the same digest exists.
    ///
    /// # Errors
    /// `OtherInput` if a run with this id and another digest exists, `Misused` if the id is invalid.
    fn create(&self, new: &NewRun<'_>) -> Result<Created<Box<dyn Lease>>, JournalError>;

    /// Takes the lease of a run.
    ///
    /// # Errors
    /// `Driven` if a live driver holds it; `NotFound`.
    fn drive(&self, run: &str) -> Result<Box<dyn Lease>, JournalError>;

    /// Returns the run with this id, or the only one whose id begins with it.
    ///
    /// # Errors
    /// `NotFound`, `Ambiguous`.
    fn run(&self, prefix: &str) -> Result<RunRow, JournalError>;

    /// Returns the runs that pass the filter, newest first.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError>;

    /// Returns true if the holder of a run is alive, as far as that can be determined.
    fn is_driven(&self, row: &RunRow) -> bool;

    /// Waits until a dropped lease of this process is released.
    fn wait_released(&self, run: &str);

    /// Returns the events of a run from this number on, up to the last one when reading began.
    ///
    /// # Errors
    /// `NotFound`.
    fn events(&self, run: &str, from: u64) -> Result<RecordedEvents, JournalError>;

    /// Returns the pinned document of a run, to which the run is bound.
    ///
    /// # Errors
    /// `NotFound`.
    fn pinned(&self, run: &str) -> Result<Vec<u8>, JournalError>;

    /// Returns the hashes of all values of a run, beginning with the pinned document.
    ///
    /// # Errors
    /// `NotFound`.
    fn values(&self, run: &str) -> Result<Vec<Digest>, JournalError>;

    /// Returns the value with this hash.
    ///
    /// # Errors
    /// `NoValue`.
    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError>;

    /// Sends a message to a run, whichever process drives it. Returns the number of the message.
    ///
    /// # Errors
    /// `NotFound`.
    fn post(&self, run: &str, text: &str) -> Result<u64, JournalError>;

    /// Sends all of these messages to a run, or none. Returns false if the run has progressed beyond `seen`.
    ///
    /// # Errors
    /// `NotFound`.
    fn post_all(&self, run: &str, texts: &[String], seen: Seen) -> Result<bool, JournalError>;

    /// Returns the messages to a run that are not yet part of its events, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError>;

    /// Returns the result cache of its runs.
    fn cache(&self) -> Arc<dyn ResultCache>;

    /// Returns the runs that [`Self::prune`] would delete if none is kept, newest first.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError>;

    /// Deletes runs that have ended and that no process drives, except those with the `kept` ids, with the values that
    /// only they refer to.
    ///
    /// # Errors
    /// Returns an error if the store fails. What was deleted before remains deleted.
    fn prune(&self, prune: Prune, kept: &BTreeSet<String>) -> Result<Pruned, JournalError>;

    /// Deletes one run, whether it has ended or not, with the values that only it refers to.
    ///
    /// # Errors
    /// `NotFound`, or `Driven` if a process drives it.
    fn delete(&self, run: &str) -> Result<Pruned, JournalError>;

    /// Releases the space of deleted runs.
    ///
    /// # Errors
    /// `Busy` if other processes use the store.
    fn compact(&self) -> Result<(), JournalError>;
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub number: u64,
    /// One line of JSON, without its line feed.
    pub line: String,
}

/// Recorded events, in order. The iterator ends after the first error.
pub type RecordedEvents = Box<dyn Iterator<Item = Result<Recorded, JournalError>> + Send>;

/// The lease of a run that this process drives. When it is dropped without [`Self::close`], events that were not
/// flushed are lost, and the lease is released.
pub trait Lease: Log {
    /// Returns the number of the last appended event. The next event has the number after it.
    fn last(&self) -> u64;

    /// Waits until everything that was appended is written, and releases the lease.
    ///
    /// # Errors
    /// Returns an error if something could not be written. The lease is released nevertheless.
    fn close(self: Box<Self>) -> Result<(), JournalError>;
}

/// A message to a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Increases with each message of the journal.
    pub id: u64,
    /// Wall-clock time at which it was sent, in nanoseconds since the Unix epoch.
    pub at: i128,
    pub text: String,
}

/// How much of a run a reader has seen: its events, and the messages to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Number of events; `None` if it does not matter.
    pub events: Option<u64>,
    /// Id of the newest message; 0 if there was none.
    pub message: u64,
}

/// Selects runs that have ended; by default all of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prune {
    /// Only runs that changed last before this time, in nanoseconds since the Unix epoch.
    pub before: Option<i128>,
    /// Number of the newest ended runs that are kept.
    pub keep: usize,
}

/// The deleted runs and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Newest first.
    pub runs: Vec<String>,
    /// Number of large values that no run referred to any more.
    pub values: usize,
}
