//! Retry settings: those of a step over those of its plan, of the project, and the defaults.

use std::time::Duration;

use super::plan::{Jitter, Retry};
use crate::types::{Effect, ErrorPattern};

/// Maximum number of resends of a call whose answer was lost and whose `verify` did not find its effect.
pub const MAX_RESENDS: u32 = 3;

/// Complete retry settings.
#[derive(Clone, Debug)]
pub struct Backoff {
    /// Number of attempts, including the first.
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
    /// Returns the retry settings of a call of this effect class, and the errors on which it is retried.
    ///
    /// `step` is the `retry` of the step or, without one, that of the project for the tool. By default a repeatable
    /// call has three attempts on `transient`; an effect is only retried if `step` is given.
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

    /// Returns the backoff after attempt n before jitter: `base(n) = min(max_delay, delay × factor^(n−1))`.
    #[must_use]
    pub fn base(&self, attempt: u32) -> Duration {
        if self.delay.is_zero() {
            return Duration::ZERO;
        }
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.delay.as_secs_f64() * self.factor.powi(exponent);
        // The power may exceed every duration, and every double.
        Duration::try_from_secs_f64(seconds)
            .map_or(self.max_delay, |backoff| backoff.min(self.max_delay))
    }
}

impl Retry {
    /// Returns these settings, with missing ones taken from `other`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_of_any_attempt_is_a_duration() {
        let backoff = |delay: Duration, factor: f64| Backoff {
            delay,
            factor,
            ..Backoff::default()
        };
        let one = Duration::from_secs(1);
        let most = Backoff::default().max_delay;
        assert_eq!(backoff(one, 2.0).base(1), one);
        assert_eq!(backoff(one, 2.0).base(4), 8 * one);
        for attempt in [6, 1025, 5000, u32::MAX] {
            assert_eq!(backoff(one, 2.0).base(attempt), most, "{attempt}");
            assert_eq!(backoff(one, f64::MAX).base(attempt), most, "{attempt}");
            assert_eq!(backoff(Duration::ZERO, 2.0).base(attempt), Duration::ZERO);
            assert_eq!(backoff(one, 1.0).base(attempt), one);
        }
    }
}
