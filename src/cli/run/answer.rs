//! What is printed of a run that this process has driven, and the exit code that goes with it.

use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::{Exit, Failure, Terminal, ask};
use crate::diag::render::visible_line;
use crate::engine::{Interruption, Outcome};
use crate::journal::StepError;
use crate::protocol::{RunState, Sent};
use crate::types::{ErrorClass, Transient};
use crate::value::Value;

/// Prints what came of a run.
///
/// # Errors
/// When it cannot be written.
pub fn print(outcome: &Outcome, (format, output): (RunFormat, RunOutput), terminal: Terminal) -> Result<Exit, Failure> {
    match format {
        RunFormat::Json => {
            let mut text = Vec::new();
            let written = outcome.write_json(&mut text);
            written.map_err(|error| Failure::Environment(format!("the outcome cannot be written: {error}")))?;
            text.push(b'\n');
            terminal.print(&String::from_utf8_lossy(&text))?;
        }
        RunFormat::Ndjson => {}
        RunFormat::Human | RunFormat::Quiet => {
            let text = shown(outcome, output);
            if !text.is_empty() {
                terminal.print(&text)?;
            }
            if let Some(error) = &outcome.error {
                explain_failure(error, terminal);
            }
        }
    }
    ask::tell_what_is_left(outcome, terminal);
    match &outcome.interruption {
        Some(Interruption::Journal(why)) => {
            terminal.complain(why);
            terminal.say(&format!("the run stopped where it was; go on with `planrun run --resume {}`", outcome.run));
            return Ok(Exit::Environment);
        }
        Some(Interruption::Asked) => {
            terminal.say(&format!("interrupted; go on with `planrun run --resume {}`", outcome.run));
            return Ok(Exit::Interrupted);
        }
        Some(Interruption::Waiting { events, .. }) => {
            if !events.is_empty() {
                terminal.say(&format!("the run {} is paused: {}", outcome.run, visible_line(events)));
            }
            return Ok(Exit::Paused);
        }
        None => {}
    }
    if outcome.error.as_deref().is_some_and(is_out_of_reach) {
        terminal.say("check that the service runs and its address is right, or try the plan with `--mock`");
        return Ok(Exit::Environment);
    }
    Ok(match outcome.state {
        RunState::Completed => Exit::Fine,
        RunState::Cancelled => Exit::Interrupted,
        RunState::Failed | RunState::Stalled | RunState::Running => Exit::Findings,
        RunState::Paused => Exit::Paused,
    })
}

/// What is printed of a run, as text that ends with a newline.
fn shown(outcome: &Outcome, output: RunOutput) -> String {
    let value = match output {
        RunOutput::Reply => match &outcome.reply {
            Some(Value::String(text)) => return format!("{}\n", crate::diag::render::visible_text(text)),
            Some(reply) => reply.to_json(),
            None => return String::new(),
        },
        RunOutput::Last => {
            match outcome.steps().into_iter().rev().find(|step| step.duration_ms > 0 || step.attempts > 0) {
                Some(step) => step.output.to_json(),
                None => return String::new(),
            }
        }
        RunOutput::Full => serde_json::to_value(outcome.steps()).unwrap_or_default(),
        RunOutput::Observations => {
            let steps = outcome.steps();
            let outputs = steps.iter().map(|step| (step.path.to_string(), step.output.to_json()));
            serde_json::Value::Object(outputs.collect())
        }
    };
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
}

/// Whether the run failed because the other side could not be reached at all: nothing was sent.
fn is_out_of_reach(error: &StepError) -> bool {
    let mut first = error;
    while let Some(cause) = &first.cause {
        first = cause;
    }
    first.class == ErrorClass::Transient(Transient::Network) && first.sent == Sent::No
}

/// The failure, and what is behind it, a line each.
fn explain_failure(error: &StepError, terminal: Terminal) {
    let place = |error: &StepError| {
        if error.step.is_empty() { "the plan".to_owned() } else { format!("the step `{}`", error.step) }
    };
    terminal.complain(&format!("{} failed with {}: {}", place(error), error.class, visible_line(&error.message)));
    let mut cause = error.cause.as_deref();
    while let Some(error) = cause {
        terminal.say(&format!(
            "  because {} failed with {}: {}",
            place(error),
            error.class,
            visible_line(&error.message)
        ));
        cause = error.cause.as_deref();
    }
}
