//! `planrun fmt`: plans in their canonical text.

use std::path::PathBuf;

use clap::Args;
use planrun_lang::diag::render::{
    FileReport, Look, coloured_diff, human, unified_diff, visible_text,
};
use planrun_lang::format::format;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::json;
use planrun_tools::host::RealHost;
use rayon::prelude::*;

use super::check::{counted, nothing_found, write};
use super::plan_files::{self, PlanFile};
use super::{Exit, Failure, Terminal};
use planrun_runs::runs::PlanText;

const EXAMPLES: &str = "\
Examples:
  planrun fmt                    every plan below this folder, in place
  planrun fmt --check plans      for CI: names what is not in form, exit code 1
  planrun fmt --diff a.plan      what would change
  planrun fmt - < a.plan         from standard input to standard output, for editors";

/// Write plans in their canonical text.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files and folders; `-` is standard input, which is written to standard output. Folders are searched for *.plan and
    /// *.plantest, except what git ignores.
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Write nothing; name the files that would change, and exit with 1 if there are any.
    #[arg(long)]
    pub check: bool,
    /// Write nothing; print what would change, and exit with 1 if anything would.
    #[arg(long)]
    pub diff: bool,
}

/// What became of one file.
enum Done {
    Unchanged(SourceFile, PlanFile),
    Changed {
        source: SourceFile,
        file: PlanFile,
        text: String,
    },
    /// It cannot be read as a plan, and was left alone.
    Refused(FileReport),
    /// It cannot be opened or written, in a sentence.
    Problem(String),
}

/// Formats what the arguments name.
///
/// # Errors
/// When a path does not exist, no plan is found, or the output cannot be written.
pub fn run(arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let mut found = plan_files::find(&arguments.paths)?;
    if let Some(path) = arguments
        .paths
        .iter()
        .find(|path| is_json(&path.to_string_lossy()))
    {
        let path = path.display();
        return Err(Failure::Usage(format!(
            "`{path}` is in the JSON form, and `fmt` is for the text of plans"
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
        sum.add(result, arguments, terminal.look);
    }
    if writes || !terminal.look.color {
        terminal.print_exactly(&sum.out)?;
    } else {
        terminal.print(&sum.out)?;
    }
    if !sum.refused.is_empty() {
        let color = terminal.color_messages;
        let look = Look {
            color,
            ..terminal.look
        };
        terminal.say_plainly(&human(&sum.refused, look));
    }
    for problem in &sum.problems {
        terminal.complain(problem);
    }
    terminal.say(&sentence(writes, &sum));
    Ok(if !sum.problems.is_empty() {
        Exit::Environment
    } else if sum.refused.is_empty() && (writes || sum.changed == 0) {
        Exit::Fine
    } else {
        Exit::Findings
    })
}

/// What became of all files.
#[derive(Default)]
struct Sum {
    changed: usize,
    unchanged: usize,
    refused: Vec<FileReport>,
    problems: Vec<String>,
    /// What goes to standard output.
    out: String,
}

impl Sum {
    fn add(&mut self, done: Done, arguments: &Arguments, look: Look) {
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
                    self.out.push_str(&difference(&source, &text, look));
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

/// Whether the file of this name is a plan in the JSON form.
fn is_json(name: &str) -> bool {
    name.ends_with(json::ENDING)
}

/// Forms one file, and writes it if that is wanted and it changed.
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

/// What changes in a file.
fn difference(source: &SourceFile, text: &str, look: Look) -> String {
    let diff = unified_diff(source.name(), source.text(), text);
    if look.color {
        coloured_diff(&diff)
    } else {
        diff
    }
}

/// The last line: what became of how many files.
fn sentence(writes: bool, sum: &Sum) -> String {
    let (changed, unchanged, refused) = (sum.changed, sum.unchanged, sum.refused.len());
    let did = if writes { "formatted" } else { "would change" };
    let mut parts = Vec::new();
    if changed > 0 {
        parts.push(format!("{} {did}", counted(changed, "file")));
    }
    if unchanged > 0 || changed + refused == 0 {
        parts.push(format!("{} already in form", counted(unchanged, "file")));
    }
    if refused > 0 {
        parts.push(format!("{} left alone", counted(refused, "file")));
    }
    parts.join(", ")
}
