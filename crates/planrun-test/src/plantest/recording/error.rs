//! Why a recording cannot be used.

use std::path::{Path, PathBuf};

use planrun_lang::diag::render::visible_line;

use super::super::snapshot::SnapshotError;

/// Why a recording cannot be used: the file, the place in it, the cause and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the recording `{}`{} cannot be used: {why}", visible_line(&path.to_string_lossy()), place(*.line))]
pub struct RecordingError {
    pub path: PathBuf,
    /// From 1; absent where the whole file is meant.
    pub line: Option<u32>,
    pub why: String,
    pub remedy: String,
}

fn place(line: Option<u32>) -> String {
    line.map(|line| format!(", line {line},"))
        .unwrap_or_default()
}

impl RecordingError {
    /// A file that cannot be had or written at all.
    pub(super) fn files(path: &Path, error: SnapshotError) -> Self {
        let why = match error {
            SnapshotError::Unreadable { why, .. } => format!("it {why}"),
            SnapshotError::Outside { .. } => "it leads out of the folder of recordings".to_owned(),
            SnapshotError::Files { doing, error, .. } => {
                format!(
                    "the file system does not let it be {}: {error}",
                    past(doing)
                )
            }
            other @ (SnapshotError::Clash { .. } | SnapshotError::Setting(_)) => other.to_string(),
        };
        Self {
            path: path.to_owned(),
            line: None,
            why,
            remedy: "remove it, or let it be read and written".to_owned(),
        }
    }
}

fn past(doing: &str) -> &str {
    match doing {
        "write" => "written",
        "make" => "made",
        "remove" => "removed",
        _ => "read",
    }
}
