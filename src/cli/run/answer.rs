//! Prints the outcome of a run that this process has driven, and chooses the exit code.

use planrun_lang::diag::render::{command, escape_json, visible_line, visible_text};
use planrun_lang::protocol::{RunState, Sent, StepState};
use planrun_lang::types::{Denied, ErrorClass, Transient};
use planrun_lang::value::{Value, counted};
use serde_json::Value as Json;

use super::drive::OutputOptions;
use super::results;
use crate::cli::arguments::{RunFormat, RunOutput};
use crate::cli::runs::timestamp;
use crate::cli::{Exit, Failure, Result, Terminal, ask};
use planrun_core::journal::StepError;
use planrun_core::run::{Interruption, Outcome, StepReport};
use planrun_runs::runs::{CallSummary, signal_commands};

/// Maximum number of failed steps listed in addition to the one that failed the run.
const MAX_FAILED_STEPS: usize = 8;

/// Prints the outcome of a run. `until` is the step after which it pauses, from `--until`. Returns an error if the
/// output cannot be written.
pub fn print(outcome: &Outcome, until: Option<&str>, options: OutputOptions) -> Result<Exit> {
    let terminal = options.terminal;
    match options.format {
        RunFormat::Json => print_document(outcome, options)?,
        RunFormat::Ndjson => {}
        RunFormat::Human | RunFormat::Quiet => {
            let text = match (&outcome.interruption, until) {
                (Some(Interruption::Reached), Some(until))
                    if options.output == RunOutput::Reply =>
                {
                    output_of(outcome, until)
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
    print_messages(outcome, until, options);
    Ok(exit_of(outcome))
}

/// Prints the JSON document of a run, or adds it to those of other runs. Returns an error if the output cannot be
/// written.
pub fn print_document(outcome: &Outcome, options: OutputOptions) -> Result<()> {
    let document = document(outcome, options.output)?;
    match options.collected {
        Some(collected) => {
            collected.borrow_mut().push(document);
            Ok(())
        }
        None => options.terminal.print_json(&document),
    }
}

/// Prints the messages in addition to the result: effects that stay, open questions, and how the run continues.
pub fn print_messages(outcome: &Outcome, until: Option<&str>, options: OutputOptions) {
    let terminal = options.terminal;
    for line in not_undone(outcome) {
        terminal.error(&line);
    }
    if !outcome.retryable.is_empty() {
        terminal.note(&retry_hint(outcome));
    }
    let is_cut = outcome.interruption.is_none() && outcome.state != RunState::Completed;
    if is_cut && !outcome.recorded {
        print_effects(outcome, terminal);
    }
    ask::print_open_questions(outcome, terminal);
    if let Some(interruption) = &outcome.interruption {
        print_interruption(outcome, interruption, until, terminal);
    } else if outcome.error.as_deref().is_some_and(is_unreachable) {
        let mock = if options.may_mock {
            ", or try the plan with `--mock`"
        } else {
            ""
        };
        terminal.note(&format!(
            "check that the service is running and its address is correct{mock}"
        ));
    } else if outcome.state == RunState::Cancelled {
        terminal.note(&format!("the run {} is cancelled", outcome.run));
    }
}

/// Returns the exit code for the outcome of a run.
pub fn exit_of(outcome: &Outcome) -> Exit {
    match &outcome.interruption {
        Some(Interruption::Journal(_)) => return Exit::Environment,
        Some(Interruption::Asked) => return Exit::Interrupted,
        Some(Interruption::Failed(_) | Interruption::Waiting { .. }) => return Exit::Paused,
        Some(Interruption::Reached) if outcome.error.is_some() => return Exit::Findings,
        Some(Interruption::Reached) => return Exit::Fine,
        None => {}
    }
    match outcome.state {
        _ if outcome.error.as_deref().is_some_and(is_unreachable) => Exit::Environment,
        RunState::Completed => Exit::Fine,
        RunState::Cancelled => Exit::Interrupted,
        RunState::Failed | RunState::Stalled | RunState::Running => Exit::Findings,
        RunState::Paused => Exit::Paused,
    }
}

/// Prints what a run has changed that is recorded nowhere, one effect per line.
fn print_effects(outcome: &Outcome, terminal: Terminal) {
    let steps = outcome.steps();
    let CallSummary { stays, unknown, .. } = CallSummary::of(&steps);
    for (what, paths) in [
        ("done and not undone", stays),
        ("may have been done", unknown),
    ] {
        for step in steps.iter().filter(|step| paths.contains(&step.path)) {
            let tool = step.tool.as_deref().unwrap_or_default();
            print_effect(what, (&step.path, tool), terminal);
        }
    }
}

/// Prints an effect that no journal records, by its path and its tool.
pub(super) fn print_effect(what: &str, (path, tool): (&str, &str), terminal: Terminal) {
    let (path, tool) = (visible_line(path), visible_line(tool));
    terminal.error(&format!(
        "{what}, and recorded in no journal: `{path}` ({tool})"
    ));
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
pub fn retry_hint(outcome: &Outcome) -> String {
    let command = command(&format!("runs retry {}", outcome.run));
    format!("try again to undo with `{command}`")
}

/// Prints why the process suspended the run, and how to resume it.
fn print_interruption(
    outcome: &Outcome,
    why: &Interruption,
    until: Option<&str>,
    terminal: Terminal,
) {
    let run = &outcome.run;
    let resume_command = || command(&format!("run --resume {run}"));
    match why {
        Interruption::Journal(why) => {
            terminal.error(why);
            terminal.note(&format!(
                "the run is suspended; resume it with `{}`",
                resume_command()
            ));
        }
        Interruption::Asked => {
            terminal.note(&format!(
                "interrupted; resume the run with `{}`",
                resume_command()
            ));
        }
        Interruption::Reached => {
            if let Some(step) = until {
                let on = format!("; resume the run with `{}`", resume_command());
                terminal.note(&format!(
                    "stopped after `{step}`{}",
                    if outcome.recorded { &on } else { "" }
                ));
            }
        }
        Interruption::Failed(error) => print_paused(run, error, terminal),
        Interruption::Waiting { events, wake, .. } => {
            if !events.is_empty() {
                terminal.note(&format!(
                    "the run {run} is paused: {}{}",
                    visible_line(events),
                    how_it_is_woken(outcome, *wake)
                ));
            } else if let (Some(wake), true) = (wake, outcome.questions.is_empty()) {
                terminal.note(&format!(
                    "the run {run} is paused until {}; `{}` resumes what is due",
                    timestamp(*wake),
                    command("runs resume --due")
                ));
            }
        }
    }
}

/// Tells what can wake a run that waits for events: what to send, or the time at which it resumes. What else could wake
/// it is told with its questions.
fn how_it_is_woken(outcome: &Outcome, wake: Option<i128>) -> String {
    if !outcome.questions.is_empty() {
        return String::new();
    }
    let commands: Vec<String> = signal_commands(outcome)
        .iter()
        .map(|command| format!("`{command}`"))
        .collect();
    match (commands.as_slice(), wake) {
        ([], Some(wake)) => format!(
            "; nothing from outside can bring that about: the wait ends at {}, or with `{}`",
            timestamp(wake),
            command(&format!("runs cancel {}", outcome.run))
        ),
        ([], None) => String::new(),
        (commands, _) => format!("; send it with {}", commands.join(" or ")),
    }
}

/// Prints how to resume a run that is paused because of a failure.
fn print_paused(run: &str, error: &StepError, terminal: Terminal) {
    let end = command(&format!("runs cancel {run}"));
    if error.class == ErrorClass::Denied(Denied::Contract) {
        return terminal.note(&format!(
            "the run {run} is paused at this step; `{}` shows what has changed; pin the change with `{}`, then continue with a \
             plan that fits it: `{}`; or end the run with `{end}`",
            command("tools diff"),
            command("tools lock"),
            command(&format!("runs patch {run} <PLAN> --resume")),
        ));
    }
    if error.class == ErrorClass::Denied(Denied::Human) {
        return terminal.note(&format!(
            "the run {run} is paused at this step, and the refusal is final; end the run with `{end}`"
        ));
    }
    terminal.note(&format!(
        "the run {run} is paused at this step; try again with `{}`, or end the run with `{end}`",
        command(&format!("runs resume {run}")),
    ));
}

/// Returns the JSON output of a run.
fn document(outcome: &Outcome, output: RunOutput) -> Result<String> {
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
