//! Finds the project of a plan.

use std::path::{Component, Path, PathBuf};

use super::{ProjectError, display_path};
use crate::host::Host;

/// The location of a project. Paths are written as the user would write them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Location {
    /// Empty for the current folder.
    pub folder: PathBuf,
    /// Its `planrun.yaml`, if it has one.
    pub file: Option<PathBuf>,
}

impl Location {
    /// The name of the project file.
    pub const FILE: &str = "planrun.yaml";

    /// Uses `folder` if it is given; otherwise searches the plan's folder and its parents. Returns an error if `folder`
    /// contains no `planrun.yaml`.
    pub fn of(
        host: &dyn Host,
        plan: Option<&Path>,
        folder: Option<&Path>,
    ) -> Result<Self, ProjectError> {
        if let Some(folder) = folder {
            let file = folder.join(Self::FILE);
            if host.canonical(&file).is_err() {
                return Err(ProjectError(format!(
                    "there is no {} in {}",
                    Self::FILE,
                    display_path(folder)
                )));
            }
            return Ok(Self {
                folder: folder.to_owned(),
                file: Some(file),
            });
        }
        let start = plan
            .and_then(Path::parent)
            .map_or_else(PathBuf::new, Path::to_owned);
        let mut candidate = start.clone();
        loop {
            let file = candidate.join(Self::FILE);
            if host.canonical(&file).is_ok() {
                return Ok(Self {
                    folder: candidate,
                    file: Some(file),
                });
            }
            let here = if candidate.as_os_str().is_empty() {
                Path::new(".")
            } else {
                &candidate
            };
            // If a folder does not exist, its parents are not searched.
            if host
                .canonical(here)
                .map_or(true, |path| path.parent().is_none())
            {
                return Ok(Self {
                    folder: start,
                    file: None,
                });
            }
            candidate = above(&candidate);
        }
    }
}

/// Returns the parent folder, as a relative path if the folder is relative.
fn above(folder: &Path) -> PathBuf {
    match folder.components().next_back() {
        Some(Component::Normal(_)) => folder.parent().map_or_else(PathBuf::new, Path::to_owned),
        Some(Component::CurDir) => folder.parent().map_or_else(|| PathBuf::from(".."), above),
        Some(Component::ParentDir | Component::RootDir | Component::Prefix(_)) | None => {
            folder.join("..")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::RealHost;

    #[test]
    fn the_nearest_project_file_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("a/b/c")).unwrap();
        std::fs::create_dir_all(root.join("d")).unwrap();
        std::fs::write(root.join("a/planrun.yaml"), "").unwrap();
        let host = RealHost;
        let found = |plan: &str| Location::of(&host, Some(&root.join(plan)), None).unwrap();
        assert_eq!(
            found("a/b/c/x.plan").file.unwrap(),
            root.join("a/planrun.yaml")
        );
        assert_eq!(found("a/x.plan").folder, root.join("a"));
        assert_eq!(found("d/x.plan").file, None);
        assert_eq!(found("d/x.plan").folder, root.join("d"));
        assert_eq!(found("no/such/x.plan").file, None);
        assert!(Location::of(&host, None, Some(&root.join("d"))).is_err());
    }

    #[test]
    fn folders_above_stay_relative() {
        let names = [
            ("a/b", "a"),
            ("a", ""),
            ("", ".."),
            ("..", "../.."),
            ("./a", "."),
            (".", ".."),
        ];
        for (folder, expected) in names {
            assert_eq!(above(Path::new(folder)), Path::new(expected), "{folder}");
        }
    }
}
