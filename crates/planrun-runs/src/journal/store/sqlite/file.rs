//! Opening the file: for writing, for reading, and refusing what is no journal.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::super::failure::{Damage, JournalError};
use super::schema::{self, LADDER, Standing};
use super::{Settings, Synchronous};

/// What a database of `SQLite` begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// So many bytes at its beginning tell how the rest is read.
const HEADER: u64 = 100;
/// How long to wait before a lock is asked for once more.
const AGAIN: Duration = Duration::from_millis(5);

/// Opens a journal for writing and makes it where there is none.
pub(super) fn for_writing(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    make(path).map_err(|error| JournalError::from_io(path, &error))?;
    recognise(path)?;
    let mut connection = connect(path, settings)?;
    schema::climb(&mut connection, path, LADDER)?;
    to_write_ahead(&connection, path, settings.patience)?;
    Ok(connection)
}

/// One more connection to a journal that is open for writing.
pub(super) fn connect(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    let told = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(told)?;
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(told)? {
        let why = "the system opens it for reading only".into();
        return Err(JournalError::ReadOnly {
            path: path.to_owned(),
            why,
        });
    }
    guard(&connection, settings).map_err(told)?;
    let synchronous = match settings.synchronous {
        Synchronous::Full => "FULL",
        Synchronous::Normal => "NORMAL",
    };
    connection
        .pragma_update(None, "synchronous", synchronous)
        .map_err(told)?;
    // What is deleted is overwritten: a secret that a run held does not outlive it.
    connection
        .pragma_update(None, "secure_delete", true)
        .map_err(told)?;
    // A burst does not leave a large file beside the journal for ever.
    connection
        .pragma_update(None, "journal_size_limit", 64 << 20)
        .map_err(told)?;
    if let Some(most) = settings.most_bytes {
        let page: u64 = connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(told)?;
        connection
            .pragma_update(None, "max_page_count", (most / page).max(1))
            .map_err(told)?;
    }
    Ok(connection)
}

/// Opens a journal for reading only. Nothing of it is changed.
pub(super) fn for_reading(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    let told = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > 0 => recognise(path)?,
        Ok(_) => {
            return Err(JournalError::Absent {
                path: path.to_owned(),
            });
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(JournalError::Absent {
                path: path.to_owned(),
            });
        }
        Err(error) => return Err(JournalError::from_io(path, &error)),
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(told)?;
    guard(&connection, settings).map_err(told)?;
    let mut standing = schema::look(&connection, path, LADDER);
    if matches!(
        standing,
        Err(JournalError::Io { .. } | JournalError::ReadOnly { .. })
    ) {
        connection = without_neighbours(path, settings)?;
        standing = schema::look(&connection, path, LADDER);
    }
    let known = i64::try_from(LADDER.len()).unwrap_or(i64::MAX);
    match standing? {
        Standing::Empty => Err(JournalError::Absent {
            path: path.to_owned(),
        }),
        Standing::Format(found) if found < known => Err(JournalError::OlderFormat {
            path: path.to_owned(),
            found,
            known,
        }),
        Standing::Format(_) => Ok(connection),
    }
}

/// In a folder where nothing can be made, a journal is read as it lies there, if nothing waits in its neighbour file.
fn without_neighbours(path: &Path, settings: &Settings) -> Result<Connection, JournalError> {
    let told = |error: rusqlite::Error| JournalError::from_sqlite(path, &error);
    if waits(path) {
        let why = format!(
            "its folder is read-only, and {} holds events that are not in it yet; copy the folder to where you may \
             write, and read it there",
            beside(path, "-wal").display()
        );
        return Err(JournalError::ReadOnly {
            path: path.to_owned(),
            why,
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(address(path)?, flags).map_err(told)?;
    guard(&connection, settings).map_err(told)?;
    Ok(connection)
}

/// The path with an ending behind its whole name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}

/// The path as a URI that says that nobody changes the file.
fn address(path: &Path) -> Result<String, JournalError> {
    let why = "its path is no Unicode";
    let text = path.to_str().ok_or_else(|| JournalError::Io {
        path: path.to_owned(),
        why: why.into(),
    })?;
    let mut address = String::from("file:");
    for character in text.chars() {
        match character {
            '%' => address.push_str("%25"),
            '?' => address.push_str("%3f"),
            '#' => address.push_str("%23"),
            '\\' if cfg!(windows) => address.push('/'),
            plain => address.push(plain),
        }
    }
    address.push_str("?immutable=1");
    Ok(address)
}

/// Settings that keep a file that somebody else has written from doing harm, and how long to wait for others.
fn guard(connection: &Connection, settings: &Settings) -> rusqlite::Result<()> {
    connection.busy_timeout(settings.patience)?;
    connection.set_prepared_statement_cache_capacity(48);
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)
}

/// Has commits written beside the file, once and for all. `SQLite` does not wait by itself here for others who open it.
fn to_write_ahead(
    connection: &Connection,
    path: &Path,
    patience: Duration,
) -> Result<(), JournalError> {
    let mut left = patience;
    let mode: String = loop {
        let asked =
            connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0));
        match asked.map_err(|error| JournalError::from_sqlite(path, &error)) {
            Err(JournalError::Busy { .. }) if !left.is_zero() => {
                thread::sleep(AGAIN);
                left = left.saturating_sub(AGAIN);
            }
            asked => break asked?,
        }
    };
    if mode == "wal" {
        return Ok(());
    }
    let why =
        "its disk has no shared memory, as disks of the network; put the project on a local one"
            .into();
    Err(JournalError::Io {
        path: path.to_owned(),
        why,
    })
}

/// Refuses a file that does not begin as a database does, or that was cut. An empty one is a new journal.
fn recognise(path: &Path) -> Result<(), JournalError> {
    let told = |error: io::Error| JournalError::from_io(path, &error);
    let mut header = Vec::new();
    let mut file = File::open(path).map_err(told)?;
    file.by_ref()
        .take(HEADER)
        .read_to_end(&mut header)
        .map_err(told)?;
    if header.is_empty() {
        return Ok(());
    }
    if !header.starts_with(MAGIC) {
        return Err(JournalError::NoJournal {
            path: path.to_owned(),
            why: "it is no database".into(),
        });
    }
    // The size of a page; what is left of the last page is not read by `SQLite`, so it would not be missed.
    let page = header.get(16..18).map_or(0, |bytes| {
        u64::from(u16::from_be_bytes([bytes[0], bytes[1]]))
    });
    let length = file.metadata().map_err(told)?.len();
    if page > 1 && length % page != 0 && !waits(path) {
        let what = Damage::File(format!("it was cut off after {length} bytes"));
        return Err(JournalError::Damaged {
            path: path.to_owned(),
            what,
        });
    }
    Ok(())
}

/// Whether what was written last lies in the neighbour file, and the file itself need not be whole yet.
fn waits(path: &Path) -> bool {
    fs::metadata(beside(path, "-wal")).is_ok_and(|metadata| metadata.len() > 0)
}

/// Makes the file, empty, and its folder, for nobody but the user.
fn make(path: &Path) -> io::Result<()> {
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
        // Where nothing can be made, the file may be there already.
        Err(_) if path.exists() => Ok(()),
        Err(error) => Err(error),
    }
}

/// The folder of a file; the current one for a name alone.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Makes a folder, and those above it, for nobody but the user.
pub(super) fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file that was just made is lost with the power if its folder is not written, too.
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
            address(Path::new("/a b/50%?#.db")).unwrap(),
            "file:/a b/50%25%3f%23.db?immutable=1"
        );
        assert_eq!(folder(Path::new("journal.db")), Path::new("."));
        assert_eq!(beside(Path::new("a/j.db"), "-wal"), Path::new("a/j.db-wal"));
    }
}
