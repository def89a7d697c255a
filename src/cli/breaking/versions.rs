//! The two versions of each file, in the working tree and in git, each checked in the project of the same version.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{FileReport, command, quoted};
use planrun_lang::sema::CheckedFile;
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile};
use planrun_tools::host::{Host, Revision, RevisionError};
use planrun_tools::project::Location;

use crate::cli::plan_files::{self, PlanFile};
use crate::cli::{Failure, Result, check};
use planrun_runs::runs::{PlanText, Workspace, real_host, tidy};
use planrun_test::breaking::{Comparison, Version, compare};

/// The working tree and the revision, with the projects opened in each.
pub(super) struct Versions {
    revision: Arc<Revision>,
    now: Projects,
    then: Projects,
    name: String,
}

/// Both versions of one file.
pub(super) struct Both {
    pub then: Option<Checked>,
    pub now: Option<Checked>,
}

/// A file and its check result.
pub(super) struct Checked {
    pub source: Arc<SourceFile>,
    file: CheckedFile,
}

/// The projects of one version, each opened once.
struct Projects {
    host: Arc<dyn Host>,
    folder: Option<PathBuf>,
    open: BTreeMap<Location, Workspace>,
}

impl Versions {
    /// Opens the revision in the repository around the first path. Returns an error if git, the repository or the
    /// revision does not exist, or a path is standard input or in another repository.
    pub(super) fn open(revision: &str, paths: &[PathBuf], project: Option<&Path>) -> Result<Self> {
        if paths.iter().any(|path| path.as_os_str() == "-") {
            let message = "standard input has no history; name a file, as in `planrun breaking --against HEAD a.plan`";
            return Err(Failure::Usage(message.to_owned()));
        }
        let host = real_host();
        let folder = paths
            .first()
            .map(|path| nearest_folder(&*host, path))
            .unwrap_or_default();
        let opened =
            Revision::open(host.clone(), &folder, revision).map_err(|error| match error {
                RevisionError::Unknown(_) => Failure::Usage(error.to_string()),
                RevisionError::NoGit
                | RevisionError::NoRepository(_)
                | RevisionError::Failed(_) => Failure::Environment(error.to_string()),
            })?;
        if let Some(path) = paths.iter().find(|path| !opened.holds(path)) {
            let path = display_name(path);
            let separately = format!("breaking --against {} {}", quoted(revision), quoted(&path));
            return Err(Failure::Usage(format!(
                "`{path}` is in a different repository than the first path; compare it separately: `{}`",
                command(&separately)
            )));
        }
        let opened = Arc::new(opened);
        let projects = |host: Arc<dyn Host>| Projects {
            host,
            folder: project.map(Path::to_owned),
            open: BTreeMap::new(),
        };
        Ok(Self {
            now: projects(host),
            then: projects(opened.clone()),
            revision: opened,
            name: revision.to_owned(),
        })
    }

    /// Returns the commit to compare with.
    pub(super) fn commit(&self) -> &str {
        self.revision.commit()
    }

    /// Returns every plan file of the working tree and of the revision, in path order. Returns an error if a path
    /// exists in neither version or cannot be searched, or no plan is found.
    pub(super) fn files(&self, paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>> {
        let mut files = BTreeSet::new();
        for path in paths {
            let then = self.revision.below(path);
            match plan_files::find(std::slice::from_ref(path)) {
                Ok(found) => {
                    if let Some(problem) = found.problems.first() {
                        return Err(Failure::Environment(problem.message.clone()));
                    }
                    files.extend(found.files.iter().map(|file| file.path().to_owned()));
                }
                Err(failure) if then.is_empty() => return Err(failure),
                Err(_) => {}
            }
            files.extend(
                then.iter()
                    .filter(|file| plan_files::is_plan(file))
                    .map(|file| tidy(file).to_owned()),
            );
        }
        if files.is_empty() {
            return Err(Failure::Environment(check::nothing_found(paths)));
        }
        Ok(files)
    }

    /// Checks both versions of a file. Returns an error if a version cannot be read, or its project cannot be used.
    pub(super) fn both(&mut self, path: &Path) -> Result<Both> {
        let now = match self.now.host.kind(path) {
            Ok(_) => Some(self.now.check(path, read_current(path)?)?),
            Err(_) => None,
        };
        let at = |failure: Failure| match failure {
            Failure::Usage(message) => Failure::Usage(format!("at {}: {message}", self.name)),
            Failure::Environment(message) => {
                Failure::Environment(format!("at {}: {message}", self.name))
            }
            Failure::Findings(message) => Failure::Findings(format!("at {}: {message}", self.name)),
            Failure::Paused(message) => Failure::Paused(format!("at {}: {message}", self.name)),
            Failure::Interrupted => Failure::Interrupted,
        };
        let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
        let then = match self.revision.read_bounded(path, limit) {
            Ok(text) => Some(
                self.then
                    .check(path, SourceFile::new(display_name(path), text))
                    .map_err(at)?,
            ),
            // A file that was not readable as a plan at that revision counts as missing.
            Err(error)
                if [
                    ErrorKind::NotFound,
                    ErrorKind::InvalidData,
                    ErrorKind::FileTooLarge,
                ]
                .contains(&error.kind()) =>
            {
                None
            }
            Err(error) => {
                return Err(at(Failure::Environment(format!(
                    "cannot read `{}`: {error}",
                    display_name(path)
                ))));
            }
        };
        Ok(Both { then, now })
    }

    /// Returns the errors of the current project files.
    pub(super) fn findings(&self) -> Vec<FileReport> {
        let errors = |mut file: FileReport| {
            file.diagnostics.retain(Diagnostic::is_error);
            file
        };
        self.now
            .open
            .values()
            .flat_map(Workspace::findings)
            .map(errors)
            .collect()
    }
}

impl Projects {
    fn check(&mut self, path: &Path, source: SourceFile) -> Result<Checked> {
        // The project given on the command line may not have existed at the revision.
        let folder = self
            .folder
            .as_deref()
            .filter(|folder| self.host.kind(&folder.join(Location::FILE)).is_ok());
        let location = Workspace::locate(&*self.host, path, folder)?;
        let workspace = match self.open.entry(location) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let workspace = Workspace::at(self.host.clone(), new.key())?;
                new.insert(workspace)
            }
        };
        // The project's severities do not decide whether a change is breaking.
        let file = workspace.find(&source, &workspace.files());
        Ok(Checked {
            source: Arc::new(source),
            file,
        })
    }
}

impl Both {
    /// Compares the two versions.
    pub(super) fn compare(&self) -> Comparison {
        compare(
            self.then.as_ref().map(Checked::version),
            self.now.as_ref().map(Checked::version),
        )
    }
}

impl Checked {
    fn version(&self) -> Version<'_> {
        Version {
            source: &self.source,
            checked: &self.file,
        }
    }

    /// Returns true if the file has errors.
    pub(super) fn is_broken(&self) -> bool {
        self.file.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Returns the errors of the file; `None` if it has none.
    pub(super) fn errors(&self) -> Option<FileReport> {
        let errors = self
            .file
            .diagnostics
            .iter()
            .filter(|found| found.is_error())
            .cloned()
            .collect::<Vec<_>>();
        (!errors.is_empty()).then(|| FileReport::new(self.source.clone(), errors))
    }
}

/// Returns the name for reports.
pub(super) fn display_name(path: &Path) -> String {
    PlanFile::of(path).name()
}

/// Reads the current text. Bytes that are not text are an error; `planrun check` reports them in detail.
fn read_current(path: &Path) -> Result<SourceFile> {
    match plan_files::load(&PlanFile::of(path))? {
        PlanText::Text(source) => Ok(source),
        PlanText::Broken(_) => {
            let name = display_name(path);
            Err(Failure::Environment(format!(
                "`{name}` cannot be read as a plan; run `{}` for details",
                command(&format!("check {}", quoted(&name)))
            )))
        }
    }
}

/// Returns the nearest existing folder at or above a path; the current folder if none exists.
fn nearest_folder(host: &dyn Host, path: &Path) -> PathBuf {
    let folder = path
        .ancestors()
        .find(|above| host.list_folder(above).is_ok());
    folder.map(Path::to_owned).unwrap_or_default()
}
