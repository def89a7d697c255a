//! `planrun fmt`: formats plans.

use std::path::PathBuf;

use clap::Args;
use planrun_lang::diag::render::{
    Appearance, FileReport, colored_diff, human, unified_diff, visible_text,
};
use planrun_lang::format::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::json;
use planrun_lang::value::counted;
use planrun_tools::host::RealHost;
use rayon::prelude::*;

use super::check::{nothing_found, write};
use super::plan_files::{self, PlanFile};
use super::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::PlanText;

const EXAMPLES: &str = "\
Examples:
  planrun fmt                    every plan below this folder, in place
  planrun fmt --check plans      for CI: list files that are not formatted; exit code 1
  planrun fmt --diff a.plan      show what would change
  planrun fmt - < a.plan         from standard input to standard output, for editors";

/// Format plans
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders to format, or `-` for standard input to standard output. Folders are searched for *.plan and
    /// *.plantest files, except those that git ignores
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Write nothing; list the files that would change, and exit with 1 if there are any
    #[arg(long)]
    pub check: bool,
    /// Write nothing; print a diff of what would change, and exit with 1 if there is any
    #[arg(long)]
    pub diff: bool,
}

/// The result of formatting one file.
enum Done {
    Unchanged(SourceFile, PlanFile),
    Changed {
        source: SourceFile,
        file: PlanFile,
        text: String,
    },
    /// The file cannot be parsed, and was left unchanged.
    Refused(FileReport),
    /// The file cannot be opened or written; the message says why.
    Problem(String),
}

/// Formats the files that the arguments name. Returns an error if a path does not exist or is a plan in the JSON form,
/// no plan is found, or the output cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let mut found = plan_files::find(&arguments.paths)?;
    if let Some(path) = arguments
        .paths
        .iter()
        .find(|path| is_json(&path.to_string_lossy()))
    {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "`{path}` is in the JSON form, but `fmt` formats only the text of plans"
        )));
    }
    found.files.retain(|file| !is_json(&file.name()));
    if found.files.is_empty() && found.problems.is_empty() {
        return Err(Failure::Environment(nothing_found(&arguments.paths)));
    }
    let writes = !arguments.check && !arguments.diff;
    let done: Vec<Done> = found
        .files
        .into_par_iter()
        .map(|file| form(file, writes))
        .collect();
    let mut sum = Sum::default();
    sum.problems
        .extend(found.problems.into_iter().map(|problem| problem.message));
    for result in done {
        sum.add(result, arguments, terminal.style);
    }
    if writes || !terminal.style.color {
        terminal.print_exactly(&sum.out)?;
    } else {
        terminal.print(&sum.out)?;
    }
    if !sum.refused.is_empty() {
        let color = terminal.color_messages;
        let style = Appearance {
            color,
            ..terminal.style
        };
        terminal.eprint(&human(&sum.refused, style));
    }
    for problem in &sum.problems {
        terminal.error(problem);
    }
    terminal.note(&sentence(writes, &sum));
    Ok(if !sum.problems.is_empty() {
        Exit::Environment
    } else if sum.refused.is_empty() && (writes || sum.changed == 0) {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// The results of all files.
#[derive(Default)]
struct Sum {
    changed: usize,
    unchanged: usize,
    refused: Vec<FileReport>,
    problems: Vec<String>,
    /// Text for standard output.
    out: String,
}

impl Sum {
    fn add(&mut self, done: Done, arguments: &Arguments, style: Appearance) {
        let writes = !arguments.check && !arguments.diff;
        match done {
            Done::Unchanged(source, file) => {
                self.unchanged += 1;
                if writes && file == PlanFile::Stdin {
                    self.out.push_str(source.text());
                }
            }
            Done::Changed { source, file, text } => {
                self.changed += 1;
                if arguments.check {
                    self.out.push_str(&visible_text(source.name()));
                    self.out.push('\n');
                }
                if arguments.diff {
                    self.out.push_str(&difference(&source, &text, style));
                }
                if writes && file == PlanFile::Stdin {
                    self.out.push_str(&text);
                }
            }
            Done::Refused(report) => self.refused.push(report),
            Done::Problem(problem) => self.problems.push(problem),
        }
    }
}

/// Returns true if the file name is that of a plan in the JSON form.
fn is_json(name: &str) -> bool {
    name.ends_with(json::ENDING)
}

/// Formats one file, and writes it if `writes` is true and the text changed.
fn form(file: PlanFile, writes: bool) -> Done {
    let source = match plan_files::load(&file) {
        Ok(PlanText::Text(source)) => source,
        Ok(PlanText::Broken(report)) => return Done::Refused(report),
        Err(problem) => return Done::Problem(problem.message),
    };
    let text = match format(&source) {
        Ok(text) => text,
        Err(findings) => return Done::Refused(FileReport::new(source, findings)),
    };
    if text == source.text() {
        return Done::Unchanged(source, file);
    }
    if writes
        && let PlanFile::Path(path) = &file
        && let Err(why) = write(&RealHost, path, source.text(), &text)
    {
        return Done::Problem(format!("cannot write `{}`: {why}", file.name()));
    }
    Done::Changed { source, file, text }
}

/// Returns the diff of a file.
fn difference(source: &SourceFile, text: &str, style: Appearance) -> String {
    let diff = unified_diff(source.name(), source.text(), text);
    if style.color {
        colored_diff(&diff)
    } else {
        diff
    }
}

/// Returns the summary line: the number of files of each result.
fn sentence(writes: bool, sum: &Sum) -> String {
    let (changed, unchanged, refused) = (sum.changed, sum.unchanged, sum.refused.len());
    let did = if writes { "formatted" } else { "would change" };
    let mut parts = Vec::new();
    if changed > 0 {
        parts.push(format!("{} {did}", counted(changed, "file")));
    }
    if unchanged > 0 || changed + refused == 0 {
        parts.push(format!("{} already formatted", counted(unchanged, "file")));
    }
    if refused > 0 {
        parts.push(format!(
            "{} skipped because of errors",
            counted(refused, "file")
        ));
    }
    parts.join(", ")
}
