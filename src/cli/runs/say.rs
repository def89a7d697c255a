//! `planrun runs signal`: saying something to a run, held against what it waits for before it is told.

use clap::Args;
use serde_json::Value as Json;

use super::{nothing_told, resume};
use crate::cli::arguments::key_value;
use crate::cli::run::OutputOptions;
use crate::cli::{Exit, Failure, Terminal};
use planrun_runs::runs::{Planrun, ResumeOptions};

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
    planrun: &Planrun,
    arguments: &SignalArguments,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let receiver = planrun.receiver(&arguments.run).map_err(nothing_told)?;
    let (name, text) = &arguments.what;
    let driven = if receiver.has_task(name) {
        let context = arguments
            .context
            .as_deref()
            .map_or(Ok(Json::Null), parsed)?;
        receiver.move_task(name, text, context)?
    } else {
        receiver.signal(name, parsed(text)?)?
    };
    let run = receiver.run();
    if driven {
        return Ok(Exit::Fine);
    }
    if !arguments.resume {
        terminal.say(&format!(
            "told; go on with `{}`",
            terminal.command(&format!("runs resume {run}"))
        ));
        return Ok(Exit::Fine);
    }
    resume(
        planrun,
        run,
        ResumeOptions::default(),
        OutputOptions::plain(terminal),
    )
}

pub(super) fn parsed(text: &str) -> Result<Json, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::Usage(format!(
            "`{text}` is not JSON: {error}; text is written in quotes, such as '\"yes\"'"
        ))
    })
}
