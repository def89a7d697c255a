//! The store in a file of `SQLite`: one thread of each process writes for all its runs, and everybody reads.

mod as_store;
mod cache;
mod commit;
mod commit_queue;
mod digest_column;
mod events;
mod failure;
mod file;
mod granted_lease;
mod inbox;
mod lease;
mod log;
mod process;
mod prune;
mod queue;
mod rows;
mod schema;
mod sqlite_lease;
mod writer_thread;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io};

use planrun_lang::protocol::run_id_fault;
use planrun_tools::host::Host;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior};

use granted_lease::GrantedLease;

pub use events::Events;
pub use queue::{Durable, Summary};
pub use sqlite_lease::SqliteLease;

use super::digest::Digest;
use super::export::{Exported, export};
use super::failure::{Damage, JournalError};
use super::message::{Message, Seen};
use super::nanos;
use super::pruning::{Prune, Pruned};
use super::run_row::{Created, Filter, NewRun, RunRow};
use lease::Creation;
use process::Machine;
use writer_thread::WriterThread;

/// How a journal is written and waited for.
#[derive(Clone, Debug)]
pub struct Settings {
    pub synchronous: Synchronous,
    /// How long a driver of another machine that is not heard of keeps its run.
    pub lease: Duration,
    /// How long to wait for another process that is just writing.
    pub patience: Duration,
    /// The file may not grow beyond this; without it the disk alone bounds it.
    pub most_bytes: Option<u64>,
}

/// When an event counts as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// When it survives a loss of power.
    #[default]
    Full,
    /// When it survives the end of the process; a loss of power may take the newest events, never others.
    Normal,
}

impl Default for Settings {
    fn default() -> Self {
        let (lease, patience) = (Duration::from_secs(30), Duration::from_secs(30));
        Self {
            synchronous: Synchronous::Full,
            lease,
            patience,
            most_bytes: None,
        }
    }
}

/// A journal in a file of `SQLite`. Clones share one file and one writer.
#[derive(Clone, Debug)]
pub struct Journal {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    settings: Settings,
    host: Arc<dyn Host>,
    machine: Machine,
    /// What somebody who wants to write is told, where it is open for reading only.
    unwritable: Option<JournalError>,
    /// For everything but events.
    front: Mutex<Connection>,
    /// Begins with the first run that this process drives.
    writer: Mutex<Option<WriterThread>>,
}

impl Journal {
    /// Opens the journal at this path for writing, and makes it and its folder where there is none.
    ///
    /// # Errors
    /// Where the file is no journal, is damaged, has a newer format, or cannot be written. It is then left as it is.
    pub fn open(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
    ) -> Result<Self, JournalError> {
        let connection = file::for_writing(path, &settings)?;
        Ok(Self::with(path, settings, host, connection, None))
    }

    /// Opens the journal at this path for reading only, while others may write.
    ///
    /// # Errors
    /// As [`Self::open`]; `Absent` where there is none.
    pub fn read(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
    ) -> Result<Self, JournalError> {
        let connection = file::for_reading(path, &settings)?;
        let why = "it was opened for reading only".into();
        let unwritable = JournalError::ReadOnly {
            path: path.to_owned(),
            why,
        };
        Ok(Self::with(
            path,
            settings,
            host,
            connection,
            Some(unwritable),
        ))
    }

    /// Opens the journal that is at this path for writing; where it can only be read, for that, and whoever wants to
    /// write is told why not.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn open_there(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
    ) -> Result<Self, JournalError> {
        let reading = file::for_reading(path, &settings)?;
        let (connection, unwritable) = match file::for_writing(path, &settings) {
            Ok(connection) => (connection, None),
            Err(error) => (reading, Some(error)),
        };
        Ok(Self::with(path, settings, host, connection, unwritable))
    }

    fn with(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
        front: Connection,
        unwritable: Option<JournalError>,
    ) -> Self {
        let machine = Machine::here(&*host);
        let (front, writer) = (Mutex::new(front), Mutex::new(None));
        let path = path.to_owned();
        Self {
            inner: Arc::new(Inner {
                path,
                settings,
                host,
                machine,
                unwritable,
                front,
                writer,
            }),
        }
    }

    /// Makes a new run that this process drives, unless a run of this id is there with the same digest.
    ///
    /// # Errors
    /// `OtherInput` where it is there with another digest, `Misused` where no run can be called so; else what the file
    /// says.
    pub fn create(&self, new: &NewRun<'_>) -> Result<Created<SqliteLease>, JournalError> {
        if let Some(fault) = run_id_fault(new.run) {
            return Err(JournalError::Misused(fault));
        }
        let driver = self.inner.driver_id(new.run)?;
        match self.inner.create_row(new, &driver)? {
            Creation::New(lease) => self.begin(lease).map(Created::New),
            Creation::Exists(row) => Ok(Created::Exists(row)),
        }
    }

    /// Takes the lease of a run, named in full.
    ///
    /// # Errors
    /// `Driven` where a process that lives drives it; `NotFound`; else what the file says.
    pub fn drive(&self, run: &str) -> Result<SqliteLease, JournalError> {
        let driver = self.inner.driver_id(run)?;
        self.begin(self.inner.take_lease(run, &driver)?)
    }

    /// Waits until a driver of this process that was dropped has given its run back.
    pub fn wait_given_back(&self, run: &str) {
        let commits = self
            .inner
            .writer()
            .as_ref()
            .map(|writer| Arc::clone(&writer.commits));
        if let Some(commits) = commits {
            commits.queue.wait_given_back(run);
        }
    }

    fn begin(&self, lease: GrantedLease) -> Result<SqliteLease, JournalError> {
        let mut writer = self.inner.writer();
        let writer = self.inner.started(&mut writer)?;
        Ok(SqliteLease::new(
            Arc::clone(&self.inner),
            Arc::clone(&writer.commits),
            lease,
        ))
    }

    /// The run of this id, or the only one whose id begins so.
    ///
    /// # Errors
    /// `NotFound`, `Ambiguous`; else what the file says.
    pub fn run(&self, prefix: &str) -> Result<RunRow, JournalError> {
        self.inner.resolve(prefix)
    }

    /// The runs that pass the filter, the newest first.
    ///
    /// # Errors
    /// What the file says.
    pub fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError> {
        self.inner.list(filter)
    }

    /// Whether the holder of a run lives, as far as can be told.
    #[must_use]
    pub fn is_driven(&self, row: &RunRow) -> bool {
        row.holder
            .as_ref()
            .is_some_and(|holder| self.inner.is_driven(holder))
    }

    /// The events of a run, named in full, from this number on, each proved by the chain before it is given.
    ///
    /// # Errors
    /// `NotFound`; else what the file says.
    pub fn events(&self, run: &str, from: u64) -> Result<Events, JournalError> {
        Events::of(Arc::clone(&self.inner), run, from)
    }

    /// The pinned document of a run, named in full.
    ///
    /// # Errors
    /// `NotFound`, `Damaged`; else what the file says.
    pub fn pinned(&self, run: &str) -> Result<Vec<u8>, JournalError> {
        self.blob(self.inner.row(run)?.1.pinned)
    }

    /// The hashes of the values that a run, named in full, refers to, the pinned document first.
    ///
    /// # Errors
    /// `NotFound`; else what the file says.
    pub fn values(&self, run: &str) -> Result<Vec<Digest>, JournalError> {
        let (id, row) = self.inner.row(run)?;
        self.inner.values(id, row.pinned)
    }

    /// What was kept under this hash.
    ///
    /// # Errors
    /// `NoValue`, `Damaged`; else what the file says.
    pub fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let select = "SELECT bytes FROM blobs WHERE digest = ?";
        let bytes: Option<Vec<u8>> = self.inner.read(|connection| {
            connection
                .prepare_cached(select)?
                .query_row([digest], |row| row.get(0))
                .optional()
        })?;
        let bytes = bytes.ok_or(JournalError::NoValue { digest })?;
        if Digest::of(&bytes) == digest {
            return Ok(bytes);
        }
        Err(self.inner.damaged(Damage::Value { digest }))
    }

    /// As [`export`] of this journal.
    ///
    /// # Errors
    /// As [`export`].
    pub fn export(&self, run: &str, writer: &mut impl io::Write) -> Result<Exported, JournalError> {
        export(self, run, writer)
    }

    /// Says something to a run, named in full, whoever drives it. Gives the number of the message.
    ///
    /// # Errors
    /// `NotFound`; else what the file says.
    pub fn post(&self, run: &str, text: &str) -> Result<u64, JournalError> {
        self.inner.post(run, text)
    }

    /// Says several things to a run, named in full, all or nothing; false where the run has got further than was seen.
    ///
    /// # Errors
    /// `NotFound`; else what the file says.
    pub fn post_all(&self, run: &str, texts: &[String], seen: Seen) -> Result<bool, JournalError> {
        self.inner.post_all(run, texts, seen)
    }

    /// What was said to a run, named in full, and is not journaled yet, oldest first.
    ///
    /// # Errors
    /// `NotFound`; else what the file says.
    pub fn said(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        self.inner.said(run)
    }

    /// The runs that [`Self::prune`] would delete, the newest first.
    ///
    /// # Errors
    /// What the file says.
    pub fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError> {
        self.inner.prunable(prune)
    }

    /// Deletes runs that have ended, and values that nobody refers to any more. Runs that are driven stay.
    ///
    /// # Errors
    /// What the file says; what was deleted before stays so.
    pub fn prune(&self, prune: Prune) -> Result<Pruned, JournalError> {
        self.inner.prune(prune)
    }

    /// Gives the room that deleted runs have left back to the disk, so that nothing of them is left in the file or beside
    /// it. It rewrites the file: others wait so long.
    ///
    /// # Errors
    /// What the file says; the file is then as it was.
    pub fn compact(&self) -> Result<(), JournalError> {
        self.inner.compact()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Journal")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// This process as a driver of this run: its id, which others find its lock by.
    fn driver_id(&self, run: &str) -> Result<String, JournalError> {
        let (commits, driver) = {
            let mut writer = self.writer();
            let writer = self.started(&mut writer)?;
            (Arc::clone(&writer.commits), writer.lock.driver.clone())
        };
        // A driver of this process that was dropped gives its run back a moment later.
        commits.queue.wait_given_back(run);
        Ok(driver)
    }

    fn started<'a>(
        &self,
        writer: &'a mut Option<WriterThread>,
    ) -> Result<&'a mut WriterThread, JournalError> {
        self.writable()?;
        match writer {
            Some(writer) => Ok(writer),
            None => Ok(writer.insert(WriterThread::start(
                &self.path,
                &self.settings,
                &self.host,
                &self.machine,
            )?)),
        }
    }

    fn writable(&self) -> Result<(), JournalError> {
        self.unwritable.clone().map_or(Ok(()), Err)
    }

    /// The row of a run of exactly this id, and its number.
    fn row(&self, run: &str) -> Result<(i64, RunRow), JournalError> {
        let found = self.read(|connection| rows::find(connection, run))?;
        found.ok_or_else(|| JournalError::NotFound { run: run.into() })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        read(&self.front()).map_err(|error| self.failure(&error))
    }

    /// Changes the file at once or not at all.
    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.writable()?;
        let mut front = self.front();
        let transaction = front
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| self.failure(&error))?;
        let changed = change(&transaction)?;
        transaction.commit().map_err(|error| self.failure(&error))?;
        Ok(changed)
    }

    fn failure(&self, error: &rusqlite::Error) -> JournalError {
        JournalError::from_sqlite(&self.path, error)
    }

    fn damaged(&self, what: Damage) -> JournalError {
        JournalError::Damaged {
            path: self.path.clone(),
            what,
        }
    }

    // A transaction that a panic cuts short is taken back, so what is behind a poisoned lock is whole.
    fn front(&self) -> MutexGuard<'_, Connection> {
        self.front.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writer(&self) -> MutexGuard<'_, Option<WriterThread>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
