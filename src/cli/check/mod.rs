//! `planrun check`: reports every diagnostic of plans, before anything runs.

mod files;
mod fix;
mod stats;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::files::{Checked, Task};
use self::fix::FixOptions;
pub(super) use fix::write;

use planrun_lang::diag::Severities;
use planrun_lang::diag::fix::Caution;
use planrun_lang::diag::render::{Report, Summary, github, human, json, junit, sarif, short};
use planrun_lang::value::counted;
use planrun_tools::host::{Host as _, RealHost};

use super::plan_files;
use super::{Exit, Failure, Result, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun check                           every plan below this folder
  planrun check plans/onboarding.plan     one plan
  planrun check --deny warnings plans     for CI: warnings fail too
  planrun check --fix plans               apply safe fixes, then report what is left
  planrun check --diff plans              show the fixes as a diff instead
  planrun check --format json - < a.plan  from standard input, for programs
  planrun check --format sarif > a.sarif  for code scanning";

/// Check plans without running them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders to check, or `-` for standard input. Folders are searched for *.plan, *.plan.json and
    /// *.plantest files, except those that git ignores
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
    /// Report a code as an error; `warnings` means every warning (repeatable)
    #[arg(long, value_name = "CODE|warnings", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// Do not report a warning or a note. Errors cannot be allowed: a plan with an error does not run (repeatable)
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Report an optional code, such as `could-run-together` (repeatable)
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub enable: Vec<String>,
    #[command(flatten)]
    pub fixes: Fixes,
    /// Print how much was checked, and how much of it is known before the run; with -v, also how long it took
    #[arg(long)]
    pub stats: bool,
    /// Check again whenever a plan, an app file or the project file changes, until Ctrl-C
    #[arg(long, conflicts_with_all = ["fix", "unsafe_fix", "diff"])]
    pub watch: bool,
    /// Do not use the network; a check never does
    #[arg(long)]
    pub offline: bool,
}

/// How to apply the fixes of diagnostics.
#[derive(Clone, Copy, Debug, Args)]
pub struct Fixes {
    /// Apply fixes that preserve the meaning, then check again; a plan from standard input is written to standard
    /// output
    #[arg(long)]
    pub fix: bool,
    /// Also apply fixes that may change the meaning
    #[arg(long)]
    pub unsafe_fix: bool,
    /// Print a diff of what the fixes would change without writing it, and exit with 1 if there is any
    #[arg(long)]
    pub diff: bool,
}

impl Fixes {
    fn options(self) -> Option<FixOptions> {
        let caution = if self.unsafe_fix {
            Caution::Unsafe
        } else {
            Caution::Safe
        };
        (self.fix || self.unsafe_fix || self.diff).then_some(FixOptions {
            caution,
            diff_only: self.diff,
        })
    }
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// Text with the source lines
    Human,
    /// One diagnostic per line, for grep
    Short,
    /// One JSON document
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Workflow commands that GitHub Actions displays at the source lines
    Github,
    /// JUnit XML with one test suite per file; errors are failures
    Junit,
}

/// Checks what the arguments name, and prints the diagnostics. Returns an error if a path does not exist, no plan is
/// found, a code is unknown, or the output cannot be written.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    let severities = Severities::parse(&arguments.deny, &arguments.allow, &arguments.enable)
        .map_err(|unknown| Failure::Usage(unknown.to_string()))?;
    let task = Task {
        folder: project,
        severities: &severities,
        fixes: arguments.fixes.options(),
    };
    if !arguments.watch {
        return once(arguments, task, terminal);
    }
    if arguments.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(super::watch::standard_input());
    }
    super::watch::watch(&arguments.paths, terminal, || {
        once(arguments, task, terminal)
    })
}

/// Finds the plans, checks them, and prints the result.
fn once(arguments: &Arguments, task: Task<'_>, terminal: Terminal) -> Result<Exit> {
    let began = RealHost.monotonic();
    let found = plan_files::find(&arguments.paths)?;
    if found.files.is_empty() && found.problems.is_empty() {
        return Err(Failure::Environment(nothing_found(&arguments.paths)));
    }
    let searched = RealHost.monotonic();
    let Checked {
        report,
        fixed,
        counts,
    } = fix::check_until_stable(&found, task)?;
    let checked = RealHost.monotonic();
    fix::print_result(&fixed, task.fixes, terminal)?;
    let would_change = fixed.iter().any(|fixed| !fixed.diff.is_empty());
    if task.fixes.is_none_or(|fixes| !fixes.diff_only) {
        print(
            &report,
            arguments.format,
            fixed.iter().any(|fixed| fixed.output.is_some()),
            terminal,
        )?;
    }
    for problem in &report.problems {
        terminal.error(&problem.message);
    }
    if arguments.stats {
        // Times differ from run to run, so they are omitted when the output is not for a person.
        let phases = [
            ("search", searched.saturating_sub(began)),
            ("check", checked.saturating_sub(searched)),
        ];
        let with_times = terminal.verbose > 0 || terminal.is_watched();
        terminal.eprint(&stats::stats(
            &counts,
            &report,
            if with_times { &phases } else { &[] },
        ));
    }
    let summary = Summary::of(&report.files);
    terminal.note(&sentence(summary, report.plan_files));
    Ok(
        match (
            report.problems.is_empty(),
            summary.errors > 0 || would_change,
        ) {
            (false, _) => Exit::Environment,
            (true, false) => Exit::Fine,
            (true, true) => Exit::Findings,
        },
    )
}

/// Prints the diagnostics; to standard error if standard output holds the text of a plan.
fn print(report: &Report, format: Format, to_stderr: bool, terminal: Terminal) -> Result<()> {
    let text = match format {
        Format::Human => human(&report.files, terminal.style),
        Format::Short => short(&report.files),
        Format::Json => json(report),
        Format::Sarif => sarif(report),
        Format::Github => github(report),
        Format::Junit => junit(report),
    };
    if to_stderr {
        terminal.eprint(&text);
        return Ok(());
    }
    match format {
        Format::Human | Format::Short => terminal.print(&text),
        Format::Json | Format::Sarif => terminal.print_json(&text),
        Format::Github | Format::Junit => terminal.print_exactly(&text),
    }
}

/// Returns the message for paths without any plan.
pub(super) fn nothing_found(paths: &[PathBuf]) -> String {
    let searched = paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "no plan files found in {searched}: plan files end in .plan, .plan.json or .plantest, and files that git ignores are \
         skipped"
    )
}

/// Returns the summary line: the number of diagnostics and of files.
fn sentence(summary: Summary, files: usize) -> String {
    let parts: Vec<_> = [
        (summary.errors, "error"),
        (summary.warnings, "warning"),
        (summary.notes, "note"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, word)| counted(count, word))
    .collect();
    let files = counted(files, "file");
    if parts.is_empty() {
        format!("no problems found in {files}")
    } else {
        format!("{} in {files}", parts.join(", "))
    }
}
