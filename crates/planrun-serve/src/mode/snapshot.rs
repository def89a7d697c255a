//! The tools and plans that the project offers to models, read again only when its files have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_runs::runs::{Error, Planrun};
use planrun_tools::contract::Lock;
use planrun_tools::host::Host;
use planrun_tools::project::Location;

use super::saved::{SavedPlans, files};
use crate::discovery::Index;

/// The tools and saved plans of a project, as read from its files.
pub(super) struct Snapshot {
    /// Every file and folder that was read, with its version; `None` if it did not exist.
    read: Vec<(PathBuf, Option<u64>)>,
    /// The files of saved plans before they were read. A folder may get a new file without a change of its modification
    /// time.
    plans: Vec<PathBuf>,
    pub saved: SavedPlans,
    pub index: Index,
}

impl Snapshot {
    /// Reads the project from its current files. Returns an error if the project cannot be used.
    pub(super) fn of(planrun: &Planrun) -> Result<Self, Error> {
        let workspace = planrun.workspace()?;
        let tools: Vec<Arc<Signature>> = workspace.catalog(None).signatures().cloned().collect();
        let pins = workspace.pins();
        let folder = &planrun.location().folder;
        let own = [Location::FILE, Lock::FILE].map(|name| folder.join(name));
        let plans = files(planrun);
        let paths = pins.files.into_keys().chain(pins.folders.into_keys());
        let mut paths: Vec<PathBuf> = paths.chain(own).chain(plans.clone()).collect();
        paths.sort();
        paths.dedup();
        // The versions are read first, so that a file that changes while it is read is read again later.
        let read = versions(&**planrun.host(), paths);
        let saved = SavedPlans::of(planrun);
        let index = Index::new(tools, saved.contracts().cloned());
        Ok(Self {
            read,
            plans,
            saved,
            index,
        })
    }

    /// Returns true if the files have not changed.
    pub(super) fn is_current(&self, planrun: &Planrun) -> bool {
        let is_same = |(path, version): &(PathBuf, Option<u64>)| {
            self::version(&**planrun.host(), path) == *version
        };
        self.read.iter().all(is_same) && files(planrun) == self.plans
    }
}

fn versions(host: &dyn Host, paths: Vec<PathBuf>) -> Vec<(PathBuf, Option<u64>)> {
    let versions = paths.into_iter().map(|path| {
        let version = version(host, &path);
        (path, version)
    });
    versions.collect()
}

fn version(host: &dyn Host, path: &Path) -> Option<u64> {
    host.version(path).ok()
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn a_plan_that_comes_without_another_time_of_its_folder_is_seen() {
        let place = tempfile::tempdir().unwrap();
        let plans = place.path().join("plans");
        fs::create_dir(&plans).unwrap();
        let planrun = Planrun::open(place.path()).unwrap();
        let changed_at = fs::metadata(&plans).unwrap().modified().unwrap();
        let snapshot = Snapshot::of(&planrun).unwrap();
        assert!(snapshot.is_current(&planrun));
        fs::write(plans.join("see.plan"), "plan see() -> int { reply 1 }").unwrap();
        File::open(&plans)
            .unwrap()
            .set_modified(changed_at)
            .unwrap();
        assert!(!snapshot.is_current(&planrun));
        assert_eq!(Snapshot::of(&planrun).unwrap().saved.contracts().count(), 1);
    }
}
