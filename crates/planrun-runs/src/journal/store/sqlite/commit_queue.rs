//! Commits pending work: by the writer thread, or by a driver if it need not wait for a disk.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use planrun_tools::host::Host;
use rusqlite::Connection;
use tracing::debug_span;

use super::super::failure::JournalError;
use super::commit;
use super::queue::{Queue, Work};
use super::{Settings, nanos};

/// The queue of a process, and its only writer.
pub(super) struct CommitQueue {
    pub(super) queue: Arc<Queue>,
    /// Fair after half a millisecond: the writer thread, which locks it again and again, keeps nobody else waiting.
    writer: Mutex<Writer>,
    /// Whether commits do not wait for a disk, so that they cost less than switching to another thread and back.
    at_once: bool,
}

impl CommitQueue {
    pub(super) fn new(queue: Arc<Queue>, writer: Writer, at_once: bool) -> Self {
        Self {
            queue,
            writer: Mutex::new(writer),
            at_once,
        }
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock()
    }

    /// Lets pending work be written: in this thread, or by the writer thread if it would have to wait for another
    /// thread or process.
    pub(super) fn commit_or_wake(&self) {
        let written = self.at_once
            && self
                .writer
                .try_lock()
                .is_some_and(|mut writer| writer.write_without_waiting(&self.queue));
        if !written {
            self.queue.wake();
        }
    }
}

impl fmt::Debug for CommitQueue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CommitQueue")
            .field("queue", &self.queue)
            .finish_non_exhaustive()
    }
}

/// The state of the writer thread.
pub(super) struct Writer {
    connection: Connection,
    path: PathBuf,
    host: Arc<dyn Host>,
    lease: Duration,
    busy_timeout: Duration,
    /// The data version of the file, which changes when another process writes; `None` if this process has changed the
    /// file since it was read, other than by writing events.
    version: Option<i64>,
}

impl Writer {
    pub(super) fn new(
        path: &Path,
        settings: &Settings,
        host: &Arc<dyn Host>,
        connection: Connection,
    ) -> Self {
        let (lease, busy_timeout) = (settings.lease, settings.busy_timeout);
        Self {
            connection,
            path: path.to_owned(),
            host: Arc::clone(host),
            lease,
            busy_timeout,
            version: None,
        }
    }

    /// Writes all pending work in one transaction. Returns false if there is none. A run that another process has taken
    /// over is left out.
    pub(super) fn write(&mut self, queue: &Queue) -> bool {
        let works = queue.take();
        let some = !works.is_empty();
        if some {
            let committed = self.commit(&works);
            self.settle(queue, works, committed);
        }
        some
    }

    /// As [`Self::write`], without waiting. Returns false if another process is writing; all work is still pending
    /// then.
    fn write_without_waiting(&mut self, queue: &Queue) -> bool {
        if self.connection.busy_timeout(Duration::ZERO).is_err() {
            return false;
        }
        let works = queue.take();
        let committed = if works.is_empty() {
            Ok(Vec::new())
        } else {
            self.commit(&works)
        };
        // It was set before, so it can be set again.
        let _ = self.connection.busy_timeout(self.busy_timeout);
        if matches!(committed, Err(JournalError::Busy { .. })) {
            queue.put_back(works);
            return false;
        }
        self.settle(queue, works, committed);
        true
    }

    /// Writes these works in one transaction. A panic is returned as an error, because others wait for the outcome.
    fn commit(&mut self, works: &[Work]) -> Result<Vec<commit::Outcome>, JournalError> {
        let events: u64 = works.iter().map(|work| work.batch.lines).sum();
        let _span = debug_span!("commit", runs = works.len(), events).entered();
        let until = self.until();
        let write = || commit::write(&mut self.connection, works, until);
        match catch_unwind(AssertUnwindSafe(write)) {
            Ok(written) => written.map_err(|error| JournalError::from_sqlite(&self.path, &error)),
            // The transaction was rolled back.
            Err(panic) => Err(JournalError::panicked("writes events", &*panic)),
        }
    }

    /// Reports to every driver how its work ended. If a transaction with several runs fails for a reason that may
    /// concern only one of them, each run is written by itself, so that it does not fail the others.
    fn settle(
        &mut self,
        queue: &Queue,
        works: Vec<Work>,
        committed: Result<Vec<commit::Outcome>, JournalError>,
    ) {
        match committed {
            Ok(outcomes) => {
                for (work, outcome) in works.into_iter().zip(outcomes) {
                    queue.settle(work, outcome);
                }
            }
            Err(error) => {
                let retries = works.len() > 1 && may_concern_one(&error);
                for work in works {
                    let outcome = if retries {
                        self.commit_one(&work)
                    } else {
                        Err(error.clone())
                    };
                    if outcome.is_err() && work.close {
                        // The events are lost, which is reported to the driver; but the run need not wait for its lease
                        // to expire.
                        let _ = commit::release(&self.connection, &work.target);
                    }
                    queue.settle(work, outcome);
                }
            }
        }
    }

    fn commit_one(&mut self, work: &Work) -> commit::Outcome {
        let mut outcomes = self.commit(std::slice::from_ref(work))?;
        // There is one outcome for each work.
        outcomes.swap_remove(0)
    }

    /// Changes the file otherwise, such as by a message to a run.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut Connection) -> T) -> T {
        self.version = None;
        change(&mut self.connection)
    }

    pub(super) fn renew(&mut self, queue: &Queue) {
        let targets = queue.targets();
        if targets.is_empty() {
            return;
        }
        let until = self.until();
        // An error that prevents renewals also prevents writing events, and is reported there.
        let Ok(lost) = commit::renew(&mut self.connection, &targets, until) else {
            return;
        };
        for (key, run) in lost {
            queue.fail(key, JournalError::Fenced { run });
        }
    }

    /// Reports new messages to the drivers of this process. Commits of this connection do not change the data version,
    /// so a process that is alone only does the first query.
    pub(super) fn check_messages(&mut self, queue: &Queue) {
        let version = self
            .connection
            .pragma_query_value(None, "data_version", |row| row.get(0));
        let Ok(version) = version else { return };
        if self.version == Some(version) {
            return;
        }
        let mut is_complete = true;
        for (key, target) in queue.targets() {
            match commit::newest_message(&self.connection, target.id) {
                Ok(newest) => queue.report_message(key, newest),
                Err(_) => is_complete = false,
            }
        }
        // Messages that could not be read are retried at the next check.
        if is_complete {
            self.version = Some(version);
        }
    }

    fn until(&self) -> i64 {
        nanos(self.host.now())
            .saturating_add(i64::try_from(self.lease.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// Returns true if an error may be due to the content of a single run, rather than to the file as a whole.
fn may_concern_one(error: &JournalError) -> bool {
    matches!(
        error,
        JournalError::Damaged { .. } | JournalError::Panicked { .. }
    )
}
