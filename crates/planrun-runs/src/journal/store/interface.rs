//! What every store of runs does, whatever it is made of.

use std::fmt;
use std::sync::Arc;

use super::digest::Digest;
use super::failure::JournalError;
use super::message::{Message, Seen};
use super::pruning::{Prune, Pruned};
use super::run_row::{Created, Filter, NewRun, RunRow};
use crate::journal::{Log, ResultCache};

/// A place where runs are written down, each by one driver at a time, and read by everybody. Runs are named in full, unless
/// it says otherwise. `tests/it/journal/conformance.rs` holds every store to it.
pub trait Store: fmt::Debug + Send + Sync {
    /// Makes a new run and takes its lease, unless a run of this id is there with the same digest.
    ///
    /// # Errors
    /// `OtherInput` where it is there with another digest, `Misused` where no run can be called so.
    fn create(&self, new: &NewRun<'_>) -> Result<Created<Box<dyn Lease>>, JournalError>;

    /// Takes the lease of a run.
    ///
    /// # Errors
    /// `Driven` where a driver that lives has it; `NotFound`.
    fn drive(&self, run: &str) -> Result<Box<dyn Lease>, JournalError>;

    /// The run of this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// `NotFound`, `Ambiguous`.
    fn run(&self, prefix: &str) -> Result<RunRow, JournalError>;

    /// The runs that pass the filter, the newest first.
    ///
    /// # Errors
    /// What the store says.
    fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError>;

    /// Whether the holder of a run lives, as far as can be told.
    fn is_driven(&self, row: &RunRow) -> bool;

    /// Waits until a lease of this process that was dropped is given back.
    fn wait_given_back(&self, run: &str);

    /// The events of a run from this number on, as far as they went when the reading began.
    ///
    /// # Errors
    /// `NotFound`.
    fn events(&self, run: &str, from: u64) -> Result<RecordedEvents, JournalError>;

    /// The document that a run is bound to.
    ///
    /// # Errors
    /// `NotFound`.
    fn pinned(&self, run: &str) -> Result<Vec<u8>, JournalError>;

    /// The hashes of all that is kept for a run, that document first.
    ///
    /// # Errors
    /// `NotFound`.
    fn values(&self, run: &str) -> Result<Vec<Digest>, JournalError>;

    /// What is kept under this hash.
    ///
    /// # Errors
    /// `NoValue`.
    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError>;

    /// Says something to a run, whoever drives it. Gives the number of the message.
    ///
    /// # Errors
    /// `NotFound`.
    fn post(&self, run: &str, text: &str) -> Result<u64, JournalError>;

    /// Says several things to a run, all or nothing; false where the run has got further than was seen.
    ///
    /// # Errors
    /// `NotFound`.
    fn post_all(&self, run: &str, texts: &[String], seen: Seen) -> Result<bool, JournalError>;

    /// What was said to a run and is not journaled yet, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    fn said(&self, run: &str) -> Result<Vec<Message>, JournalError>;

    /// The results that its runs may use again.
    fn cache(&self) -> Arc<dyn ResultCache>;

    /// The runs that [`Self::prune`] would delete, the newest first.
    ///
    /// # Errors
    /// What the store says.
    fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError>;

    /// Deletes runs that have ended and that nobody drives, with what only they refer to.
    ///
    /// # Errors
    /// What the store says; what was deleted before stays so.
    fn prune(&self, prune: Prune) -> Result<Pruned, JournalError>;

    /// Gives the room that deleted runs have left back.
    ///
    /// # Errors
    /// `Busy` where others are at work on it.
    fn compact(&self) -> Result<(), JournalError>;
}

/// An event as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    pub number: u64,
    /// One line of JSON, without its line feed.
    pub line: String,
}

/// Events read back, in order; ends behind the first that cannot be trusted.
pub type RecordedEvents = Box<dyn Iterator<Item = Result<Recorded, JournalError>> + Send>;

/// A run that this process drives. Dropped without [`Self::close`], what was not flushed is lost, and the run is given back.
pub trait Lease: Log {
    /// The number of the last event taken; the next has the one after it.
    fn last(&self) -> u64;

    /// Waits until everything that was taken is written, and gives the run back.
    ///
    /// # Errors
    /// Why something is not written; the run is given back all the same.
    fn close(self: Box<Self>) -> Result<(), JournalError>;
}
