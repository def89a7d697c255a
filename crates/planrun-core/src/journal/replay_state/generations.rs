//! The generations of steps: how often each was retried.

use std::sync::Arc;

/// The generations of steps: each retry of a step begins a new one, for the step and what it holds.
#[derive(Debug, Default)]
pub struct Generations {
    /// In order.
    retries: Vec<Retry>,
}

#[derive(Debug)]
struct Retry {
    /// Path of the retried step.
    step: Arc<str>,
    is_replayed: bool,
}

impl Generations {
    /// Records that a step was retried.
    pub(super) fn note_retry(&mut self, step: Arc<str>) {
        let is_replayed = false;
        self.retries.push(Retry { step, is_replayed });
    }

    /// Records that the next retry of a step has been replayed.
    pub fn replay_retry(&mut self, step: &str) {
        let mut retries = self.retries.iter_mut();
        let next = retries.find(|retry| *retry.step == *step && !retry.is_replayed);
        if let Some(retry) = next {
            retry.is_replayed = true;
        }
    }

    /// Returns the latest generation of a step.
    pub(super) fn latest(&self, path: &str) -> usize {
        let retries = self.retries.iter();
        retries.filter(|retry| holds(&retry.step, path)).count()
    }

    /// Returns the generation of a step in what has been replayed so far.
    #[must_use]
    pub fn current(&self, path: &str) -> usize {
        let retries = self.retries.iter().filter(|retry| retry.is_replayed);
        retries.filter(|retry| holds(&retry.step, path)).count()
    }
}

/// Returns true if `path` is the step `outer` or inside it.
pub(super) fn holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
