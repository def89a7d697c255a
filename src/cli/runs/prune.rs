//! `planrun runs prune`: deleting runs that have ended.

use clap::Args;
use std::fmt::Write as _;

use planrun_lang::diag::render::Language;
use planrun_lang::diag::render::visible_line;

use super::when::{away, moment};
use crate::cli::check::counted;
use crate::cli::{Exit, Failure, Terminal};
use planrun_runs::runs::{Planrun, Prune, RunSummary};

/// Delete runs that have ended, and the large values that only they refer to.
///
/// Which ones, `--keep`, `--days` or `--all` says; without any of them nothing is deleted.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Keep the newest of those that have ended, so many.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Only those that ended so many days ago or earlier.
    #[arg(long, value_name = "DAYS")]
    days: Option<u32>,
    /// Every run that has ended.
    #[arg(long, conflicts_with_all = ["keep", "days"])]
    all: bool,
    /// Delete nothing: list what would be deleted.
    #[arg(long)]
    dry_run: bool,
}

const DAY: i128 = 86_400_000_000_000;
/// So many runs are listed.
const MAX_LISTED: usize = 20;

pub fn run(planrun: &Planrun, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let now = planrun.host().now();
    let before = arguments.days.map(|days| now - i128::from(days) * DAY);
    let prune = Prune {
        before,
        keep: arguments.keep.unwrap_or(0),
    };
    let chosen = arguments.all || arguments.keep.is_some() || arguments.days.is_some();
    if arguments.dry_run || !chosen {
        let rows = planrun.prunable(prune)?;
        terminal.print(&listed(&rows, now))?;
        if chosen || rows.is_empty() {
            return Ok(Exit::Fine);
        }
        let hint = "nothing was deleted; `--all` deletes these runs, `--keep N` all but the newest of them, `--days N` those \
                    that ended so long ago";
        return Err(Failure::Usage(hint.to_owned()));
    }
    let pruned = planrun.prune(prune)?;
    if pruned.lingers {
        terminal.say(
            "others use the journal just now: parts of what was deleted may stand in the file beside it until they end",
        );
    }
    let (runs, values) = (
        counted(pruned.runs.len(), "run"),
        counted(pruned.values, "large value"),
    );
    terminal.say(&format!("deleted {runs} and {values}"));
    Ok(Exit::Fine)
}

fn listed(rows: &[RunSummary], now: i128) -> String {
    let mut text = match rows.len() {
        0 => "no run would be deleted\n".to_owned(),
        count => format!("{} would be deleted:\n", counted(count, "run")),
    };
    for row in rows.iter().take(MAX_LISTED) {
        let (run, plan) = (visible_line(&row.run), visible_line(&row.plan));
        let (at, ago) = (
            moment(row.updated_at),
            away(row.updated_at, now, Language::En),
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {run}  {plan}  {}  ended {at}, {ago}", row.state);
    }
    if rows.len() > MAX_LISTED {
        let _ = writeln!(text, "  and {} more", rows.len() - MAX_LISTED);
    }
    text
}
