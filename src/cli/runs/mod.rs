//! `planrun runs`: what happened, and acting on it.

mod above;
mod answer;
mod answer_path;
mod events;
mod export;
mod inbox;
mod list;
mod open;
mod patch;
mod prune;
mod say;
mod show;
mod shown;
mod when;

pub(in crate::cli) use answer_path::split as answer_pair;
pub(in crate::cli) use shown::shown;
pub(in crate::cli) use when::{away, moment};

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};

use super::arguments::{RunFormat, RunOutput};
use super::journals::journal_of;
use super::run::{Look, Onward, go_further, resume};
use super::workspace::{real_host, spoken_at};
use super::{Exit, Failure, Terminal};
use crate::diag::render::Language;
use crate::journal::store::{Filter, Journal};
use crate::journal::{Cancel, Said};
use crate::project::Location;
use crate::protocol::RunState;
use crate::types::{ErrorClass, Validation};

const EXAMPLES: &str = "\
Examples:
  planrun runs list --state failed
  planrun runs show 0193a1f2
  planrun runs events 0193a1f2 --follow
  planrun runs resume --due
  planrun runs retry 0193a1f2
  planrun runs inbox
  planrun runs answer 0193a1f2 out.confirm=true --by inventory --resume
  planrun runs answer 0193a1f2 'mails[*].sent.confirm=true'
  planrun runs answer --all --interactive
  planrun runs patch 0193a1f2 onboarding.plan --resume
  planrun runs signal 0193a1f2 paid='{\"amount\": 20}'
  planrun runs export 0193a1f2 > run.ndjson
  planrun runs export --verify run.ndjson";

/// What happened in the runs of a project, and acting on it.
///
/// A run is named by its id or by the beginning of it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: RunsCommand,
}

#[derive(Debug, Subcommand)]
enum RunsCommand {
    List(list::Arguments),
    Show(show::Arguments),
    Events(events::Arguments),
    Resume(ResumeArguments),
    Inbox(inbox::Arguments),
    Answer(answer::Arguments),
    Signal(say::SignalArguments),
    Retry(RetryArguments),
    Cancel(CancelArguments),
    Patch(patch::Arguments),
    Export(export::Arguments),
    Prune(prune::Arguments),
}

/// Go on with a run, or with all that are due.
#[derive(Debug, Args)]
struct ResumeArguments {
    /// The run.
    #[arg(value_name = "RUN", required_unless_present = "due")]
    run: Option<String>,
    /// Try a run once more that was paused because processes died at it.
    #[arg(long, conflicts_with = "due")]
    again: bool,
    /// Every run whose time to go on has come, and every one whose process has died.
    #[arg(long, conflicts_with = "run")]
    due: bool,
    #[command(flatten)]
    look: LookArguments,
}

/// How a run that goes on is shown.
#[derive(Debug, Args)]
struct LookArguments {
    /// What is printed of a completed run.
    #[arg(long, value_name = "WHAT", default_value = "reply")]
    output: RunOutput,
    /// The language of observations, summaries and questions; else that of `planrun.yaml`, else English.
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<Language>,
    /// How it is printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: RunFormat,
}

impl LookArguments {
    fn look(&self, terminal: Terminal) -> Look {
        Look { format: self.format, output: self.output, terminal: terminal.speaking(self.language) }
    }
}

/// Do again what has failed, as a new execution.
///
/// Of a run that is paused because of a failure, that is the step that failed; of one that has completed and was then found
/// not to be as it should be, only the looks that found that.
#[derive(Debug, Args)]
struct RetryArguments {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    look: LookArguments,
}

/// End a run, and take back what it did where its plan says how.
#[derive(Debug, Args)]
struct CancelArguments {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    /// Take nothing back.
    #[arg(long)]
    keep: bool,
    /// End it even while it takes things back; what is left stays as it is.
    #[arg(long)]
    force: bool,
}

/// How something is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// For people.
    Human,
    /// One JSON document.
    Json,
}

/// Does what was asked for.
///
/// # Errors
/// When there is no journal, or it cannot be used.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit, Failure> {
    if let RunsCommand::Export(arguments) = &arguments.command
        && arguments.verify
    {
        return export::verify(arguments, terminal);
    }
    if let RunsCommand::Inbox(arguments) = &arguments.command
        && arguments.all
    {
        return inbox::run_everywhere(arguments, terminal);
    }
    let (journal, location) = journal_of(None, project)?;
    let terminal = terminal.beside(&location).speaking(spoken_at(&*real_host(), &location));
    match &arguments.command {
        RunsCommand::List(arguments) => list::run(&journal, arguments, terminal),
        RunsCommand::Show(arguments) => show::run(&journal, &location, arguments, terminal),
        RunsCommand::Events(arguments) => events::run(&journal, arguments, terminal),
        RunsCommand::Resume(arguments) => go_on(&journal, &location, arguments, terminal),
        RunsCommand::Export(arguments) => export::run(&journal, arguments, terminal),
        RunsCommand::Prune(arguments) => prune::run(&journal, arguments, terminal),
        RunsCommand::Inbox(arguments) => inbox::run(&journal, arguments, terminal),
        RunsCommand::Answer(arguments) => answer::run(&journal, &location, arguments, terminal),
        RunsCommand::Signal(arguments) => say::signal(&journal, &location, arguments, terminal),
        RunsCommand::Retry(arguments) => retry(&journal, &location, arguments, terminal),
        RunsCommand::Patch(arguments) => patch::run(&journal, &location, arguments, terminal),
        RunsCommand::Cancel(arguments) => cancel(&journal, &location, arguments, terminal),
    }
}

fn go_on(
    journal: &Journal,
    location: &Location,
    arguments: &ResumeArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let look = arguments.look.look(terminal);
    if let Some(run) = &arguments.run {
        let onward = Onward { again: arguments.again, ..Onward::new(look) };
        return resume(journal, location, &journal.run(run)?, onward);
    }
    let due = Filter { due: Some(real_host().now()), ..Filter::default() };
    // A run whose process has died waits for nothing but another process.
    let orphaned = Filter { states: vec![RunState::Running.name().to_owned()], ..Filter::default() };
    let mut rows = journal.runs(&due)?;
    for row in journal.runs(&orphaned)? {
        if rows.iter().all(|known| known.run != row.run) {
            rows.push(row);
        }
    }
    let mut exit = Exit::Fine;
    for row in rows {
        if row.ended || journal.is_driven(&row) {
            continue;
        }
        terminal.say(&format!("{} ({})", row.run, row.plan));
        let onward = Onward { retries: false, ..Onward::new(look) };
        let one = resume(journal, location, &row, onward)?;
        if one != Exit::Fine && one != Exit::Paused {
            exit = one;
        }
    }
    Ok(exit)
}

fn retry(
    journal: &Journal,
    location: &Location,
    arguments: &RetryArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let row = journal.run(&arguments.run)?;
    let unverified = ErrorClass::Validation(Validation::Verify).to_string();
    if row.ended && row.error.as_ref() != Some(&unverified) {
        return Err(Failure::Usage(format!(
            "the run `{run}` has ended: {state}; `planrun run PLAN --base {run}` begins a new one from it",
            run = row.run,
            state = row.state
        )));
    }
    let look = arguments.look.look(terminal);
    go_further(journal, location, &row, Onward::new(look))
}

/// Asks for the end of a run. One that nobody drives is driven to its end here.
fn cancel(
    journal: &Journal,
    location: &Location,
    arguments: &CancelArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let row = journal.run(&arguments.run)?;
    if row.ended {
        terminal.complain(&format!("the run `{}` has ended already: {}", row.run, row.state));
        return Ok(Exit::Usage);
    }
    let said = Cancel { cancel: true, keep: arguments.keep, force: arguments.force };
    journal.post(&row.run, &Said::Cancel(said).to_text())?;
    if journal.is_driven(&row) {
        terminal.say("asked the process that drives the run to end it");
        return Ok(Exit::Fine);
    }
    let look = Look::plain(terminal);
    // Whoever ends a run at which processes die wants no more of it done.
    let onward = Onward { retries: false, again: true, ..Onward::new(look) };
    resume(journal, location, &row, onward)?;
    terminal.say(&format!("the run {} is {}", row.run, journal.run(&row.run)?.state));
    Ok(Exit::Fine)
}
