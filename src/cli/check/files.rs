//! All files at once: which project each belongs to, what is found in it, and its fixes.

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::render::{FileReport, Problem, Report};
use planrun_lang::diag::{Diagnostic, Severities};
use planrun_lang::source::SourceFile;
use planrun_tools::host::{Host, RealHost};
use rayon::prelude::*;

use super::fix::{self, Fixed, Wish};
use super::projects::Projects;
use super::stats::Counts;
use crate::cli::Failure;
use crate::cli::plan_files::{self, PlanFile, PlanFiles};
use planrun_runs::runs::{PlanText, Workspace};

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
    pub counts: Counts,
}

/// What came of one file.
struct One {
    report: FileReport,
    fixed: Fixed,
    counts: Counts,
}

/// Checks all files, many at the same time.
///
/// # Errors
/// When a project cannot be used.
pub(super) fn check(found: &PlanFiles, task: Task<'_>) -> Result<Checked, Failure> {
    let host: Arc<dyn Host> = Arc::new(RealHost);
    let projects = Projects::open(&host, &found.files, task)?;
    let mut report = Report {
        plan_files: found.files.len(),
        problems: found.problems.clone(),
        ..Report::default()
    };
    report.files = projects.findings();
    let pool = rayon::ThreadPoolBuilder::new()
        .stack_size(STACK_BYTES)
        .build();
    let pool =
        pool.map_err(|error| Failure::Environment(format!("cannot start threads: {error}")))?;
    let results: Vec<Result<One, Problem>> = pool.install(|| {
        let files = found.files.par_iter().zip(projects.around());
        files
            .map(|(file, workspace)| check_one(file, workspace, task.wish))
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

fn check_one(file: &PlanFile, workspace: &Workspace, wish: Option<Wish>) -> Result<One, Problem> {
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
    if let Some(wish) = wish {
        let check =
            |source: &SourceFile| -> Vec<Diagnostic> { workspace.check(source).diagnostics };
        let host = &*workspace.host;
        (source, diagnostics, fixed) = fix::one(host, file, source, diagnostics, wish, check)?;
    }
    Ok(One {
        report: report_of(source, diagnostics, unknown),
        fixed,
        counts,
    })
}

/// The text of a file in which nothing is found is not needed, and there may be many.
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
