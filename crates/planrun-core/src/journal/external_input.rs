//! External inputs as recorded: answers, timers, signals, messages of people.

use std::sync::Arc;

use planrun_lang::value::Value;

use super::failure::StepError;
use super::question::Answer;
use super::words::Bound;

/// Something that came from outside.
#[derive(Clone, Debug)]
pub struct ExternalInput {
    /// The event that tells of it.
    pub number: u64,
    pub at: i128,
    pub kind: ExternalInputKind,
}

#[derive(Clone, Debug)]
pub enum ExternalInputKind {
    /// The last attempt at a call ended, and no further one was made.
    Answer {
        path: Arc<str>,
        outcome: Result<Value, Arc<StepError>>,
    },
    /// Somebody answered.
    Given(Answer),
    /// A time bound was over.
    Timer { path: Arc<str>, timer: Bound },
    /// A signal came.
    Signal { signal: Arc<str>, payload: Value },
    /// An `external` task was moved.
    TaskMoved {
        path: Arc<str>,
        status: Arc<str>,
        context: Value,
    },
    /// Somebody asked for the end; the effects shall stay, or not.
    Cancel { keep: bool },
    /// What had failed was to be done again.
    Retried { path: Arc<str> },
}
