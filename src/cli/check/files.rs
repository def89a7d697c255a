//! All files at once: which project each belongs to, what is found in it, and its fixes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use super::fix::{self, Fixed, Wish};
use crate::cli::Failure;
use crate::cli::plan_files::{self, Loaded, PlanFile, PlanFiles};
use crate::cli::workspace::Workspace;
use crate::diag::render::{FileReport, Problem, Report};
use crate::diag::{Diagnostic, Severities};
use crate::host::{Host, RealHost};
use crate::project::Location;
use crate::source::SourceFile;

/// Bytes of stack for each thread: the nesting caps of the language need a part of it in unoptimised builds.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// What is asked of every file.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    /// The project, where the user named one.
    pub folder: Option<&'a Path>,
    /// What the command line says of severities.
    pub severities: &'a Severities,
    /// Whether fixes are wanted.
    pub wish: Option<Wish>,
}

/// What came of all files, in path order.
pub(super) struct Checked {
    pub report: Report,
    pub fixed: Vec<Fixed>,
}

/// Checks all files at the same time.
///
/// # Errors
/// When a project cannot be used.
pub(super) fn check(found: &PlanFiles, task: Task<'_>) -> Result<Checked, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|error| Failure::Environment(format!("cannot start threads: {error}")))?;
    let workspaces = Workspaces::open(&found.files, task)?;
    let mut report = Report { plan_files: found.files.len(), problems: found.problems.clone(), ..Report::default() };
    report.files = workspaces.projects.values().flat_map(Workspace::findings).collect();
    let check = |(file, location): (&PlanFile, &Location)| {
        workspaces.projects.get(location).map(|workspace| check_one(file, workspace, task.wish))
    };
    let checked: Vec<_> = pool.install(|| found.files.par_iter().zip(&workspaces.of_file).filter_map(check).collect());
    let mut fixed = Vec::new();
    for result in checked {
        match result {
            Ok((file, done)) => {
                report.files.push(file);
                fixed.push(done);
            }
            Err(problem) => report.problems.push(problem),
        }
    }
    report.files.sort_by(|one, other| one.source.name().cmp(other.source.name()));
    Ok(Checked { report, fixed })
}

fn check_one(file: &PlanFile, workspace: &Workspace, wish: Option<Wish>) -> Result<(FileReport, Fixed), Problem> {
    let mut source = match plan_files::load(file)? {
        Loaded::Broken(mut report) => {
            workspace.severities.apply(&mut report.diagnostics);
            return Ok((report, Fixed::default()));
        }
        Loaded::Text(source) => source,
    };
    let mut unknown = 0;
    let mut check = |source: &SourceFile| -> Vec<Diagnostic> {
        let checked = workspace.check(source);
        unknown = checked.unknown;
        checked.diagnostics
    };
    let mut diagnostics = check(&source);
    let mut fixed = Fixed::default();
    if let Some(wish) = wish {
        (source, diagnostics, fixed) = fix::one(&*workspace.host, file, source, diagnostics, wish, check)?;
    }
    // The text of a file in which nothing is found is not needed, and there may be many.
    let source = if diagnostics.is_empty() { SourceFile::new(source.name(), "") } else { source };
    Ok((FileReport { unknown, ..FileReport::new(source, diagnostics) }, fixed))
}

/// The projects that plans belong to, each opened once.
struct Workspaces {
    projects: BTreeMap<Location, Workspace>,
    of_file: Vec<Location>,
}

impl Workspaces {
    fn open(files: &[PlanFile], task: Task<'_>) -> Result<Self, Failure> {
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let mut projects = BTreeMap::new();
        let mut of_file = Vec::with_capacity(files.len());
        for file in files {
            let location = Workspace::locate(&*host, file.path(), task.folder)?;
            if !projects.contains_key(&location) {
                let mut workspace = Workspace::at(host.clone(), &location)?;
                workspace.severities = task.severities.over(&workspace.severities);
                projects.insert(location.clone(), workspace);
            }
            of_file.push(location);
        }
        Ok(Self { projects, of_file })
    }
}
