//! Which app files a project means: files, folders and globs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use planrun_lang::source::{SourceFile, Span};

use super::{ProjectError, shown};
use crate::host::{FileKind, Host};
use crate::tools::app::{Loaded, app_files, is_app_file, load_apps};

/// Where app files are looked for unless a project says otherwise.
const FOLDER: &str = "apps";
/// Folders nested deeper are not searched for what a glob means.
const MAX_DEPTH: usize = 24;
/// Files and folders that one glob may lead past.
const MAX_ENTRIES: usize = 20_000;

/// Reads the app files that paths name: a file, all of a folder, or what a glob matches.
///
/// # Errors
/// A path where nothing is, or a glob that cannot be understood.
pub fn load_app_paths(host: &dyn Host, paths: &[PathBuf]) -> Result<Loaded, ProjectError> {
    let mut files = BTreeSet::new();
    for path in paths {
        files.extend(meant(host, Path::new(""), &shown(path)).map_err(ProjectError)?);
    }
    let files: Vec<PathBuf> = files.into_iter().collect();
    Ok(load_apps(host, &files, &BTreeSet::new()))
}

/// The files that a project file lists, sorted, each once.
pub(super) fn listed(
    host: &dyn Host,
    root: &Path,
    paths: &[(String, Span)],
    file: &Path,
) -> Result<Vec<PathBuf>, ProjectError> {
    let mut files = BTreeSet::new();
    for (path, span) in paths {
        let found = meant(host, root, path).map_err(|problem| {
            let text = host.read_file(file).unwrap_or_default();
            super::Fault::new(*span, problem).within(&SourceFile::new(shown(file), text))
        })?;
        files.extend(found);
    }
    Ok(files.into_iter().collect())
}

/// The app files of the folder `apps`, if there is one.
pub(super) fn beside(host: &dyn Host, root: &Path) -> Vec<PathBuf> {
    app_files(host, &root.join(FOLDER)).unwrap_or_default()
}

/// The files that one path means.
fn meant(host: &dyn Host, root: &Path, written: &str) -> Result<Vec<PathBuf>, String> {
    let path = root.join(written);
    if written.contains(['*', '?', '[', '{']) && host.canonical(&path).is_err() {
        return matching(host, root, written);
    }
    match host.kind(&path) {
        Ok(FileKind::File) => Ok(vec![path]),
        Ok(FileKind::Folder) => match app_files(host, &path) {
            Ok(files) => Ok(files),
            Err(problem) => Err(format!(
                "the folder of app files {} cannot be read: {problem}",
                shown(&path)
            )),
        },
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no app file or folder `{written}`"))
        }
        Err(problem) => Err(format!("`{written}` cannot be read: {problem}")),
    }
}

/// The files that a glob matches; `*` stays within one folder, `**` does not.
fn matching(host: &dyn Host, root: &Path, written: &str) -> Result<Vec<PathBuf>, String> {
    let glob = GlobBuilder::new(written).literal_separator(true).build();
    let glob = glob
        .map_err(|problem| format!("`{written}` is no glob: {}", problem.kind()))?
        .compile_matcher();
    // Only what lies below the part without wildcards can match.
    let fixed: PathBuf = Path::new(written)
        .iter()
        .take_while(|part| !is_wild(&part.to_string_lossy()))
        .collect();
    let depth = if written.contains("**") {
        MAX_DEPTH
    } else {
        Path::new(written).iter().count()
    };
    let mut walk = Walk {
        host,
        root,
        glob,
        files: Vec::new(),
        entries: 0,
    };
    walk.folder(&fixed, depth);
    if walk.entries > MAX_ENTRIES {
        return Err(format!(
            "`{written}` means too much: more than {MAX_ENTRIES} files and folders would have to be looked at; name the folder that app files are in"
        ));
    }
    Ok(walk.files)
}

/// Looking for what a glob matches.
struct Walk<'a> {
    host: &'a dyn Host,
    root: &'a Path,
    /// Over paths relative to the root.
    glob: GlobMatcher,
    files: Vec<PathBuf>,
    /// What was looked at.
    entries: usize,
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[', '{'])
}

impl Walk<'_> {
    /// Collects what matches below a folder, which is relative to the root as the glob is. What cannot be read matches nothing.
    fn folder(&mut self, folder: &Path, depth: usize) {
        let place = self.root.join(folder);
        let place = if place.as_os_str().is_empty() {
            PathBuf::from(".")
        } else {
            place
        };
        for path in self.host.list_folder(&place).unwrap_or_default() {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return;
            }
            let Some(name) = path
                .file_name()
                .filter(|name| !name.to_string_lossy().starts_with('.'))
            else {
                continue;
            };
            let relative = folder.join(name);
            match self.host.kind(&self.root.join(&relative)) {
                Ok(FileKind::Folder) if depth > 1 => self.folder(&relative, depth - 1),
                Ok(FileKind::File) if is_app_file(&relative) && self.glob.is_match(&relative) => {
                    self.files.push(self.root.join(&relative));
                }
                Ok(FileKind::File | FileKind::Folder) | Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::RealHost;

    #[test]
    fn files_folders_and_globs() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in [
            "apps/b.yaml",
            "apps/a.yml",
            "apps/x.md",
            "deep/er/c.json",
            "apps/.hidden.yaml",
            "apps/sub/d.yaml",
        ] {
            std::fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            std::fs::write(root.join(file), "name: x").unwrap();
        }
        let host = RealHost;
        let found = |written: &str| {
            let files = meant(&host, root, written)?;
            let names = files
                .iter()
                .map(|file| shown(file.strip_prefix(root).unwrap()));
            Ok::<_, String>(names.collect::<Vec<_>>().join(" "))
        };
        assert_eq!(found("apps").unwrap(), "apps/a.yml apps/b.yaml");
        assert_eq!(found("apps/b.yaml").unwrap(), "apps/b.yaml");
        assert_eq!(found("apps/*").unwrap(), "apps/a.yml apps/b.yaml");
        assert_eq!(
            found("**/*.{json,yaml}").unwrap(),
            "apps/b.yaml apps/sub/d.yaml deep/er/c.json"
        );
        assert_eq!(found("nothing/*.yaml").unwrap(), "");
        assert_eq!(
            found("nothing").unwrap_err(),
            "there is no app file or folder `nothing`"
        );
        assert!(found("apps/{").is_err());
    }
}
