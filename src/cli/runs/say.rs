//! `planrun runs signal`: saying something to a run, held against what it waits for before it is told.

use clap::Args;
use serde_json::Value as Json;

use crate::cli::arguments::key_value;
use crate::cli::run::{Job, Look, Onward, fold, resume};
use crate::cli::{Exit, Failure, Terminal};
use crate::engine::{accepts_move, accepts_signal};
use crate::journal::store::{Journal, RunRow};
use crate::journal::{Move, Said, Signal};
use crate::project::Location;

/// Send a signal to a run (`name=JSON`), or move a task that is `external` (`task=status`).
#[derive(Debug, Args)]
pub struct SignalArguments {
    /// The run.
    #[arg(value_name = "RUN")]
    run: String,
    /// The signal and its payload, or the task and its status.
    #[arg(value_name = "NAME=JSON|STATUS", value_parser = key_value)]
    what: (String, String),
    /// What is merged into the context of the task: a JSON object.
    #[arg(long, value_name = "JSON")]
    context: Option<String>,
    /// Go on with the run in this process.
    #[arg(long)]
    resume: bool,
}

pub fn signal(
    journal: &Journal,
    location: &Location,
    arguments: &SignalArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let row = open(journal, &arguments.run)?;
    let (name, text) = &arguments.what;
    let program = Job::pinned(journal, location, &row, &fold(journal, &row.run)?)?.program;
    let said = if let Some(task) = program.plan.tasks.iter().find(|task| *task.name == **name) {
        let context = arguments.context.as_deref().map_or(Ok(Json::Null), parsed)?;
        accepts_move(task, text, &context).map_err(Failure::Usage)?;
        Said::Move(Move { task: name.as_str().into(), status: text.as_str().into(), context })
    } else {
        let payload = parsed(text)?;
        accepts_signal(&program, name, &payload).map_err(Failure::Usage)?;
        Said::Signal(Signal { name: name.as_str().into(), payload })
    };
    tell(journal, location, (&row, &said), arguments.resume, terminal)
}

/// The run, which must not have ended.
pub(super) fn open(journal: &Journal, run: &str) -> Result<RunRow, Failure> {
    let row = journal.run(run)?;
    if row.ended {
        return Err(Failure::Usage(format!("the run `{}` has ended: {}; nothing was told to it", row.run, row.state)));
    }
    Ok(row)
}

pub(super) fn parsed(text: &str) -> Result<Json, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Usage(format!("`{text}` is not JSON: {error}; text is written in quotes, such as '\"yes\"'"))
    })
}

fn tell(
    journal: &Journal,
    location: &Location,
    (row, said): (&RunRow, &Said),
    goes_on: bool,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    journal.post(&row.run, &said.to_text())?;
    if journal.is_driven(row) {
        return Ok(Exit::Fine);
    }
    if !goes_on {
        terminal.say(&format!("told; go on with `{}`", terminal.command(&format!("runs resume {}", row.run))));
        return Ok(Exit::Fine);
    }
    let look = Look::plain(terminal);
    resume(journal, location, row, Onward::new(look))
}
