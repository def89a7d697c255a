//! Reads and checks the files with tests, each in its project.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use planrun_lang::diag::render::{FileReport, Problem};
use planrun_lang::syntax::ast::{Item, ItemKind};
use rayon::prelude::*;

use crate::cli::Result;
use crate::cli::plan_files::{self, PlanFile};
use crate::cli::projects::Projects;
use planrun_core::run::Defaults;
use planrun_runs::runs::{PlanText, Workspace};
use planrun_test::plantest::coverage::Seen;
use planrun_test::plantest::play::TestEnvironment;
use planrun_test::plantest::suite::Suite;

/// The files to test, with their projects.
pub(crate) struct Tested {
    /// In path order.
    pub files: Vec<TestedFile>,
    /// By the index of the project.
    pub environments: Vec<TestEnvironment>,
    pub workspaces: Vec<Workspace>,
    /// The folders that were searched for files with tests.
    pub folders: BTreeSet<PathBuf>,
    /// The names of the files that were read and have no tests.
    pub without_tests: BTreeSet<String>,
    /// The errors in the projects' own files, and in files that are not text.
    pub reports: Vec<FileReport>,
    pub problems: Vec<Problem>,
    /// Number of files that could not be read as text.
    unreadable: usize,
}

impl Tested {
    /// Returns the number of files whose tests cannot be run.
    pub fn untested(&self) -> usize {
        let broken = |file: &&TestedFile| !file.suite.broken.is_empty();
        self.unreadable + self.files.iter().filter(broken).count()
    }

    /// Returns true if some files cannot be tested.
    pub fn is_broken(&self) -> bool {
        let unread = !self.problems.is_empty() || !self.reports.is_empty();
        unread || self.files.iter().any(|file| !file.suite.broken.is_empty())
    }

    /// Returns coverage under the names that the files have here. A test may have read its plan by another path.
    pub fn named(&self, seen: Seen) -> Seen {
        let identity = |name: &str| PlanFile::of(Path::new(name)).identity();
        let files = self.files.iter().map(|file| file.suite.source.name());
        let names: BTreeMap<PathBuf, Arc<str>> =
            files.map(|name| (identity(name), name.into())).collect();
        seen.in_files(&|name| {
            let known = names.get(&identity(name)).cloned();
            known.unwrap_or_else(|| name.into())
        })
    }
}

pub(crate) struct TestedFile {
    pub suite: Suite,
    /// Index of its project.
    pub project: usize,
}

/// Returns the files below the paths that have tests, checked in parallel. Returns an error if a path does not exist,
/// or a project cannot be used.
pub(crate) fn open(paths: &[PathBuf], folder: Option<&Path>) -> Result<Tested> {
    let mut tested = open_all(paths, folder)?;
    let without_tests = &tested.without_tests;
    let has_tests = |file: &TestedFile| !without_tests.contains(file.suite.source.name());
    tested.files.retain(has_tests);
    Ok(tested)
}

/// Returns the files below the paths, including those without tests. Returns an error if a path does not exist, or a
/// project cannot be used.
pub(crate) fn open_all(paths: &[PathBuf], folder: Option<&Path>) -> Result<Tested> {
    let found = plan_files::find(paths)?;
    let Projects {
        all: workspaces,
        of_file,
    } = Projects::open(&found.files, folder)?;
    let one = |(file, project): (&PlanFile, &usize)| read(file, &workspaces[*project], *project);
    let read: Vec<Read> = found.files.par_iter().zip(&of_file).map(one).collect();
    let environments = workspaces.iter().map(environment).collect();
    let mut reports: Vec<FileReport> = workspaces.iter().flat_map(Workspace::findings).collect();
    reports.retain(|report| {
        report
            .diagnostics
            .iter()
            .any(planrun_lang::diag::Diagnostic::is_error)
    });
    let mut tested = Tested {
        files: Vec::new(),
        environments,
        workspaces,
        folders: found.folders,
        without_tests: BTreeSet::new(),
        reports,
        problems: found.problems,
        unreadable: 0,
    };
    for read in read {
        tested.unreadable += usize::from(!matches!(read, Read::File(_)));
        match read {
            Read::File(file) => {
                if !has_tests(&file.suite) {
                    let name = file.suite.source.name().to_owned();
                    tested.without_tests.insert(name);
                }
                tested.files.push(*file);
            }
            Read::Broken(report) => tested.reports.push(report),
            Read::Problem(problem) => tested.problems.push(problem),
        }
    }
    Ok(tested)
}

enum Read {
    File(Box<TestedFile>),
    Broken(FileReport),
    Problem(Problem),
}

fn read(file: &PlanFile, workspace: &Workspace, project: usize) -> Read {
    match plan_files::load(file) {
        Ok(PlanText::Text(source)) => {
            let checked = workspace.check(&source);
            let suite = Suite::new(source, checked)
                .with_other_plans(&|source| workspace.check(source))
                .with_recordings(&*workspace.host);
            Read::File(Box::new(TestedFile { suite, project }))
        }
        Ok(PlanText::Broken(report)) => Read::Broken(report),
        Err(problem) => Read::Problem(problem),
    }
}

/// Returns true if a file has tests, even if their plans are unknown. A syntax error may hide a test, and errors in a
/// `.plantest` file are reported whatever is left of it.
fn has_tests(suite: &Suite) -> bool {
    let is_test = |item: &Item| matches!(item.kind, ItemKind::Test(_));
    let for_tests = Path::new(suite.source.name()).extension() == Some("plantest".as_ref());
    suite.checked.tree.items.iter().any(is_test)
        || !suite.checked.whole
        || for_tests && !suite.broken.is_empty()
}

pub(super) fn environment(workspace: &Workspace) -> TestEnvironment {
    let root = &workspace.project.root;
    TestEnvironment {
        limit: workspace.limit.clone(),
        // The project's default confirmations do not apply: a test answers only the questions that its plan asks.
        defaults: Defaults {
            confirm: Arc::default(),
            ..workspace.defaults()
        },
        // The host of a test resolves no paths, while those of `limit` are resolved already.
        root: (workspace.host.canonical(root)).unwrap_or_else(|_| root.clone()),
        results: Arc::default(),
    }
}
