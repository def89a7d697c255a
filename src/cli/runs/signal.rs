//! `planrun runs signal`: sends a signal to a run, validated against what the run waits for.

use clap::Args;
use serde_json::Value as Json;

use super::message::after_message;
use super::not_delivered;
use crate::cli::arguments::{key_value, parse_json};
use crate::cli::{Exit, Result, Terminal};
use planrun_runs::runs::Planrun;

/// Send a signal to a run (`NAME=JSON`), or move an external task (`TASK=STATUS`)
#[derive(Debug, Args)]
pub struct SignalArguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Signal and its payload, or task and its new status
    #[arg(value_name = "NAME=JSON|STATUS", value_parser = key_value)]
    what: (String, String),
    /// JSON object to merge into the context of the task
    #[arg(long, value_name = "JSON")]
    context: Option<String>,
    /// Resume the run in this process
    #[arg(long)]
    resume: bool,
}

pub fn run(planrun: &Planrun, arguments: &SignalArguments, terminal: Terminal) -> Result<Exit> {
    let receiver = planrun.receiver(&arguments.run).map_err(not_delivered)?;
    let (name, text) = &arguments.what;
    if receiver.has_task(name) {
        let context = arguments.context.as_deref();
        let context = context.map_or(Ok(Json::Null), |text| parse_json("the context", text))?;
        receiver.move_task(name, text, context)?;
    } else {
        receiver.expects(name)?;
        receiver.signal(name, parse_json(&format!("the payload of `{name}`"), text)?)?;
    }
    after_message(planrun, receiver.run(), arguments.resume, terminal)
}
