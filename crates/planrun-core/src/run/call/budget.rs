//! Budgets: the calls, tokens, cost, time and memory that a run has used, and what follows when a limit is reached.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::Answer;
use planrun_lang::sema::Budget;
use planrun_lang::types::{Budget as Part, ErrorClass, Signature, UsagePaths};
use planrun_lang::value::Value;

use super::state::CallState;
use crate::journal::{EndWithoutCall, EventKind, StepError, Used};
use crate::run::context::Context;
use crate::run::frame::{FrameId, NodeRef};
use crate::run::scope::Spent;
use crate::run::tree::each_scope_around;

/// Fraction of a budget at which a warning is emitted.
const LOW: f64 = 0.8;

/// One limit of a budget with its usage.
struct Share {
    class: Part,
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
            "cost" => write!(f, "{} for the cost of calls", self.limit),
            "memory" => write!(f, "{} bytes for the results of calls", self.limit),
            word => write!(f, "{} {word}", self.limit),
        }
    }
}

/// Usage that is not part of any budget.
#[derive(Default)]
pub(in crate::run) struct Budgets {
    /// Attempts in `verify` and `undo` blocks, which no budget counts.
    pub exempt_calls: u64,
}

impl Budgets {
    /// Counts attempts and their usage. In `verify` and `undo` blocks, it only counts attempts, outside of any budget.
    pub(in crate::run) fn spend(
        &mut self,
        ctx: &mut Context,
        frame: FrameId,
        calls: u32,
        used: Used,
    ) {
        if ctx.tree[frame].auxiliary {
            self.exempt_calls += u64::from(calls);
            return;
        }
        each_scope_around(&mut ctx.tree, frame, |scope| {
            scope.spent.calls += u64::from(calls);
            scope.spent.used.add(used);
        });
        warn_of_low_budgets(ctx, frame);
    }

    /// Records usage that a call, or its answer, reports.
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

/// Returns true if the budget counts the attempt that may follow on a search of the cache. That is decided before, so
/// that it does not depend on how long the search takes.
pub(in crate::run) fn is_counted(ctx: &Context, at: NodeRef, call: &CallState) -> bool {
    call.searches_cache() && !ctx.tree[at.0].auxiliary
}

/// Takes back a call that was counted before its result was found in the cache, or before it was given up.
pub(in crate::run) fn refund_call(ctx: &mut Context, at: NodeRef) {
    if ctx.tree[at.0].auxiliary {
        return;
    }
    each_scope_around(&mut ctx.tree, at.0, |scope| {
        scope.spent.calls = scope.spent.calls.saturating_sub(1);
    });
}

/// Counts the memory of a call's result.
pub(in crate::run) fn count_memory(ctx: &mut Context, frame: FrameId, value: &Value) {
    let bytes = value.memory();
    each_scope_around(&mut ctx.tree, frame, |scope| {
        scope.spent.memory = scope.spent.memory.saturating_add(bytes);
    });
}

fn warn_of_low_budgets(ctx: &mut Context, frame: FrameId) {
    let mut inner = Some(ctx.tree[frame].scope);
    while let Some(scope) = inner {
        inner = ctx.tree.scopes[scope].outer;
        while let Some(share) = first_share(ctx, scope, |share| {
            share.used >= share.limit * LOW && !ctx.tree.scopes[scope].low.contains(&share.word)
        }) {
            ctx.tree.scopes[scope].low.push(share.word);
            ctx.outbox.emit(EventKind::BudgetLow {
                budget: share.word.into(),
                used: share.used,
                limit: share.limit,
            });
        }
    }
}

/// Ends the run if a budget that an attempt needs is spent. Returns true in that case.
pub(in crate::run) fn budget_is_spent(ctx: &mut Context, at: NodeRef) -> bool {
    if ctx.tree[at.0].auxiliary {
        return false;
    }
    let Some(error) = recorded_refusal(ctx, at).or_else(|| refusal(ctx, at)) else {
        return false;
    };
    ctx.fatal(error.class.clone(), &error.message);
    // The step has begun, but nothing was sent that would have to be undone.
    ctx.fail_step(at, error);
    true
}

/// Returns the recorded failure of a call for which the budget did not suffice. A replay cannot tell by itself that the
/// time was used up: it only knows the times of inputs, and the call was refused later.
fn recorded_refusal(ctx: &Context, at: NodeRef) -> Option<Arc<StepError>> {
    let recording = &ctx.outbox.recording;
    if !recording.is_replaying() {
        return None;
    }
    let path = ctx.tree.own_path(at);
    let was_spent = recording.end_without_call(&path) == Some(EndWithoutCall::BudgetSpent);
    let step = recording.step(&path).filter(|_| was_spent)?;
    step.error.clone()
}

/// Returns the failure of a call if a budget that it needs is spent. In a replay, a time budget refuses only the calls
/// that are recorded as refused.
fn refusal(ctx: &Context, at: NodeRef) -> Option<Arc<StepError>> {
    let replays = ctx.outbox.recording.is_replaying();
    let is_spent =
        |share: &Share| share.used >= share.limit && !(replays && share.class == Part::Time);
    let mut scopes = ctx.tree.scopes_around(ctx.tree[at.0].scope);
    let share = scopes.find_map(|scope| first_share(ctx, scope, is_spent))?;
    let class = ErrorClass::Budget(share.class);
    let message = format!("the budget of {share} is spent");
    let error = StepError::new(class, message, &ctx.tree.own_path(at));
    Some(Arc::new(error))
}

/// Returns the first limit of a plan instance's budget, with its usage, that fulfils a condition. It is called for every
/// attempt, so it computes no more than it compares.
fn first_share(ctx: &Context, scope: usize, condition: impl Fn(&Share) -> bool) -> Option<Share> {
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
    let number = |count: u64| count as f64;
    let share = |class, word, used: f64, limit: f64| {
        let share = Share {
            class,
            word,
            used,
            limit,
        };
        condition(&share).then_some(share)
    };
    let count = |class, word, used: u64, limit: Option<u64>| {
        share(class, word, number(used), number(limit?))
    };
    count(Part::Calls, "calls", made, calls)
        .or_else(|| count(Part::Tokens, "tokens", used.tokens, tokens))
        .or_else(|| share(Part::Cost, "cost", used.cost, cost?))
        .or_else(|| {
            let limit = time?.as_secs_f64();
            let worked = ctx.outbox.working_time(ctx.schedule.waited());
            let since = Duration::from_micros(worked.saturating_sub(scope.begun));
            share(Part::Time, "time", since.as_secs_f64(), limit)
        })
        .or_else(|| count(Part::Memory, "memory", held, memory))
}

/// Returns the usage in an answer, at the paths that the tool's contract names.
pub(in crate::run) fn used_by(signature: &Signature, answer: &Answer) -> Used {
    let paths = signature.usage.as_deref();
    paths.map(|paths| used(paths, answer)).unwrap_or_default()
}

/// Returns the usage at these paths of an answer; zero where there is no positive number.
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
