//! Converts errors of `SQLite` and the file system to errors of the journal.

use std::io;
use std::path::Path;

use rusqlite::ErrorCode;

use super::super::failure::{Damage, JournalError};

impl JournalError {
    /// Converts an error of `SQLite` for this file.
    pub(super) fn from_sqlite(path: &Path, error: &rusqlite::Error) -> Self {
        let (path, why) = (path.to_owned(), error.to_string());
        let Some(code) = error.sqlite_error_code() else {
            return if is_content(error) {
                Self::damaged(&path, why)
            } else {
                Self::Io { path, why }
            };
        };
        match code {
            ErrorCode::NotADatabase => Self::NoJournal {
                path,
                why: "it is not a database".into(),
            },
            ErrorCode::DiskFull => Self::NoSpace { path },
            ErrorCode::SystemIoFailure if grew(error) => Self::NoSpace { path },
            ErrorCode::ReadOnly => Self::ReadOnly { path, why },
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed => Self::Busy { path },
            ErrorCode::DatabaseCorrupt
            | ErrorCode::ConstraintViolation
            | ErrorCode::TypeMismatch => Self::damaged(&path, why),
            // Most of the codes of this external list cannot occur here.
            _ => Self::Io { path, why },
        }
    }

    pub(super) fn from_io(path: &Path, error: &io::Error) -> Self {
        let (path, why) = (path.to_owned(), error.to_string());
        match error.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { path, why }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::NoSpace { path },
            _ => Self::Io { path, why },
        }
    }

    /// Converts an error of reading this file without `SQLite`.
    pub(super) fn unreadable(path: &Path, error: &io::Error) -> Self {
        Self::Io {
            path: path.to_owned(),
            why: format!("it cannot be read: {error}"),
        }
    }

    fn damaged(path: &Path, why: String) -> Self {
        Self::Damaged {
            path: path.to_owned(),
            what: Damage::File(why),
        }
    }
}

/// Returns true if a value has another type than was ever written.
fn is_content(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
    };
    matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | Utf8Error(..)
    )
}

/// Returns true if the shared-memory file of a journal could not grow, which `SQLite` does not report as a full disk.
fn grew(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error()
        .is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
