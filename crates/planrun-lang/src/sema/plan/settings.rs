//! Settings of plans and steps: policies, retries and budgets.

use std::time::Duration;

use crate::source::Span;
use crate::types::ErrorPattern;

/// Retry settings; missing ones come from the policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retry {
    /// Number of attempts, including the first.
    pub attempts: Option<u32>,
    pub delay: Option<Duration>,
    pub factor: Option<f64>,
    pub max_delay: Option<Duration>,
    pub jitter: Option<Jitter>,
    pub on: Option<Vec<ErrorPattern>>,
    pub pause_when_exhausted: Option<bool>,
}

/// How the backoff between attempts is randomized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// Uniform between zero and the whole backoff.
    Full,
}

/// The reaction of a run to a failed step whose failure nothing has caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    #[default]
    Undo,
    Pause,
    Settle,
}

/// `budget { calls, tokens, cost, time, memory }`: what a run may use. The cost is in the unit in which tools report
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub calls: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub time: Option<Duration>,
    /// In bytes of call results.
    pub memory: Option<u64>,
}

impl Budget {
    /// Returns this budget, with missing parts taken from `other`.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self {
            calls: self.calls.or(other.calls),
            tokens: self.tokens.or(other.tokens),
            cost: self.cost.or(other.cost),
            time: self.time.or(other.time),
            memory: self.memory.or(other.memory),
        }
    }

    /// Returns the smaller value of each part.
    #[must_use]
    pub fn within(&self, limits: &Self) -> Self {
        let cost = [self.cost, limits.cost].into_iter().flatten();
        Self {
            calls: least(self.calls, limits.calls),
            tokens: least(self.tokens, limits.tokens),
            cost: cost.min_by(f64::total_cmp),
            time: least(self.time, limits.time),
            memory: least(self.memory, limits.memory),
        }
    }

    /// Returns true if there is no bound.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

/// `policy { … }`; missing settings come from the project, then from the defaults.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub retry: Retry,
    pub timeout: Option<Duration>,
    pub deadline: Option<Duration>,
    pub concurrency: Option<u32>,
    pub on_failure: Option<OnFailure>,
    pub budget: Budget,
    /// Span of `agents` in `verify: agents`: at the end of the run, agents that took part are asked to verify a step.
    pub agents_verify: Option<Span>,
    pub max_steps: Option<u64>,
    /// Maximum number of firings of listeners in a run.
    pub max_firings: Option<u64>,
    /// Maximum size of a result, in bytes.
    pub max_result: Option<u64>,
}
