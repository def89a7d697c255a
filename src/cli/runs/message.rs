//! Delivery of a message to a run: the process that drives the run takes it, or the run has to be resumed.

use std::thread::sleep;
use std::time::Duration;

use super::resume;
use crate::cli::run::OutputOptions;
use crate::cli::{Exit, Result, Terminal};
use planrun_lang::diag::render::command;
use planrun_runs::runs::{Delivery, Planrun, ResumeOptions, delivery};

/// Maximum number of pauses while the process that drives a run takes a message, or suspends the run.
const MAX_POLLS: u32 = 2_000 / PAUSE_MILLIS;
/// The same for a command that resumes the run otherwise. A process that suspends a run awaits its effects in flight.
const MAX_POLLS_BEFORE_RESUMING: u32 = 60_000 / PAUSE_MILLIS;
/// Length of a pause between two looks in milliseconds.
const PAUSE_MILLIS: u32 = 20;

/// Waits until the process that drives a run has taken the messages to it, or has released the run.
pub(super) fn delivered(planrun: &Planrun, run: &str, resumes: bool) -> Result<Delivery> {
    let polls = if resumes {
        MAX_POLLS_BEFORE_RESUMING
    } else {
        MAX_POLLS
    };
    for _ in 0..polls {
        let found = delivery(planrun, run)?;
        if found != Delivery::Driven {
            return Ok(found);
        }
        sleep(Duration::from_millis(PAUSE_MILLIS.into()));
    }
    Ok(delivery(planrun, run)?)
}

/// Resumes a run that has got a message, if that is requested and no process has taken the message.
pub(super) fn after_message(
    planrun: &Planrun,
    run: &str,
    resumes: bool,
    terminal: Terminal,
) -> Result<Exit> {
    let how = command(&format!("runs resume {run}"));
    match delivered(planrun, run, resumes)? {
        Delivery::Taken => {}
        Delivery::Driven => terminal.note(&format!(
            "recorded, but not taken yet by the process that drives the run; if that suspends the run, resume it with `{how}`"
        )),
        Delivery::Unread if resumes => {
            let options = ResumeOptions::default();
            let exit = resume(planrun, run, options, OutputOptions::plain(terminal));
            // Another process may have resumed it in between.
            if exit.is_ok() || delivered(planrun, run, true)? != Delivery::Taken {
                return exit;
            }
        }
        Delivery::Unread => terminal.note(&format!("recorded; resume the run with `{how}`")),
    }
    Ok(Exit::Fine)
}
