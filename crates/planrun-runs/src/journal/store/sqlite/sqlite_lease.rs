//! The lease of a run: appends events in order, stores values, updates the row of the run, and reads its inbox.

use std::fmt;
use std::sync::Arc;

use planrun_core::journal::Summary;
use tokio::sync::watch;

use super::super::digest::Digest;
use super::super::failure::JournalError;
use super::super::interface::Message;
use super::Inner;
use super::commit_queue::CommitQueue;
use super::lease::GrantedLease;
use super::queue::{Batch, Durable};

/// Maximum number of events of a run: 32 bits of a segment's row id hold the event number.
const MAX_EVENTS: u64 = u32::MAX as u64;

/// The lease of a run that this process drives. What was appended is on disk when [`Self::durable`] says so.
///
/// When it is dropped without [`Self::close`], events that were not flushed are lost, and the lease is released.
pub struct SqliteLease {
    journal: Arc<Inner>,
    commits: Arc<CommitQueue>,
    key: u64,
    id: i64,
    run: String,
    after_crash: bool,
    /// Number of the last appended event.
    last: u64,
    batch: Batch,
    durable: watch::Receiver<Durable>,
    newest_message: watch::Receiver<u64>,
    /// Number of the newest message that was returned; `None` before the first call.
    seen: Option<u64>,
    /// Why the lease was misused; nothing is written after that.
    misused: Option<JournalError>,
}

impl SqliteLease {
    pub(super) fn new(journal: Arc<Inner>, commits: Arc<CommitQueue>, lease: GrantedLease) -> Self {
        let (id, run, last) = (lease.target.id, lease.target.run.clone(), lease.target.last);
        let registration = commits.queue.register(lease.target);
        Self {
            journal,
            commits,
            key: registration.key,
            id,
            run,
            after_crash: lease.after_crash,
            last,
            batch: Batch::default(),
            durable: registration.durable,
            newest_message: registration.newest_message,
            seen: lease.is_new.then_some(0),
            misused: None,
        }
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the number of the last appended event. The next event has the number after it.
    #[must_use]
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns true if the previous driver ended without releasing the run.
    #[must_use]
    pub fn after_crash(&self) -> bool {
        self.after_crash
    }

    /// Appends an event: one line of JSON without a line feed. An event that is out of order or not one line fails the
    /// lease, which [`Self::flush`] and [`Self::durable`] report.
    pub fn append(&mut self, number: u64, line: &[u8]) {
        if self.misused.is_some() {
            return;
        }
        let Ok(line) = str::from_utf8(line) else {
            return self.misuse(format!("event {number} is not valid UTF-8"));
        };
        if number != self.last + 1 || number > MAX_EVENTS {
            return self.misuse(format!(
                "event {number} was appended after event {}",
                self.last
            ));
        }
        if line.is_empty() || line.contains('\n') {
            return self.misuse(format!("event {number} is not one line"));
        }
        self.last = number;
        self.batch.lines += 1;
        self.batch.text.push_str(line);
        self.batch.text.push('\n');
    }

    /// Records the state of the run, to be written together with the events appended so far. `at` is in nanoseconds since
    /// the Unix epoch.
    pub fn summary(&mut self, summary: Summary, at: i128) {
        self.batch.summary = Some((summary, at));
    }

    /// Stores a large value by its hash. It is on disk no later than the events that are appended from now on.
    pub fn keep(&mut self, digest: Digest, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if Digest::of(&bytes) != digest {
            return self.misuse(format!(
                "a value was passed with {digest}, which is not its hash"
            ));
        }
        self.batch.blobs.push((digest, bytes));
    }

    /// Records that the events appended so far include a message, which is removed from the inbox when they are on
    /// disk.
    pub fn taken(&mut self, id: u64) {
        self.batch.taken.extend(i64::try_from(id));
    }

    /// Passes what was appended to the writer. Waits only if very much is pending.
    ///
    /// # Errors
    /// Returns an error if nothing can be written any more.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        if self.hand_over() {
            self.commits.commit_or_wake();
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// Passes what was appended to the queue, without waking the writer. Returns false if there is nothing to write.
    fn hand_over(&mut self) -> bool {
        let is_some = !self.batch.is_empty() && self.misused.is_none();
        if is_some {
            self.commits.queue.hand_over(self.key, &mut self.batch);
        }
        is_some
    }

    /// Returns a channel that reports which events are on disk, and why nothing more can be written.
    #[must_use]
    pub fn durable(&self) -> watch::Receiver<Durable> {
        self.durable.clone()
    }

    /// Returns a channel that changes when a message has been sent to the run. Then [`Self::inbox`] returns it.
    #[must_use]
    pub fn newest_message(&self) -> watch::Receiver<u64> {
        self.newest_message.clone()
    }

    /// Returns the messages to the run since the last call, oldest first; at the first call all that no event has
    /// recorded. A call without new messages costs nothing.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn inbox(&mut self) -> Result<Vec<Message>, JournalError> {
        if self
            .seen
            .is_some_and(|seen| *self.newest_message.borrow_and_update() <= seen)
        {
            return Ok(Vec::new());
        }
        let messages = self.journal.messages(self.id, self.seen.unwrap_or(0))?;
        let newest = messages.last().map_or(0, |message| message.id);
        self.seen = Some(newest.max(self.seen.unwrap_or(0)));
        Ok(messages)
    }

    /// Waits until everything is on disk and releases the lease.
    ///
    /// # Errors
    /// Returns an error if something could not be written. The lease is released nevertheless.
    pub fn close(mut self) -> Result<(), JournalError> {
        self.hand_over();
        self.commits.queue.close(self.key);
        self.commits.queue.wait_closed(self.key);
        self.failure().map_or(Ok(()), Err)
    }

    /// As [`Self::close`], without waiting in this thread. Returns true if messages had arrived by then that
    /// [`Self::inbox`] has not returned.
    ///
    /// # Errors
    /// As [`Self::close`].
    pub(super) fn release(mut self) -> impl Future<Output = Result<bool, JournalError>> + Send {
        self.hand_over();
        // The pending work and the release are one commit.
        self.commits.queue.close(self.key);
        async move {
            // The writer drops its end of the channel when the lease is released.
            while self.durable.changed().await.is_ok() {}
            let newest = *self.newest_message.borrow();
            let is_unread = newest > self.seen.unwrap_or(0);
            self.failure().map_or(Ok(is_unread), Err)
        }
    }

    /// Returns the wall-clock time of the journal's host.
    pub(super) fn now(&self) -> i128 {
        self.journal.host.now()
    }

    /// Returns the channels that report durable events and new messages.
    pub(super) fn watched(&self) -> (&watch::Receiver<Durable>, &watch::Receiver<u64>) {
        (&self.durable, &self.newest_message)
    }

    pub(super) fn watched_mut(
        &mut self,
    ) -> (&mut watch::Receiver<Durable>, &mut watch::Receiver<u64>) {
        (&mut self.durable, &mut self.newest_message)
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
