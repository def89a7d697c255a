//! Resolves the paths of app files: files, folders and globs.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use planrun_lang::permission::too_large;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::value::shortened;

use super::{ProjectError, display_path};
use crate::host::{FileKind, Host};
use crate::tools::app::{Loaded, app_files, is_app_file, load_apps};

/// The folder of app files if the project does not list them.
const FOLDER: &str = "apps";
/// Maximum depth of folders that a glob searches.
const MAX_DEPTH: usize = 24;
/// Maximum number of files and folders that one glob visits.
const MAX_ENTRIES: usize = 20_000;

/// Reads the app files that paths name: a file, all app files in a folder, or the matches of a glob. Returns an error
/// if a path does not exist or cannot be read, or if a glob is invalid.
pub fn load_app_paths(host: &dyn Host, paths: &[PathBuf]) -> Result<Loaded, ProjectError> {
    let mut files = BTreeSet::new();
    for path in paths {
        files.extend(resolve(host, Path::new(""), &display_path(path)).map_err(ProjectError)?);
    }
    let files: Vec<PathBuf> = files.into_iter().collect();
    Ok(load_apps(host, &files, &BTreeSet::new()))
}

/// Returns the files that a project file lists, sorted and without duplicates.
pub(super) fn listed(
    host: &dyn Host,
    root: &Path,
    paths: &[(String, Span)],
    file: &Path,
) -> Result<Vec<PathBuf>, ProjectError> {
    let mut files = BTreeSet::new();
    for (path, span) in paths {
        let found = resolve(host, root, path).map_err(|problem| {
            let text = host.read_file(file).unwrap_or_default();
            super::Fault::new(*span, problem).within(&SourceFile::new(display_path(file), text))
        })?;
        files.extend(found);
    }
    Ok(files.into_iter().collect())
}

/// Returns the app files of the folder `apps`, or none if it does not exist.
pub(super) fn in_default_folder(host: &dyn Host, root: &Path) -> Vec<PathBuf> {
    app_files(host, &root.join(FOLDER)).unwrap_or_default()
}

/// Returns the files that one path names.
fn resolve(host: &dyn Host, root: &Path, written: &str) -> Result<Vec<PathBuf>, String> {
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
                display_path(&path)
            )),
        },
        Err(problem) if problem.kind() == std::io::ErrorKind::NotFound => {
            Err(format!("there is no app file or folder `{written}`"))
        }
        Err(problem) => Err(format!("`{written}` cannot be read: {problem}")),
    }
}

/// Returns the files that a glob matches. `*` stays within one folder, `**` does not.
fn matching(host: &dyn Host, root: &Path, written: &str) -> Result<Vec<PathBuf>, String> {
    let invalid = |why: String| format!("`{}` is not a valid glob: {why}", shortened(written, 80));
    if let Some(why) = too_large(written) {
        return Err(invalid(why));
    }
    let glob = GlobBuilder::new(written).literal_separator(true).build();
    let glob = glob.map_err(|problem| invalid(problem.kind().to_string()))?;
    let glob = glob.compile_matcher();
    // Only paths below the prefix without wildcards can match.
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
            "`{written}` is too broad: more than {MAX_ENTRIES} files and folders would have to be searched; name the \
             folder of the app files"
        ));
    }
    Ok(walk.files)
}

/// The search for the matches of a glob.
struct Walk<'a> {
    host: &'a dyn Host,
    root: &'a Path,
    /// Matches paths relative to the root.
    glob: GlobMatcher,
    files: Vec<PathBuf>,
    /// Number of visited files and folders.
    entries: usize,
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?', '[', '{'])
}

impl Walk<'_> {
    /// Collects the matches below a folder, whose path is relative to the root like the glob. Unreadable folders match
    /// nothing.
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
            let files = resolve(&host, root, written)?;
            let names = files
                .iter()
                .map(|file| display_path(file.strip_prefix(root).unwrap()));
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
        let deep = format!("{}a{}", "{".repeat(250), "}".repeat(250));
        assert!(found(&deep).unwrap_err().contains("nested more than"));
    }
}
