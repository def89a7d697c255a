//! The project that commands in texts have to name.

use planrun_lang::diag::render;
use planrun_tools::project::Location;

use super::journals::project_flag;

/// Makes commands in texts pass `--project` from now on if they would not find this project from the current folder.
pub(super) fn set_project(location: &Location) {
    if let Some(folder) = project_flag(location) {
        render::set_project(folder);
    }
}
