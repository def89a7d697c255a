//! What a run came to: its reply and how many calls there were, or where it failed and what is left of it in the world.

use std::fmt::Write as _;
use std::sync::Arc;

use planrun_core::journal::StepError;
use planrun_core::run::Outcome;
use planrun_lang::diag::render::visible_line;
use planrun_lang::protocol::RunState;
use planrun_lang::value::Value;
use planrun_runs::runs::CallSummary;
use serde_json::{Map, json};

use super::blocks::{Block, separated};
use super::json::text;
use super::shorten;
use crate::tokens::cut;

/// Bytes of the message of a failure, of its place, and of each list of steps; all of it has 300 tokens at most.
const MESSAGE_BYTES: usize = 220;
const PLACE_BYTES: usize = 60;
const LIST_BYTES: usize = 75;

/// The report of a run that has completed, as JSON: `{run, state, reply, calls: {read, effect}}`, and `cut` where the reply
/// has more than so many tokens; and what of the reply is shown. Beside the reply and its cuts it has 60 tokens at most.
#[must_use]
pub fn success(outcome: &Outcome, max_tokens: Option<usize>) -> (String, Vec<Block>) {
    let calls = CallSummary::of(&outcome.steps());
    let reply = outcome.shown_reply().unwrap_or(Value::Null);
    let (reply, blocks) = separated(&reply);
    let mut fields = Map::new();
    fields.insert("run".to_owned(), outcome.run.as_str().into());
    fields.insert("state".to_owned(), outcome.state.name().into());
    shorten(&reply, max_tokens).into_fields("reply", &mut fields);
    let calls = json!({ "read": calls.reads, "effect": calls.effects });
    fields.insert("calls".to_owned(), calls);
    (text(&fields), blocks)
}

/// The report of a run that has ended otherwise, in at most 300 tokens: the facts, and how to go on.
#[must_use]
pub fn failure(outcome: &Outcome) -> String {
    let (mut report, run) = (facts(outcome), &outcome.run);
    let _ = match outcome.state {
        RunState::Running | RunState::Paused => {
            writeln!(report, "It goes on once it can: runs(id: \"{run}\") tells.")
        }
        RunState::Failed | RunState::Cancelled | RunState::Stalled | RunState::Completed => {
            writeln!(
                report,
                "Correct the plan and run(plan, base: \"{run}\"): what stays is taken over and not done again."
            )
        }
    };
    report
}

/// Of a run that has ended otherwise: where and why, what was done, what of it was taken back, what is in doubt, and what
/// stays.
#[must_use]
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
    if !unknown.is_empty() {
        report.push_str(
            "First look whether what is unknown has happened: nothing repeats it by itself.\n",
        );
    }
    report
}

/// The step that failed, the class and the message of its error, and where that comes from in the plan.
fn why(outcome: &Outcome) -> String {
    let Some(error) = outcome.error.as_deref().map(StepError::innermost) else {
        return String::new();
    };
    let shown = |text: &str, limit: usize| cut(&visible_line(text), limit).into_owned();
    let step = match &*error.step {
        "" => String::new(),
        step => format!(" at {}", shown(step, PLACE_BYTES)),
    };
    let place = error.place.as_deref();
    let place = place.map(|place| format!(" ({})", shown(place, PLACE_BYTES)));
    let message = shown(&error.message, MESSAGE_BYTES);
    format!(
        "{step}: {}: {message}{}",
        error.class,
        place.unwrap_or_default()
    )
}

/// The paths of steps as far as there is room for them, and how many more there are.
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
