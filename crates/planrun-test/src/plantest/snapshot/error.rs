//! Errors of comparing and storing snapshots.

use std::io;
use std::path::{Path, PathBuf};

use planrun_lang::diag::render::visible_line;

/// Why a snapshot cannot be compared or stored, and the remedy, in one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Two snapshots of this run have the same file name, at least on file systems that ignore case.
    #[error(
        "`{}` would hold two snapshots, of {first} and of {second}: rename one of the tests or files",
        display_path(path)
    )]
    Clash {
        path: PathBuf,
        first: String,
        second: String,
    },
    /// A file or the folder is a link that leads elsewhere.
    #[error(
        "`{}` leads outside the folder of snapshots: remove the link",
        display_path(path)
    )]
    Outside { path: PathBuf },
    /// The stored snapshot is not text that can be compared.
    #[error(
        "the snapshot `{}` {why}: remove it, or replace it with `--accept`",
        display_path(path)
    )]
    Unreadable { path: PathBuf, why: &'static str },
    /// A file operation failed.
    #[error("cannot {doing} `{}`: {error}", display_path(path))]
    Files {
        doing: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// An environment variable has an invalid value.
    #[error("INSTA_UPDATE is `{}`: expected auto, always, new, no, unseen or force", visible_line(.0))]
    Setting(String),
}

impl SnapshotError {
    pub(super) fn files(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Files {
            doing,
            path: path.to_owned(),
            error,
        }
    }
}

fn display_path(path: &Path) -> String {
    visible_line(&path.to_string_lossy()).into_owned()
}
