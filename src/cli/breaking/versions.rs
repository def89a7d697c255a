//! The two versions of each file: the one on the disk and the one in git, each checked in the project of its time.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::FileReport;
use planrun_lang::sema::CheckedFile;
use planrun_lang::source::{MAX_FILE_BYTES, SourceFile};
use planrun_tools::host::{Host, Revision, RevisionError};
use planrun_tools::project::Location;

use crate::cli::plan_files::{self, PlanFile};
use crate::cli::{Failure, check};
use planrun_runs::runs::{PlanText, Workspace, real_host, tidy};
use planrun_test::breaking::{Comparison, Version, compare};

/// Today and then, with the projects that were opened in each.
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

/// A file with what was found in it.
pub(super) struct Checked {
    pub source: Arc<SourceFile>,
    file: CheckedFile,
}

/// The projects of one time, each opened once.
struct Projects {
    host: Arc<dyn Host>,
    folder: Option<PathBuf>,
    open: BTreeMap<Location, Workspace>,
}

impl Versions {
    /// # Errors
    /// When there is no git, no repository around the first path, no such revision, or a path lies elsewhere.
    pub(super) fn open(
        revision: &str,
        paths: &[PathBuf],
        project: Option<&Path>,
    ) -> Result<Self, Failure> {
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
            let message = "is in another repository than the first path; compare it by itself: planrun breaking --against";
            return Err(Failure::Usage(format!(
                "`{0}` {message} {revision} {0}",
                path.display()
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

    /// The commit that is compared with.
    pub(super) fn commit(&self) -> &str {
        self.revision.commit()
    }

    /// Every plan file of today or of then, in path order.
    ///
    /// # Errors
    /// When a path is in neither, or no plan is below any of them.
    pub(super) fn files(&self, paths: &[PathBuf]) -> Result<BTreeSet<PathBuf>, Failure> {
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

    /// Both versions of a file.
    ///
    /// # Errors
    /// When one cannot be read, or its project cannot be used.
    pub(super) fn both(&mut self, path: &Path) -> Result<Both, Failure> {
        let now = match self.now.host.kind(path) {
            Ok(_) => Some(self.now.check(path, today(path)?)?),
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
                    .check(path, SourceFile::new(shown(path), text))
                    .map_err(at)?,
            ),
            // What could not be read as a plan then was none.
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
                    shown(path)
                ))));
            }
        };
        Ok(Both { then, now })
    }

    /// What is wrong with the projects of today.
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
    fn check(&mut self, path: &Path, source: SourceFile) -> Result<Checked, Failure> {
        // A project that is named on the command line need not have been there.
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
        // What the project makes of findings does not make a plan break.
        let file = workspace.find(&source, &workspace.files());
        Ok(Checked {
            source: Arc::new(source),
            file,
        })
    }
}

impl Both {
    /// What changed.
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

    /// Whether the file has errors.
    pub(super) fn is_broken(&self) -> bool {
        self.file.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// Its errors, where there are any.
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

/// The name that reports show.
pub(super) fn shown(path: &Path) -> String {
    PlanFile::of(path).name()
}

/// The text on the disk. Bytes that are no text are shown by `check`.
fn today(path: &Path) -> Result<SourceFile, Failure> {
    match plan_files::load(&PlanFile::of(path))
        .map_err(|problem| Failure::Environment(problem.message))?
    {
        PlanText::Text(source) => Ok(source),
        PlanText::Broken(_) => {
            let name = shown(path);
            Err(Failure::Environment(format!(
                "`{name}` cannot be read as a plan; try `planrun check {name}`"
            )))
        }
    }
}

/// The nearest folder at or above a path that exists; the current one where nothing does.
fn nearest_folder(host: &dyn Host, path: &Path) -> PathBuf {
    let folder = path
        .ancestors()
        .find(|above| host.list_folder(above).is_ok());
    folder.map(Path::to_owned).unwrap_or_default()
}
