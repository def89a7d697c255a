//! External inputs as recorded: answers of tools and of people, timers, signals, moves of tasks, cancels and retries.

use std::collections::VecDeque;
use std::sync::Arc;

use planrun_lang::value::Value;

use super::failure::StepError;
use super::inbox_command::Cancel;
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

#[derive(Clone, Debug)]
pub enum ExternalInputKind {
    /// A call ended: its last attempt ended, or a cached result was used.
    Answer {
        path: Arc<str>,
        outcome: Result<Value, Arc<StepError>>,
    },
    /// A person answered a question.
    Given(Answer),
    /// A step could not begin, because `limit` steps had been executed.
    Limit { path: Arc<str>, limit: u64 },
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
    /// already being undone, `replaces_end` whether every statement had settled then.
    Cancel {
        keep: bool,
        force: bool,
        replaces_end: bool,
    },
    /// A failed step was to be executed again.
    Retried { path: Arc<str> },
}

/// The external inputs that have not been replayed, in the order in which they arrived.
#[derive(Debug, Default)]
pub struct ExternalInputs(VecDeque<ExternalInput>);

impl ExternalInputs {
    pub(super) fn push(&mut self, input: ExternalInput) {
        self.0.push_back(input);
    }

    /// Returns the number of the event that recorded the first input.
    #[must_use]
    pub fn first_number(&self) -> Option<u64> {
        self.0.front().map(|input| input.number)
    }

    /// Takes the first input for which `receiver` returns something, with that.
    pub fn take_first<T>(
        &mut self,
        receiver: impl Fn(&ExternalInput) -> Option<T>,
    ) -> Option<(ExternalInput, T)> {
        let mut inputs = self.0.iter().enumerate();
        let (index, found) = inputs.find_map(|(index, input)| Some((index, receiver(input)?)))?;
        Some((self.0.remove(index)?, found))
    }

    /// Takes the next input if it is the retry of a step that has failed.
    pub fn take_retry(&mut self, has_failed: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        let is_retry = |input: &mut ExternalInput| match &input.kind {
            ExternalInputKind::Retried { path } => has_failed(path),
            _ => false,
        };
        match self.0.pop_front_if(is_retry)?.kind {
            ExternalInputKind::Retried { path } => Some(path),
            _ => None,
        }
    }

    /// Returns the step that could not begin because of a limit, with the number of that event, if that has not been
    /// replayed.
    #[must_use]
    pub fn limit(&self) -> Option<(u64, &Arc<str>)> {
        self.0.iter().find_map(|input| match &input.kind {
            ExternalInputKind::Limit { path, .. } => Some((input.number, path)),
            _ => None,
        })
    }

    /// Returns the next input if a step could not begin because of a limit: its time, and the path of the step.
    #[must_use]
    pub fn next_limit(&self) -> Option<(i128, &Arc<str>)> {
        let next = self.0.front()?;
        match &next.kind {
            ExternalInputKind::Limit { path, .. } => Some((next.at, path)),
            _ => None,
        }
    }

    /// Takes the next input, whatever it is.
    pub fn take_next(&mut self) -> Option<ExternalInput> {
        self.0.pop_front()
    }

    /// Takes the next input if it cancels the run in place of its end.
    pub fn take_cancel_of_end(&mut self) -> Option<Cancel> {
        let replaces = |input: &mut ExternalInput| match input.kind {
            ExternalInputKind::Cancel { replaces_end, .. } => replaces_end,
            _ => false,
        };
        match self.0.pop_front_if(replaces)?.kind {
            ExternalInputKind::Cancel { keep, force, .. } => Some(Cancel {
                cancel: true,
                keep,
                force,
            }),
            _ => None,
        }
    }

    /// Removes the last end of a call of this step.
    pub(super) fn remove_last_end(&mut self, step: &str) {
        if let Some(last) = self.0.iter().rposition(|input| ends_call(input, step)) {
            self.0.remove(last);
        }
    }

    /// Removes the first answer of a person under this path. Returns false if there is none.
    pub(super) fn remove_first_given(&mut self, path: &str) -> bool {
        let first = self.0.iter().position(|input| is_given(input, path));
        first.and_then(|first| self.0.remove(first)).is_some()
    }

    /// Removes the last answer of a person under this path. Returns false if there is none.
    pub(super) fn remove_last_given(&mut self, path: &str) -> bool {
        let last = self.0.iter().rposition(|input| is_given(input, path));
        last.and_then(|last| self.0.remove(last)).is_some()
    }
}

fn is_given(input: &ExternalInput, path: &str) -> bool {
    matches!(&input.kind, ExternalInputKind::Given(answer) if *answer.path == *path)
}

fn ends_call(input: &ExternalInput, step: &str) -> bool {
    matches!(&input.kind, ExternalInputKind::Answer { path, .. } if **path == *step)
}
