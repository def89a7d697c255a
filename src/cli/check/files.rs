//! All files at once: which project each belongs to, and what is found in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use rayon::prelude::*;

use crate::cli::Failure;
use crate::cli::plan_files::{self, Loaded, PlanFile, PlanFiles};
use crate::cli::workspace::Workspace;
use crate::diag::Severities;
use crate::diag::render::{FileReport, Problem, Report};
use crate::host::{Host, RealHost};
use crate::project::Location;
use crate::source::SourceFile;

/// Bytes of stack for each thread: the nesting caps of the language need a part of it in unoptimised builds.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Checks all files at the same time; the report is in path order. `folder` is the project where the user named one.
///
/// # Errors
/// When a project cannot be used.
pub(super) fn check(found: PlanFiles, folder: Option<&Path>, severities: &Severities) -> Result<Report, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|error| Failure::Environment(format!("cannot start threads: {error}")))?;
    let mut workspaces = Workspaces::open(&found.files, folder)?;
    let mut report = Report { plan_files: found.files.len(), problems: found.problems, ..Report::default() };
    report.files =
        workspaces.projects.values_mut().flat_map(|workspace| std::mem::take(&mut workspace.findings)).collect();
    let check = |(file, location): (&PlanFile, &Location)| check_one(file, workspaces.projects.get(location));
    let checked: Vec<_> = pool.install(|| found.files.par_iter().zip(&workspaces.of_file).map(check).collect());
    for result in checked {
        match result {
            Ok(file) => report.files.push(file),
            Err(problem) => report.problems.push(problem),
        }
    }
    for file in &mut report.files {
        severities.apply(&mut file.diagnostics);
    }
    report.files.sort_by(|one, other| one.source.name().cmp(other.source.name()));
    Ok(report)
}

fn check_one(file: &PlanFile, workspace: Option<&Workspace>) -> Result<FileReport, Problem> {
    let source = match plan_files::load(file)? {
        Loaded::Broken(report) => return Ok(report),
        Loaded::Text(source) => source,
    };
    let diagnostics = workspace.map(|workspace| workspace.check(&source).diagnostics).unwrap_or_default();
    // The text of a file in which nothing is found is not needed, and there may be many.
    let source = if diagnostics.is_empty() { SourceFile::new(source.name(), "") } else { source };
    Ok(FileReport::new(source, diagnostics))
}

/// The projects that plans belong to, each opened once.
struct Workspaces {
    projects: BTreeMap<Location, Workspace>,
    of_file: Vec<Location>,
}

impl Workspaces {
    fn open(files: &[PlanFile], folder: Option<&Path>) -> Result<Self, Failure> {
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let mut projects = BTreeMap::new();
        let mut of_file = Vec::with_capacity(files.len());
        for file in files {
            let location = Workspace::locate(&*host, file.path(), folder)?;
            if !projects.contains_key(&location) {
                projects.insert(location.clone(), Workspace::at(host.clone(), &location)?);
            }
            of_file.push(location);
        }
        Ok(Self { projects, of_file })
    }
}
