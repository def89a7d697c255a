//! Step failures: how errors of calls and expressions become failures of steps, and when they can be retried.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::eval::EvalError;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::{Backoff, Jitter, Plan};
use planrun_lang::types::{Denied, Effect, ErrorClass, Validation};

use crate::journal::StepError;

impl StepError {
    /// Creates the failure of an expression. The location of a failed `let` is that of the `let`, whichever expression
    /// reads it.
    pub(super) fn expression(error: &EvalError, plan: &Plan, step: &Arc<str>) -> Self {
        let place = plan.source.place(error.span).into();
        let class = ErrorClass::Validation(Validation::Expression);
        Self {
            place: Some(place),
            kind: Some(error.kind),
            ..Self::new(class, error.message.clone(), step)
        }
    }

    /// Creates the failure of an attempt. The outcome of an effect that may have happened is unknown.
    pub(super) fn attempt(error: CallError, effect: Effect, step: &Arc<str>, attempt: u32) -> Self {
        let unknown = error.sent == Sent::Maybe && !effect.repeatable();
        let plain = Self {
            attempt,
            retry_after: error.retry_after,
            sent: error.sent,
            details: error.details,
            ..Self::new(error.class, error.message, step)
        };
        if !unknown {
            return plain;
        }
        let message = format!("it is unknown whether this happened: {}", plain.message);
        Self {
            class: ErrorClass::UnknownOutcome,
            message: message.into(),
            cause: Some(Arc::new(plain.clone())),
            ..plain
        }
    }

    /// Creates the failure of a step from the failure of a step inside it.
    pub(super) fn of_inner(inner: &Arc<Self>, step: &Arc<str>) -> Self {
        if inner.step == *step {
            return (**inner).clone();
        }
        Self {
            step: step.clone(),
            cause: Some(inner.clone()),
            ..(**inner).clone()
        }
    }

    /// Returns true if a failed call may have changed something: its outcome is unknown, or its answer violates its
    /// contract.
    pub(super) fn may_have_happened(&self) -> bool {
        match self.class {
            ErrorClass::UnknownOutcome => true,
            ErrorClass::Validation(Validation::Result) if self.sent == Sent::Answered => true,
            _ => self.sent == Sent::Maybe,
        }
    }

    /// Returns true if a `verify` ran to its end and did not find the effect.
    pub(super) fn denies_effect(&self) -> bool {
        let completed = self.cause.is_none();
        completed
            && matches!(
                self.class,
                ErrorClass::Validation(Validation::Until | Validation::Ensure)
            )
    }

    /// Returns true if the server offers another contract than the one that the plan was checked against.
    pub(super) fn breaks_contract(&self) -> bool {
        self.class == ErrorClass::Denied(Denied::Contract)
    }

    /// Returns true if a `recover` arm or `settle` may handle the failure as a value. Budgets and cancellations end
    /// more than one step, and a changed contract needs a person's decision.
    pub(super) fn is_value(&self) -> bool {
        !self.breaks_contract()
            && !matches!(self.class, ErrorClass::Budget(_) | ErrorClass::Cancelled)
    }
}

/// Returns the wait after attempt n: `full` jitter draws between zero and the base. The draw is seeded, so that a
/// replay waits the same.
///
/// A wait that the server asks for is a minimum (RFC 9110, 10.2.3): it replaces the base, without jitter.
pub(super) fn wait(
    backoff: &Backoff,
    run: &str,
    step: &str,
    attempt: u32,
    retry_after: Option<Duration>,
) -> Duration {
    if let Some(asked) = retry_after {
        return asked;
    }
    let base = backoff.base(attempt);
    match backoff.jitter {
        Jitter::None => base,
        Jitter::Full => base.mul_f64(fraction(run, step, attempt)),
    }
}

/// Returns a number from 0 to 1 that only depends on these three.
fn fraction(run: &str, step: &str, attempt: u32) -> f64 {
    let mut hash = blake3::Hasher::new();
    for part in [run.as_bytes(), step.as_bytes(), &attempt.to_le_bytes()] {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut bits = [0; 8];
    hash.finalize_xof().fill(&mut bits);
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 random bits are what a double holds"
    )]
    let fraction = (u64::from_le_bytes(bits) >> 11) as f64 / (1_u64 << 53) as f64;
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_formula_is_exact_and_full_jitter_stays_below_it() {
        let backoff = Backoff {
            jitter: Jitter::None,
            ..Backoff::default()
        };
        let waits = (1..=7)
            .map(|attempt| wait(&backoff, "r", "s", attempt, None).as_secs())
            .collect::<Vec<_>>();
        assert_eq!(waits, [1, 2, 4, 8, 16, 30, 30]);
        let jittered = Backoff::default();
        for attempt in 1..50 {
            let drawn = wait(&jittered, "run", "step", attempt, None);
            assert!(drawn <= jittered.base(attempt));
            assert_eq!(
                drawn,
                wait(&jittered, "run", "step", attempt, None),
                "the same draw each time"
            );
        }
        assert_ne!(
            wait(&jittered, "run", "step", 1, None),
            wait(&jittered, "run", "other", 1, None)
        );
        assert_eq!(
            wait(&jittered, "run", "step", 1, Some(Duration::from_secs(9))),
            Duration::from_secs(9)
        );
    }
}
