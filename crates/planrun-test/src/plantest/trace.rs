//! The trace of a run as text that is the same on every machine, and in every order that has the same outcome.
//!
//! Steps are in source order, since their order in time differs between machines. Times, durations, run ids,
//! idempotency keys, and the progress of steps that a failure cut short are left out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::value::Value;

use super::play::Played;
use super::world::Called;
use planrun_core::journal::{Event, EventKind};
use planrun_core::run::{Outcome, Program, StepReport};
use planrun_runs::journal::MemoryLog;

/// Returns the trace of a run.
#[must_use]
pub fn trace(program: &Program, played: &Played) -> String {
    let mut text = format!("run {}\n", played.state);
    let Some(outcome) = &played.outcome else {
        return text;
    };
    if let Some(reply) = outcome.redacted_reply() {
        line(&mut text, 0, "reply", &display_value(&reply));
    }
    if let Some(error) = &outcome.error {
        line(
            &mut text,
            0,
            "error",
            &format!(
                "{} at {}: {}",
                error.class,
                place(&error.step),
                error.message
            ),
        );
    }
    for (path, question) in &outcome.questions {
        line(&mut text, 0, "asks", &format!("{path}: {}", question.text));
    }
    text.push('\n');
    let attempts = attempts(&played.calls);
    let answers = answers(&played.events);
    let open = outcome.left_open(program);
    for step in outcome.steps() {
        let own = step.path.split(['.', '[']).next().unwrap_or_default();
        if open.contains(own) {
            // Its progress and its contents depend on the clock and the order.
            if *step.path == *own {
                let _ = writeln!(text, "{own}: left open");
            }
            continue;
        }
        write_step(
            &mut text,
            &step,
            attempts.get(&*step.path).map_or(&[], Vec::as_slice),
            answers.get(&*step.path),
        );
    }
    // A step that was left open might move tasks.
    if open.is_empty() {
        tasks(&mut text, outcome);
    }
    verification(&mut text, outcome);
    text
}

/// Returns the error classes of the attempts, by path; an empty string for an attempt that succeeded.
fn attempts(calls: &[Called]) -> BTreeMap<Arc<str>, Vec<String>> {
    let mut attempts: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
    for call in calls {
        let end = match (&call.failed, call.crashed) {
            (_, true) => "crash".to_owned(),
            (Some(class), false) => class.to_string(),
            (None, false) => String::new(),
        };
        attempts.entry(call.path.clone()).or_default().push(end);
    }
    attempts
}

/// Returns the answers to confirmations, by the paths of the steps.
fn answers(events: &MemoryLog) -> BTreeMap<Arc<str>, Vec<String>> {
    let mut answers: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
    let mut kept = |digest: &str| {
        events
            .kept(digest)
            .ok_or_else(|| format!("no value is stored under {digest}"))
    };
    for line in events.lines() {
        // The log of a test is stored unchanged, so reading cannot fail.
        let Ok(Event {
            kind:
                EventKind::AnswerGiven {
                    path,
                    value,
                    by,
                    note,
                },
            ..
        }) = Event::read(line.as_bytes(), &mut kept)
        else {
            continue;
        };
        let Some(step) = path.strip_suffix(".confirm") else {
            continue;
        };
        let agrees = value.as_bool().or_else(|| value.get("approve")?.as_bool());
        let answer = match agrees {
            Some(true) => "approved",
            Some(false) => "refused",
            None => "answered",
        };
        let by = by
            .as_deref()
            .map(|by| format!(" by {by}"))
            .unwrap_or_default();
        let note = note
            .as_deref()
            .map(|note| format!(": {note}"))
            .unwrap_or_default();
        answers
            .entry(step.into())
            .or_default()
            .push(format!("{answer}{by}{note}"));
    }
    answers
}

/// Returns the line of a step: its path, its tool and its state.
fn head(step: &StepReport) -> String {
    let mut head = step.path.to_string();
    if let Some(tool) = &step.tool {
        head.push(' ');
        head.push_str(tool);
    }
    let attributes = step
        .attributes
        .iter()
        .filter(|attribute| **attribute != "reused");
    let attributes = step
        .reason
        .into_iter()
        .chain(attributes.copied())
        .collect::<Vec<_>>()
        .join(", ");
    if attributes.is_empty() {
        format!("{head}: {}", step.status)
    } else {
        format!("{head}: {} ({attributes})", step.status)
    }
}

fn write_step(
    text: &mut String,
    step: &StepReport,
    attempts: &[String],
    answers: Option<&Vec<String>>,
) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}", head(step));
    for answer in answers.into_iter().flatten() {
        line(text, 1, "gate", answer);
    }
    // Its progress when it was cancelled depends on the clock.
    if step.status == StepState::Cancelled {
        return;
    }
    if step.tool.is_some() && step.attempts > 0 && step.arguments != Value::Null {
        line(text, 1, "with", &display_value(&step.arguments));
    }
    for (number, end) in attempts
        .iter()
        .enumerate()
        .filter(|(_, end)| !end.is_empty())
    {
        line(text, 1, &format!("attempt {}", number + 1), end);
    }
    if attempts.len() > 1 {
        line(text, 1, "attempts", &attempts.len().to_string());
    }
    if step.status == StepState::Completed && step.output != Value::Null {
        line(text, 1, "gives", &display_value(&step.output));
    }
    for (word, error) in [("error", &step.error), ("recovered from", &step.recovered)] {
        if let Some(error) = error {
            let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
            line(
                text,
                1,
                word,
                &format!("{}: {}", part("class"), part("message")),
            );
        }
    }
}

fn tasks(text: &mut String, outcome: &Outcome) {
    if !outcome.tasks.is_empty() || !outcome.listeners.is_empty() {
        text.push('\n');
    }
    for task in &outcome.tasks {
        let moves = task
            .trace
            .iter()
            .map(|moved| &*moved.status)
            .collect::<Vec<_>>()
            .join(" → ");
        line(text, 0, &format!("task {}", task.name), &moves);
        line(text, 1, "context", &display_value(&task.context));
    }
    for listener in &outcome.listeners {
        let surplus = if listener.surplus > 0 {
            format!(", {} further events ignored", listener.surplus)
        } else {
            String::new()
        };
        line(
            text,
            0,
            &format!("listener {}", listener.path),
            &format!("fired {}{surplus}", listener.fired),
        );
    }
}

fn verification(text: &mut String, outcome: &Outcome) {
    let verification = outcome.verification();
    if verification.checks.is_empty() {
        return;
    }
    text.push('\n');
    line(text, 0, "verification", &verification.counts());
}

fn line(text: &mut String, depth: usize, name: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:indent$}{name}: {value}", "", indent = depth * 2);
}

fn display_value(value: &Value) -> String {
    value.to_json_text()
}

fn place(step: &str) -> &str {
    if step.is_empty() { "the plan" } else { step }
}
