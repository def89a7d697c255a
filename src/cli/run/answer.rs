//! Prints the outcome of a run that this process has driven, and chooses the exit code.

use planrun_lang::diag::render::{escape_json, visible_line, visible_text};
use planrun_lang::protocol::{RunState, Sent, StepState};
use planrun_lang::types::{Denied, ErrorClass, Transient};
use planrun_lang::value::{Value, counted};
use serde_json::Value as Json;

use super::drive::OutputOptions;
use super::results;
use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::runs::timestamp;
use crate::cli::{Exit, Failure, Terminal, ask};
use planrun_core::journal::StepError;
use planrun_core::run::{Interruption, Outcome, StepReport};

/// The step after which the run pauses, from `--until`.
#[derive(Clone, Copy)]
pub struct UpTo<'a> {
    pub step: &'a str,
    /// Whether another process can resume the run.
    pub resumable: bool,
}

/// Maximum number of failed steps listed in addition to the one that failed the run.
const MAX_FAILED_STEPS: usize = 8;

/// Prints the outcome of a run.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn print(
    outcome: &Outcome,
    until: Option<UpTo<'_>>,
    options: OutputOptions,
) -> Result<Exit, Failure> {
    let terminal = options.terminal;
    match options.format {
        RunFormat::Json => terminal.print_json(&document(outcome, options.output)?)?,
        RunFormat::Ndjson => {}
        RunFormat::Human | RunFormat::Quiet => {
            let text = match (&outcome.interruption, until) {
                (Some(Interruption::Reached), Some(until))
                    if options.output == RunOutput::Reply =>
                {
                    output_of(outcome, until.step)
                }
                _ => human_output(outcome, options),
            };
            if !text.is_empty() {
                terminal.print(&text)?;
            }
            if let Some(error) = &outcome.error {
                explain_failure(outcome, error, terminal);
            }
        }
    }
    for line in not_undone(outcome) {
        terminal.error(&line);
    }
    if !outcome.retryable.is_empty() {
        terminal.note(&retry_hint(outcome, terminal));
    }
    ask::print_open_questions(outcome, terminal);
    if let Some(interruption) = &outcome.interruption {
        return Ok(interrupted(outcome, interruption, until, terminal));
    }
    if outcome.error.as_deref().is_some_and(is_unreachable) {
        terminal.note(
            "check that the service is running and its address is correct, or try the plan with `--mock`",
        );
        return Ok(Exit::Environment);
    }
    Ok(match outcome.state {
        RunState::Completed => Exit::Fine,
        RunState::Cancelled => {
            terminal.note(&format!("the run {} is cancelled", outcome.run));
            Exit::Interrupted
        }
        RunState::Failed | RunState::Stalled | RunState::Running => Exit::Findings,
        RunState::Paused => Exit::Paused,
    })
}

/// Describes the effects that were not undone, one per line.
pub fn not_undone(outcome: &Outcome) -> impl Iterator<Item = String> {
    outcome.not_undone.iter().map(|error| {
        let how = if error.class == ErrorClass::Cancelled {
            "did not complete"
        } else {
            "failed"
        };
        format!(
            "not undone, since `{}` {how}: {}",
            visible_line(&error.step),
            visible_line(&error.message)
        )
    })
}

/// Tells how to retry each `undo` that has failed.
#[must_use]
pub fn retry_hint(outcome: &Outcome, terminal: Terminal) -> String {
    let command = terminal.command(&format!("runs retry {}", outcome.run));
    format!("try again to undo with `{command}`")
}

/// Prints why the process suspended the run, and how to resume it.
fn interrupted(
    outcome: &Outcome,
    why: &Interruption,
    until: Option<UpTo<'_>>,
    terminal: Terminal,
) -> Exit {
    let run = &outcome.run;
    let resume_command = || terminal.command(&format!("run --resume {run}"));
    match why {
        Interruption::Journal(why) => {
            terminal.error(why);
            terminal.note(&format!(
                "the run is suspended; resume it with `{}`",
                resume_command()
            ));
            Exit::Environment
        }
        Interruption::Asked => {
            terminal.note(&format!(
                "interrupted; resume the run with `{}`",
                resume_command()
            ));
            Exit::Interrupted
        }
        Interruption::Reached => {
            if let Some(UpTo { step, resumable }) = until {
                let on = format!("; resume the run with `{}`", resume_command());
                terminal.note(&format!(
                    "stopped after `{step}`{}",
                    if resumable { &on } else { "" }
                ));
            }
            if outcome.error.is_some() {
                Exit::Findings
            } else {
                Exit::Fine
            }
        }
        Interruption::Failed(error) => {
            print_paused(run, error, terminal);
            Exit::Paused
        }
        Interruption::Waiting { events, wake } => {
            if !events.is_empty() {
                terminal.note(&format!(
                    "the run {run} is paused: {}",
                    visible_line(events)
                ));
            } else if let (Some(wake), true) = (wake, outcome.questions.is_empty()) {
                terminal.note(&format!(
                    "the run {run} is paused until {}; `{}` resumes what is due",
                    timestamp(*wake),
                    terminal.command("runs resume --due")
                ));
            }
            Exit::Paused
        }
    }
}

/// Prints how to resume a run that is paused because of a failure.
fn print_paused(run: &str, error: &StepError, terminal: Terminal) {
    let end = terminal.command(&format!("runs cancel {run}"));
    if error.class == ErrorClass::Denied(Denied::Contract) {
        return terminal.note(&format!(
            "the run {run} is paused at this step; `{}` shows what has changed; pin the change with `{}`, then continue with a \
             plan that fits it: `{}`; or end the run with `{end}`",
            terminal.command("tools diff"),
            terminal.command("tools lock"),
            terminal.command(&format!("runs patch {run} PLAN --resume")),
        ));
    }
    terminal.note(&format!(
        "the run {run} is paused at this step; try again with `{}`, or end the run with `{end}`",
        terminal.command(&format!("runs resume {run}")),
    ));
}

/// Returns the JSON output of a run.
fn document(outcome: &Outcome, output: RunOutput) -> Result<String, Failure> {
    Ok(match output {
        RunOutput::Reply => {
            let mut text = Vec::new();
            let written = outcome.write_json(&mut text);
            written.map_err(|error| {
                Failure::Environment(format!("cannot write the outcome: {error}"))
            })?;
            format!("{}\n", String::from_utf8_lossy(&text))
        }
        RunOutput::Last => pretty(&results::last_with_status(outcome)),
        RunOutput::Full => pretty(&results::full(outcome)),
        RunOutput::Observations => pretty(&results::observations(outcome)),
        RunOutput::Summary => pretty(&results::summary_document(outcome)),
    })
}

/// Returns the output of a run for people, as text that ends with a newline.
fn human_output(outcome: &Outcome, options: OutputOptions) -> String {
    match options.output {
        RunOutput::Reply => outcome
            .redacted_reply()
            .map(|reply| printed(&reply))
            .unwrap_or_default(),
        RunOutput::Last => pretty(&results::last(outcome)),
        RunOutput::Full => pretty(&results::full(outcome)),
        RunOutput::Observations => visible_text(&results::observation_lines(
            outcome,
            options.terminal.style.language,
        ))
        .into_owned(),
        RunOutput::Summary => {
            visible_text(&results::summary(outcome, options.terminal.style.language)).into_owned()
        }
    }
}

/// Returns the output of a step of the plan itself.
fn output_of(outcome: &Outcome, step: &str) -> String {
    let steps = outcome.steps();
    let step = steps.iter().find(|report| *report.path == *step);
    step.filter(|step| step.status == StepState::Completed)
        .map(|step| printed(&step.output))
        .unwrap_or_default()
}

/// Formats strings as they are, and other values as JSON.
fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{}\n", visible_text(text)),
        value => pretty(&value.to_json()),
    }
}

fn pretty(json: &Json) -> String {
    format!(
        "{}\n",
        escape_json(&serde_json::to_string_pretty(json).unwrap_or_default())
    )
}

/// Returns true if the run failed because the service could not be reached: nothing was sent.
fn is_unreachable(error: &StepError) -> bool {
    let mut first = error;
    while let Some(cause) = &first.cause {
        first = cause;
    }
    first.class == ErrorClass::Transient(Transient::Network) && first.sent == Sent::No
}

/// Prints the failure and its causes, one per line, then the other failed steps if the run continued.
fn explain_failure(outcome: &Outcome, error: &StepError, terminal: Terminal) {
    let mut current = error.innermost();
    terminal.error(&sentence(current));
    while let Some(cause) = current.cause.as_deref() {
        // A cause whose message is part of the printed one adds nothing.
        if cause.class != current.class || !current.message.contains(&*cause.message) {
            terminal.note(&format!("  because {}", sentence(cause.innermost())));
        }
        current = cause;
    }
    let own = root_of(&error.step);
    let steps = outcome.steps();
    let others: Vec<&StepReport> = steps
        .iter()
        .filter(|step| {
            step.status == StepState::Failed
                && root_of(&step.path) == &*step.path
                && *step.path != *own
        })
        .collect();
    for step in others.iter().take(MAX_FAILED_STEPS) {
        let part = |name: &str| {
            step.error
                .as_ref()
                .and_then(|error| error.get(name)?.as_str())
                .unwrap_or_default()
        };
        let (path, message) = (
            visible_line(&step.path),
            visible_line(part("message")).into_owned(),
        );
        terminal.note(&format!(
            "  the step `{path}` also failed, with {}: {message}",
            part("class")
        ));
    }
    if others.len() > MAX_FAILED_STEPS {
        let more = counted(others.len() - MAX_FAILED_STEPS, "more step");
        terminal.note(&format!("  and {more} failed"));
    }
}

fn sentence(error: &StepError) -> String {
    let whose = if error.step.is_empty() {
        "the plan".to_owned()
    } else {
        format!("the step `{}`", visible_line(&error.step))
    };
    let place = error
        .place
        .as_ref()
        .map(|place| format!(" ({})", visible_line(place)))
        .unwrap_or_default();
    format!(
        "{whose} failed with {}: {}{place}",
        error.class,
        visible_line(&error.message)
    )
}

/// Returns the step of the plan itself that a path is in.
fn root_of(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}
