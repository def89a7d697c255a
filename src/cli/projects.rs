//! Opens the projects of files, each once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planrun_tools::project::Location;

use super::Result;
use super::plan_files::PlanFile;
use planrun_runs::runs::{Workspace, real_host};

/// All projects, and the index of the project of each file.
pub(super) struct Projects {
    pub all: Vec<Workspace>,
    pub of_file: Vec<usize>,
}

impl Projects {
    /// Opens the project of each file, or the one in this folder if the user named it. Returns an error if a project
    /// cannot be used.
    pub(super) fn open(files: &[PlanFile], named: Option<&Path>) -> Result<Self> {
        let host = real_host();
        let mut projects = Self {
            all: Vec::new(),
            of_file: Vec::with_capacity(files.len()),
        };
        let mut places: BTreeMap<Location, usize> = BTreeMap::new();
        let mut folders: BTreeMap<PathBuf, usize> = BTreeMap::new();
        for file in files {
            let folder = file.path().parent().unwrap_or(Path::new("")).to_owned();
            if let Some(index) = folders.get(&folder) {
                projects.of_file.push(*index);
                continue;
            }
            let location = Workspace::locate(&*host, file.path(), named)?;
            let next = projects.all.len();
            let index = *places.entry(location.clone()).or_insert(next);
            if index == next {
                projects.all.push(Workspace::at(host.clone(), &location)?);
            }
            folders.insert(folder, index);
            projects.of_file.push(index);
        }
        Ok(projects)
    }
}
