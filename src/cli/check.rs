//! `planrun check`: every finding in every plan, before anything runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::plan_files::{self, Loaded, PlanFile};
use super::workspace::Workspace;
use super::{Exit, Failure, Terminal};
use crate::diag::Severities;
use crate::diag::render::{FileReport, Summary, human, json, short};
use crate::host::{Host, RealHost};
use crate::project::Location;

/// Bytes of stack for each thread: the nesting caps of the language need a part of it in unoptimised builds.
const STACK_BYTES: usize = 16 * 1024 * 1024;

const EXAMPLES: &str = "\
Examples:
  planrun check                           every plan below this folder
  planrun check plans/onboarding.plan     one plan
  planrun check --deny warnings plans     for CI: warnings fail too
  planrun check --format json - < a.plan  from standard input, for programs";

/// Check plans without running them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders; `-` is standard input. Folders are searched for *.plan, except what git ignores.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// How findings are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
    /// Make a code an error; `warnings` stands for every warning. May be repeated.
    #[arg(long, value_name = "CODE|warnings", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// Do not report a code. May be repeated.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub allow: Vec<String>,
}

/// How findings are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Drawn in their lines, for people.
    Human,
    /// One a line, for grep.
    Short,
    /// One JSON document, for programs.
    Json,
}

/// Checks what the arguments name and prints what was found.
///
/// # Errors
/// When a path does not exist, no plan is found, a code is unknown, or the output cannot be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit, Failure> {
    let severities =
        Severities::parse(&arguments.deny, &arguments.allow).map_err(|unknown| Failure::Usage(unknown.to_string()))?;
    let found = plan_files::find(&arguments.paths)?;
    if found.files.is_empty() && found.problems.is_empty() {
        return Err(Failure::Environment(nothing_found(&arguments.paths)));
    }
    let checked = check_all(&found.files, project, &severities)?;
    let mut problems = found.problems;
    let mut reports = Vec::new();
    for result in checked {
        match result {
            Ok(report) => reports.push(report),
            Err(problem) => problems.push(problem),
        }
    }
    let files = found.files.len();
    reports.retain(|report| !report.diagnostics.is_empty());
    reports.sort_by(|one, other| one.source.name().cmp(other.source.name()));
    terminal.print(&match arguments.format {
        Format::Human => human(&reports, terminal.look),
        Format::Short => short(&reports),
        Format::Json => json(&reports, files),
    })?;
    for problem in &problems {
        terminal.complain(problem);
    }
    let summary = Summary::of(&reports);
    terminal.say(&sentence(summary, files));
    Ok(match (problems.is_empty(), summary.errors) {
        (false, _) => Exit::Environment,
        (true, 0) => Exit::Fine,
        (true, _) => Exit::Findings,
    })
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

/// Checks all files at the same time. First what was found in the projects' own files, then the plans in their order.
fn check_all(
    files: &[PlanFile],
    folder: Option<&Path>,
    severities: &Severities,
) -> Result<Vec<Result<FileReport, String>>, Failure> {
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|error| Failure::Environment(format!("cannot start threads: {error}")))?;
    let mut workspaces = Workspaces::open(files, folder)?;
    let findings = workspaces.projects.values_mut().flat_map(|workspace| std::mem::take(&mut workspace.findings));
    let mut results = findings.map(Ok).collect::<Vec<_>>();
    let check = |(file, location): (&PlanFile, &Location)| {
        Ok(match plan_files::load(file)? {
            Loaded::Broken(report) => report,
            Loaded::Text(source) => {
                let checked = workspaces.projects.get(location).map(|workspace| workspace.check(&source));
                FileReport::new(source, checked.map(|checked| checked.diagnostics).unwrap_or_default())
            }
        })
    };
    let plans: Vec<_> = pool.install(|| files.par_iter().zip(&workspaces.of_file).map(check).collect());
    results.extend(plans);
    for report in results.iter_mut().flatten() {
        severities.apply(&mut report.diagnostics);
    }
    Ok(results)
}

fn nothing_found(paths: &[PathBuf]) -> String {
    let shown = paths.iter().map(|path| format!("`{}`", path.display())).collect::<Vec<_>>().join(", ");
    format!("there is no plan below {shown}: plan files end in .plan, and what git ignores is not searched")
}

/// The last line: what was found in how much.
fn sentence(summary: Summary, files: usize) -> String {
    let parts: Vec<_> = [(summary.errors, "error"), (summary.warnings, "warning"), (summary.notes, "note")]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| counted(count, word))
        .collect();
    let files = counted(files, "file");
    if parts.is_empty() { format!("nothing found in {files}") } else { format!("{} in {files}", parts.join(", ")) }
}

fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
