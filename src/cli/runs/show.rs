//! `planrun runs show`: prints one run, step by step.

use std::fmt::Write as _;

use clap::Args;
use planrun_lang::diag::render::visible_line;
use planrun_lang::protocol::StepState;
use planrun_lang::value::counted;
use serde_json::json;

use super::Format;
use super::inbox::questions_of;
use super::time::{format_millis, timestamp};
use crate::cli::columns::{padded, widest};
use crate::cli::run::{not_undone, retry_hint, wait};
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_core::run::{Outcome, RepeatReason, StepReport, TaskReport, Verification};
use planrun_runs::runs::{Planrun, RecordedRun};

/// Show one run, step by step
#[derive(Debug, Args)]
pub struct Arguments {
    /// Id of the run, or a prefix of it
    #[arg(value_name = "RUN")]
    run: String,
    /// Output format; the JSON is that of `planrun run`, or has the text of the plan with `--plan`, the inputs with
    /// `--inputs`
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Print the text of the plan that the run executes, and that an approval was given for, instead of its steps
    #[arg(long)]
    plan: bool,
    /// Print the inputs that the run was given instead of its steps: the JSON object that `planrun run --input` reads, with
    /// secrets redacted
    #[arg(long, conflicts_with = "plan")]
    inputs: bool,
}

/// Width of the bars of the timeline, in columns.
const BAR: u64 = 24;

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let recorded = planrun.recorded(&arguments.run)?;
    let row = recorded.summary();
    if arguments.plan {
        print_plan(&recorded, arguments.format, terminal)?;
        return Ok(Exit::Fine);
    }
    if arguments.inputs {
        print_inputs(&recorded, arguments.format, terminal)?;
        return Ok(Exit::Fine);
    }
    let outcome = wait(recorded.outcome())??;
    if arguments.format == Format::Json {
        let mut text = Vec::new();
        let written = outcome.write_json_with_status(row.status(), &mut text);
        written.map_err(|error| Failure::Environment(format!("cannot write the run: {error}")))?;
        text.push(b'\n');
        terminal.print_json(&String::from_utf8_lossy(&text))?;
        return Ok(Exit::Fine);
    }
    // What is left of a run that has ended is listed below.
    let note = row.note.as_ref().filter(|_| !row.ended);
    let note = note.map_or_else(String::new, |note| format!(": {}", visible_line(note)));
    let mut text = format!(
        "{} {}: {}, began {}, {}{note}\n",
        visible_line(&row.plan),
        visible_line(&row.run),
        row.status(),
        timestamp(row.created_at),
        counted(row.events, "event")
    );
    text.push_str(&timeline(&outcome, row.created_at));
    text.push_str(&tasks(&outcome));
    text.push_str(&verification_line(&outcome));
    if let Some(error) = &outcome.error {
        let place = error
            .place
            .as_ref()
            .map(|place| format!(" ({})", visible_line(place)))
            .unwrap_or_default();
        let _ = writeln!(
            text,
            "{}: {}{place}",
            error.class,
            visible_line(&error.message)
        );
    }
    for line in not_undone(&outcome) {
        let _ = writeln!(text, "{line}");
    }
    if !outcome.retryable.is_empty() {
        let _ = writeln!(text, "{}", retry_hint(&outcome));
    }
    text.push_str(&questions_of(planrun, &row.run, terminal)?);
    terminal.print(&text)?;
    Ok(Exit::Fine)
}

/// Prints the plan that a run executes.
fn print_plan(recorded: &RecordedRun, format: Format, terminal: Terminal) -> Result<()> {
    match format {
        Format::Human => terminal.print_exactly(recorded.text()),
        Format::Json => terminal.print_document(&json!({
            "version": 1,
            "run": recorded.summary().run,
            "plan": recorded.plan(),
            "file": recorded.file(),
            "text": recorded.text(),
        })),
    }
}

fn print_inputs(recorded: &RecordedRun, format: Format, terminal: Terminal) -> Result<()> {
    let inputs = recorded.redacted_inputs()?;
    match format {
        Format::Human => terminal.print_document(&inputs),
        Format::Json => terminal.print_document(&json!({
            "version": 1,
            "run": recorded.summary().run,
            "plan": recorded.plan(),
            "inputs": inputs,
        })),
    }
}

/// Returns the steps, one per line, with a bar from start to end. `began` is the start of the run, in nanoseconds
/// since the Unix epoch.
fn timeline(outcome: &Outcome, began: i128) -> String {
    let mut text = String::new();
    let steps = outcome.steps();
    let offsets: Vec<Option<u64>> = steps.iter().map(|step| since(step, began)).collect();
    let ends = steps
        .iter()
        .zip(&offsets)
        .filter_map(|(step, offset)| Some((*offset)? + step.duration_ms));
    let total = ends.max().unwrap_or(0).max(1);
    let paths: Vec<_> = steps.iter().map(|step| visible_line(&step.path)).collect();
    let width = widest(paths.iter().map(|path| &**path));
    for ((step, path), offset) in steps.iter().zip(&paths).zip(&offsets) {
        // How long a step takes that has not ended is not known; its bar goes on to the last end.
        let is_open = matches!(step.status, StepState::Running | StepState::Waiting);
        let length = |offset: u64| {
            if is_open {
                total.saturating_sub(offset)
            } else {
                step.duration_ms
            }
        };
        let bar = offset.map(|offset| bar(offset, length(offset), total));
        let line = format!(
            "  {}  {:<9}  {:<bars$}  {:>7}  {}",
            padded(path, width),
            step.status.name(),
            bar.unwrap_or_default(),
            offset
                .filter(|_| !is_open)
                .map(|_| format_millis(step.duration_ms))
                .unwrap_or_default(),
            remarks(step),
            bars = usize::try_from(BAR).unwrap_or(0),
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

/// Returns the status of the plan's tasks; empty if it has none.
fn tasks(outcome: &Outcome) -> String {
    let one = |task: &TaskReport| {
        format!(
            "{} {}",
            visible_line(&task.name),
            visible_line(&task.status)
        )
    };
    let tasks: Vec<String> = outcome.tasks.iter().map(one).collect();
    if tasks.is_empty() {
        String::new()
    } else {
        format!("tasks: {}\n", tasks.join(", "))
    }
}

/// Returns the counts of verified effects; empty if no effect is verified.
fn verification_line(outcome: &Outcome) -> String {
    let verification = outcome.verification();
    let Verification {
        verified,
        failed,
        inconclusive,
        ..
    } = verification;
    if verified + failed + inconclusive == 0 {
        return String::new();
    }
    format!("effects: {}\n", verification.counts())
}

/// Returns the milliseconds from the start of the run to the start of the step; `None` if it never started.
fn since(step: &StepReport, begun_at: i128) -> Option<u64> {
    let at = planrun_lang::value::parse_timestamp(step.started_at.as_deref()?)?;
    u64::try_from((at - begun_at) / 1_000_000).ok().or(Some(0))
}

fn bar(offset: u64, length: u64, total: u64) -> String {
    let column = |millis: u64| (millis * BAR / total).min(BAR - 1);
    let (first, last) = (column(offset), column(offset + length));
    let repeat = |character: char, count: u64| {
        std::iter::repeat_n(character, usize::try_from(count).unwrap_or(0))
    };
    repeat(' ', first)
        .chain(repeat('━', last - first + 1))
        .collect()
}

fn remarks(step: &StepReport) -> String {
    let mut remarks = Vec::new();
    if step.attempts > 1 {
        remarks.push(format!("{} attempts", step.attempts));
    }
    remarks.extend(
        step.attributes
            .iter()
            .map(|attribute| (*attribute).to_owned()),
    );
    remarks.extend(step.reason.map(str::to_owned));
    remarks.extend(
        step.again
            .map(|again| match again {
                RepeatReason::Asked => "repeated",
                RepeatReason::Definition => "repeated: its definition has changed",
                RepeatReason::Arguments => "repeated: its arguments have changed",
                RepeatReason::Contract => "repeated: the contract of its tool has changed",
                RepeatReason::Undone => "repeated: it had been undone",
                RepeatReason::UndoFailed => "repeated: its undo had failed",
                RepeatReason::Unknown => "repeated: its outcome was unknown",
                RepeatReason::Order => "repeated: an effect above it was made again",
            })
            .map(str::to_owned),
    );
    let class = step
        .error
        .as_ref()
        .and_then(|error| error.get("class").and_then(|class| class.as_str()));
    remarks.extend(class.map(str::to_owned));
    remarks.join(", ")
}
