//! `planrun runs list`: the runs of a project, the newest first.

use clap::Args;
use serde_json::json;

use super::Format;
use super::open::Open;
use super::when::{away, moment};
use crate::cli::run::fold;
use crate::cli::workspace::real_host;
use crate::cli::{Exit, Failure, Terminal};
use crate::diag::render::Language;
use crate::diag::render::visible_line;
use crate::journal::Past;
use crate::journal::store::{Filter, Journal, RunRow};
use crate::protocol::RunState;

/// List runs, the newest first.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only runs of this plan.
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// Only runs in this state. May be repeated.
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Vec<String>,
    /// Only runs that somebody or something has to move on.
    #[arg(long)]
    waiting: bool,
    /// At most so many.
    #[arg(long, value_name = "N", default_value = "20")]
    limit: usize,
    /// How they are printed.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

pub fn run(journal: &Journal, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let mut wanted = arguments.state.clone();
    if arguments.waiting {
        wanted.push(RunState::Paused.name().to_owned());
    }
    // The journal does not know who of those that are running has lost its process.
    let stored = wanted.iter().map(|state| if state == INTERRUPTED { RunState::Running.name() } else { state });
    let states: Vec<String> = stored.map(str::to_owned).collect();
    let looks = states.iter().any(|state| state == RunState::Running.name());
    let limit = Some(arguments.limit).filter(|_| !looks);
    let mut rows = journal.runs(&Filter { plan: arguments.plan.clone(), states, limit, ..Filter::default() })?;
    if looks {
        rows.retain(|row| wanted.contains(&state_of(journal, row)));
        rows.truncate(arguments.limit);
    }
    let now = real_host().now();
    match arguments.format {
        Format::Json => {
            let rows: Vec<_> = rows.iter().map(|row| document(journal, row)).collect();
            let text = serde_json::to_string_pretty(&json!({ "version": 1, "runs": rows })).unwrap_or_default();
            terminal.print_json(&format!("{text}\n"))?;
        }
        Format::Human if rows.is_empty() => terminal.say("no runs"),
        Format::Human => {
            let mut text = table(journal, &rows, now);
            for row in rows.into_iter().filter(|_| arguments.waiting) {
                text.push_str(&Open::of(journal, row, terminal.place)?.told(terminal.look));
            }
            terminal.print(&text)?;
        }
    }
    Ok(Exit::Fine)
}

fn table(journal: &Journal, rows: &[RunRow], now: i128) -> String {
    let mut lines = vec![["RUN", "PLAN", "STATE", "STEPS", "BEGAN", ""].map(str::to_owned)];
    for row in rows {
        let steps = row.steps_all.map_or_else(String::new, |all| format!("{}/{all}", row.steps_done));
        let wake = row.wake_at.filter(|_| !row.ended);
        let wake = wake.map(|wake| format!("{} {}", what_comes(journal, row, wake), away(wake, now, Language::En)));
        let shown = |text: &str| visible_line(text).into_owned();
        let rest = [row.error.as_deref().map(shown), row.note.as_deref().map(shown), wake]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>();
        let (run, plan) = (shown(&row.run), shown(&row.plan));
        lines.push([
            run,
            plan,
            state_of(journal, row),
            steps,
            away(row.created_at, now, Language::En),
            rest.join(", "),
        ]);
    }
    let width = |column: usize| {
        lines.iter().map(|line| unicode_width::UnicodeWidthStr::width(&*line[column])).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut shown = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            let missing = width - unicode_width::UnicodeWidthStr::width(&**cell);
            shown.push_str(cell);
            shown.extend(std::iter::repeat_n(' ', missing + 2));
        }
        text.push_str(shown.trim_end());
        text.push('\n');
    }
    text
}

/// What happens at the moment at which a run wakes by itself: it goes on, or what it asks somebody expires.
fn what_comes(journal: &Journal, row: &RunRow, wake: i128) -> &'static str {
    let ends = |past: &Past| {
        let asked = past.steps.values().flat_map(|step| &step.asked);
        asked
            .filter(|asked| asked.answer.is_none())
            .any(|asked| asked.question.expires.is_some_and(|expires| (expires - wake).abs() < SECOND))
    };
    // What cannot be read says so where the run itself is looked at.
    if fold(journal, &row.run).is_ok_and(|past| ends(&past)) { "its question expires" } else { "goes on" }
}

/// In nanoseconds.
const SECOND: i128 = 1_000_000_000;

/// The state of a run that is running and has lost its process.
const INTERRUPTED: &str = "interrupted";

/// The state of a run; `interrupted` where a process left it in the middle.
pub fn state_of(journal: &Journal, row: &RunRow) -> String {
    if row.state == RunState::Running.name() && !journal.is_driven(row) {
        return INTERRUPTED.to_owned();
    }
    row.state.clone()
}

fn document(journal: &Journal, row: &RunRow) -> serde_json::Value {
    json!({
        "run": row.run,
        "plan": row.plan,
        "status": row.state,
        "driven": journal.is_driven(row),
        "created_at": moment(row.created_at),
        "updated_at": moment(row.updated_at),
        "wake_at": row.wake_at.map(moment),
        "error": row.error,
        "note": row.note,
        "steps_done": row.steps_done,
        "steps_all": row.steps_all,
        "events": row.events,
    })
}

fn state(text: &str) -> Result<String, String> {
    let names: Vec<&str> = RunState::ALL.map(RunState::name).into_iter().chain([INTERRUPTED]).collect();
    names
        .iter()
        .find(|name| **name == text)
        .map(|name| (*name).to_owned())
        .ok_or_else(|| format!("no state of a run; there are {}", names.join(", ")))
}
