//! The store in a file of `SQLite`: each process has one writer for all its runs, and all processes read.

mod as_store;
mod cache;
mod commit;
mod commit_queue;
mod events;
mod failure;
mod file;
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
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use parking_lot::Mutex;
use planrun_lang::protocol::run_id_fault;
use planrun_tools::host::Host;
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use events::Events;
pub use queue::Durable;
pub use sqlite_lease::SqliteLease;

use super::export::{Exported, export};
use super::failure::{Damage, JournalError};
use super::nanos;
use super::run_row::{Created, NewRun, RunRow};
use commit_queue::CommitQueue;
use lease::GrantedLease;
use process::Machine;
use writer_thread::WriterThread;

/// Settings for writing and waiting.
#[derive(Clone, Debug)]
pub struct Settings {
    pub synchronous: Synchronous,
    /// Time after which the lease of a driver on another machine expires if it is not renewed.
    pub lease: Duration,
    /// Time to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// Maximum size of the file in bytes; `None` for no limit other than the disk.
    pub max_bytes: Option<u64>,
}

/// When an event counts as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Synchronous {
    /// When it survives a power failure.
    #[default]
    Full,
    /// When it survives the end of the process. A power failure may lose the newest events, but no others.
    Normal,
}

impl Default for Settings {
    fn default() -> Self {
        let (lease, busy_timeout) = (Duration::from_secs(30), Duration::from_secs(30));
        Self {
            synchronous: Synchronous::Full,
            lease,
            busy_timeout,
            max_bytes: None,
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
    /// The error for writes, if the journal is open for reading only.
    unwritable: Option<JournalError>,
    /// Connection for reading, and for writing without a writer. Opened again when it is needed after the writer has
    /// taken it over.
    connection: Mutex<Option<Connection>>,
    /// Started for the first run that this process drives. It takes over the connection, since many processes drive a
    /// run and read nothing.
    writer: Mutex<Option<WriterThread>>,
}

impl Journal {
    /// Opens the journal at this path for writing. Creates it and its folder if there is none.
    ///
    /// # Errors
    /// Returns an error if the file is not a journal, is damaged, has a newer format, or cannot be written. The file is
    /// not changed then.
    pub fn open(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
    ) -> Result<Self, JournalError> {
        let connection = file::for_writing(path, &settings)?;
        Ok(Self::with(path, settings, host, connection, None))
    }

    /// Opens the journal at this path for reading only, while other processes may write.
    ///
    /// # Errors
    /// As [`Self::open`]; `Absent` if there is none.
    pub fn read(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
    ) -> Result<Self, JournalError> {
        let connection = file::for_reading(path, &settings)?;
        let why = "it was opened read-only".into();
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

    /// Opens the existing journal at this path for writing, or for reading only if it cannot be written. In that case
    /// each write returns the reason.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn open_there(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
    ) -> Result<Self, JournalError> {
        let reading = match file::for_reading(path, &settings) {
            // Opening it for writing upgrades it.
            Err(JournalError::OlderFormat { .. }) => None,
            reading => Some(reading?),
        };
        let (connection, unwritable) = match (file::for_writing(path, &settings), reading) {
            (Ok(connection), _) => (connection, None),
            (Err(error), Some(reading)) => (reading, Some(error)),
            (Err(error), None) => return Err(error),
        };
        Ok(Self::with(path, settings, host, connection, unwritable))
    }

    fn with(
        path: &Path,
        settings: Settings,
        host: Arc<dyn Host>,
        connection: Connection,
        unwritable: Option<JournalError>,
    ) -> Self {
        let machine = Machine::here(&*host);
        let (connection, writer) = (Mutex::new(Some(connection)), Mutex::new(None));
        let path = path.to_owned();
        Self {
            inner: Arc::new(Inner {
                path,
                settings,
                host,
                machine,
                unwritable,
                connection,
                writer,
            }),
        }
    }

    /// Creates a new run that this process drives, unless a run with this id and the same digest exists.
    ///
    /// # Errors
    /// `OtherInput` if a run with this id and another digest exists, `Misused` if the id is invalid; otherwise an error
    /// of the file.
    pub fn create(&self, new: &NewRun<'_>) -> Result<Created<SqliteLease>, JournalError> {
        if let Some(fault) = run_id_fault(new.run) {
            return Err(JournalError::Misused(fault));
        }
        let driver = self.inner.driver_id(new.run)?;
        match self.inner.create_row(new, &driver)? {
            Created::New(lease) => self.begin(lease).map(Created::New),
            Created::Exists(row) => Ok(Created::Exists(row)),
        }
    }

    /// Takes the lease of a run, given by its full id.
    ///
    /// # Errors
    /// `Driven` if a live process drives it; `NotFound`; otherwise an error of the file.
    pub fn drive(&self, run: &str) -> Result<SqliteLease, JournalError> {
        let driver = self.inner.driver_id(run)?;
        self.begin(self.inner.take_lease(run, &driver)?)
    }

    fn begin(&self, lease: GrantedLease) -> Result<SqliteLease, JournalError> {
        let mut writer = self.inner.writer.lock();
        let writer = self.inner.started(&mut writer)?;
        Ok(SqliteLease::new(
            Arc::clone(&self.inner),
            Arc::clone(&writer.commits),
            lease,
        ))
    }

    /// Returns the events of a run, given by its full id, from this number on. Each is verified by the chain before it
    /// is returned.
    ///
    /// # Errors
    /// `NotFound`; otherwise an error of the file.
    pub fn events(&self, run: &str, from: u64) -> Result<Events, JournalError> {
        Events::of(Arc::clone(&self.inner), run, from)
    }

    /// As [`export`] of this journal.
    ///
    /// # Errors
    /// As [`export`].
    pub fn export(&self, run: &str, writer: &mut impl io::Write) -> Result<Exported, JournalError> {
        export(self, run, writer)
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
    /// Returns the id of this process as a driver, by which others find its lock.
    fn driver_id(&self, run: &str) -> Result<String, JournalError> {
        let (commits, driver) = {
            let mut writer = self.writer.lock();
            let writer = self.started(&mut writer)?;
            (Arc::clone(&writer.commits), writer.lock.driver.clone())
        };
        // A dropped lease of this process is released a moment later.
        commits.queue.wait_released(run);
        Ok(driver)
    }

    fn started<'a>(
        &self,
        writer: &'a mut Option<WriterThread>,
    ) -> Result<&'a mut WriterThread, JournalError> {
        self.writable()?;
        if let Some(writer) = writer {
            return Ok(writer);
        }
        let connection = self.connection.lock().take();
        let connection = connection.map_or_else(|| self.connect(), Ok)?;
        Ok(writer.insert(WriterThread::start(
            &self.path,
            &self.settings,
            &self.host,
            &self.machine,
            connection,
        )?))
    }

    fn writable(&self) -> Result<(), JournalError> {
        self.unwritable.clone().map_or(Ok(()), Err)
    }

    /// Returns the row of the run with exactly this id, and its row id.
    fn row(&self, run: &str) -> Result<(i64, RunRow), JournalError> {
        let found = self.read(|connection| rows::find(connection, run))?;
        found.ok_or_else(|| JournalError::NotFound { run: run.into() })
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, JournalError> {
        self.with_connection(|connection| read(connection))?
            .map_err(|error| self.failure(&error))
    }

    /// Changes the file in one transaction: with the connection of the writer if there is one.
    fn change<T>(
        &self,
        change: impl FnOnce(&Transaction<'_>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        self.writable()?;
        let change = |connection: &mut Connection| {
            let transaction = connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_err(|error| self.failure(&error))?;
            let changed = change(&transaction)?;
            transaction.commit().map_err(|error| self.failure(&error))?;
            Ok(changed)
        };
        match self.commits() {
            Some(commits) => commits.writer().change(change),
            None => self.with_connection(change)?,
        }
    }

    fn with_connection<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> T,
    ) -> Result<T, JournalError> {
        let mut connection = self.connection.lock();
        let connection = match &mut *connection {
            Some(connection) => connection,
            none => none.insert(self.connect()?),
        };
        Ok(work(connection))
    }

    fn connect(&self) -> Result<Connection, JournalError> {
        file::connect(&self.path, &self.settings)
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

    fn commits(&self) -> Option<Arc<CommitQueue>> {
        let writer = self.writer.lock();
        writer.as_ref().map(|writer| Arc::clone(&writer.commits))
    }
}
