//! Checks all files in parallel: finds the project of each, reports its diagnostics, and fixes it.

use std::path::Path;

use planrun_lang::diag::render::{FileReport, Problem, Report};
use planrun_lang::diag::{Diagnostic, Severities};
use planrun_lang::source::SourceFile;
use rayon::prelude::*;

use super::fix::{self, FixOptions, Fixed};
use super::stats::Counts;
use crate::cli::plan_files::{self, PlanFile, PlanFiles};
use crate::cli::projects::Projects;
use crate::cli::{Failure, Result};
use planrun_runs::runs::{PlanText, Workspace};

/// Stack size of each thread, in bytes: sufficient for plans at the nesting limits of the language, even in
/// unoptimised builds.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// The options for every file.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    /// The project folder, if the user named one.
    pub folder: Option<&'a Path>,
    /// The severities set on the command line.
    pub severities: &'a Severities,
    /// How to fix files; `None` to only check them.
    pub fixes: Option<FixOptions>,
}

/// The results of all files, in path order.
pub(super) struct Checked {
    pub report: Report,
    pub fixed: Vec<Fixed>,
    pub counts: Counts,
}

/// The result of one file.
struct One {
    report: FileReport,
    fixed: Fixed,
    counts: Counts,
}

/// Checks all files, in parallel. Returns an error if a project cannot be used.
pub(super) fn check(found: &PlanFiles, task: Task<'_>) -> Result<Checked> {
    let mut projects = Projects::open(&found.files, task.folder)?;
    for workspace in &mut projects.all {
        workspace.severities = task.severities.over(&workspace.severities);
    }
    let mut report = Report {
        plan_files: found.files.len(),
        problems: found.problems.clone(),
        ..Report::default()
    };
    report.files = projects.all.iter().flat_map(Workspace::findings).collect();
    let pool = rayon::ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .build();
    let pool =
        pool.map_err(|error| Failure::Environment(format!("cannot start threads: {error}")))?;
    let results: Vec<Result<One, Problem>> = pool.install(|| {
        let files = found.files.par_iter().zip(&projects.of_file);
        files
            .map(|(file, project)| check_one(file, &projects.all[*project], task.fixes))
            .collect()
    });
    let mut checked = Checked {
        report,
        fixed: Vec::new(),
        counts: Counts::default(),
    };
    for result in results {
        match result {
            Ok(one) => {
                checked.report.files.push(one.report);
                checked.fixed.push(one.fixed);
                checked.counts.add(&one.counts);
            }
            Err(problem) => checked.report.problems.push(problem),
        }
    }
    checked
        .report
        .files
        .sort_by(|one, other| one.source.name().cmp(other.source.name()));
    Ok(checked)
}

fn check_one(
    file: &PlanFile,
    workspace: &Workspace,
    options: Option<FixOptions>,
) -> Result<One, Problem> {
    let mut source = match plan_files::load(file)? {
        PlanText::Broken(mut report) => {
            workspace.severities.apply(&mut report.diagnostics);
            return Ok(One {
                report,
                fixed: Fixed::default(),
                counts: Counts::default(),
            });
        }
        PlanText::Text(source) => source,
    };
    let checked = workspace.find(&source, &workspace.files());
    let counts = Counts::of(&checked, source.text().len());
    let unknown = checked.unknown;
    let mut diagnostics = checked.diagnostics;
    workspace.severities.apply(&mut diagnostics);
    let mut fixed = Fixed::default();
    if let Some(options) = options {
        let check =
            |source: &SourceFile| -> Vec<Diagnostic> { workspace.check(source).diagnostics };
        let host = &*workspace.host;
        (source, diagnostics, fixed) =
            fix::fix_file(host, file, source, diagnostics, options, check)?;
    }
    Ok(One {
        report: report_of(source, diagnostics, unknown),
        fixed,
        counts,
    })
}

/// Returns the report of a file. The text of a file without diagnostics is dropped: it is not needed, and there may
/// be many files.
fn report_of(source: SourceFile, diagnostics: Vec<Diagnostic>, unknown: usize) -> FileReport {
    let source = if diagnostics.is_empty() {
        SourceFile::new(source.name(), "")
    } else {
        source
    };
    FileReport {
        unknown,
        ..FileReport::new(source, diagnostics)
    }
}
