//! The generations of steps: how often each was retried.

use std::sync::Arc;

/// The generations of steps: each retry of a step begins a new one, for the step and what it holds.
#[derive(Debug, Default)]
pub struct Generations {
    /// Paths of the retried steps, in order.
    pub(super) retries: Vec<Arc<str>>,
    /// Number of retries that have been replayed.
    replayed: usize,
}

impl Generations {
    /// Records that the next retry has been replayed.
    pub fn replay_retry(&mut self) {
        self.replayed += 1;
    }

    /// Returns the latest generation of a step.
    pub(super) fn latest(&self, path: &str) -> usize {
        count(&self.retries, path)
    }

    /// Returns true if every retry of a step, and of what holds it, has been replayed.
    #[must_use]
    pub fn is_latest(&self, path: &str) -> bool {
        self.current(path) == self.latest(path)
    }

    /// Returns the generation of a step in what has been replayed so far.
    #[must_use]
    pub fn current(&self, path: &str) -> usize {
        count(
            self.retries.get(..self.replayed).unwrap_or(&self.retries),
            path,
        )
    }
}

fn count(retries: &[Arc<str>], path: &str) -> usize {
    retries.iter().filter(|outer| holds(outer, path)).count()
}

/// Returns true if `path` is the step `outer` or inside it.
#[must_use]
pub fn holds(outer: &str, path: &str) -> bool {
    path.strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}
