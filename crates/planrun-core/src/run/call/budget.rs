//! Budgets: what a run has used of calls, tokens, money and time, and when that is too much.

use std::fmt;
use std::time::Duration;

use planrun_lang::call::Answer;
use planrun_lang::sema::Budget;
use planrun_lang::types::{ErrorClass, Signature, UsagePaths};
use planrun_lang::value::Value;

use crate::journal::{EventKind, StepError, Used};
use crate::run::context::Context;
use crate::run::frame::{FrameId, NodeRef};
use crate::run::scope::Spent;

/// The part of a budget after which it is told that it runs low.
const LOW: f64 = 0.8;

/// A part of a budget with what is used of it.
struct Share {
    class: planrun_lang::types::Budget,
    word: &'static str,
    used: f64,
    limit: f64,
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word {
            "time" => f.write_str(&crate::run::duration_text::short_duration(
                Duration::from_secs_f64(self.limit),
            )),
            "cost" => write!(f, "{} for what calls cost", self.limit),
            "memory" => write!(f, "{} bytes for what calls give", self.limit),
            word => write!(f, "{} {word}", self.limit),
        }
    }
}

/// What is used of budgets.
#[derive(Default)]
pub(in crate::run) struct Budgets {
    /// Attempts that verified a step, or undid it: no budget counts them.
    pub exempt_calls: u64,
}

impl Budgets {
    /// Counts attempts, and what they used; those that verify a step, or undo it, need no budget.
    pub(in crate::run) fn spend(
        &mut self,
        ctx: &mut Context,
        frame: FrameId,
        calls: u32,
        used: Used,
    ) {
        if ctx.tree[frame].aside {
            self.exempt_calls += u64::from(calls);
            return;
        }
        let mut inner = Some(ctx.tree[frame].scope);
        while let Some(scope) = inner {
            let spent = &mut ctx.tree.scopes[scope].spent;
            spent.calls += u64::from(calls);
            spent.used.add(used);
            inner = ctx.tree.scopes[scope].outer;
        }
        warn_of_low_budgets(ctx, frame);
    }

    /// What a call has cost, as it told itself or as its answer does.
    pub(in crate::run) fn report_usage(&mut self, ctx: &mut Context, at: NodeRef, used: Used) {
        if used.is_nothing() {
            return;
        }
        let path = ctx.tree.own_path(at);
        ctx.outbox.emit(EventKind::UsageReported {
            path: path.clone(),
            used,
        });
        self.spend(ctx, at.0, 0, used);
    }
}

/// Counts what a call has given.
pub(in crate::run) fn hold(ctx: &mut Context, frame: FrameId, value: &Value) {
    let bytes = value.memory();
    let mut inner = Some(ctx.tree[frame].scope);
    while let Some(scope) = inner {
        let spent = &mut ctx.tree.scopes[scope].spent;
        spent.memory = spent.memory.saturating_add(bytes);
        inner = ctx.tree.scopes[scope].outer;
    }
}

fn warn_of_low_budgets(ctx: &mut Context, frame: FrameId) {
    let mut inner = Some(ctx.tree[frame].scope);
    while let Some(scope) = inner {
        inner = ctx.tree.scopes[scope].outer;
        if ctx.tree.scopes[scope].policy.budget.is_empty() {
            continue;
        }
        for share in shares(ctx, scope) {
            let known = ctx.tree.scopes[scope].low.contains(&share.word);
            if known || share.used < share.limit * LOW {
                continue;
            }
            ctx.tree.scopes[scope].low.push(share.word);
            ctx.outbox.emit(EventKind::BudgetLow {
                budget: share.word.into(),
                used: share.used,
                limit: share.limit,
            });
        }
    }
}

/// Ends the run where a budget that an attempt needs is spent; true where that is so.
pub(in crate::run) fn budget_is_spent(ctx: &mut Context, at: NodeRef) -> bool {
    if ctx.tree[at.0].aside {
        return false;
    }
    let mut inner = Some(ctx.tree[at.0].scope);
    while let Some(scope) = inner {
        let bounded = !ctx.tree.scopes[scope].policy.budget.is_empty();
        let spent = bounded.then(|| {
            shares(ctx, scope)
                .into_iter()
                .find(|share| share.used >= share.limit)
        });
        if let Some(share) = spent.flatten() {
            let (class, message) = (
                ErrorClass::Budget(share.class),
                format!("the budget of {share} is spent"),
            );
            ctx.fatal(class.clone(), &message);
            // It has begun and holds nothing that could be undone.
            let error = StepError::new(class, message, &ctx.tree.own_path(at));
            ctx.fail_step(at, std::sync::Arc::new(error));
            return true;
        }
        inner = ctx.tree.scopes[scope].outer;
    }
    false
}

/// What is used of the budget of a plan instance.
fn shares(ctx: &Context, scope: usize) -> Vec<Share> {
    let scope = &ctx.tree.scopes[scope];
    let Budget {
        calls,
        tokens,
        cost,
        time,
        memory,
    } = scope.policy.budget;
    let Spent {
        calls: made,
        used,
        memory: held,
    } = scope.spent;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a count beyond 2^53 is beyond any budget"
    )]
    let count = |used: u64, limit: Option<u64>| Some((used as f64, limit? as f64));
    let since = Duration::from_micros(ctx.outbox.elapsed().saturating_sub(scope.begun))
        .saturating_sub(ctx.schedule.waited());
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
        (
            planrun_lang::types::Budget::Memory,
            "memory",
            count(held, memory),
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

/// What an answer says of its cost where the contract of its tool tells.
pub(in crate::run) fn used_by(signature: &Signature, answer: &Answer) -> Used {
    let paths = signature.usage.as_deref();
    paths.map(|paths| used(paths, answer)).unwrap_or_default()
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
