//! A run that this process drives: events in order, kept values, the row of the run, what others say.

use std::fmt;
use std::sync::Arc;

use tokio::sync::watch;

use super::super::digest::Digest;
use super::super::failure::JournalError;
use super::super::message::Message;
use super::Inner;
use super::commit_queue::CommitQueue;
use super::granted_lease::GrantedLease;
use super::queue::{Batch, Durable, Summary};

/// Rows of segments are numbered by the events of a run with so many bits.
const MAX_EVENTS: u64 = u32::MAX as u64;

/// A run that this process drives. What is taken is on disk when [`Self::durable`] says so.
///
/// Dropped without [`Self::close`], what was not flushed is lost, and the run is given back.
pub struct SqliteLease {
    journal: Arc<Inner>,
    commits: Arc<CommitQueue>,
    key: u64,
    id: i64,
    run: String,
    after_crash: bool,
    /// The number of the last event taken.
    last: u64,
    batch: Batch,
    durable: watch::Receiver<Durable>,
    heard: watch::Receiver<u64>,
    /// The newest message given; none before the first look.
    seen: Option<u64>,
    /// It was used wrongly, and nothing behind that is written.
    misused: Option<JournalError>,
}

impl SqliteLease {
    pub(super) fn new(journal: Arc<Inner>, commits: Arc<CommitQueue>, lease: GrantedLease) -> Self {
        let (id, run, last, after_crash) =
            (lease.id, lease.run.clone(), lease.last, lease.after_crash);
        let enrolled = commits.queue.enrol(lease.into());
        let (key, durable, heard) = (enrolled.key, enrolled.durable, enrolled.heard);
        let batch = Batch::default();
        Self {
            journal,
            commits,
            key,
            id,
            run,
            after_crash,
            last,
            batch,
            durable,
            heard,
            seen: None,
            misused: None,
        }
    }

    /// The id of the run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// The number of the last event taken; the next has the one after it.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Whether the driver before ended without giving the run back.
    #[must_use]
    pub fn after_crash(&self) -> bool {
        self.after_crash
    }

    /// Takes an event: one line of JSON without a line feed. What is out of order or no line fails the driver, which
    /// [`Self::flush`] and [`Self::durable`] tell.
    pub fn append(&mut self, number: u64, line: &[u8]) {
        if self.misused.is_some() {
            return;
        }
        let Ok(line) = str::from_utf8(line) else {
            return self.misuse(format!("event {number} is no UTF-8"));
        };
        if number != self.last + 1 || number > MAX_EVENTS {
            return self.misuse(format!("event {number} came after event {}", self.last));
        }
        if line.is_empty() || line.contains('\n') {
            return self.misuse(format!("event {number} is not one line"));
        }
        self.last = number;
        self.batch.lines += 1;
        self.batch.text.push_str(line);
        self.batch.text.push('\n');
    }

    /// Notes where the run stands, to be written together with the events taken so far.
    pub fn summary(&mut self, summary: Summary) {
        self.batch.summary = Some(summary);
    }

    /// Takes a large value by its hash; it is on disk no later than the events taken from now on.
    pub fn keep(&mut self, digest: Digest, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if Digest::of(&bytes) != digest {
            return self.misuse(format!(
                "a value was handed over under {digest}, which is not its hash"
            ));
        }
        self.batch.blobs.push((digest, bytes));
    }

    /// Notes that the events taken so far journal a message: it is gone from the inbox when they are on disk.
    pub fn taken(&mut self, id: u64) {
        self.batch.taken.extend(i64::try_from(id));
    }

    /// Hands what was taken to the writer and goes on; waits only where very much is waiting already.
    ///
    /// # Errors
    /// Why nothing can be written any more.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if !self.batch.is_empty() && self.misused.is_none() {
            self.commits.queue.hand_over(self.key, &mut self.batch);
            self.commits.attend();
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// Tells how far events are on disk, and why nothing more will be.
    #[must_use]
    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.durable.clone()
    }

    /// Changes when somebody has said something to the run: then [`Self::inbox`] gives it.
    #[must_use]
    pub fn heard(&self) -> watch::Receiver<u64> {
        self.heard.clone()
    }

    /// What was said to the run since the last look, oldest first; at the first look all that no event has journaled.
    /// A look without news costs nothing.
    ///
    /// # Errors
    /// What the file says.
    pub fn inbox(&mut self) -> Result<Vec<Message>, JournalError> {
        if self
            .seen
            .is_some_and(|seen| *self.heard.borrow_and_update() <= seen)
        {
            return Ok(Vec::new());
        }
        let messages = self.journal.messages(self.id, self.seen.unwrap_or(0))?;
        let newest = messages.last().map_or(0, |message| message.id);
        self.seen = Some(newest.max(self.seen.unwrap_or(0)));
        Ok(messages)
    }

    /// Waits until everything is on disk and gives the run back.
    ///
    /// # Errors
    /// Why something is not on disk; the run is given back all the same.
    pub fn close(mut self) -> Result<(), JournalError> {
        let flushed = self.flush();
        self.commits.queue.close(self.key);
        self.commits.queue.wait_closed(self.key);
        flushed.and_then(|()| self.failure().map_or(Ok(()), Err))
    }

    /// The moment by the clock of the journal's host.
    pub(super) fn now(&self) -> i128 {
        self.journal.host.now()
    }

    /// What tells how far events are on disk, and that somebody has said something.
    pub(super) fn watched(&self) -> (&watch::Receiver<Durable>, &watch::Receiver<u64>) {
        (&self.durable, &self.heard)
    }

    pub(super) fn watched_mut(
        &mut self,
    ) -> (&mut watch::Receiver<Durable>, &mut watch::Receiver<u64>) {
        (&mut self.durable, &mut self.heard)
    }

    pub(super) fn failure(&self) -> Option<JournalError> {
        self.misused
            .clone()
            .or_else(|| self.durable.borrow().failure.clone())
    }

    fn misuse(&mut self, what: String) {
        let error = JournalError::Misused(what);
        self.commits.queue.fail(self.key, error.clone());
        self.misused = Some(error);
    }
}

impl fmt::Debug for SqliteLease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SqliteLease")
            .field("run", &self.run)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl Drop for SqliteLease {
    fn drop(&mut self) {
        self.commits.queue.close(self.key);
    }
}
