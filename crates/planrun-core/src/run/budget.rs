//! Budgets: what a run has used of calls, tokens, money and time, and when that is too much.

use std::fmt;
use std::time::Duration;

use planrun_lang::sema::Budget;
use planrun_lang::types::{ErrorClass, Signature, UsagePaths};
use planrun_lang::value::Value;

use super::frame::FrameId;
use super::machine::{NodeRef, Run};
use crate::journal::{EventKind, StepError, Used};
use planrun_lang::call::Answer;

/// The part of a budget after which it is told that it runs low.
const LOW: f64 = 0.8;

/// What a plan instance, and what works for it, has used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    /// Attempts that were dispatched.
    pub calls: u64,
    pub used: Used,
}

/// A part of a budget with what is used of it.
struct Share {
    class: planrun_lang::types::Budget,
    word: &'static str,
    used: f64,
    limit: f64,
}

impl Run {
    /// Counts attempts, and what they used; those that look at a step, or take it back, need no budget.
    pub(super) fn spend(&mut self, frame: FrameId, calls: u32, used: Used) {
        if self.frames[frame].aside {
            self.exempt_calls += u64::from(calls);
            return;
        }
        let mut inner = Some(self.frames[frame].scope);
        while let Some(scope) = inner {
            let spent = &mut self.scopes[scope].spent;
            spent.calls += u64::from(calls);
            spent.used.add(used);
            inner = self.scopes[scope].outer;
        }
        self.warn_of_low_budgets(frame);
    }

    /// What a call has cost: what it told on its way, else what its answer reports.
    pub(super) fn report_usage(
        &mut self,
        at: NodeRef,
        signature: &Signature,
        answer: Option<&Answer>,
        told: Used,
    ) {
        let used = match (told.is_nothing(), signature.usage.as_deref(), answer) {
            (true, Some(paths), Some(answer)) => used(paths, answer),
            _ => told,
        };
        if used.is_nothing() {
            return;
        }
        let path = self.own_path(at);
        self.emit(EventKind::UsageReported {
            path: path.clone(),
            used,
        });
        self.spend(at.0, 0, used);
    }

    /// Ends the run where a budget that an attempt needs is spent; true where that is so.
    pub(super) fn budget_is_spent(&mut self, at: NodeRef) -> bool {
        if self.frames[at.0].aside {
            return false;
        }
        let mut inner = Some(self.frames[at.0].scope);
        while let Some(scope) = inner {
            let bounded = !self.scopes[scope].policy.budget.is_empty();
            let spent = bounded.then(|| {
                self.shares(scope)
                    .into_iter()
                    .find(|share| share.used >= share.limit)
            });
            if let Some(share) = spent.flatten() {
                let (class, message) = (
                    ErrorClass::Budget(share.class),
                    format!("the budget of {share} is spent"),
                );
                self.fatal(class.clone(), &message);
                // It has begun and holds nothing that could be taken back.
                let error = StepError::new(class, message, &self.own_path(at));
                self.step_failed_for_good(at, std::sync::Arc::new(error));
                return true;
            }
            inner = self.scopes[scope].outer;
        }
        false
    }

    fn warn_of_low_budgets(&mut self, frame: FrameId) {
        let mut inner = Some(self.frames[frame].scope);
        while let Some(scope) = inner {
            inner = self.scopes[scope].outer;
            if self.scopes[scope].policy.budget.is_empty() {
                continue;
            }
            for share in self.shares(scope) {
                let known = self.scopes[scope].low.contains(&share.word);
                if known || share.used < share.limit * LOW {
                    continue;
                }
                self.scopes[scope].low.push(share.word);
                self.emit(EventKind::BudgetLow {
                    budget: share.word,
                    used: share.used,
                    limit: share.limit,
                });
            }
        }
    }

    /// What is used of the budget of a plan instance.
    fn shares(&self, scope: usize) -> Vec<Share> {
        let scope = &self.scopes[scope];
        let Budget {
            calls,
            tokens,
            cost,
            time,
        } = scope.policy.budget;
        let Spent { calls: made, used } = scope.spent;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a count beyond 2^53 is beyond any budget"
        )]
        let count = |used: u64, limit: Option<u64>| Some((used as f64, limit? as f64));
        let since = Duration::from_micros(self.elapsed().saturating_sub(scope.begun))
            .saturating_sub(self.people.waited());
        let shares = [
            (
                planrun_lang::types::Budget::Calls,
                "calls",
                count(made, calls),
            ),
            (
                planrun_lang::types::Budget::Tokens,
                "tokens",
                count(used.tokens, tokens),
            ),
            (
                planrun_lang::types::Budget::Cost,
                "cost",
                cost.map(|limit| (used.cost, limit)),
            ),
            (
                planrun_lang::types::Budget::Time,
                "time",
                time.map(|limit| (since.as_secs_f64(), limit.as_secs_f64())),
            ),
        ];
        let share = |(class, word, share)| {
            let (used, limit) = share?;
            Some(Share {
                class,
                word,
                used,
                limit,
            })
        };
        shares.into_iter().filter_map(share).collect()
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word {
            "time" => f.write_str(&super::duration_text::short_duration(
                Duration::from_secs_f64(self.limit),
            )),
            "cost" => write!(f, "{} for what calls cost", self.limit),
            word => write!(f, "{} {word}", self.limit),
        }
    }
}

/// What an answer says at these places; nothing where there is no number.
fn used(paths: &UsagePaths, answer: &Answer) -> Used {
    let number = |path: &Option<std::sync::Arc<str>>| -> Option<f64> {
        let path = path.as_deref()?;
        match answer {
            Answer::Json(json) => path
                .split('.')
                .try_fold(json, |inner, name| inner.get(name))?
                .as_f64(),
            Answer::Value(value) => match path
                .split('.')
                .try_fold(value, |inner, name| inner.get(name))?
            {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "a count beyond 2^53 is beyond any budget"
                )]
                Value::Int(count) => Some(*count as f64),
                Value::Double(number) => Some(*number),
                _ => None,
            },
        }
    };
    let positive = |number: Option<f64>| {
        number
            .filter(|number| number.is_finite() && *number > 0.0)
            .unwrap_or(0.0)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and saturating is enough"
    )]
    let tokens = positive(number(&paths.tokens)) as u64;
    Used {
        tokens,
        cost: positive(number(&paths.cost)),
    }
}
