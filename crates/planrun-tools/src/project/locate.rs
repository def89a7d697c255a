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
                // Whoever can write in a folder above, such as `/tmp`, must not choose which programs are run.
                let is_chosen = candidate == start || candidate.as_os_str().is_empty();
                if !is_chosen && host.is_of_another_user(&file).unwrap_or(true) {
                    return Err(foreign(&candidate, &file));
                }
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

fn foreign(folder: &Path, file: &Path) -> ProjectError {
    ProjectError(format!(
        "{} belongs to another user and is not used; if it is the right one, use `--project {}`",
        display_path(file),
        display_path(folder)
    ))
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

    #[cfg(unix)]
    #[test]
    fn a_project_file_of_another_user_above_the_plan_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (root, below) = (folder.path(), folder.path().join("a"));
        std::fs::create_dir_all(&below).unwrap();
        let file = root.join("planrun.yaml");
        std::fs::write(&file, "").unwrap();
        let found = |folder| Location::of(&RealHost, Some(&below.join("x.plan")), folder);
        assert_eq!(found(None).unwrap().folder, root);
        // Only the administrator can give a file away.
        if std::os::unix::fs::chown(&file, Some(65_534), None).is_err() {
            return;
        }
        let error = found(None).unwrap_err().to_string();
        let place = root.display();
        assert!(error.starts_with(&format!("{place}/planrun.yaml belongs to another user")));
        assert!(error.contains(&format!("`--project {place}`")), "{error}");
        assert_eq!(found(Some(root)).unwrap().folder, root);
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
