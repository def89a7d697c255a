//! `planrun check`: every finding in every plan, before anything runs.

mod files;
mod fix;
mod projects;
mod stats;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::files::{Checked, Task};
use self::fix::Wish;
pub(super) use fix::write;

use planrun_lang::diag::Severities;
use planrun_lang::diag::fix::Caution;
use planrun_lang::diag::render::{Report, Summary, github, human, json, junit, sarif, short};
use planrun_tools::host::{Host as _, RealHost};

use super::plan_files;
use super::{Exit, Failure, Terminal};

const EXAMPLES: &str = "\
Examples:
  planrun check                           every plan below this folder
  planrun check plans/onboarding.plan     one plan
  planrun check --deny warnings plans     for CI: warnings fail too
  planrun check --fix plans               apply safe fixes, then say what is left
  planrun check --diff plans              show them instead
  planrun check --format json - < a.plan  from standard input, for programs
  planrun check --format sarif > a.sarif  for code scanning";

/// Check plans without running them.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders; `-` is standard input. Folders are searched for *.plan, *.plan.json and *.plantest, except what git ignores.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// How findings are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    pub format: Format,
    /// Make a code an error; `warnings` stands for every warning. May be repeated.
    #[arg(long, value_name = "CODE|warnings", value_delimiter = ',')]
    pub deny: Vec<String>,
    /// Do not report a warning or a note. Errors stay: a plan with one does not run. May be repeated.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub allow: Vec<String>,
    /// Also report a code that is reported on request only, such as `could-run-together`. May be repeated.
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub enable: Vec<String>,
    #[command(flatten)]
    pub fixes: Fixes,
    /// Tell how much was checked and how much of it is known before the run; with -v, how long it took.
    #[arg(long)]
    pub stats: bool,
    /// Check again whenever a plan, an app file or the project's file changes, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["fix", "unsafe_fix", "diff"])]
    pub watch: bool,
    /// Do not use the network; a check never does.
    #[arg(long)]
    pub offline: bool,
}

/// What is done with the fixes that findings bring.
#[derive(Clone, Copy, Debug, Args)]
pub struct Fixes {
    /// Apply the fixes that keep the meaning, and check again; a plan from standard input goes to standard output.
    #[arg(long)]
    pub fix: bool,
    /// Apply also the fixes that may change the meaning.
    #[arg(long)]
    pub unsafe_fix: bool,
    /// Show what the fixes would change and write nothing; exit code 1 where they would.
    #[arg(long)]
    pub diff: bool,
}

impl Fixes {
    fn wish(self) -> Option<Wish> {
        let caution = if self.unsafe_fix {
            Caution::Unsafe
        } else {
            Caution::Safe
        };
        (self.fix || self.unsafe_fix || self.diff).then_some(Wish {
            caution,
            show: self.diff,
        })
    }
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
    /// SARIF 2.1.0, for code hosts and editors.
    Sarif,
    /// Workflow commands that GitHub Actions shows at their lines.
    Github,
    /// A test suite a file in the XML of JUnit: errors are failures.
    Junit,
}

/// Checks what the arguments name and prints what was found.
///
/// # Errors
/// When a path does not exist, no plan is found, a code is unknown, or the output cannot be written.
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let severities = Severities::parse(&arguments.deny, &arguments.allow, &arguments.enable)
        .map_err(|unknown| Failure::Usage(unknown.to_string()))?;
    let task = Task {
        folder: project,
        severities: &severities,
        wish: arguments.fixes.wish(),
    };
    if !arguments.watch {
        return once(arguments, task, terminal);
    }
    if arguments.paths.iter().any(|path| path.as_os_str() == "-") {
        return Err(Failure::Usage(
            "standard input cannot be watched; name files or folders".to_owned(),
        ));
    }
    super::watch::watch(&arguments.paths, terminal, || {
        once(arguments, task, terminal)
    })
}

/// Looks for the plans, checks them, tells.
fn once(arguments: &Arguments, task: Task<'_>, terminal: Terminal) -> Result<Exit, Failure> {
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
    } = fix::settled(&found, task)?;
    let checked = RealHost.monotonic();
    fix::tell(&fixed, task.wish, terminal)?;
    let would_change = fixed.iter().any(|fixed| !fixed.diff.is_empty());
    if task.wish.is_none_or(|wish| !wish.show) {
        print(
            &report,
            arguments.format,
            fixed.iter().any(|fixed| fixed.output.is_some()),
            terminal,
        )?;
    }
    for problem in &report.problems {
        terminal.complain(&problem.message);
    }
    if arguments.stats {
        // Times differ from run to run; programs that compare do not want them.
        let phases = [
            ("search", searched.saturating_sub(began)),
            ("check", checked.saturating_sub(searched)),
        ];
        let shown = terminal.verbose > 0 || terminal.is_watched();
        terminal.say_plainly(&stats::stats(
            &counts,
            &report,
            if shown { &phases } else { &[] },
        ));
    }
    let summary = Summary::of(&report.files);
    terminal.say(&sentence(summary, report.plan_files));
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

/// Prints the findings; beside the results where those are the text of a plan.
fn print(report: &Report, format: Format, beside: bool, terminal: Terminal) -> Result<(), Failure> {
    let text = match format {
        Format::Human => human(&report.files, terminal.look),
        Format::Short => short(&report.files),
        Format::Json => json(report),
        Format::Sarif => sarif(report),
        Format::Github => github(report),
        Format::Junit => junit(report),
    };
    if beside {
        terminal.say_plainly(&text);
        return Ok(());
    }
    match format {
        Format::Human | Format::Short => terminal.print(&text),
        Format::Json | Format::Sarif => terminal.print_json(&text),
        Format::Github | Format::Junit => terminal.print_exactly(&text),
    }
}

/// Why nothing was done where no plan is.
pub(super) fn nothing_found(paths: &[PathBuf]) -> String {
    let shown = paths
        .iter()
        .map(|path| format!("`{}`", path.display()))
        .collect::<Vec<_>>()
        .join(", ");
    format!(
        "there is no plan below {shown}: plan files end in .plan, .plan.json or .plantest, and what git ignores is not searched"
    )
}

/// The last line: what was found in how much.
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
        format!("nothing found in {files}")
    } else {
        format!("{} in {files}", parts.join(", "))
    }
}

/// A number and what it counts.
pub(super) fn counted(count: usize, word: &str) -> String {
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}
