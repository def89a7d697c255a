//! `planrun run`: checks a plan, runs it, and prints the outcome.

mod answer;
mod drive;
mod dry;
mod event_output;
mod inputs;
mod observer;
mod record;
mod results;

use std::path::Path;
use std::sync::Arc;

use planrun_lang::diag::render::human;
use planrun_lang::lint::CallSettings as _;
use planrun_lang::sema::Step;
use planrun_tools::project::{Location, Project};
use planrun_tools::tools::Catalog;

use super::arguments::RunArguments;
use super::journals::journal_of;
use super::plan_files::checked_plan;
use super::shell::set_project;
use super::suggest::did_you_mean;
use super::{Exit, Failure, Result, Terminal, ask};
use planrun_runs::runs::{
    CheckedPlan, Error, Planrun, ResumeOptions, RunOptions, Workspace, real_host,
};

pub use answer::{exit_of, not_undone, print as print_outcome, print_messages, retry_hint};
pub use drive::{OutputOptions, drive, drive_run, drive_with_progress, wait};
pub use dry::print as print_forecast;

/// Checks and runs a plan, or resumes a run. Returns an error if the plan, its inputs, its tools or the journal cannot
/// be used.
pub fn run(arguments: &RunArguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit> {
    match (&arguments.resume, &arguments.file) {
        (Some(run), _) => resume(run, arguments, project, terminal),
        (None, Some(file)) => start(file, arguments, project, terminal),
        (None, None) => Err(Failure::Usage(
            "name a plan file, or a run with `--resume RUN`".to_owned(),
        )),
    }
}

fn resume(
    run: &str,
    arguments: &RunArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit> {
    let planrun = journal_of(arguments.file.as_deref(), project)?;
    let terminal = project_terminal(arguments, planrun.location(), terminal);
    let (output, options) = (output(arguments, terminal), options(arguments, terminal)?);
    let record = arguments.record.clone();
    drive(&planrun, (options, record), output, |options| {
        planrun.resume(run, options)
    })
}

/// Checks a plan, and runs it or prints what a run would do.
fn start(
    file: &Path,
    arguments: &RunArguments,
    project: Option<&Path>,
    terminal: Terminal,
) -> Result<Exit> {
    inputs::require_one_source(arguments)?;
    let workspace = Arc::new(Workspace::open(file, project)?);
    let terminal = project_terminal(arguments, &workspace.location, terminal);
    let (output, mut options) = (output(arguments, terminal), options(arguments, terminal)?);
    let Some(checked) = checked_plan(&workspace, file, arguments.plan.as_deref(), terminal)? else {
        return Ok(Exit::Findings);
    };
    if is_refused(&checked, arguments, terminal)? {
        return Ok(Exit::Findings);
    }
    for given in &options.answering.answers {
        require_question(&checked, &given.path)?;
    }
    if arguments.dry_run && arguments.base.is_some() {
        let why = "a dry run cannot show what `--base` reuses; leave out one of the two";
        return Err(Failure::Usage(why.to_owned()));
    }
    let planrun = Planrun::at(workspace.host.clone(), workspace.location.clone());
    let base = arguments
        .base
        .as_deref()
        .map(|base| wait(planrun.base(base))?.map_err(Failure::from))
        .transpose()?;
    let known = base.as_ref().map(|base| base.inputs_for(&checked.plan));
    let inputs = inputs::inputs(&checked.plan, arguments, known.as_ref())?;
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

/// Returns the terminal for output about runs of the project, in the language of the command line or of the project.
fn project_terminal(arguments: &RunArguments, location: &Location, terminal: Terminal) -> Terminal {
    let language = arguments
        .language
        .or_else(|| Project::language(&*real_host(), location));
    set_project(location);
    terminal.with_language(language)
}

fn output(arguments: &RunArguments, terminal: Terminal) -> OutputOptions<'static> {
    OutputOptions {
        format: arguments.format,
        output: arguments.output,
        may_mock: arguments.resume.is_none() && !arguments.mock,
        ..OutputOptions::plain(terminal)
    }
}

/// Returns the options with which this process drives the run.
fn options(arguments: &RunArguments, terminal: Terminal) -> Result<ResumeOptions> {
    let answering = ask::answering(arguments, terminal)?;
    Ok(ResumeOptions {
        answering,
        until: arguments.until.clone(),
        ..ResumeOptions::default()
    })
}

/// Returns true if the plan is not started because it could not be completed; prints why. This is not checked with
/// `--until`, since later steps may run in another process, nor with `--dry-run`, which executes nothing.
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

/// Refuses an answer to a question that no run of a plan asks, before anything is done.
fn require_question(checked: &CheckedPlan, path: &str) -> Result<()> {
    const APPROVAL: &str = "approval";
    let (first, rest) = path
        .split_once(['.', '['])
        .map_or((path, None), |(first, rest)| (first, Some(rest)));
    let nodes = || {
        checked
            .plan
            .nodes()
            .filter_map(|node| Some((node.name.as_deref()?, node)))
    };
    let has_plain_names = nodes().all(|(name, _)| !name.contains(['.', '[']));
    if first == APPROVAL || !has_plain_names {
        return Ok(());
    }
    let mut named = nodes().filter(|(name, _)| *name == first).peekable();
    if named.peek().is_none() {
        let hint = did_you_mean(first, nodes().map(|(name, _)| name));
        return Err(Failure::Usage(format!(
            "`--answer {path}`: the plan asks nothing there, since it has no step `{first}`{hint}"
        )));
    }
    let asks = |step: &Step| {
        let confirms = step
            .clauses
            .as_ref()
            .is_some_and(|clauses| clauses.confirm.is_some());
        confirms
            || step
                .tool()
                .is_some_and(|tool| checked.workspace.confirms(tool))
    };
    if rest == Some("confirm") && !named.any(|(_, node)| node.step().is_none_or(asks)) {
        return Err(Failure::Usage(format!(
            "`--answer {path}`: the plan asks nothing there, since `{first}` has no `confirm`"
        )));
    }
    Ok(())
}

/// Returns true if the tools of a plan still have the contracts that it was checked against; prints the differences,
/// and the servers that did not answer in time.
fn contracts_hold(checked: &CheckedPlan, terminal: Terminal) -> Result<bool> {
    let compared = wait(checked.verify_contracts())?;
    for server in compared.iter().flatten() {
        terminal.note(&late_server_warning(server));
    }
    Ok(!is_obstructed(compared.map(drop), terminal)?)
}

/// Returns the warning about a server that did not list its tools in time.
pub(in crate::cli) fn late_server_warning(server: &str) -> String {
    let seconds = Catalog::CONTRACT_TIMEOUT.as_secs();
    format!(
        "warning: the server `{server}` did not list its tools within {seconds} s; its contracts are compared when it is called"
    )
}

/// Returns true if diagnostics keep a plan from being started; prints them.
fn is_obstructed(ready: Result<(), Error>, terminal: Terminal) -> Result<bool, Error> {
    match ready {
        Err(Error::Obstacles(report)) => {
            if !report.diagnostics.is_empty() {
                terminal.eprint(&human(&[*report], terminal.style));
            }
            terminal.error("the run was not started: parts of the plan cannot be executed");
            Ok(true)
        }
        Err(error) => Err(error),
        Ok(()) => Ok(false),
    }
}
