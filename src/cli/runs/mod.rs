//! `planrun runs`: inspects and controls runs.

mod answer;
mod events;
mod export;
mod inbox;
mod list;
mod message;
mod patch;
mod prune;
mod show;
mod signal;
mod time;

pub(in crate::cli) use time::{relative_time, timestamp};

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use planrun_lang::diag::render::Language;
use planrun_lang::protocol::RunState;
use planrun_tools::project::Project;
use serde_json::json;
use serde_json::value::RawValue;

use super::arguments::{RunFormat, RunOutput};
use super::journals::journal_of;
use super::run::{OutputOptions, drive, drive_run};
use super::shell::set_project;
use super::suggest::did_you_mean;
use super::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::{
    CancelOptions, Delivery, Error, ErrorKind, Planrun, ResumeOptions, RunFilter, RunSummary,
};

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

/// Inspect and control the runs of a project
///
/// A run is given by its id, or by a prefix of it.
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
    Signal(signal::SignalArguments),
    Retry(RetryArguments),
    Cancel(CancelArguments),
    Patch(patch::Arguments),
    Export(export::Arguments),
    Prune(prune::Arguments),
}

/// Resume a run, or all runs that are due
#[derive(Debug, Args)]
struct ResumeArguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN", required_unless_present = "due")]
    run: Option<String>,
    /// Resume a run once more that was paused because the processes that drove it died repeatedly without recording
    /// anything new
    #[arg(long, conflicts_with = "due")]
    again: bool,
    /// Resume every run whose wake-up time has passed, whose process has died, or that has got an answer or a signal. With
    /// `--format json`, one document has the list `runs`; with `ndjson`, each event has the `run` that it is part of
    #[arg(long, conflicts_with = "run")]
    due: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// How to print a run that is resumed.
#[derive(Debug, Args)]
struct OutputArguments {
    /// What to print of a completed run
    #[arg(long, value_name = "WHAT", default_value = "reply")]
    output: RunOutput,
    /// Language of observations, summaries and questions [default: the language of `planrun.yaml`, or en]
    #[arg(long, value_name = "LANGUAGE", value_parser = super::arguments::language())]
    language: Option<Language>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: RunFormat,
}

impl OutputArguments {
    fn options(&self, terminal: Terminal) -> OutputOptions<'static> {
        OutputOptions {
            format: self.format,
            output: self.output,
            ..OutputOptions::plain(terminal.with_language(self.language))
        }
    }
}

/// Retry the failed part of a run
///
/// If the run is paused because of a failure, the failed steps are retried; what has been done and not undone is not
/// done again. If the run has ended, only the verifications and the undos that have failed are retried; for a cancelled
/// run, the command exits with 0 if everything is undone then, and with 1 if not.
#[derive(Debug, Args)]
struct RetryArguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    #[command(flatten)]
    output: OutputArguments,
}

/// Cancel a run, and undo what it did where its plan defines how
///
/// Exits with 0 if the run is cancelled, but with 1 if an undo has failed. If another process drives the run, that process is asked to cancel it, and the
/// command exits with 0 at once. Otherwise, exits with 4 if the run is paused because undoing needs a person, with 1 if
/// it has ended in another way, with 2 if it had already ended, and with 3, without cancelling it, if undoing needs an
/// environment variable that is not set.
#[derive(Debug, Args)]
struct CancelArguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Do not undo anything, or nothing more if the run is already undoing
    #[arg(long)]
    keep: bool,
    /// Cancel the run even while it is undoing; what is not yet undone is kept
    #[arg(long)]
    force: bool,
}

/// The output formats.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// Text for people
    Human,
    /// One JSON document
    Json,
}

/// Runs the subcommand. Returns an error if there is no journal, or it cannot be used.
pub fn run(arguments: &Arguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
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
    set_project(location);
    let terminal = terminal.with_language(Project::language(&**planrun.host(), location));
    match &arguments.command {
        RunsCommand::List(arguments) => list::run(&planrun, arguments, terminal),
        RunsCommand::Show(arguments) => show::run(&planrun, arguments, terminal),
        RunsCommand::Events(arguments) => events::run(&planrun, arguments, terminal),
        RunsCommand::Resume(arguments) => resume_command(&planrun, arguments, terminal),
        RunsCommand::Export(arguments) => export::run(&planrun, arguments, terminal),
        RunsCommand::Prune(arguments) => prune::run(&planrun, arguments, terminal),
        RunsCommand::Inbox(arguments) => inbox::run(&planrun, arguments, terminal),
        RunsCommand::Answer(arguments) => answer::run(&planrun, arguments, terminal),
        RunsCommand::Signal(arguments) => signal::run(&planrun, arguments, terminal),
        RunsCommand::Retry(arguments) => retry(&planrun, arguments, terminal),
        RunsCommand::Patch(arguments) => patch::run(&planrun, arguments, terminal),
        RunsCommand::Cancel(arguments) => cancel(&planrun, arguments, terminal),
    }
}

/// Returns the plan of a filter that nothing passes, with the nearest name if no run has a plan of this name.
fn of_plan(planrun: &Planrun, plan: Option<&str>) -> Result<String> {
    let Some(plan) = plan else {
        return Ok(String::new());
    };
    let runs = planrun.list(&RunFilter::default())?;
    let known: BTreeSet<&str> = runs.iter().map(|run| &*run.plan).collect();
    let hint = if known.contains(plan) {
        String::new()
    } else {
        did_you_mean(plan, known)
    };
    Ok(format!(" of the plan `{plan}`{hint}"))
}

/// Resumes a run where it stopped; if it has ended, prints its outcome.
fn resume(
    planrun: &Planrun,
    run: &str,
    options: ResumeOptions,
    output: OutputOptions,
) -> Result<Exit> {
    drive(planrun, (options, None), output, |options| {
        planrun.resume(run, options)
    })
}

fn resume_command(
    planrun: &Planrun,
    arguments: &ResumeArguments,
    terminal: Terminal,
) -> Result<Exit> {
    let output = arguments.output.options(terminal);
    if let Some(run) = &arguments.run {
        let options = ResumeOptions {
            again: arguments.again,
            ..ResumeOptions::default()
        };
        return resume(planrun, run, options, output);
    }
    let output = OutputOptions {
        names_run: true,
        ..output
    };
    resume_all_due(planrun, output)
}

/// Resumes every due run. With `--format json`, their documents are parts of one document.
fn resume_all_due(planrun: &Planrun, output: OutputOptions) -> Result<Exit> {
    if output.format != RunFormat::Json {
        return resume_due(planrun, output);
    }
    let collected = RefCell::default();
    let exit = resume_due(
        planrun,
        OutputOptions {
            collected: Some(&collected),
            ..output
        },
    )?;
    let runs: Vec<Box<RawValue>> = collected
        .take()
        .into_iter()
        .filter_map(|document| RawValue::from_string(document).ok())
        .collect();
    output
        .terminal
        .print_document(&json!({ "version": 1, "runs": runs }))?;
    Ok(exit)
}

/// Resumes every due run. A run that cannot be resumed is reported, and the others are resumed; an interrupt ends it.
fn resume_due(planrun: &Planrun, output: OutputOptions) -> Result<Exit> {
    let terminal = output.terminal;
    let mut exit = Exit::Fine;
    for row in planrun.due()? {
        // Another process may have resumed it while this one drove other runs.
        if planrun.run(&row.run).is_ok_and(|now| now.driven) {
            continue;
        }
        terminal.note(&format!("{} ({})", row.run, row.plan));
        let options = ResumeOptions {
            retries: false,
            ..ResumeOptions::default()
        };
        let interrupt = options.cancel.clone();
        let mut is_taken = false;
        let resumed = drive(planrun, (options, None), output, |options| {
            let resumed = planrun.resume(&row.run, options);
            resumed.inspect_err(|error| {
                is_taken =
                    error.kind() == ErrorKind::Busy || matches!(error, Error::Changed { .. });
            })
        });
        let one = match resumed {
            Ok(one) => one,
            Err(_) if is_taken => continue,
            Err(failure) => {
                terminal.error(&format!("{}: {failure}", row.run));
                report_not_resumed(&row, &failure, output)?;
                Exit::from(&failure)
            }
        };
        if interrupt.is_cancelled() {
            return Ok(Exit::Interrupted);
        }
        if one != Exit::Paused {
            exit = exit.or_worse(one);
        }
    }
    Ok(exit)
}

/// Adds a run that could not be resumed to the output for programs, which would lack it otherwise.
fn report_not_resumed(row: &RunSummary, failure: &Failure, output: OutputOptions) -> Result<()> {
    let document = json!({
        "version": 1,
        "run": row.run,
        "plan": row.plan,
        "error": { "message": failure.to_string(), "exit": Exit::from(failure).code() },
    });
    if let Some(collected) = output.collected {
        collected.borrow_mut().push(document.to_string());
    } else if output.format == RunFormat::Ndjson {
        output.terminal.print_json(&format!("{document}\n"))?;
    }
    Ok(())
}

fn retry(planrun: &Planrun, arguments: &RetryArguments, terminal: Terminal) -> Result<Exit> {
    let output = arguments.output.options(terminal);
    let cancelled = |run: &RunSummary| run.state == Some(RunState::Cancelled);
    let had_undos = planrun
        .run(&arguments.run)
        .is_ok_and(|before| cancelled(&before) && undone(&before) != Exit::Fine);
    let exit = drive(
        planrun,
        (ResumeOptions::default(), None),
        output,
        |options| planrun.retry(&arguments.run, options),
    )?;
    if had_undos {
        // The run stays cancelled; what counts is whether its effects are undone now.
        return Ok(undone(&planrun.run(&arguments.run)?));
    }
    Ok(exit)
}

/// Returns whether everything that a run had to undo is undone. The note of an ended run says how much is not.
fn undone(run: &RunSummary) -> Exit {
    Exit::fine_if(run.note.is_none())
}

/// Describes why nothing was delivered to a run.
fn not_delivered(error: Error) -> Failure {
    match &error {
        Error::Ended { .. } => Failure::Usage(format!("{error}; nothing was delivered to it")),
        _ => error.into(),
    }
}

/// Cancels a run. If no process drives it, it is driven to its end here.
fn cancel(planrun: &Planrun, arguments: &CancelArguments, terminal: Terminal) -> Result<Exit> {
    let how = CancelOptions {
        keep: arguments.keep,
        force: arguments.force,
    };
    let try_to = || {
        let options = ResumeOptions::default();
        let stop = options.cancel.clone();
        let run = planrun.cancel(&arguments.run, how, options)?;
        Ok(run.map(|run| (run, stop)))
    };
    let mut cancelling = try_to();
    // A process that was just suspending the run has released it without reading the message.
    if matches!(cancelling, Ok(None))
        && message::delivered(planrun, &arguments.run, false)? == Delivery::Unread
    {
        cancelling = try_to();
    }
    let (run, stop) = match cancelling {
        Ok(Some(run)) => run,
        Ok(None) => {
            terminal.note("asked the process that drives the run to cancel it");
            return Ok(Exit::Fine);
        }
        Err(Error::Ended { run, state }) => {
            terminal.error(&format!("the run `{run}` has already ended: {state}"));
            return Ok(Exit::Usage);
        }
        Err(error) => return Err(error.into()),
    };
    let id = run.id().to_owned();
    let exit = drive_run(
        planrun,
        run,
        (stop, None, None),
        OutputOptions::plain(terminal),
    )?;
    let summary = planrun.run(&id)?;
    // The outcome has already told that it is cancelled.
    if summary.state != Some(RunState::Cancelled) {
        terminal.note(&format!("the run {id} is {}", summary.state_name()));
    }
    Ok(match summary.state {
        // With these options, what is not undone is kept on purpose.
        Some(RunState::Cancelled) if how.keep || how.force => Exit::Fine,
        Some(RunState::Cancelled) => undone(&summary),
        // It had nothing left to cancel.
        Some(RunState::Completed) => Exit::Findings,
        _ => exit,
    })
}
