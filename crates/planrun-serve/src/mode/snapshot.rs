//! What the project offers to models, read again only when its files have changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::types::Signature;
use planrun_runs::runs::{Error, Planrun};
use planrun_tools::contract::Lock;
use planrun_tools::host::Host;
use planrun_tools::project::Location;

use super::saved::{SavedPlans, files};
use crate::discovery::Index;

/// The tools and the saved plans of a project, as its files were.
pub(super) struct Snapshot {
    /// Every file and folder that was read, with its version; nothing where it was not there.
    read: Vec<(PathBuf, Option<u64>)>,
    pub saved: SavedPlans,
    pub index: Index,
}

impl Snapshot {
    /// The project as its files are now.
    ///
    /// # Errors
    /// When the project cannot be used.
    pub(super) fn of(planrun: &Planrun) -> Result<Self, Error> {
        let workspace = planrun.workspace()?;
        let tools: Vec<Arc<Signature>> = workspace.catalog(None).signatures().cloned().collect();
        let pins = workspace.pins();
        let folder = &planrun.location().folder;
        let own = [Location::FILE, Lock::FILE].map(|name| folder.join(name));
        let plans = files(planrun);
        let paths = pins.files.into_keys().chain(pins.folders.into_keys());
        let mut paths: Vec<PathBuf> = paths.chain(own).chain(plans).collect();
        paths.sort();
        paths.dedup();
        // The versions first: what changes while it is read is read once more.
        let read = versions(&**planrun.host(), paths);
        let saved = SavedPlans::of(planrun);
        let index = Index::new(tools, saved.contracts().cloned());
        Ok(Self { read, saved, index })
    }

    /// Whether the files are as they were.
    pub(super) fn is_current(&self, host: &dyn Host) -> bool {
        let is_same =
            |(path, version): &(PathBuf, Option<u64>)| self::version(host, path) == *version;
        self.read.iter().all(is_same)
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
