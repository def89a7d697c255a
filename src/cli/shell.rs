//! Formats commands for a shell, to be pasted in the current folder.

use std::sync::OnceLock;

use planrun_lang::diag::render::{quoted, visible_line};
use planrun_tools::project::Location;

use super::journals::project_flag;

/// The folder that commands pass with `--project`; not set if they find the project without it.
static PROJECT: OnceLock<String> = OnceLock::new();

/// Makes commands pass `--project` from now on if they would not find this project from the current folder. A process
/// works with one project, so only the first call has an effect.
pub(super) fn set_project(location: &Location) {
    PROJECT.get_or_init(|| project_flag(location).unwrap_or_default());
}

/// Returns the folder that commands have to pass with `--project`.
pub(super) fn project() -> Option<&'static str> {
    PROJECT
        .get()
        .map(String::as_str)
        .filter(|folder| !folder.is_empty())
}

/// Returns a command of this program for the project of this process.
pub(super) fn command(rest: &str) -> String {
    command_in(project(), rest)
}

/// Returns a command of this program for the project in this folder.
pub(super) fn command_in(project: Option<&str>, rest: &str) -> String {
    let project = project
        .map(|folder| format!(" --project {}", quoted(&visible_line(folder))))
        .unwrap_or_default();
    format!("planrun{project} {rest}")
}
