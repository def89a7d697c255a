//! Errors of the journal: one sentence each, with the remedy if there is one.

use std::any::Any;
use std::path::PathBuf;

use super::digest::Digest;
use super::run_row::Holder;

/// An error of the journal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("there is no journal at {path}: no plan was run there yet")]
    Absent { path: PathBuf },
    #[error("the journal has no run `{run}`")]
    NotFound { run: String },
    #[error("more than one run id begins with `{prefix}`: {}; use a longer prefix", runs.join(", "))]
    Ambiguous { prefix: String, runs: Vec<String> },
    #[error("the journal has no value with the hash {digest}")]
    NoValue { digest: Digest },
    #[error(
        "the run `{run}` already exists with another plan, other inputs or other options: its hash is {there}, the \
         given one is {given}; use another run id, or start it with the plan, inputs and options that it began with"
    )]
    OtherInput {
        run: String,
        there: Digest,
        given: Digest,
    },
    #[error("{holder} drives the run `{run}`; wait until that process has ended, or stop it")]
    Driven { run: String, holder: Box<Holder> },
    #[error(
        "another process has taken over the run `{run}`; the events of this process since then were not recorded"
    )]
    Fenced { run: String },
    #[error(
        "the journal {path} has format {found}, but this planrun supports formats up to {known}; use a newer planrun"
    )]
    NewerFormat {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "the journal {path} has the older format {found}; `planrun runs list` in its project upgrades it to format {known}"
    )]
    OlderFormat {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("{path} is not a journal: {why}; it was not changed")]
    NoJournal { path: PathBuf, why: String },
    #[error(
        "the journal {path} is damaged: {what}; restore it from a backup, or {}", what.removal()
    )]
    Damaged { path: PathBuf, what: Damage },
    #[error(
        "no space is left for the journal {path}; free some space, and run the command again or resume the run"
    )]
    NoSpace { path: PathBuf },
    #[error("the journal {path} cannot be written: {why}")]
    ReadOnly { path: PathBuf, why: String },
    #[error("the journal {path} is locked by another program; try again when it has ended")]
    Busy { path: PathBuf },
    #[error("incorrect use of the journal: {0}")]
    Misused(String),
    #[error("the export cannot be written: {0}")]
    Output(String),
    #[error("the journal {path}: {why}")]
    Io { path: PathBuf, why: String },
    #[error(
        "the part of planrun that {task} has panicked, which is a defect of planrun: {why}; what was recorded is \
         intact, so resume the run in a new process"
    )]
    Panicked { task: &'static str, why: String },
}

impl JournalError {
    /// Returns the error for a panic during a task, with the message of the panic.
    pub(super) fn panicked(task: &'static str, panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let why = text.unwrap_or("without a message").to_owned();
        Self::Panicked { task, why }
    }
}

/// The damage of a journal, with its location.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Events of a run, from `first` to `last`, both included.
    #[error("{}: {why}", events(run, *first, *last))]
    Events {
        run: String,
        first: u64,
        last: u64,
        why: String,
    },
    #[error("the row of the run `{run}`: {why}")]
    Run { run: String, why: String },
    #[error("the content of the value {digest} does not match its hash")]
    Value { digest: Digest },
    #[error("{0}")]
    File(String),
}

impl Damage {
    /// Describes how to go on without a backup.
    fn removal(&self) -> String {
        match self {
            Self::Events { run, .. } | Self::Run { run, .. } => {
                format!("delete the run with `planrun runs prune --damaged {run}`")
            }
            Self::Value { .. } | Self::File(_) => "move it away to start a new one".to_owned(),
        }
    }
}

fn events(run: &str, first: u64, last: u64) -> String {
    if first == last {
        format!("event {first} of the run `{run}`")
    } else {
        format!("events {first} to {last} of the run `{run}`")
    }
}
