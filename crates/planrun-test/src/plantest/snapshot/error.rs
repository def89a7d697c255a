//! Why a snapshot cannot be compared or kept.

use std::io;
use std::path::{Path, PathBuf};

use planrun_lang::diag::render::visible_line;

/// Why a snapshot cannot be compared or kept, with what to do about it, in one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// Two snapshots of this run would be the same file, at least where file names do not tell capitals.
    #[error(
        "`{}` would hold two snapshots, of {first} and of {second}: rename one of the tests or files",
        shown(path)
    )]
    Clash {
        path: PathBuf,
        first: String,
        second: String,
    },
    /// A file or the folder is a link that leads to another place.
    #[error(
        "`{}` leads out of the folder of snapshots: remove the link",
        shown(path)
    )]
    Outside { path: PathBuf },
    /// The stored snapshot is no text that can be compared.
    #[error(
        "the snapshot `{}` {why}: remove it, or replace it with `--accept`",
        shown(path)
    )]
    Unreadable { path: PathBuf, why: &'static str },
    /// The file system refuses.
    #[error("cannot {doing} `{}`: {error}", shown(path))]
    Files {
        doing: &'static str,
        path: PathBuf,
        error: io::Error,
    },
    /// A variable of the environment says what does not exist.
    #[error("INSTA_UPDATE is `{}`: write auto, always, new, no, unseen or force", visible_line(.0))]
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

fn shown(path: &Path) -> String {
    visible_line(&path.to_string_lossy()).into_owned()
}
