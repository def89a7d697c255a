//! Formats the outcome of a run: its reply and the number of calls, or the failure and the effects that remain.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::journal::StepError;
use planrun_core::run::{Interruption, Outcome};
use planrun_lang::diag::render::{command, visible_line};
use planrun_lang::protocol::RunState;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::{Value, timestamp_text};
use planrun_runs::runs::{CallSummary, signal_commands};
use serde_json::{Map, json};

use super::blocks::{Block, separated};
use super::json::text;
use super::shorten;
use crate::tokens::cut;

/// Maximum size in bytes of a failure's message, of its position, and of each list of steps. The whole report has at
/// most 300 tokens.
const MESSAGE_BYTES: usize = 220;
const PLACE_BYTES: usize = 60;
const LIST_BYTES: usize = 75;
/// Maximum number of commands named for a run that waits for events.
const MAX_COMMANDS: usize = 2;

/// Returns the report of a completed run as JSON, and the blocks of its reply. The JSON is `{run, state, reply, calls:
/// {read, effect}}`, with `cut` if the reply was shortened to `max_tokens`. Without the reply and its cuts it has at
/// most 60 tokens.
pub fn success(outcome: &Outcome, max_tokens: Option<usize>) -> (String, Vec<Block>) {
    let calls = CallSummary::of(&outcome.steps());
    let reply = outcome.redacted_reply().unwrap_or(Value::Null);
    let (reply, blocks) = separated(&reply);
    let mut fields = Map::new();
    fields.insert("run".to_owned(), outcome.run.as_str().into());
    fields.insert("state".to_owned(), outcome.state.name().into());
    shorten(&reply, max_tokens).into_fields("reply", &mut fields);
    let calls = json!({ "read": calls.reads, "effect": calls.effects });
    fields.insert("calls".to_owned(), calls);
    (text(&fields), blocks)
}

/// Returns the report of a run that has not completed, in at most 300 tokens: the facts, and how to continue.
pub fn failure(outcome: &Outcome) -> String {
    let (mut report, run) = (facts(outcome), &outcome.run);
    let declined = outcome.error.as_deref().map(StepError::innermost);
    let declined = declined.is_some_and(|error| error.class == ErrorClass::Denied(Denied::Human));
    let _ = match outcome.state {
        RunState::Running | RunState::Paused => {
            report.push_str(&awaited(outcome));
            writeln!(
                report,
                "It resumes once it can: runs(id: \"{run}\", wait_s: 45) waits for that."
            )
        }
        _ if declined => writeln!(
            report,
            "A person has declined. Do not run the same plan again: ask what they want instead."
        ),
        RunState::Cancelled => writeln!(
            report,
            "A person has cancelled it. Do not run the same plan again: ask what they want instead."
        ),
        RunState::Failed | RunState::Stalled | RunState::Completed => {
            writeln!(
                report,
                "Correct the plan and run(plan, base: \"{run}\"): what stays is kept and not repeated."
            )
        }
    };
    report
}

/// Describes what a suspended run waits for: events with the commands that send them, or a time.
fn awaited(outcome: &Outcome) -> String {
    let Some(Interruption::Waiting { wake, events, .. }) = &outcome.interruption else {
        return String::new();
    };
    let mut text = String::new();
    if !events.is_empty() {
        let _ = writeln!(
            text,
            "It waits: {}",
            cut(&visible_line(events), MESSAGE_BYTES)
        );
    }
    for command in signal_commands(outcome).iter().take(MAX_COMMANDS) {
        let _ = writeln!(text, "A person can send it: `{command}`");
    }
    if let Some(wake) = wake {
        let second = wake - wake.rem_euclid(1_000_000_000);
        let _ = writeln!(text, "It wakes at {}.", timestamp_text(second));
    }
    text
}

/// Describes a run that has not completed: the failed step and the reason, what was done, what was undone, what has an
/// unknown outcome, and what stays.
pub fn facts(outcome: &Outcome) -> String {
    let CallSummary {
        reads,
        effects,
        undone,
        unknown,
        stays,
    } = CallSummary::of(&outcome.steps());
    let run = &outcome.run;
    let mut report = format!("run {run} {}{}", outcome.state.name(), why(outcome));
    let _ = write!(report, "\ndone: {reads} reads, {effects} effects\n");
    for (word, paths) in [
        ("undone", &undone),
        ("unknown", &unknown),
        ("stays", &stays),
    ] {
        let _ = writeln!(report, "{word}: {}", list(paths));
    }
    if let Some(error) = outcome.not_undone.first() {
        let _ = writeln!(
            report,
            "not undone: {}",
            cut(&visible_line(&error.message), LIST_BYTES)
        );
    }
    if !outcome.retryable.is_empty() {
        let _ = writeln!(
            report,
            "A person can try again to undo it: `{}`.",
            command(&format!("runs retry {run}"))
        );
    }
    if !unknown.is_empty() {
        report.push_str(
            "First check whether the unknown effects have happened: they are not repeated automatically.\n",
        );
    }
    report
}

/// Returns the failed step, the class and message of its error, and the position in the plan.
fn why(outcome: &Outcome) -> String {
    let Some(error) = outcome.error.as_deref().map(StepError::innermost) else {
        return String::new();
    };
    let visible = |text: &str, limit: usize| cut(&visible_line(text), limit).into_owned();
    let step = match &*error.step {
        "" => String::new(),
        step => format!(" at {}", visible(step, PLACE_BYTES)),
    };
    let place = error.place.as_deref();
    let place = place.map(|place| format!(" ({})", visible(place, PLACE_BYTES)));
    let message = visible(&error.message, MESSAGE_BYTES);
    format!(
        "{step}: {}: {message}{}",
        error.class,
        place.unwrap_or_default()
    )
}

/// Lists the paths of steps that fit, and the number of further ones.
fn list(paths: &[Arc<str>]) -> String {
    let mut text = String::new();
    for (index, path) in paths.iter().enumerate() {
        let comma = if index > 0 { ", " } else { "" };
        let path = visible_line(path);
        if text.len() + path.len() > LIST_BYTES {
            let _ = write!(text, "{comma}… {} more", paths.len() - index);
            return text;
        }
        let _ = write!(text, "{comma}{path}");
    }
    if text.is_empty() {
        text.push_str("nothing");
    }
    text
}
