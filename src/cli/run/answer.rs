//! What is printed of a run that this process has driven, and the exit code that goes with it.

use planrun_lang::diag::render::{escape_json, visible_line, visible_text};
use planrun_lang::protocol::{RunState, Sent, StepState};
use planrun_lang::types::{Denied, ErrorClass, Transient};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::drive::OutputOptions;
use super::results;
use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::{Exit, Failure, Terminal, ask};
use planrun_core::journal::StepError;
use planrun_core::run::{Interruption, Outcome, StepReport};

/// The step that a process was to go up to.
#[derive(Clone, Copy)]
pub struct UpTo<'a> {
    pub step: &'a str,
    /// Whether another process can go on with the run.
    pub goes_on: bool,
}

/// So many steps are told that failed beside the one that the run failed with.
const MAX_TOLD: usize = 8;

/// Prints what came of a run.
///
/// # Errors
/// When it cannot be written.
pub fn print(
    outcome: &Outcome,
    until: Option<UpTo<'_>>,
    look: OutputOptions,
) -> Result<Exit, Failure> {
    let terminal = look.terminal;
    match look.format {
        RunFormat::Json => terminal.print_json(&document(outcome, look.output)?)?,
        RunFormat::Ndjson => {}
        RunFormat::Human | RunFormat::Quiet => {
            let text = match (&outcome.interruption, until) {
                (Some(Interruption::Reached), Some(until)) if look.output == RunOutput::Reply => {
                    output_of(outcome, until.step)
                }
                _ => shown(outcome, look),
            };
            if !text.is_empty() {
                terminal.print(&text)?;
            }
            if let Some(error) = &outcome.error {
                explain_failure(outcome, error, terminal);
            }
        }
    }
    for error in &outcome.not_undone {
        terminal.complain(&format!(
            "`{}` failed, so that stays as it is: {}",
            visible_line(&error.step),
            visible_line(&error.message)
        ));
    }
    ask::tell_what_is_left(outcome, terminal);
    if let Some(interruption) = &outcome.interruption {
        return Ok(interrupted(outcome, interruption, until, terminal));
    }
    if outcome.error.as_deref().is_some_and(is_out_of_reach) {
        terminal.say(
            "check that the service runs and its address is right, or try the plan with `--mock`",
        );
        return Ok(Exit::Environment);
    }
    Ok(match outcome.state {
        RunState::Completed => Exit::Fine,
        RunState::Cancelled => Exit::Interrupted,
        RunState::Failed | RunState::Stalled | RunState::Running => Exit::Findings,
        RunState::Paused => Exit::Paused,
    })
}

/// Why the process let go of the run, and how it goes on.
fn interrupted(
    outcome: &Outcome,
    why: &Interruption,
    until: Option<UpTo<'_>>,
    terminal: Terminal,
) -> Exit {
    let run = &outcome.run;
    let go_on = || terminal.command(&format!("run --resume {run}"));
    match why {
        Interruption::Journal(why) => {
            terminal.complain(why);
            terminal.say(&format!(
                "the run stopped where it was; go on with `{}`",
                go_on()
            ));
            Exit::Environment
        }
        Interruption::Asked => {
            terminal.say(&format!("interrupted; go on with `{}`", go_on()));
            Exit::Interrupted
        }
        Interruption::Reached => {
            if let Some(UpTo { step, goes_on }) = until {
                let on = format!("; go on with `{}`", go_on());
                terminal.say(&format!(
                    "stopped after `{step}`{}",
                    if goes_on { &on } else { "" }
                ));
            }
            if outcome.error.is_some() {
                Exit::Findings
            } else {
                Exit::Fine
            }
        }
        Interruption::Failed(error) => {
            tell_failed(run, error, terminal);
            Exit::Paused
        }
        Interruption::Waiting { events, .. } => {
            if !events.is_empty() {
                terminal.say(&format!(
                    "the run {run} is paused: {}",
                    visible_line(events)
                ));
            }
            Exit::Paused
        }
    }
}

/// How a run goes on that is paused because something has failed.
fn tell_failed(run: &str, error: &StepError, terminal: Terminal) {
    let end = terminal.command(&format!("runs cancel {run}"));
    if error.class == ErrorClass::Denied(Denied::Contract) {
        return terminal.say(&format!(
            "the run {run} is paused there; `{}` shows what has changed; once `{}` has pinned that, `{}` takes it up with \
             the plan that fits it, and `{end}` ends the run",
            terminal.command("tools diff"),
            terminal.command("tools lock"),
            terminal.command(&format!("runs patch {run} PLAN --resume")),
        ));
    }
    terminal.say(&format!(
        "the run {run} is paused there; `{}` does it again, `{end}` ends the run",
        terminal.command(&format!("runs resume {run}")),
    ));
}

/// The JSON of a run.
fn document(outcome: &Outcome, output: RunOutput) -> Result<String, Failure> {
    Ok(match output {
        RunOutput::Reply => {
            let mut text = Vec::new();
            let written = outcome.write_json(&mut text);
            written.map_err(|error| {
                Failure::Environment(format!("the outcome cannot be written: {error}"))
            })?;
            format!("{}\n", String::from_utf8_lossy(&text))
        }
        RunOutput::Last => pretty(&results::last_with_status(outcome)),
        RunOutput::Full => pretty(&results::full(outcome)),
        RunOutput::Observations => pretty(&results::observations(outcome)),
        RunOutput::Summary => pretty(&results::summary_document(outcome)),
    })
}

/// What is printed of a run for people, as text that ends with a newline.
fn shown(outcome: &Outcome, look: OutputOptions) -> String {
    match look.output {
        RunOutput::Reply => outcome
            .shown_reply()
            .map(|reply| printed(&reply))
            .unwrap_or_default(),
        RunOutput::Last => pretty(&results::last(outcome)),
        RunOutput::Full => pretty(&results::full(outcome)),
        RunOutput::Observations => visible_text(&results::observation_lines(
            outcome,
            look.terminal.look.language,
        ))
        .into_owned(),
        RunOutput::Summary => {
            visible_text(&results::summary(outcome, look.terminal.look.language)).into_owned()
        }
    }
}

/// What a step of the plan itself gave.
fn output_of(outcome: &Outcome, step: &str) -> String {
    let steps = outcome.steps();
    let step = steps.iter().find(|report| *report.path == *step);
    step.filter(|step| step.status == StepState::Completed)
        .map(|step| printed(&step.output))
        .unwrap_or_default()
}

/// Text as it is, all else as JSON.
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

/// Whether the run failed because the other side could not be reached at all: nothing was sent.
fn is_out_of_reach(error: &StepError) -> bool {
    let mut first = error;
    while let Some(cause) = &first.cause {
        first = cause;
    }
    first.class == ErrorClass::Transient(Transient::Network) && first.sent == Sent::No
}

/// The failure and what is behind it, a line each; then what else has failed, where the run went on.
fn explain_failure(outcome: &Outcome, error: &StepError, terminal: Terminal) {
    let mut told = error.innermost();
    terminal.complain(&sentence(told));
    while let Some(cause) = told.cause.as_deref() {
        // A cause that is part of what was told already adds nothing.
        if cause.class != told.class || !told.message.contains(&*cause.message) {
            terminal.say(&format!("  because {}", sentence(cause.innermost())));
        }
        told = cause;
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
    for step in others.iter().take(MAX_TOLD) {
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
        terminal.say(&format!(
            "  the step `{path}` failed, too, with {}: {message}",
            part("class")
        ));
    }
    if others.len() > MAX_TOLD {
        terminal.say(&format!(
            "  and {} more steps failed",
            others.len() - MAX_TOLD
        ));
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

/// The step of the plan itself that a path is in.
fn root_of(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
}
