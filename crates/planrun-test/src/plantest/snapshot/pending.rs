//! Snapshots that wait for somebody to look at them.

use std::path::{Path, PathBuf};

use planrun_tools::host::Host;

use super::file::Parts;
use super::folder::{ENDING, Folder, PENDING, SNAPSHOTS};
use super::{Metadata, SnapshotError, name};

/// A snapshot that waits for somebody to look at it.
#[derive(Clone, Debug)]
pub struct Pending {
    /// Where it waits: a `.snap.new`.
    pub path: PathBuf,
    /// Where it stands once it is accepted.
    pub target: PathBuf,
    /// The file's name without its endings.
    pub name: String,
    /// Where it comes from.
    pub metadata: Metadata,
    /// Lines of the metadata beyond that, as they stand there.
    pub further: Vec<String>,
    /// What is stored now; `None` where nothing is, or nothing that can be read.
    pub old: Option<String>,
    /// What would be.
    pub new: String,
    /// The whole file, once it is accepted.
    accepted: String,
    folder: Folder,
}

impl Pending {
    /// Takes what was shown as the snapshot, whatever has become of the file since.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn accept(&self, host: &dyn Host) -> Result<(), SnapshotError> {
        self.folder.write(host, &self.target, &self.accepted)?;
        self.folder.remove(host, &self.path)
    }

    /// Throws it away; the snapshot stays as it is.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn reject(&self, host: &dyn Host) -> Result<(), SnapshotError> {
        self.folder.remove(host, &self.path)
    }
}

/// What waits for somebody to look at it, of these plan files, in the order of paths.
///
/// # Errors
/// When a folder or a snapshot cannot be read, or leads out of the folder.
pub fn pending(host: &dyn Host, plan_files: &[PathBuf]) -> Result<Vec<Pending>, SnapshotError> {
    let mut found: Vec<Pending> = Vec::new();
    for plan_file in plan_files {
        let (folder, plan) = (
            Folder::beside(plan_file, SNAPSHOTS),
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

/// The name of a snapshot's file, without `.snap` and what is asked for behind it.
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
    // Somebody may have looked at it in the meantime.
    let Some(text) = folder.read(host, path)? else {
        return Ok(None);
    };
    let parts = Parts::of(&text);
    if parts.is_binary() {
        return Err(SnapshotError::Unreadable {
            path: path.to_owned(),
            why: "is no text",
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
