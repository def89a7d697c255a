//! The thread that writes: one transaction for all that waits, leases renewed in time, an ear for what others say.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::commit;
use super::failure::JournalError;
use super::process::{Machine, Presence};
use super::queue::{Ending, Queue, Target, Work};
use super::{Settings, file, nanos};
use crate::host::Host;

/// How often the thread looks whether another process has written.
const LISTEN: Duration = Duration::from_millis(50);

/// The writer of this process.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) queue: Arc<Queue>,
    pub(super) presence: Presence,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(
        path: &Path,
        settings: &Settings,
        host: &Arc<dyn Host>,
        machine: &Machine,
    ) -> Result<Self, JournalError> {
        let presence = Presence::take(path, machine, &**host).map_err(|error| JournalError::from_io(path, &error))?;
        let connection = file::connect(path, settings)?;
        let queue = Arc::new(Queue::default());
        let mut turn = Turn {
            connection,
            queue: Arc::clone(&queue),
            path: path.to_owned(),
            host: Arc::clone(host),
            lease: settings.lease,
            renewed: host.monotonic(),
            listened: host.monotonic(),
            version: 0,
        };
        let thread = thread::Builder::new().name("planrun journal".into()).spawn(move || turn.run());
        let thread = Some(thread.map_err(|error| JournalError::from_io(path, &error))?);
        Ok(Self { queue, presence, thread })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.stop();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has told its drivers when it ended.
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Turn {
    connection: Connection,
    queue: Arc<Queue>,
    path: PathBuf,
    host: Arc<dyn Host>,
    lease: Duration,
    /// When leases were renewed, and when others were last listened to, by the clock that never goes back.
    renewed: Duration,
    listened: Duration,
    /// What tells that another process has written.
    version: i64,
}

impl Turn {
    fn run(&mut self) {
        let ended = JournalError::Io { path: self.path.clone(), why: "its writer has ended".into() };
        let _ending = Ending(Arc::clone(&self.queue), ended);
        loop {
            let (works, stop) = self.queue.take(LISTEN);
            let idle = works.is_empty();
            if !idle {
                self.write(works);
            } else if stop {
                return;
            }
            let now = self.host.monotonic();
            if now.saturating_sub(self.renewed) >= self.lease / 3 {
                self.renewed = now;
                self.renew();
            }
            if idle || now.saturating_sub(self.listened) >= LISTEN {
                self.listened = now;
                self.listen();
            }
        }
    }

    /// One transaction for all. A run that was taken over is left out, the others are written.
    fn write(&mut self, works: Vec<Work>) {
        let until = self.until();
        match commit::write(&mut self.connection, &works, until) {
            Ok(outcomes) => {
                for (work, outcome) in works.into_iter().zip(outcomes) {
                    self.queue.settle(work, outcome);
                }
            }
            Err(error) => {
                let error = JournalError::from_sqlite(&self.path, &error);
                for work in works {
                    if work.close {
                        // The events are lost, which the driver is told; the run need not wait for its lease to end.
                        let _ = commit::give_back(&self.connection, &work.target);
                    }
                    self.queue.settle(work, Err(error.clone()));
                }
            }
        }
    }

    fn renew(&mut self) {
        let targets = self.queue.targets();
        if targets.is_empty() {
            return;
        }
        let until = self.until();
        // What keeps a renewal from being written keeps events from it, too, and is told there.
        let Ok(lost) = commit::renew(&mut self.connection, &targets, until) else { return };
        for (key, run) in lost {
            self.queue.fail(key, JournalError::Fenced { run });
        }
    }

    /// Own commits do not change the version, so a process alone asks no more than this.
    fn listen(&mut self) {
        let version = self.connection.pragma_query_value(None, "data_version", |row| row.get(0));
        let Ok(version) = version else { return };
        if version == self.version {
            return;
        }
        self.version = version;
        for (key, target) in self.queue.targets() {
            if let Ok(newest) = self.newest(&target) {
                self.queue.heard(key, newest);
            }
        }
    }

    fn newest(&self, target: &Target) -> rusqlite::Result<u64> {
        let select = "SELECT coalesce(max(id), 0) FROM messages WHERE run = ?";
        self.connection.prepare_cached(select)?.query_row([target.id], |row| row.get(0))
    }

    fn until(&self) -> i64 {
        nanos(self.host.now()).saturating_add(i64::try_from(self.lease.as_nanos()).unwrap_or(i64::MAX))
    }
}
