//! `planrun run`: check, then run, and tell what came of it.

mod answer;
mod drive;
mod dry;
mod inputs;
mod listener;
mod record;
mod results;

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::render::human;
use planrun_tools::project::{Location, Project};
use planrun_tools::tools::Catalog;

use super::arguments::RunArguments;
use super::journals::journal_of;
use super::plan_files::checked_plan;
use super::{Exit, Failure, Terminal, ask};
use planrun_runs::runs::{
    CheckedPlan, Error, Planrun, ResumeOptions, RunOptions, Workspace, real_host,
};

pub use answer::print as print_outcome;
pub use drive::{OutputOptions, drive, drive_run, listen, wait};
pub use dry::print as print_forecast;

/// Checks and runs a plan, or goes on with a run.
///
/// # Errors
/// When the plan, its inputs, its tools or the journal cannot be had.
pub fn run(
    arguments: &RunArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    match (&arguments.resume, &arguments.file) {
        (Some(run), _) => resume(run, arguments, project, terminal),
        (None, Some(file)) => start(file, arguments, project, terminal),
        (None, None) => Err(Failure::Usage("name a plan file".to_owned())),
    }
}

/// Goes on with a run.
fn resume(
    run: &str,
    arguments: &RunArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let planrun = journal_of(arguments.file.as_deref(), project)?;
    let terminal = speaking(arguments, planrun.location(), terminal);
    let (output, options) = (output(arguments, terminal), options(arguments, terminal)?);
    let record = arguments.record.clone();
    drive(&planrun, (options, record), output, |options| {
        planrun.resume(run, options)
    })
}

/// Checks a plan, and runs it or tells what a run would do.
fn start(
    file: &Path,
    arguments: &RunArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let workspace = Arc::new(Workspace::open(file, project)?);
    let terminal = speaking(arguments, &workspace.location, terminal);
    let (output, mut options) = (output(arguments, terminal), options(arguments, terminal)?);
    let Some(checked) = checked_plan(&workspace, file, arguments.plan.as_deref(), terminal)? else {
        return Ok(Exit::Findings);
    };
    if is_refused(&checked, arguments, terminal)? {
        return Ok(Exit::Findings);
    }
    let planrun = Planrun::at(workspace.host.clone(), workspace.location.clone());
    let base = arguments
        .base
        .as_deref()
        .map(|base| wait(planrun.base(base))?.map_err(Failure::from))
        .transpose()?;
    let inputs = inputs::inputs(
        &checked.plan,
        arguments,
        base.as_ref().map(planrun_runs::runs::Base::inputs),
    )?;
    if arguments.dry_run {
        let forecast = planrun.forecast(&checked, &inputs, arguments.until.as_deref())?;
        return dry::print(&forecast, output);
    }
    if !arguments.mock && !contracts_hold(&checked, terminal)? {
        return Ok(Exit::Findings);
    }
    options.until.clone_from(&arguments.until);
    let record = arguments.record.clone();
    drive(&planrun, (options, record), output, |drive| {
        let options = RunOptions {
            id: arguments.run_id.clone(),
            ephemeral: arguments.no_journal,
            mock: arguments.mock,
            max_steps: arguments.max_steps,
            strict: arguments.strict,
            approval: None,
            base,
            from: arguments.from.clone(),
            repeats_effects: arguments.yes,
            drive,
        };
        planrun.start(&checked, inputs, options)
    })
}

/// The terminal beside the project, in the language that is asked for there.
fn speaking(arguments: &RunArguments, location: &Location, terminal: Terminal) -> Terminal {
    let language = arguments
        .language
        .or_else(|| Project::language(&*real_host(), location));
    terminal.beside(location).speaking(language)
}

fn output(arguments: &RunArguments, terminal: Terminal) -> OutputOptions {
    OutputOptions {
        format: arguments.format,
        output: arguments.output,
        terminal,
    }
}

/// How this process drives the run.
fn options(arguments: &RunArguments, terminal: Terminal) -> Result<ResumeOptions, Failure> {
    let answering = ask::answering(arguments, terminal)?;
    Ok(ResumeOptions {
        answering,
        until: arguments.until.clone(),
        ..ResumeOptions::default()
    })
}

/// Whether the plan is not even started, since it could not be done as a whole; tells why. What `--until` leaves for a
/// later process need not be there now.
fn is_refused(
    checked: &CheckedPlan,
    arguments: &RunArguments,
    terminal: Terminal,
) -> Result<bool, Error> {
    if arguments.until.is_some() || arguments.dry_run {
        return Ok(false);
    }
    is_obstructed(checked.ready(), terminal)
}

/// Whether the tools of a plan still have the contracts that it was checked against; where not, that is told. So is who has
/// not said it in time.
fn contracts_hold(checked: &CheckedPlan, terminal: Terminal) -> Result<bool, Failure> {
    let compared = wait(checked.verify_contracts())?;
    for server in compared.iter().flatten() {
        terminal.say(&late(server));
    }
    Ok(!is_obstructed(compared.map(drop), terminal)?)
}

/// What is said of a server that has not told in time what it offers.
pub(in crate::cli) fn late(server: &str) -> String {
    let seconds = Catalog::CONTRACT_TIMEOUT.as_secs();
    format!(
        "warning: the server `{server}` has not said within {seconds} s what it offers; its contracts are compared when it is called"
    )
}

/// Whether findings keep a plan from being started; shows them.
fn is_obstructed(ready: Result<(), Error>, terminal: Terminal) -> Result<bool, Error> {
    match ready {
        Err(Error::Obstacles(report)) => {
            if !report.diagnostics.is_empty() {
                terminal.say_plainly(&human(&[*report], terminal.look));
            }
            terminal.say("error: nothing was started: the plan could not be done as a whole");
            Ok(true)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(false),
    }
}
