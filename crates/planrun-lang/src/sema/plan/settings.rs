//! What a plan or a step settles beforehand: policies, retries, the ways to fail.

use std::time::Duration;

use crate::source::Span;
use crate::types::ErrorPattern;

/// What to do about failed attempts; what is left out comes from the policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Retry {
    /// All attempts, the first included.
    pub attempts: Option<u32>,
    pub delay: Option<Duration>,
    pub factor: Option<f64>,
    pub max_delay: Option<Duration>,
    pub jitter: Option<Jitter>,
    pub on: Option<Vec<ErrorPattern>>,
    pub pause_when_exhausted: Option<bool>,
}

/// How waits between attempts are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jitter {
    None,
    /// Uniform from zero to the whole wait.
    Full,
}

/// What happens to a run in which a step failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    #[default]
    Undo,
    Pause,
    Settle,
}

/// `budget { calls, tokens, cost, time, memory }`: what a run may use. Cost is in the unit in which tools report it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Budget {
    pub calls: Option<u64>,
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
    pub time: Option<Duration>,
    /// In bytes, for what calls give.
    pub memory: Option<u64>,
}

impl Budget {
    /// This budget, with what it leaves out from another one.
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

    /// The less of the two in each part.
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

    /// Whether nothing is bounded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    one.into_iter().chain(other).min()
}

/// `policy { … }`; what is left out comes from the project, then from the defaults.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub retry: Retry,
    pub timeout: Option<Duration>,
    pub deadline: Option<Duration>,
    pub concurrency: Option<u32>,
    pub on_failure: Option<OnFailure>,
    pub budget: Budget,
    /// `verify: agents`, at the place of the word: agents that took part are asked at the end.
    pub agents_verify: Option<Span>,
    pub max_steps: Option<u64>,
    /// The most firings of listeners in a run.
    pub max_firings: Option<u64>,
    /// In bytes.
    pub max_result: Option<u64>,
}
