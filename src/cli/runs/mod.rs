//! `planrun runs`: what happened, and acting on it.

mod answer;
mod events;
mod export;
mod inbox;
mod list;
mod patch;
mod prune;
mod say;
mod show;
mod when;

pub(in crate::cli) use when::{away, moment};

use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use planrun_lang::diag::render::Language;
use planrun_tools::project::Project;

use super::arguments::{RunFormat, RunOutput};
use super::journals::journal_of;
use super::run::{OutputOptions, drive, drive_run};
use super::{Exit, Failure, Terminal};
use planrun_runs::runs::{CancelOptions, Error, Planrun, ResumeOptions};

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
    #[arg(long, value_name = "LANGUAGE", value_parser = super::arguments::language())]
    language: Option<Language>,
    /// How it is printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: RunFormat,
}

impl LookArguments {
    fn look(&self, terminal: Terminal) -> OutputOptions {
        OutputOptions {
            format: self.format,
            output: self.output,
            terminal: terminal.speaking(self.language),
        }
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
pub fn run(
    arguments: &Arguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
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
    let planrun = journal_of(None, project)?;
    let location = planrun.location();
    let terminal = terminal
        .beside(location)
        .speaking(Project::language(&**planrun.host(), location));
    match &arguments.command {
        RunsCommand::List(arguments) => list::run(&planrun, arguments, terminal),
        RunsCommand::Show(arguments) => show::run(&planrun, arguments, terminal),
        RunsCommand::Events(arguments) => events::run(&planrun, arguments, terminal),
        RunsCommand::Resume(arguments) => go_on(&planrun, arguments, terminal),
        RunsCommand::Export(arguments) => export::run(&planrun, arguments, terminal),
        RunsCommand::Prune(arguments) => prune::run(&planrun, arguments, terminal),
        RunsCommand::Inbox(arguments) => inbox::run(&planrun, arguments, terminal),
        RunsCommand::Answer(arguments) => answer::run(&planrun, arguments, terminal),
        RunsCommand::Signal(arguments) => say::signal(&planrun, arguments, terminal),
        RunsCommand::Retry(arguments) => retry(&planrun, arguments, terminal),
        RunsCommand::Patch(arguments) => patch::run(&planrun, arguments, terminal),
        RunsCommand::Cancel(arguments) => cancel(&planrun, arguments, terminal),
    }
}

/// Goes on with a run where it was; of one that has ended, tells how.
fn resume(
    planrun: &Planrun,
    run: &str,
    options: ResumeOptions,
    output: OutputOptions,
) -> Result<Exit, Failure> {
    drive(planrun, (options, None), output, |options| {
        planrun.resume(run, options)
    })
}

fn go_on(
    planrun: &Planrun,
    arguments: &ResumeArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let output = arguments.look.look(terminal);
    if let Some(run) = &arguments.run {
        let options = ResumeOptions {
            again: arguments.again,
            ..ResumeOptions::default()
        };
        return resume(planrun, run, options, output);
    }
    let mut exit = Exit::Fine;
    for row in planrun.due()? {
        // Somebody may have taken it up while others went on here.
        if planrun.run(&row.run)?.driven {
            continue;
        }
        terminal.say(&format!("{} ({})", row.run, row.plan));
        let options = ResumeOptions {
            retries: false,
            ..ResumeOptions::default()
        };
        let one = resume(planrun, &row.run, options, output)?;
        if one != Exit::Fine && one != Exit::Paused {
            exit = one;
        }
    }
    Ok(exit)
}

fn retry(
    planrun: &Planrun,
    arguments: &RetryArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let output = arguments.look.look(terminal);
    drive(
        planrun,
        (ResumeOptions::default(), None),
        output,
        |options| planrun.retry(&arguments.run, options),
    )
}

/// Why a run is not told something.
fn nothing_told(error: Error) -> Failure {
    match &error {
        Error::Ended { .. } => Failure::Usage(format!("{error}; nothing was told to it")),
        _ => error.into(),
    }
}

/// Asks for the end of a run. One that nobody drives is driven to its end here.
fn cancel(
    planrun: &Planrun,
    arguments: &CancelArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let how = CancelOptions {
        keep: arguments.keep,
        force: arguments.force,
    };
    let options = ResumeOptions::default();
    let stop = options.cancel.clone();
    let run = match planrun.cancel(&arguments.run, how, options) {
        Ok(Some(run)) => run,
        Ok(None) => {
            terminal.say("asked the process that drives the run to end it");
            return Ok(Exit::Fine);
        }
        Err(Error::Ended { run, state }) => {
            terminal.complain(&format!("the run `{run}` has ended already: {state}"));
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    let id = run.id().to_owned();
    drive_run(
        planrun,
        run,
        (stop, None, None),
        OutputOptions::plain(terminal),
    )?;
    terminal.say(&format!("the run {id} is {}", planrun.run(&id)?.state));
    Ok(Exit::Fine)
}
