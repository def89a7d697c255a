//! Opens the journal file for writing or reading, and refuses files that are not journals.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::super::failure::{Damage, JournalError};
use super::schema::{self, FileFormat, MIGRATIONS};
use super::{Settings, Synchronous};

/// The first bytes of a database of `SQLite`.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Length of the file header in bytes, which says how the rest is read.
const HEADER: u64 = 100;
/// Time between two attempts to take a lock.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Opens a journal for writing, and creates it if there is none.
pub(super) fn for_writing(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    create(path).map_err(|error| JournalError::from_io(path, &error))?;
    check_header(path)?;
    let mut connection = connect(path, settings)?;
    schema::migrate(&mut connection, path, MIGRATIONS)?;
    enable_wal(&connection, path, settings.busy_timeout)?;
    Ok(connection)
}

/// Opens another connection to a journal that is open for writing.
pub(super) fn connect(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    let to_error = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(to_error)?;
    if connection
        .is_readonly(rusqlite::MAIN_DB)
        .map_err(to_error)?
    {
        let why = "the system opens it only for reading".into();
        return Err(JournalError::ReadOnly {
            path: path.to_owned(),
            why,
        });
    }
    harden(&connection, settings).map_err(to_error)?;
    let synchronous = match settings.synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Normal => "NORMAL",
    };
    connection
        .pragma_update(None, "synchronous", synchronous)
        .map_err(to_error)?;
    // Deleted content is overwritten, so that the secrets of a run do not outlive it.
    connection
        .pragma_update(None, "secure_delete", true)
        .map_err(to_error)?;
    // A burst does not leave a large write-ahead log behind.
    connection
        .pragma_update(None, "journal_size_limit", 64 << 20)
        .map_err(to_error)?;
    if let Some(max) = settings.max_bytes {
        let page: u64 = connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(to_error)?;
        connection
            .pragma_update(None, "max_page_count", (max / page).max(1))
            .map_err(to_error)?;
    }
    Ok(connection)
}

/// Opens a journal for reading only, without changing anything.
pub(super) fn for_reading(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    let to_error = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => {
            return Err(JournalError::Absent {
                path: path.to_owned(),
            });
        }
        Ok(_) => check_header(path)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(JournalError::Absent {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(JournalError::unreadable(path, &error)),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(to_error)?;
    harden(&connection, settings).map_err(to_error)?;
    let mut format = schema::inspect(&connection, path, MIGRATIONS);
    if matches!(
        format,
        Err(JournalError::Io { .. } | JournalError::ReadOnly { .. } | JournalError::NoSpace { .. })
    ) {
        connection = open_immutable(path, settings)?;
        format = schema::inspect(&connection, path, MIGRATIONS);
    }
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    match format? {
        FileFormat::Empty => Err(JournalError::Absent {
            path: path.to_owned(),
        }),
        FileFormat::Format(found) if found < known => Err(JournalError::OlderFormat {
            path: path.to_owned(),
            found,
            known,
        }),
        FileFormat::Format(_) => Ok(connection),
    }
}

/// Opens a journal in a folder without write access or space, if its write-ahead log is empty.
fn open_immutable(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    let to_error = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    if has_wal(path) {
        let why = format!(
            "nothing can be created in its folder, and {} contains events that are not in it yet; copy the folder to a \
             writable location, and read it there",
            with_suffix(path, "-wal").display()
        );
        return Err(JournalError::ReadOnly {
            path: path.to_owned(),
            why,
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri(path)?, flags).map_err(to_error)?;
    harden(&connection, settings).map_err(to_error)?;
    Ok(connection)
}

/// Returns the path with a suffix after its whole name.
fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// Returns the path as a URI which states that the file does not change.
fn uri(path: &Path) -> Result<String, JournalError> {
    let why = "its path is not valid Unicode";
    let text = path.to_str().ok_or_else(|| JournalError::Io {
        path: path.to_owned(),
        why: why.into(),
    })?;
    let mut uri = String::from("file:");
    for character in text.chars() {
        match character {
            '%' => uri.push_str("%25"),
            '?' => uri.push_str("%3f"),
            '#' => uri.push_str("%23"),
            '\\' if cfg!(windows) => uri.push('/'),
            plain => uri.push(plain),
        }
    }
    uri.push_str("?immutable=1");
    Ok(uri)
}

/// Sets options that prevent damage by files from untrusted sources, and the time to wait for other processes.
fn harden(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    connection.busy_timeout(settings.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(48);
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// Switches the file to write-ahead logging, permanently. `SQLite` itself does not wait here for other processes that
/// open the file.
fn enable_wal(
    connection: &Connection,
    path: &Path,
    busy_timeout: Duration,
) -> Result<(), JournalError> {
    let mut left = busy_timeout;
    let mode: String = loop {
        let asked =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match asked.map_err(|error| JournalError::from_sqlite(path, &error)) {
            Err(JournalError::Busy { .. }) if !left.is_zero() => {
                thread::sleep(RETRY_INTERVAL);
                left = left.saturating_sub(RETRY_INTERVAL);
            }
            asked => break asked?,
        }
    };
    if mode == "wal" {
        return Ok(());
    }
    let why =
        "its file system does not support shared memory, like most network drives; move the project to a local disk"
            .into();
    Err(JournalError::Io {
        path: path.to_owned(),
        why,
    })
}

/// Refuses what is no file, does not begin like a database, or was truncated. An empty file is a new journal.
fn check_header(path: &Path) -> Result<(), JournalError> {
    let to_error = |error: io::Error| JournalError::unreadable(path, &error);
    // Whoever opens a pipe waits for its other end.
    if !fs::metadata(path).map_err(to_error)?.is_file() {
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why: "it is not a file".into(),
        });
    }
    let mut header = Vec::new();
    let mut file = File::open(path).map_err(to_error)?;
    file.by_ref()
        .take(HEADER)
        .read_to_end(&mut header)
        .map_err(to_error)?;
    if header.is_empty() {
        return Ok(());
    }
    if !header.starts_with(MAGIC) {
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why: "it is not a database".into(),
        });
    }
    // The page size. `SQLite` does not read the rest of the last page, so it would not notice that it is missing.
    let page = header.get(16..18).map_or(0, |bytes| {
        u64::from(u16::from_be_bytes([bytes[0], bytes[1]]))
    });
    let length = file.metadata().map_err(to_error)?.len();
    if page > 1 && length % page != 0 && !has_wal(path) {
        let what = Damage::File(format!("it was truncated after {length} bytes"));
        return Err(JournalError::Damaged {
            path: path.to_owned(),
            what,
        });
    }
    Ok(())
}

/// Returns true if the latest changes are in the write-ahead log, so that the file itself need not be complete.
fn has_wal(path: &Path) -> bool {
    fs::metadata(with_suffix(path, "-wal")).is_ok_and(|metadata| metadata.len() > 0)
}

/// Creates an empty file and its folder, with access for the user only.
fn create(path: &Path) -> io::Result<()> {
    let folder = folder(path);
    if !folder.exists() {
        make_folder(folder)?;
    }
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => sync_folder(folder),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        // If nothing can be created, the file may exist already.
        Err(_) if path.exists() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the folder of a file; the current one for a bare name.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Creates a folder and its parents, with access for the user only.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A new file is lost on a power failure if its folder is not synced, too.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_may_hold_what_means_something_in_an_address() {
        assert_eq!(
            uri(Path::new("/a b/50%?#.db")).unwrap(),
            "file:/a b/50%25%3f%23.db?immutable=1"
        );
        assert_eq!(folder(Path::new("journal.db")), Path::new("."));
        assert_eq!(
            with_suffix(Path::new("a/j.db"), "-wal"),
            Path::new("a/j.db-wal")
        );
    }
}
