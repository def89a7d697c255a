//! The generations of steps: how often each was retried.

use std::sync::Arc;

use planrun_lang::protocol::is_at_or_below;

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
    /// Number of the process in which the step has begun again, from 1; `None` if it has not.
    begun_in: Option<u32>,
    is_replayed: bool,
}

impl Generations {
    /// Records that a step was retried.
    pub(super) fn note_retry(&mut self, step: Arc<str>) {
        self.retries.push(Retry {
            step,
            begun_in: None,
            is_replayed: false,
        });
    }

    /// Records that a step has begun in a process. Only the first time since it was last retried counts.
    pub(super) fn note_begin(&mut self, step: &str, process: u32) {
        let mut retries = self.retries.iter_mut().rev();
        if let Some(retry) = retries.find(|retry| *retry.step == *step) {
            retry.begun_in.get_or_insert(process);
        }
    }

    /// Returns for each retry of a step, oldest first, the process in which the step has begun again; `None` if it has
    /// not.
    pub fn begun_again(&self, step: &str) -> impl Iterator<Item = Option<u32>> {
        let retries = self.retries.iter();
        let own = retries.filter(move |retry| *retry.step == *step);
        own.map(|retry| retry.begun_in)
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
        retries
            .filter(|retry| is_at_or_below(path, &retry.step))
            .count()
    }

    /// Returns the generation of a step in what has been replayed so far.
    #[must_use]
    pub fn current(&self, path: &str) -> usize {
        let retries = self.retries.iter().filter(|retry| retry.is_replayed);
        retries
            .filter(|retry| is_at_or_below(path, &retry.step))
            .count()
    }
}
