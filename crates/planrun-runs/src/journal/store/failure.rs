//! Why the journal did not do what was asked: one sentence each, with the remedy where there is one.

use std::path::PathBuf;

use super::digest::Digest;
use super::run_row::Holder;

/// Why the journal did not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    #[error("there is no journal at {path}: nothing was run there yet")]
    Absent { path: PathBuf },
    #[error("the journal has no run `{run}`; `planrun runs list` shows which there are")]
    NotFound { run: String },
    #[error("more than one run begins with `{prefix}`: {}; write more of it", runs.join(", "))]
    Ambiguous { prefix: String, runs: Vec<String> },
    #[error("the journal keeps no value under the hash {digest}")]
    NoValue { digest: Digest },
    #[error(
        "the run `{run}` is there with another plan or other inputs: its hash is {there}, the one given is {given}; \
         take another run id, or give what it was started with"
    )]
    OtherInput {
        run: String,
        there: Digest,
        given: Digest,
    },
    #[error("{holder} drives the run `{run}`; wait until it has ended, or end that process")]
    Driven { run: String, holder: Box<Holder> },
    #[error(
        "another process has taken over the run `{run}`; what this one did since then was not written"
    )]
    Fenced { run: String },
    #[error(
        "the journal {path} has format {found}, and this planrun knows formats up to {known}; use a newer planrun"
    )]
    NewerFormat {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error(
        "the journal {path} has the older format {found}; start any run beside it once, which brings it to format {known}"
    )]
    OlderFormat {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("{path} is no journal: {why}; it was left as it is")]
    NoJournal { path: PathBuf, why: String },
    #[error(
        "the journal {path} is damaged: {what}; take it from a backup, or move it away to begin a new one"
    )]
    Damaged { path: PathBuf, what: Damage },
    #[error("no space is left for the journal {path}; make room and resume the run")]
    NoSpace { path: PathBuf },
    #[error("the journal {path} cannot be written: {why}")]
    ReadOnly { path: PathBuf, why: String },
    #[error("another program holds the journal {path} locked; try again when it has ended")]
    Busy { path: PathBuf },
    #[error("the journal was used wrongly: {0}")]
    Misused(String),
    #[error("the export cannot be written: {0}")]
    Output(String),
    #[error("the journal {path}: {why}")]
    Io { path: PathBuf, why: String },
}

/// What is wrong with a journal, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// Events of a run, from one number to another, both included.
    #[error("{}: {why}", events(run, *first, *last))]
    Events {
        run: String,
        first: u64,
        last: u64,
        why: String,
    },
    #[error("the row of the run `{run}`: {why}")]
    Run { run: String, why: String },
    #[error("the value with the hash {digest} has another content")]
    Value { digest: Digest },
    #[error("{0}")]
    File(String),
}

fn events(run: &str, first: u64, last: u64) -> String {
    if first == last {
        format!("event {first} of the run `{run}`")
    } else {
        format!("events {first} to {last} of the run `{run}`")
    }
}
