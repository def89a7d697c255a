//! `planrun runs list`: lists the runs of a project, newest first.

use std::num::NonZeroUsize;

use clap::Args;
use planrun_lang::diag::render::Language;
use planrun_lang::diag::render::visible_line;
use planrun_lang::protocol::RunState;
use serde_json::json;

use super::inbox::questions_of;
use super::time::{relative_time, timestamp};
use super::{Format, of_plan};
use crate::cli::columns::{padded, widest};
use crate::cli::{Exit, Result, Terminal};
use planrun_runs::runs::{Planrun, RunFilter, RunSummary, Wake};

/// List runs, newest first
#[derive(Debug, Args)]
pub struct Arguments {
    /// List only runs of this plan
    #[arg(long, value_name = "PLAN")]
    plan: Option<String>,
    /// List only runs in this state (repeatable)
    #[arg(long, value_name = "STATE", value_parser = state)]
    state: Vec<String>,
    /// List only paused runs, with their open questions
    #[arg(long, conflicts_with = "state")]
    waiting: bool,
    /// List at most N runs
    #[arg(long, value_name = "N", default_value = "20")]
    limit: NonZeroUsize,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    let states = arguments
        .state
        .iter()
        .filter_map(|state| RunState::find(state));
    let is_requested = |name: &str| arguments.state.iter().any(|state| state == name);
    let filter = RunFilter {
        plan: arguments.plan.clone(),
        states: states
            .chain(arguments.waiting.then_some(RunState::Paused))
            .collect(),
        pending: is_requested(RunSummary::PENDING),
        interrupted: is_requested(RunSummary::INTERRUPTED),
        limit: Some(arguments.limit.get()),
    };
    let rows = planrun.list(&filter)?;
    if rows.is_empty() {
        let of_plan = of_plan(planrun, arguments.plan.as_deref())?;
        terminal.note(&format!("no runs{of_plan}"));
    }
    let now = planrun.host().now();
    match arguments.format {
        Format::Json => {
            let mut exit = Exit::Fine;
            for row in rows.iter().filter(|_| arguments.waiting) {
                if let Err(error) = planrun.questions(&row.run) {
                    terminal.error(&format!("run {}: {error}", visible_line(&row.run)));
                    exit = Exit::Environment;
                }
            }
            let rows: Vec<_> = rows.iter().map(|row| document(planrun, row)).collect();
            terminal.print_document(&json!({ "version": 1, "runs": rows }))?;
            return Ok(exit);
        }
        Format::Human if rows.is_empty() => {}
        Format::Human => {
            let mut text = table(planrun, &rows, now);
            let mut exit = Exit::Fine;
            for row in rows.iter().filter(|_| arguments.waiting) {
                match questions_of(planrun, &row.run, terminal) {
                    Ok(questions) => text.push_str(&questions),
                    // The others are not hidden by one that cannot be read.
                    Err(failure) => {
                        terminal.error(&format!("run {}: {failure}", visible_line(&row.run)));
                        exit = Exit::Environment;
                    }
                }
            }
            terminal.print(&text)?;
            return Ok(exit);
        }
    }
    Ok(Exit::Fine)
}

fn table(planrun: &Planrun, rows: &[RunSummary], now: i128) -> String {
    let mut lines = vec![["RUN", "PLAN", "STATE", "STEPS", "BEGAN", ""].map(str::to_owned)];
    for row in rows {
        let steps = row
            .steps_all
            .map_or_else(String::new, |all| format!("{}/{all}", row.steps_done));
        let wake = planrun.wake(row).map(|wake| {
            let label = wake_label(wake);
            match row.wake_at.filter(|_| wake != Wake::Delivered) {
                Some(at) => format!("{label} {}", relative_time(at, now, Language::En)),
                None => label.to_owned(),
            }
        });
        let visible = |text: &str| visible_line(text).into_owned();
        let rest = [
            row.error.as_deref().map(visible),
            row.note.as_deref().map(visible),
            wake,
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
        let (run, plan) = (visible(&row.run), visible(&row.plan));
        lines.push([
            run,
            plan,
            row.status().to_owned(),
            steps,
            relative_time(row.created_at, now, Language::En),
            rest.join(", "),
        ]);
    }
    let width = |column: usize| widest(lines.iter().map(|line| &*line[column]));
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            row.push_str(&padded(cell, width + 2));
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn wake_label(wake: Wake) -> &'static str {
    match wake {
        Wake::Delivered => "can be resumed: an answer or a signal has arrived",
        Wake::QuestionExpires => "its question expires",
        Wake::Resumes => "resumes",
    }
}

fn document(planrun: &Planrun, row: &RunSummary) -> serde_json::Value {
    let wakes = planrun.wake(row).map(|wake| match wake {
        Wake::Delivered => "delivered",
        Wake::QuestionExpires => "question_expires",
        Wake::Resumes => "resumes",
    });
    json!({
        "run": row.run,
        "plan": row.plan,
        "status": row.status(),
        "driven": row.driven,
        "created_at": timestamp(row.created_at),
        "updated_at": timestamp(row.updated_at),
        "wake_at": row.wake_at.map(timestamp),
        "wakes": wakes,
        "error": row.error,
        "note": row.note,
        "steps_done": row.steps_done,
        "steps_all": row.steps_all,
        "events": row.events,
    })
}

fn state(text: &str) -> Result<String, String> {
    let names: Vec<&str> = RunState::ALL
        .map(RunState::name)
        .into_iter()
        .chain([RunSummary::PENDING, RunSummary::INTERRUPTED])
        .collect();
    names
        .iter()
        .find(|name| **name == text)
        .map(|name| (*name).to_owned())
        .ok_or_else(|| format!("unknown state; expected one of {}", names.join(", ")))
}
