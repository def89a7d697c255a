//! Formats commands for a shell.

use planrun_lang::diag::render::{quoted, visible_line};

/// Returns a command of this program to type into a shell, for the project in this folder.
pub(super) fn command(project: Option<&str>, rest: &str) -> String {
    let project = project
        .map(|folder| format!(" --project {}", quoted(&visible_line(folder))))
        .unwrap_or_default();
    format!("planrun{project} {rest}")
}
