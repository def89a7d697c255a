//! `planrun runs prune`: deletes runs that have ended, or a damaged one.

use clap::Args;
use std::cmp::Reverse;
use std::fmt::Write as _;

use planrun_lang::diag::render::{Language, command, visible_line};
use planrun_lang::value::counted;

use super::time::{relative_time, timestamp};
use crate::cli::{Exit, Failure, Result, Terminal};
use planrun_runs::runs::{Planrun, Prunable, Prune, Pruning, RunSummary};

/// Delete runs that have ended, with their result files and the large values that only they refer to
///
/// Select the runs with `--keep`, `--days` or `--all`; without any of them, nothing is deleted. Only `--all` deletes a run
/// in which an undo has failed and can still be retried. `--damaged` deletes a run whose record cannot be read any more,
/// although it has not ended; what it has done is not undone.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Keep the newest N runs that have ended
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Delete only runs that ended at least DAYS days ago
    #[arg(long, value_name = "DAYS")]
    days: Option<u32>,
    /// Delete every run that has ended
    #[arg(long, conflicts_with_all = ["keep", "days"])]
    all: bool,
    /// Delete this run, whose record is damaged
    #[arg(long, value_name = "RUN", conflicts_with_all = ["keep", "days", "all", "dry_run"])]
    damaged: Option<String>,
    /// List what would be deleted, without deleting it
    #[arg(long)]
    dry_run: bool,
}

const DAY: i128 = 86_400_000_000_000;
/// Maximum number of runs listed.
const MAX_LISTED: usize = 20;

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit> {
    if let Some(run) = &arguments.damaged {
        return delete(planrun, Pruning::Damaged(run), terminal);
    }
    let now = planrun.host().now();
    let before = arguments.days.map(|days| now - i128::from(days) * DAY);
    let prune = Prune {
        before,
        keep: arguments.keep.unwrap_or(0),
    };
    let chosen = arguments.all || arguments.keep.is_some() || arguments.days.is_some();
    if arguments.dry_run || !chosen {
        let mut prunable = planrun.prunable(prune)?;
        let is_empty = prunable.runs.is_empty() && prunable.retryable.is_empty();
        if arguments.all {
            prunable.runs.append(&mut prunable.retryable);
            prunable.runs.sort_by_key(|row| Reverse(row.created_at));
        }
        terminal.print(&listed(&prunable, now))?;
        if chosen || is_empty {
            return Ok(Exit::Fine);
        }
        let hint = "nothing was deleted; `--all` deletes these runs, `--keep N` all but the newest N, `--days N` those that \
                    ended at least N days ago";
        return Err(Failure::Usage(hint.to_owned()));
    }
    let pruning = if arguments.all {
        Pruning::AllEnded
    } else {
        Pruning::Ended(prune)
    };
    delete(planrun, pruning, terminal)
}

fn delete(planrun: &Planrun, pruning: Pruning<'_>, terminal: Terminal) -> Result<Exit> {
    let pruned = planrun.prune(pruning)?;
    if pruned.lingers {
        terminal.note(
            "other processes are using the journal: parts of the deleted data may remain in the file next to it until they exit",
        );
    }
    let (runs, values) = (
        counted(pruned.runs.len(), "run"),
        counted(pruned.values, "large value"),
    );
    terminal.note(&format!("deleted {runs} and {values}"));
    if let Some(first) = pruned.retryable.first() {
        terminal.note(&format!(
            "kept {} in which a failed undo can still be retried, for example with `{}`; `{}` deletes them, too",
            counted(pruned.retryable.len(), "run"),
            command(&format!("runs retry {first}")),
            command("runs prune --all")
        ));
    }
    Ok(Exit::Fine)
}

fn listed(prunable: &Prunable, now: i128) -> String {
    let mut text = match prunable.runs.len() {
        0 => "no runs would be deleted\n".to_owned(),
        count => format!("{} would be deleted:\n", counted(count, "run")),
    };
    list(&mut text, &prunable.runs, now);
    if !prunable.retryable.is_empty() {
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} would be kept unless `--all` is given, because a failed undo can still be retried:",
            counted(prunable.retryable.len(), "run")
        );
        list(&mut text, &prunable.retryable, now);
    }
    text
}

fn list(text: &mut String, rows: &[RunSummary], now: i128) {
    for row in rows.iter().take(MAX_LISTED) {
        let (run, plan) = (visible_line(&row.run), visible_line(&row.plan));
        let (at, ago) = (
            timestamp(row.updated_at),
            relative_time(row.updated_at, now, Language::En),
        );
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {run}  {plan}  {}  ended {at}, {ago}",
            row.state_name()
        );
    }
    if rows.len() > MAX_LISTED {
        let _ = writeln!(text, "  and {} more", rows.len() - MAX_LISTED);
    }
}
