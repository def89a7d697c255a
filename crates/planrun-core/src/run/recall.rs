//! Results that may be used again: a call with `cache` asks for one before it goes out.

use std::sync::Arc;

use planrun_lang::eval::EvalError;
use planrun_lang::sema::Step;
use planrun_lang::types::Signature;
use planrun_lang::value::Value;

use super::agenda::{End, Next};
use super::call::Calls;
use super::call_state::{CallState, Phase};
use super::command::{CallId, Command, ScopeId};
use super::context::Context;
use super::frame::NodeRef;
use super::take_over::{Source, take_over};

/// A call whose result may be used again. Beside this, where it is called and with which credentials decide it, which
/// only the driver knows.
#[derive(Clone, Debug)]
pub struct CachedCall {
    pub scope: ScopeId,
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
}

impl CachedCall {
    fn new(scope: ScopeId, signature: &Arc<Signature>, state: &CallState) -> Self {
        Self {
            scope,
            signature: signature.clone(),
            arguments: state.arguments.clone(),
        }
    }
}

/// A result that was given before.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The run whose call gave it.
    pub run: Arc<str>,
    pub value: Value,
}

impl Calls {
    /// A call that is about to go out; none where an earlier result is asked for first.
    pub(super) fn unless_cached(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        step: &Step,
        mut state: CallState,
    ) -> Result<Option<CallState>, EvalError> {
        let Some(cache) = step.cache() else {
            return Ok(Some(state));
        };
        let Value::Duration(age) = ctx.tree.evaluate(at.0, cache)? else {
            return Ok(Some(state));
        };
        state.phase = Phase::ToRecall(age.into());
        state.number = ctx.schedule.number();
        self.open.calls.insert(at, state);
        self.open.held.push_back(at);
        Ok(None)
    }

    /// Asks for a result that is at most so old, in nanoseconds.
    pub(super) fn recall(&mut self, ctx: &mut Context, at: NodeRef, age: i128) {
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

    /// An earlier result is there, and stands for the call; or there is none, and it goes out.
    pub(super) fn recalled(&mut self, ctx: &mut Context, call: CallId, found: Option<Recalled>) {
        let at = call.at;
        let asked =
            |state: &CallState| state.number == call.number && state.phase == Phase::Recalling;
        if ctx.is_suspended() || !self.open.get(at).is_some_and(asked) {
            return;
        }
        let Some(state) = self.open.calls.remove(&at) else {
            return;
        };
        if let Some(Recalled { run, value }) = found {
            let path = ctx.tree.own_path(at);
            take_over(
                ctx,
                at,
                &path,
                &state.arguments,
                (Source::Cache(run), value),
            );
            return ctx.then(Next::GiveSlot(at.0));
        }
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        self.attempt(ctx, &program, at, step, signature, state);
    }

    /// An earlier process of the run has found a result: it is given at its place.
    pub(super) fn recalled_before(&mut self, ctx: &mut Context, at: NodeRef, state: CallState) {
        let path = ctx.tree.own_path(at);
        let details = ctx.tree.record_mut(at).details_mut();
        (details.cached, details.arguments) = (true, Some(state.arguments.clone()));
        match ctx.outbox.recording.late_answer(&path) {
            Some(outcome) => {
                ctx.then(Next::GiveSlot(at.0));
                ctx.settle(at, End::Completed(outcome.unwrap_or(Value::Null)));
            }
            None => {
                let phase = Phase::Answered;
                self.open.calls.insert(at, CallState { phase, ..state });
                ctx.outbox.recording.expect(path, at);
            }
        }
    }

    /// A result may be used again, by this run and by others.
    pub(super) fn remember(
        &self,
        ctx: &mut Context,
        at: NodeRef,
        state: &CallState,
        value: &Value,
    ) {
        let program = ctx.tree.program(at.0);
        let Some((step, _, signature)) = ctx.tree.tool_call(&program, at) else {
            return;
        };
        if step.cache().is_none() || ctx.setup.only_looks {
            return;
        }
        let scope = ctx.tree[at.0].scope;
        let of = CachedCall::new(scope, signature, state);
        let given_at = ctx.outbox.now.wall;
        ctx.outbox.push(Command::Remember {
            of,
            at: given_at,
            value: value.clone(),
        });
    }

    fn cached_call(&self, ctx: &Context, at: NodeRef) -> Option<CachedCall> {
        let program = ctx.tree.program(at.0);
        let (_, _, signature) = ctx.tree.tool_call(&program, at)?;
        let scope = ctx.tree[at.0].scope;
        Some(CachedCall::new(scope, signature, self.open.get(at)?))
    }
}
