//! `planrun runs prune`: deleting runs that have ended.

use clap::Args;

use crate::cli::workspace::real_host;
use crate::cli::{Exit, Failure, Terminal};
use crate::journal::store::{Journal, Prune};

/// Delete runs that have ended, and the large values that only they refer to.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Keep the newest of those that have ended, so many.
    #[arg(long, value_name = "N", default_value = "0")]
    keep: usize,
    /// Only those that ended so many days ago or earlier.
    #[arg(long, value_name = "DAYS")]
    days: Option<u32>,
}

const DAY: i128 = 86_400_000_000_000;

pub fn run(journal: &Journal, arguments: &Arguments, terminal: Terminal) -> Result<Exit, Failure> {
    let before = arguments.days.map(|days| real_host().now() - i128::from(days) * DAY);
    let pruned = journal.prune(Prune { before, keep: arguments.keep })?;
    terminal.say(&format!("deleted {} runs and {} large values", pruned.runs.len(), pruned.values));
    Ok(Exit::Fine)
}
