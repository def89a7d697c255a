//! How attempts follow each other: the settings of a step over those of its plan, of the project, and the defaults.

use std::time::Duration;

use super::plan::{Jitter, Retry};
use crate::types::{Effect, ErrorPattern};

/// How often a call whose answer was lost is sent again because its `verify` found nothing of it.
pub const MAX_SENDS: u32 = 3;

/// Settings of retries with nothing left out.
#[derive(Clone, Debug)]
pub struct Backoff {
    /// All attempts, the first included.
    pub attempts: u32,
    pub delay: Duration,
    pub factor: f64,
    pub max_delay: Duration,
    pub jitter: Jitter,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            attempts: 3,
            delay: Duration::from_secs(1),
            factor: 2.0,
            max_delay: Duration::from_secs(30),
            jitter: Jitter::Full,
        }
    }
}

impl Backoff {
    /// How a call of this class is retried, and on which errors.
    ///
    /// What may be repeated is tried three times on `transient`; an effect only where its own step says `retry`.
    #[must_use]
    pub fn of(step: Option<&Retry>, policy: &Retry, effect: Effect) -> (Self, Vec<ErrorPattern>) {
        let settings = step.map_or_else(|| policy.clone(), |step| step.over(policy));
        let default = Self::default();
        let allowed = step.is_some() || effect.repeatable();
        let backoff = Self {
            attempts: if allowed {
                settings.attempts.unwrap_or(default.attempts)
            } else {
                1
            },
            delay: settings.delay.unwrap_or(default.delay),
            factor: settings.factor.unwrap_or(default.factor),
            max_delay: settings.max_delay.unwrap_or(default.max_delay),
            jitter: settings.jitter.unwrap_or(default.jitter),
        };
        (
            backoff,
            settings
                .on
                .unwrap_or_else(|| vec![ErrorPattern::Family("transient")]),
        )
    }

    /// `base(n) = min(max_delay, delay × factor^(n−1))`, the wait after attempt n before jitter.
    #[must_use]
    pub fn base(&self, attempt: u32) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.delay.as_secs_f64() * self.factor.powi(exponent);
        if seconds >= self.max_delay.as_secs_f64() {
            self.max_delay
        } else {
            Duration::from_secs_f64(seconds)
        }
    }
}

impl Retry {
    /// These settings, and those of another where these are silent.
    #[must_use]
    pub fn over(&self, other: &Self) -> Self {
        Self {
            attempts: self.attempts.or(other.attempts),
            delay: self.delay.or(other.delay),
            factor: self.factor.or(other.factor),
            max_delay: self.max_delay.or(other.max_delay),
            jitter: self.jitter.or(other.jitter),
            on: self.on.clone().or_else(|| other.on.clone()),
            pause_when_exhausted: self.pause_when_exhausted.or(other.pause_when_exhausted),
        }
    }
}
