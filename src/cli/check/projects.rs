//! Opens the projects of the checked files, each once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::render::FileReport;
use planrun_tools::host::Host;
use planrun_tools::project::Location;

use super::files::Task;
use crate::cli::Result;
use crate::cli::plan_files::PlanFile;
use planrun_runs::runs::Workspace;

/// All projects, and the project of each file.
pub(super) struct Projects {
    all: Vec<Workspace>,
    of_file: Vec<usize>,
}

impl Projects {
    /// Opens the project of each file. Returns an error if a project cannot be used.
    pub(super) fn open(host: &Arc<dyn Host>, files: &[PlanFile], task: Task<'_>) -> Result<Self> {
        let mut projects = Self {
            all: Vec::new(),
            of_file: Vec::with_capacity(files.len()),
        };
        let mut places: BTreeMap<Location, usize> = BTreeMap::new();
        let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for file in files {
            let folder = file
                .path()
                .parent()
                .unwrap_or_else(|| Path::new(""))
                .to_owned();
            if let Some(index) = folders.get(&folder) {
                projects.of_file.push(*index);
                continue;
            }
            let location = Workspace::locate(&**host, file.path(), task.folder)?;
            let index = places.get(&location).copied().unwrap_or(projects.all.len());
            if index == projects.all.len() {
                let mut workspace = Workspace::at(host.clone(), &location)?;
                workspace.severities = task.severities.over(&workspace.severities);
                projects.all.push(workspace);
                places.insert(location, index);
            }
            folders.insert(folder, index);
            projects.of_file.push(index);
        }
        Ok(projects)
    }

    /// Returns the diagnostics of the project files.
    pub(super) fn findings(&self) -> Vec<FileReport> {
        self.all.iter().flat_map(Workspace::findings).collect()
    }

    /// Returns the project of each file, in the order of the files.
    pub(super) fn around(&self) -> Vec<&Workspace> {
        let projects = self.of_file.iter();
        projects.filter_map(|index| self.all.get(*index)).collect()
    }
}
