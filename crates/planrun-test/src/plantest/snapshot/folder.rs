//! A folder of generated files next to a plan, such as its snapshots; access is limited to it.

use std::io;
use std::path::{Path, PathBuf};

use planrun_tools::host::{FileKind, Host};

use super::SnapshotError;

/// The folder name that insta uses.
pub(super) const SNAPSHOTS: &str = "snapshots";
/// The extension of a snapshot.
pub(super) const ENDING: &str = ".snap";
/// The additional extension of a snapshot that is to be reviewed.
pub(super) const PENDING: &str = ".new";
/// The maximum size of a file, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A folder of generated files next to a plan file.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::plantest) struct Folder {
    /// The folder of the plan.
    around: PathBuf,
    path: PathBuf,
}

impl Folder {
    pub fn next_to(plan_file: &Path, name: &str) -> Self {
        let around = plan_file
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let path = plan_file.parent().unwrap_or(Path::new("")).join(name);
        Self {
            around: around.to_owned(),
            path,
        }
    }

    /// Returns the path of the file with this name.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the snapshot with this name.
    pub fn snapshot(&self, name: &str) -> PathBuf {
        self.file(&format!("{name}{ENDING}"))
    }

    /// Returns the path of the pending snapshot with this name.
    pub fn pending(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}{ENDING}{PENDING}"))
    }

    /// Returns the paths of its files, sorted; empty if there is no folder.
    pub fn list(&self, host: &dyn Host) -> Result<Vec<PathBuf>, SnapshotError> {
        if self.real(host)?.is_none() {
            return Ok(Vec::new());
        }
        host.list_folder(&self.path)
            .map_err(SnapshotError::files("read", &self.path))
    }

    /// Returns the text of a file in it; `None` if there is no such file.
    pub fn read(&self, host: &dyn Host, path: &Path) -> Result<Option<String>, SnapshotError> {
        let Some(real) = self.real(host)? else {
            return Ok(None);
        };
        match host.canonical(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(SnapshotError::files("read", path)(error)),
            Ok(file) if file.parent() != Some(&real) => {
                return Err(SnapshotError::Outside {
                    path: path.to_owned(),
                });
            }
            Ok(_) => {}
        }
        let unreadable = |why| SnapshotError::Unreadable {
            path: path.to_owned(),
            why,
        };
        match host.read_bounded(path, MAX_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) => Err(match error.kind() {
                io::ErrorKind::InvalidData => unreadable("is not UTF-8"),
                io::ErrorKind::FileTooLarge => unreadable("has more than 64 MiB"),
                _ => SnapshotError::files("read", path)(error),
            }),
        }
    }

    /// Writes a file in it, unless the file already has this text: watchers of the folder should see real changes
    /// only.
    pub fn write(&self, host: &dyn Host, path: &Path, text: &str) -> Result<(), SnapshotError> {
        let there = self.read(host, path);
        if matches!(&there, Ok(Some(old)) if old == text) {
            return Ok(());
        }
        if let Err(outside @ SnapshotError::Outside { .. }) = there {
            return Err(outside);
        }
        host.make_folder(&self.path)
            .map_err(SnapshotError::files("create", &self.path))?;
        self.real(host)?;
        host.write_file(path, text.as_bytes())
            .map_err(SnapshotError::files("write", path))
    }

    /// Removes a file in it, if it exists.
    pub fn remove(&self, host: &dyn Host, path: &Path) -> Result<(), SnapshotError> {
        if self.real(host)?.is_none() {
            return Ok(());
        }
        match host.remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(SnapshotError::files("remove", path)(error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Returns the canonical path of the folder; `None` if there is no folder. It must be next to the plan: through a
    /// link, a repository could make the program read and write files elsewhere.
    pub fn real(&self, host: &dyn Host) -> Result<Option<PathBuf>, SnapshotError> {
        let real = match host.canonical(&self.path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(SnapshotError::files("read", &self.path)(error)),
        };
        let around = host
            .canonical(&self.around)
            .map_err(SnapshotError::files("read", &self.around))?;
        let folder = host
            .kind(&real)
            .map_err(SnapshotError::files("read", &real))?
            == FileKind::Folder;
        if real.parent() != Some(&around) || !folder {
            return Err(SnapshotError::Outside {
                path: self.path.clone(),
            });
        }
        Ok(Some(real))
    }
}
