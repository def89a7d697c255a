//! Polls: a call is repeated until its result satisfies the step's `until`.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::Sent;
use planrun_lang::sema::Until;
use planrun_lang::types::{ErrorClass, Transient};
use planrun_lang::value::{Value, saturating_duration};

use super::state::CallState;
use super::{Calls, next_execution};
use crate::journal::{StepError, Waiting};
use crate::run::context::Context;
use crate::run::frame::NodeRef;

impl Calls {
    /// Polls again, after a result that does not satisfy `until`, or after a poll without an answer. Polling ends with
    /// the `within` of the step. Each poll is an execution of its own.
    pub(in crate::run) fn poll_again(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        until: &Until,
        mut state: Box<CallState>,
        poll_error: Option<Arc<StepError>>,
    ) {
        let wait = match ctx.tree.evaluate(at.0, &until.every) {
            Ok(Value::Duration(nanos)) => saturating_duration(nanos),
            Ok(_) => Duration::ZERO,
            Err(error) => return ctx.expression_failed(at, &error),
        };
        let asked = poll_error
            .as_ref()
            .and_then(|error| error.retry_after)
            .unwrap_or_default();
        next_execution(ctx, &mut state);
        state.begin_poll(poll_error.clone());
        let least = Duration::from_millis(1);
        self.wait(
            ctx,
            at,
            state,
            Waiting::Poll,
            wait.max(asked).max(least),
            poll_error,
        );
    }

    /// Returns the error of the latest poll if it got no answer, to explain why the step timed out.
    pub(in crate::run) fn poll_error(&self, ctx: &Context, at: NodeRef) -> Option<Arc<StepError>> {
        let state = self.open.calls.get(&at)?;
        let path = ctx.tree.own_path(at);
        let first = state.in_flight() && state.execution == ctx.executions.first(&path);
        let silent = || {
            let error = StepError::new(
                ErrorClass::Transient(Transient::Timeout),
                "no answer was received",
                &path,
            );
            Arc::new(StepError {
                attempt: 1,
                sent: Sent::Maybe,
                ..error
            })
        };
        state.poll_error.clone().or_else(|| first.then(silent))
    }
}
