//! The writer thread: commits pending work in one transaction, renews leases in time, and checks for messages.

use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use planrun_tools::host::Host;
use rusqlite::Connection;

use super::super::failure::JournalError;
use super::commit_queue::{CommitQueue, Writer};
use super::process::{Machine, ProcessLock};
use super::queue::{Ending, Queue};
use super::{Settings, Synchronous};

/// How often the thread checks whether another process has written.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The writer of this process.
#[derive(Debug)]
pub(super) struct WriterThread {
    pub(super) commits: Arc<CommitQueue>,
    pub(super) lock: ProcessLock,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    pub(super) fn start(
        path: &Path,
        settings: &Settings,
        host: &Arc<dyn Host>,
        machine: &Machine,
        connection: Connection,
    ) -> Result<Self, JournalError> {
        let lock = ProcessLock::take(path, machine, &**host)
            .map_err(|error| JournalError::from_io(path, &error))?;
        let writer = Writer::new(path, settings, host, connection);
        let at_once = settings.synchronous == Synchronous::Normal;
        let commits = Arc::new(CommitQueue::new(
            Arc::new(Queue::default()),
            writer,
            at_once,
        ));
        let (own, host, lease) = (Arc::clone(&commits), Arc::clone(host), settings.lease);
        let ended = JournalError::Io {
            path: path.to_owned(),
            why: "the thread that writes it has ended unexpectedly; start planrun again".into(),
        };
        let ending = Ending(Arc::clone(&commits.queue), ended);
        // Read here and not by the thread, which starts some time later.
        let begun = host.monotonic();
        let thread = thread::Builder::new()
            .name("planrun journal".into())
            .spawn(move || {
                let _ending = ending;
                serve(&own, &*host, lease, begun);
            });
        let thread = Some(thread.map_err(|error| JournalError::from_io(path, &error))?);
        Ok(Self {
            commits,
            lock,
            thread,
        })
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.commits.queue.stop();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported its end to its drivers.
            let _ = thread.join();
        }
    }
}

fn serve(commits: &CommitQueue, host: &dyn Host, lease: Duration, begun: Duration) {
    // The times at which leases were renewed and messages were checked, on the monotonic clock.
    let (mut renewed, mut checked) = (begun, begun);
    loop {
        let stop = commits.queue.wait(POLL_INTERVAL);
        let mut writer = commits.writer();
        let idle = !writer.write(&commits.queue);
        if idle && stop {
            return;
        }
        let now = host.monotonic();
        if now.saturating_sub(renewed) >= lease / 3 {
            renewed = now;
            writer.renew(&commits.queue);
        }
        if idle || now.saturating_sub(checked) >= POLL_INTERVAL {
            checked = now;
            writer.check_messages(&commits.queue);
        }
    }
}
