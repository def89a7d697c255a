//! `planrun run`: check, then run, and tell what came of it.

mod answer;
mod base;
mod drive;
mod dry;
mod inputs;
mod listener;
mod pinned;
mod record;
mod results;

use std::path::Path;
use std::sync::Arc;

use super::arguments::RunArguments;
use super::journals::journal_of;
use super::workspace::{CheckedPlan, Workspace, real_host, spoken_at};
use super::{Exit, Failure, Terminal, ask};
use crate::diag::render::{human, visible_line};
use crate::engine::{Copies, Program};
use crate::journal::Log;
use crate::journal::store::{Created, Journal, NewRun, Settings};
use crate::project::{Location, make_own_folder};
use crate::source::SourceFile;
use crate::syntax::{json::definitions, parse};

use base::Base;
pub use drive::{Job, Look, Onward, fold, go_further, resume, seen};
pub(in crate::cli) use drive::{new_run_id, start_mock};
pub(in crate::cli) use inputs::parse_input;
pub(in crate::cli) use pinned::Pinned;

/// Checks and runs a plan, or goes on with a run.
///
/// # Errors
/// When the plan, its inputs, its tools or the journal cannot be had.
pub fn run(arguments: &RunArguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit, Failure> {
    let spoken = |location: &Location| arguments.language.or_else(|| spoken_at(&*real_host(), location));
    let look = |terminal: Terminal| Look { format: arguments.format, output: arguments.output, terminal };
    if let Some(run) = &arguments.resume {
        let (journal, location) = journal_of(arguments.file.as_deref(), project)?;
        let terminal = terminal.beside(&location).speaking(spoken(&location));
        let (look, answering) = (look(terminal), ask::answering(arguments, terminal)?);
        let row = journal.run(run)?;
        let (until, record) = (arguments.until.clone(), arguments.record.clone());
        let onward = Onward { answering, until, record, ..Onward::new(look) };
        return resume(&journal, &location, &row, onward);
    }
    let Some(file) = &arguments.file else { return Err(Failure::Usage("name a plan file".to_owned())) };
    let workspace = Workspace::open(file, project)?;
    let terminal = terminal.beside(&workspace.location).speaking(spoken(&workspace.location));
    let (look, answering) = (look(terminal), ask::answering(arguments, terminal)?);
    let Some(checked) = workspace.plan(file, arguments.plan.as_deref(), terminal)? else {
        return Ok(Exit::Findings);
    };
    if is_refused(&checked, arguments, terminal) {
        return Ok(Exit::Findings);
    }
    let base = match &arguments.base {
        Some(base) => Some(Base::of(&base::journal(&workspace)?, &workspace.location, base)?),
        None => None,
    };
    let known = base.as_ref().map(|base| base.inputs().clone()).unwrap_or_default();
    let inputs = inputs::inputs(&checked.plan, arguments, known)?;
    let run = arguments.run_id.clone().unwrap_or_else(|| drive::new_run_id(&*workspace.host));
    let program = Arc::new(Program::new(checked.plan.clone()));
    let (mock, max_steps) = (arguments.mock, arguments.max_steps);
    let until = arguments.until.as_deref().map(|step| drive::until_step(&program, step)).transpose()?;
    if arguments.dry_run {
        return dry::tell(&workspace, &checked, &inputs, (until.as_ref(), look));
    }
    let (log, past, retries) = (None, None, false);
    let copies = match &base {
        Some(base) => Some(taken_over(base, (&program, &checked.source), arguments)?),
        None => None,
    };
    let definitions = definitions(&parse(&checked.source).file, &checked.plan.name);
    let job = Job {
        workspace,
        program,
        definitions,
        inputs,
        run,
        log,
        past,
        mock,
        max_steps,
        strict: arguments.strict,
        retries,
        copies,
        answering,
        until,
        record: arguments.record.clone(),
    };
    start(job, &checked, arguments, look)
}

/// Whether the plan is not even started, since it could not be done as a whole; tells why. What `--until` leaves for a
/// later process need not be there now.
fn is_refused(checked: &CheckedPlan, arguments: &RunArguments, terminal: Terminal) -> bool {
    if let Some(refused) = checked.not_yet() {
        terminal.say_plainly(&human(&[refused], terminal.look));
        return true;
    }
    let as_a_whole = arguments.until.is_none() && !arguments.dry_run;
    let refused = as_a_whole && checked.tell_obstacles(&[], terminal);
    if refused {
        terminal.say("error: nothing was started: the plan could not be done as a whole");
    }
    refused
}

/// Writes down that a run begins, and drives it; one that is there already is gone on with.
fn start(mut job: Job, checked: &CheckedPlan, arguments: &RunArguments, look: Look) -> Result<Exit, Failure> {
    if !arguments.no_journal {
        match written_down(&job, checked)? {
            Begun::New(log) => job.log = Some(log),
            Begun::Before(journal) => {
                let row = journal.run(&job.run)?;
                let (answering, until) = (job.answering, arguments.until.clone());
                let record = arguments.record.clone();
                let onward = Onward { answering, until, record, ..Onward::new(look) };
                return resume(&journal, &job.workspace.location, &row, onward);
            }
        }
    }
    job.drive(look)
}

/// What a new run takes over from another one. Effects are not done again without somebody's consent.
fn taken_over(base: &Base, plan: (&Program, &SourceFile), arguments: &RunArguments) -> Result<Copies, Failure> {
    let (copies, repeated) = base.copies(plan, arguments.from.as_deref())?;
    if repeated.is_empty() || arguments.yes {
        return Ok(Copies { repeats_effects: arguments.yes, ..copies });
    }
    let which = repeated.iter().map(|step| visible_line(step)).collect::<Vec<_>>().join(", ");
    Err(Failure::Usage(format!(
        "this would do again what the run {} has done: {which}; add `--yes` to do that",
        copies.run
    )))
}

/// Whether a run of this id is new.
enum Begun {
    New(Box<dyn Log>),
    /// It was there, with the same plan and the same inputs.
    Before(Journal),
}

/// Writes down what a run is bound to, before anything of it happens.
fn written_down(job: &Job, checked: &CheckedPlan) -> Result<Begun, Failure> {
    let workspace = &job.workspace;
    let journal =
        Journal::open(&Workspace::journal_path(&workspace.location), Settings::default(), workspace.host.clone())?;
    // After the journal, which makes the folder for its user alone; where git is not used nobody misses what this adds.
    let _ = make_own_folder(&*workspace.host, &workspace.location.folder);
    let (folder, has_file) = (&workspace.location.folder, workspace.location.file.is_some());
    let pinned = Pinned::new(
        (checked.source.name(), checked.source.text(), &checked.plan),
        (folder, has_file, &workspace.pins()),
        &job.inputs,
        (job.mock, job.max_steps, job.strict),
    );
    let new = NewRun {
        run: &job.run,
        plan: &checked.plan.name,
        digest: pinned.digest(),
        pinned: &pinned.to_bytes(),
        at: workspace.host.now(),
    };
    Ok(match journal.create(&new)? {
        Created::New(driver) => Begun::New(Box::new(driver)),
        Created::Exists(_) => Begun::Before(journal),
    })
}
