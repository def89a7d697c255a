//! All files at once: which project each belongs to, what is found in it, and its fixes.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::render::{FileReport, Problem, Report};
use planrun_lang::diag::{Diagnostic, Severities};
use planrun_lang::sema::Files;
use planrun_lang::source::SourceFile;
use planrun_tools::host::{Host, RealHost, Stamp};
use rayon::prelude::*;

use super::cache::{Entry, Hit, Used, hash};
use super::fix::{self, Fixed, Wish};
use super::projects::{Projects, Surroundings};
use super::stats::Counts;
use crate::cli::Failure;
use crate::cli::plan_files::{self, PlanFile, PlanFiles};
use planrun_runs::runs::{PlanText, beside};

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
    /// Whether what an earlier check found may be believed.
    pub cached: bool,
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
    /// What the next check may believe.
    entry: Option<Entry>,
}

impl One {
    /// A file that was neither counted nor fixed.
    fn of(report: FileReport, entry: Option<Entry>) -> Self {
        Self {
            report,
            fixed: Fixed::default(),
            counts: Counts::default(),
            entry,
        }
    }
}

/// Checks all files, those that have changed at the same time.
///
/// # Errors
/// When a project cannot be used.
pub(super) fn check(found: &PlanFiles, task: Task<'_>) -> Result<Checked, Failure> {
    let host: Arc<dyn Host> = Arc::new(RealHost);
    // Whatever changes from here on is newer than what is looked at.
    let looked = i64::try_from(host.now()).unwrap_or(i64::MAX);
    let mut projects = Projects::open(&host, &found.files, task)?;
    let mut report = Report {
        plan_files: found.files.len(),
        problems: found.problems.clone(),
        ..Report::default()
    };
    report.files = projects.findings();
    let known = found.files.iter().enumerate();
    let known =
        known.map(|(index, file)| self::known(file, projects.around(index)?, looked).map(Ok));
    let mut results: Vec<Option<Result<One, Problem>>> = known.collect();
    if results.iter().any(Option::is_none) {
        let pool = rayon::ThreadPoolBuilder::new()
            .stack_size(STACK_BYTES)
            .build();
        let pool =
            pool.map_err(|error| Failure::Environment(format!("cannot start threads: {error}")))?;
        let missing = |(index, result): (usize, &mut Option<Result<One, Problem>>)| {
            let (Some(file), Some(around), None) =
                (found.files.get(index), projects.around(index), &result)
            else {
                return;
            };
            *result = Some(check_one(file, around, task.wish, looked));
        };
        pool.install(|| results.par_iter_mut().enumerate().for_each(missing));
    }
    let mut checked = Checked {
        report,
        fixed: Vec::new(),
        counts: Counts::default(),
    };
    for (index, result) in results.into_iter().enumerate() {
        match result {
            Some(Ok(one)) => {
                checked.report.files.push(one.report);
                checked.fixed.push(one.fixed);
                checked.counts.add(&one.counts);
                projects.remember(index, one.entry);
            }
            Some(Err(problem)) => checked.report.problems.push(problem),
            None => {}
        }
    }
    projects.save(&*host);
    checked
        .report
        .files
        .sort_by(|one, other| one.source.name().cmp(other.source.name()));
    Ok(checked)
}

/// What an earlier check found in a file that has not changed since.
fn known(file: &PlanFile, around: &Surroundings, looked: i64) -> Option<One> {
    let (PlanFile::Path(path), Some(cache)) = (file, &around.cache) else {
        return None;
    };
    let name = file.name();
    let Hit {
        entry,
        source,
        look_again,
    } = cache.find(&*around.workspace.host, &name, path)?;
    let mut diagnostics = entry.diagnostics()?;
    around.workspace.severities.apply(&mut diagnostics);
    let source = source
        .filter(|_| !diagnostics.is_empty())
        .unwrap_or_else(|| SourceFile::new(name, ""));
    let report = FileReport {
        unknown: entry.unknown,
        ..FileReport::new(source, diagnostics)
    };
    let entry = look_again.then(|| renewed(&*around.workspace.host, entry, looked));
    Some(One::of(report, entry))
}

/// The entry with the stamps of now, since its texts are still the same.
fn renewed(host: &dyn Host, mut entry: Entry, looked: i64) -> Entry {
    entry.looked = looked;
    for used in std::iter::once(&mut entry.own).chain(&mut entry.used) {
        used.stamp = host.stamp(Path::new(&used.path)).ok();
    }
    entry
}

fn check_one(
    file: &PlanFile,
    around: &Surroundings,
    wish: Option<Wish>,
    looked: i64,
) -> Result<One, Problem> {
    let workspace = &around.workspace;
    let host = &*workspace.host;
    let stamp = around
        .cache
        .as_ref()
        .and_then(|_| host.stamp(file.path()).ok());
    let mut source = match plan_files::load(file)? {
        PlanText::Broken(mut report) => {
            workspace.severities.apply(&mut report.diagnostics);
            return Ok(One::of(report, None));
        }
        PlanText::Text(source) => source,
    };
    let files = Recorder {
        files: workspace.files(),
        host,
        stamps: stamp.is_some(),
        used: RefCell::default(),
    };
    let checked = workspace.find(&source, &files);
    let entry = stamp.and_then(|stamp| {
        let (path, hash) = (file.name(), Some(hash(source.text())));
        let own = Used {
            path,
            stamp: Some(stamp),
            hash,
        };
        let used = files.used.take();
        Entry::new(own, looked, used, checked.unknown, &checked.diagnostics)
    });
    let counts = Counts::of(&checked, source.text().len());
    let unknown = checked.unknown;
    let mut diagnostics = checked.diagnostics;
    workspace.severities.apply(&mut diagnostics);
    let mut fixed = Fixed::default();
    if let Some(wish) = wish {
        let check =
            |source: &SourceFile| -> Vec<Diagnostic> { workspace.check(source).diagnostics };
        (source, diagnostics, fixed) = fix::one(host, file, source, diagnostics, wish, check)?;
    }
    let report = report_of(source, diagnostics, unknown);
    Ok(One {
        report,
        fixed,
        counts,
        entry,
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

/// Plan files that are used, and what they were when they were read.
struct Recorder<'a, F> {
    files: F,
    host: &'a dyn Host,
    /// Whether anybody wants to know.
    stamps: bool,
    used: RefCell<Vec<Used>>,
}

impl<F: Files> Files for Recorder<'_, F> {
    fn read(&self, from: &str, path: &str) -> Result<SourceFile, String> {
        if !self.stamps {
            return self.files.read(from, path);
        }
        let place = beside(from, path);
        let stamp: Option<Stamp> = self.host.stamp(&place).ok();
        let read = self.files.read(from, path);
        let hash = read.as_ref().ok().map(|source| hash(source.text()));
        let path = place.to_string_lossy().into_owned();
        let mut used = self.used.borrow_mut();
        if used.iter().all(|known| known.path != path) {
            used.push(Used { path, stamp, hash });
        }
        read
    }
}
