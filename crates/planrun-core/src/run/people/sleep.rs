//! `wait`: steps that wait until a time, also across processes.

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::EvalError;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::value::Value;

use super::People;
use crate::journal::{EventKind, EventName};
use crate::run::clock::whole_milliseconds;
use crate::run::context::Context;
use crate::run::frame::NodeRef;

impl People {
    /// Waits until a time. A time that has passed completes the step at once.
    pub(in crate::run) fn start_sleep(
        &mut self,
        ctx: &mut Context,
        at: NodeRef,
        code: &CheckedExpr,
    ) {
        let path = ctx.tree.own_path(at);
        if let Some(until) = ctx.outbox.recording.slept_until(&path) {
            return self.wait(ctx, at, path, None, Some(until));
        }
        let now = ctx.outbox.now.wall;
        let until = match moment(ctx, at, code, now) {
            Ok(until) => whole_milliseconds(until),
            Err(error) => {
                return ctx.expression_failed(at, &error);
            }
        };
        let recording = &ctx.outbox.recording;
        let had_passed = until <= now
            || recording.is_replaying() && recording.has_unreplayed(EventName::StepSettled, &path);
        if had_passed {
            return ctx.complete(at, Value::Null);
        }
        ctx.outbox.emit(EventKind::StepSleeps {
            path: path.clone(),
            until,
        });
        self.wait(ctx, at, path, None, Some(until));
    }
}

fn moment(ctx: &Context, at: NodeRef, code: &CheckedExpr, now: i128) -> Result<i128, EvalError> {
    match ctx.tree.evaluate(at.0, code)? {
        Value::Duration(nanos) => Ok(now + nanos.max(0)),
        Value::Timestamp(until) => Ok(until),
        other => {
            let message = format!(
                "`wait` takes a duration or a timestamp, but this is {}",
                other.preview(80)
            );
            Err(EvalError::new(FailureKind::NoOverload, message, code.span))
        }
    }
}
