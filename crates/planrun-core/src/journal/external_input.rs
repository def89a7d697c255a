//! External inputs as recorded: answers of tools and of people, timers, signals, moves of tasks, cancels and retries.

use std::sync::Arc;

use planrun_lang::value::Value;

use super::failure::StepError;
use super::question::Answer;
use super::words::Bound;

/// An input that came from outside the run.
#[derive(Clone, Debug)]
pub struct ExternalInput {
    /// Number of the event that recorded it.
    pub number: u64,
    pub at: i128,
    pub kind: ExternalInputKind,
}

impl ExternalInput {
    /// Returns true if this is the answer of a person under this path.
    pub(super) fn is_given(&self, path: &str) -> bool {
        matches!(&self.kind, ExternalInputKind::Given(answer) if *answer.path == *path)
    }

    /// Returns true if this is the end of a call of this step.
    pub(super) fn ends_call(&self, step: &str) -> bool {
        matches!(&self.kind, ExternalInputKind::Answer { path, .. } if **path == *step)
    }
}

#[derive(Clone, Debug)]
pub enum ExternalInputKind {
    /// A call ended: its last attempt ended, or a cached result was used.
    Answer {
        path: Arc<str>,
        outcome: Result<Value, Arc<StepError>>,
    },
    /// A person answered a question.
    Given(Answer),
    /// A timer fired.
    Timer { path: Arc<str>, timer: Bound },
    /// A signal arrived.
    Signal { signal: Arc<str>, payload: Value },
    /// An `external` task was moved.
    TaskMoved {
        path: Arc<str>,
        status: Arc<str>,
        context: Value,
    },
    /// The run was asked to end. `keep` says whether its effects are kept, `force` whether those are kept that are
    /// already being undone.
    Cancel { keep: bool, force: bool },
    /// A failed step was to be executed again.
    Retried { path: Arc<str> },
}
