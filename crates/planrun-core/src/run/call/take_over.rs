//! Calls that are not made, since another run or an earlier process has their value.

use std::sync::Arc;

use planrun_lang::sema::Call;
use planrun_lang::types::{Denied, ErrorClass, Signature};
use planrun_lang::value::Value;

use super::Calls;
use crate::journal::{EventKind, OUTPUT, StepError};
use crate::run::agenda::End;
use crate::run::context::Context;
use crate::run::copies::Again;
use crate::run::frame::NodeRef;
use crate::run::program::Program;
use crate::run::sensitive::{below, in_output};

impl Calls {}

/// Whether the result of another run, or of an earlier process, stands for a call with these arguments; then the
/// step has its value, or has failed because it must not be done again.
pub(in crate::run) fn is_copied(
    ctx: &mut Context,
    program: &Program,
    at: NodeRef,
    (call, signature): (&Call, &Signature),
    arguments: &Value,
) -> bool {
    if ctx.setup.copies.is_none() && !ctx.outbox.recording.is_replaying() {
        return false;
    }
    let path = ctx.tree.path(program, at);
    if let Some(output) = ctx.outbox.recording.copied(&path) {
        take_over(ctx, at, &path, arguments, output);
        return true;
    }
    let copy = ctx.setup.copies.as_ref();
    let copy = copy.and_then(|copies| copies.of(&path, signature, arguments));
    match copy {
        None => false,
        Some(Ok(output)) => {
            take_over(ctx, at, &path, arguments, output);
            true
        }
        Some(Err(again)) => {
            ctx.tree.record_mut(at).details_mut().again = Some(again);
            let repeats = ctx
                .setup
                .copies
                .as_ref()
                .is_some_and(|copies| copies.repeats_effects);
            let refused = again != Again::Asked
                && again != Again::Definition
                && !repeats
                && !call.effect.floats();
            if refused {
                let message = format!(
                    "another run has done this, and its {} differs; `--yes` lets it be done again",
                    again.name()
                );
                let error = StepError::new(ErrorClass::Denied(Denied::Policy), message, &path);
                ctx.step_failed(at, Arc::new(error));
            }
            refused
        }
    }
}

fn take_over(ctx: &mut Context, at: NodeRef, path: &Arc<str>, arguments: &Value, output: Value) {
    let details = ctx.tree.record_mut(at).details_mut();
    details.copied = true;
    details.arguments = Some(arguments.clone());
    let run = ctx
        .setup
        .copies
        .as_ref()
        .map(|copies| copies.run.clone())
        .unwrap_or_default();
    let program = ctx.tree.program(at.0);
    let labels = ctx
        .tree
        .step(&program, at)
        .map(in_output)
        .unwrap_or_default();
    ctx.outbox.note_secrets(&output, &labels);
    let kind = EventKind::StepCopied {
        path: path.clone(),
        run,
        output: output.clone(),
    };
    ctx.outbox.emit_labelled(kind, below(OUTPUT, &labels));
    ctx.settle(at, End::Completed(output));
}
