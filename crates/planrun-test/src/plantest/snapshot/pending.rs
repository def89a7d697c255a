//! Snapshots that are to be reviewed.

use std::path::{Path, PathBuf};

use planrun_tools::host::Host;

use super::file::Parts;
use super::folder::{ENDING, Folder, PENDING, SNAPSHOTS};
use super::{Metadata, SnapshotError, name};

/// A snapshot that is to be reviewed.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Path of the pending file, a `.snap.new`.
    pub path: PathBuf,
    /// Path of the snapshot once it is accepted.
    pub target: PathBuf,
    /// File name without extensions.
    pub name: String,
    /// Its origin.
    pub metadata: Metadata,
    /// Lines of the file's metadata that `metadata` does not have.
    pub further: Vec<String>,
    /// The stored content; `None` if there is none or it is unreadable.
    pub old: Option<String>,
    /// The new content.
    pub new: String,
    /// The text of the file once it is accepted.
    accepted: String,
    folder: Folder,
}

impl Pending {
    /// Stores the reviewed content as the snapshot, even if the pending file has changed since.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn accept(&self, host: &dyn Host) -> Result<(), SnapshotError> {
        self.folder.write(host, &self.target, &self.accepted)?;
        self.folder.remove(host, &self.path)
    }

    /// Removes the pending file; the snapshot stays unchanged.
    ///
    /// # Errors
    /// Returns an error if it cannot be removed.
    pub fn reject(&self, host: &dyn Host) -> Result<(), SnapshotError> {
        self.folder.remove(host, &self.path)
    }
}

/// Returns the pending snapshots of these plan files, ordered by path.
///
/// # Errors
/// Returns an error if a folder or a snapshot cannot be read, or is outside the folder of the plan.
pub fn pending(host: &dyn Host, plan_files: &[PathBuf]) -> Result<Vec<Pending>, SnapshotError> {
    let mut found: Vec<Pending> = Vec::new();
    for plan_file in plan_files {
        let (folder, plan) = (
            Folder::next_to(plan_file, SNAPSHOTS),
            name::plan_part(plan_file),
        );
        for path in folder.list(host)? {
            let Some(name) =
                own_name(&path, PENDING).filter(|name| name::split(name, &plan).is_some())
            else {
                continue;
            };
            found.extend(one(host, &folder, &path, name)?);
        }
    }
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|one, other| one.path == other.path);
    Ok(found)
}

/// Returns the name of a snapshot file, without `.snap` and the given suffix.
pub(super) fn own_name<'a>(path: &'a Path, behind: &str) -> Option<&'a str> {
    path.file_name()?
        .to_str()?
        .strip_suffix(behind)?
        .strip_suffix(ENDING)
}

fn one(
    host: &dyn Host,
    folder: &Folder,
    path: &Path,
    name: &str,
) -> Result<Option<Pending>, SnapshotError> {
    // The file may have been reviewed in the meantime.
    let Some(text) = folder.read(host, path)? else {
        return Ok(None);
    };
    let parts = Parts::of(&text);
    if parts.is_binary() {
        return Err(SnapshotError::Unreadable {
            path: path.to_owned(),
            why: "is not text",
        });
    }
    let target = folder.snapshot(name);
    let old = match folder.read(host, &target) {
        Ok(old) => old.map(|old| Parts::of(&old).content),
        Err(SnapshotError::Unreadable { .. }) => None,
        Err(error) => return Err(error),
    };
    let (accepted, further) = (parts.accepted(), parts.further());
    let Parts {
        metadata,
        content: new,
        ..
    } = parts;
    let (path, name, folder) = (path.to_owned(), name.to_owned(), folder.clone());
    Ok(Some(Pending {
        path,
        target,
        name,
        metadata,
        further,
        old,
        new,
        accepted,
        folder,
    }))
}
