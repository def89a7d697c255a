//! The projects that plans belong to, each opened once, with what earlier checks found in their plans.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::render::FileReport;
use planrun_tools::host::Host;
use planrun_tools::project::Location;

use super::cache::{Cache, Entry};
use super::files::Task;
use crate::cli::Failure;
use crate::cli::plan_files::PlanFile;
use planrun_runs::runs::Workspace;

/// What surrounds the plans of one project.
pub(super) struct Surroundings {
    pub workspace: Workspace,
    pub cache: Option<Cache>,
    /// What is to be remembered of its plans.
    new: Vec<Entry>,
}

/// All projects, and which one each file belongs to.
pub(super) struct Projects {
    /// Never empty, since every file has one.
    all: Vec<Surroundings>,
    of_file: Vec<usize>,
}

impl Projects {
    /// # Errors
    /// When a project cannot be used.
    pub(super) fn open(
        host: &Arc<dyn Host>,
        files: &[PlanFile],
        task: Task<'_>,
    ) -> Result<Self, Failure> {
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
                let cache = if task.cached && !workspace.severities.asks_for_more() {
                    Cache::open(&workspace, &location)
                } else {
                    None
                };
                projects.all.push(Surroundings {
                    workspace,
                    cache,
                    new: Vec::new(),
                });
                places.insert(location, index);
            }
            folders.insert(folder, index);
            projects.of_file.push(index);
        }
        Ok(projects)
    }

    /// What is to say of the projects themselves.
    pub(super) fn findings(&self) -> Vec<FileReport> {
        self.all
            .iter()
            .flat_map(|project| project.workspace.findings())
            .collect()
    }

    /// What surrounds the file with this index.
    pub(super) fn around(&self, file: usize) -> Option<&Surroundings> {
        self.all.get(*self.of_file.get(file)?)
    }

    /// Keeps what was found in a file for the next check.
    pub(super) fn remember(&mut self, file: usize, entry: Option<Entry>) {
        let project = self
            .of_file
            .get(file)
            .and_then(|index| self.all.get_mut(*index));
        if let (Some(project), Some(entry)) = (project, entry) {
            project.new.push(entry);
        }
    }

    /// Writes what is new.
    pub(super) fn save(self, host: &dyn Host) {
        for project in self
            .all
            .into_iter()
            .filter(|project| !project.new.is_empty())
        {
            if let Some(cache) = project.cache {
                cache.save(host, project.new);
            }
        }
    }
}
