//! Cached results: a call with `cache` looks for an earlier result before it is sent.

use std::sync::Arc;

use planrun_lang::eval::EvalError;
use planrun_lang::sema::Step;
use planrun_lang::types::{Signature, check_value};
use planrun_lang::value::Value;

use super::Calls;
use super::budget::{budget_is_spent, is_counted, refund_call};
use super::state::{CallState, Phase};
use super::take_over::{Source, take_over};
use crate::journal::Used;
use crate::run::agenda::Next;
use crate::run::command::{CachedCall, CallId, Command, Recalled, ScopeId};
use crate::run::context::Context;
use crate::run::frame::NodeRef;

impl Calls {
    /// Returns a call that is about to be sent; `None` if it looks for a cached result first.
    pub(in crate::run) fn unless_cached(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        mut state: Box<CallState>,
    ) -> Result<Option<Box<CallState>>, EvalError> {
        let Some(cache) = step.cache() else {
            return Ok(Some(state));
        };
        let Value::Duration(age) = ctx.tree.evaluate(at.0, cache)? else {
            return Ok(Some(state));
        };
        if budget_is_spent(ctx, at) {
            ctx.then(Next::GiveSlot(at.0));
            return Ok(None);
        }
        self.count_search(ctx, at);
        state.phase = Phase::ToRecall(age);
        state.number = ctx.schedule.number();
        self.open.calls.insert(at, state);
        self.open.held.push_back(at);
        Ok(None)
    }

    /// Counts the attempt that follows if nothing is found.
    fn count_search(&mut self, ctx: &mut Context, at: NodeRef) {
        if !ctx.tree[at.0].auxiliary {
            self.budgets.spend(ctx, at.0, 1, Used::default());
        }
    }

    /// Looks for a cached result that is at most `age` nanoseconds old.
    pub(in crate::run) fn recall(&mut self, ctx: &mut Context, at: NodeRef, age: i128) {
        let Some(of) = self.cached_call(ctx, at) else {
            return;
        };
        let Some(state) = self.open.calls.get_mut(&at) else {
            return;
        };
        state.phase = Phase::Recalling;
        let call = CallId {
            at,
            number: state.number,
        };
        let not_before = ctx.outbox.now.wall - age;
        ctx.outbox.push(Command::Recall {
            call,
            of,
            not_before,
        });
    }

    /// Uses the cached result for the call, or sends the call if there is none.
    pub(in crate::run) fn recalled(
        &mut self,
        ctx: &mut Context,
        call: CallId,
        found: Option<Recalled>,
    ) {
        let at = call.at;
        let asked =
            |state: &CallState| state.number == call.number && state.phase == Phase::Recalling;
        if ctx.is_suspended() || !self.open.get(at).is_some_and(asked) {
            return;
        }
        let Some(state) = self.open.calls.remove(&at) else {
            return;
        };
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        // No hash chain covers the cache, so its result is checked like an answer.
        let fits = |found: &Recalled| check_value(&found.value, &signature.returns).is_ok();
        if let Some(Recalled { run, value }) = found.filter(fits) {
            let path = ctx.tree.own_path(at);
            if is_counted(ctx, at, &state) {
                refund_call(ctx, at);
            }
            take_over(
                ctx,
                at,
                &path,
                &state.arguments,
                (Source::Cache(run), value),
            );
            return ctx.then(Next::GiveSlot(at.0));
        }
        self.attempt(ctx, at, step, signature, state);
    }

    /// Replays a cached result that an earlier process found, which is delivered at its recorded place.
    pub(in crate::run) fn replay_recall(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        mut state: Box<CallState>,
    ) {
        let path = ctx.tree.own_path(at);
        let details = ctx.tree.record_mut(at).details_mut();
        (details.cached, details.arguments) = (true, Some(state.arguments.clone()));
        self.count_search(ctx, at);
        state.phase = Phase::Answered;
        self.open.calls.insert(at, state);
        ctx.outbox.recording.expect(path, at);
    }

    fn cached_call(&self, ctx: &Context, at: NodeRef) -> Option<CachedCall> {
        let program = ctx.tree.program(at.0);
        let (_, _, signature) = ctx.tree.tool_call(&program, at)?;
        let scope = ctx.tree[at.0].scope;
        Some(cached_call(scope, signature, self.open.get(at)?))
    }
}

fn cached_call(scope: ScopeId, signature: &Arc<Signature>, state: &CallState) -> CachedCall {
    CachedCall {
        scope,
        signature: signature.clone(),
        arguments: state.arguments.clone(),
    }
}

/// Caches the result of a call with `cache`, for this run and others.
pub(in crate::run) fn remember(
    ctx: &mut Context,
    at: NodeRef,
    (step, signature): (&Step, &Arc<Signature>),
    state: &CallState,
    value: &Value,
) {
    if step.cache().is_none() {
        return;
    }
    let scope = ctx.tree[at.0].scope;
    let of = cached_call(scope, signature, state);
    let given_at = ctx.outbox.now.wall;
    ctx.outbox.push(Command::Remember {
        of,
        at: given_at,
        value: value.clone(),
    });
}
