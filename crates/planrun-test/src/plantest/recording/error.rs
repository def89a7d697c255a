//! Why a recording cannot be used.

use std::path::{Path, PathBuf};

use planrun_lang::diag::render::visible_line;

use super::super::snapshot::SnapshotError;

/// Why a recording cannot be used: the file, the line, the cause and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the recording `{}`{} cannot be used: {why}", visible_line(&path.to_string_lossy()), place(*.line))]
pub struct RecordingError {
    pub path: PathBuf,
    /// Line number, from 1; `None` if the error concerns the whole file.
    pub line: Option<u32>,
    pub why: String,
    pub remedy: String,
}

fn place(line: Option<u32>) -> String {
    line.map(|line| format!(", line {line},"))
        .unwrap_or_default()
}

impl RecordingError {
    /// Returns the error for a file that cannot be read or written at all.
    pub(super) fn files(path: &Path, error: SnapshotError) -> Self {
        let why = match error {
            SnapshotError::Unreadable { why, .. } => format!("it {why}"),
            SnapshotError::Outside { .. } => "it leads outside the folder of recordings".to_owned(),
            SnapshotError::Files { doing, error, .. } => {
                format!("it cannot be {}: {error}", past_participle(doing))
            }
            other @ (SnapshotError::Clash { .. } | SnapshotError::Setting(_)) => other.to_string(),
        };
        Self {
            path: path.to_owned(),
            line: None,
            why,
            remedy: "remove it, or make it readable and writable".to_owned(),
        }
    }
}

fn past_participle(doing: &str) -> &str {
    match doing {
        "write" => "written",
        "create" => "created",
        "remove" => "removed",
        _ => "read",
    }
}
