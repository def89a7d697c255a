//! Calls that are not made, because another run or an earlier process has their result.

use std::sync::Arc;

use planrun_lang::sema::Call;
use planrun_lang::types::{Denied, Effect, ErrorClass, Signature};
use planrun_lang::value::Value;

use crate::journal::{EndWithoutCall, EventKind, OUTPUT, StepError};
use crate::run::agenda::{End, Inquiry};
use crate::run::compensation::lasting_undone;
use crate::run::context::Context;
use crate::run::copies::RepeatReason;
use crate::run::frame::NodeRef;
use crate::run::renewed::Renewal;
use crate::run::sensitive::{below, in_output};

/// Returns true if the call is not made: the result of another run, one that an earlier process copied, or one from
/// before a retry completes the step, or the step fails because its effect must not be repeated.
pub(in crate::run) fn is_copied(
    ctx: &mut Context,
    at: NodeRef,
    path: &Arc<str>,
    (call, signature): (&Call, &Signature),
    arguments: &Value,
) -> bool {
    if is_kept(ctx, at, path, arguments) {
        return true;
    }
    if let Some(error) = recorded_refusal(ctx, path) {
        refuse(ctx, at, error);
        return true;
    }
    if ctx.setup.copies.is_none() && !ctx.outbox.recording.is_replaying() {
        return false;
    }
    if let Some(output) = ctx.outbox.recording.copied(path) {
        let source = Source::Run(base_run(ctx));
        take_over(ctx, at, path, arguments, (source, output));
        return true;
    }
    match copied(ctx, at, path, (call, signature), arguments) {
        None => false,
        Some(Ok(output)) => {
            let source = Source::Run(base_run(ctx));
            take_over(ctx, at, path, arguments, (source, output));
            true
        }
        Some(Err(again)) => {
            ctx.tree.record_mut(at).details_mut().again = Some(again);
            let copies = ctx.setup.copies.as_ref();
            let repeats = copies.is_some_and(|copies| copies.repeats_effects);
            let refused = again.needs_consent() && !repeats && !call.effect.is_read_only();
            if refused {
                let message = format!(
                    "the run `{}` {}: `{path}`; start the new run with `--yes` to repeat it",
                    base_run(ctx),
                    again.describe()
                );
                let error = StepError::new(ErrorClass::Denied(Denied::Policy), message, path);
                refuse(ctx, at, Arc::new(error));
            }
            refused
        }
    }
}

/// Returns the result of another run for a call, or why it is not used; `None` if the other run has not made the call.
fn copied(
    ctx: &Context,
    at: NodeRef,
    path: &str,
    (call, signature): (&Call, &Signature),
    arguments: &Value,
) -> Option<Result<Value, RepeatReason>> {
    let copies = ctx.setup.copies.as_ref()?;
    let output = match copies.of(path, signature, arguments)? {
        Ok(output) => output,
        Err(again) => return Some(Err(again)),
    };
    let is_stale = match ctx.renewed.above(&ctx.tree, at) {
        None => false,
        Some(Renewal::First) => call.effect == Effect::Read,
        Some(Renewal::Again) => call.effect != Effect::Pure,
    };
    Some(if is_stale {
        Err(RepeatReason::Order)
    } else {
        Ok(output)
    })
}

/// Records that a run that copies results makes an effect itself.
pub(in crate::run) fn note_made(ctx: &mut Context, at: NodeRef, effect: Effect) {
    if ctx.setup.copies.is_none() || effect.is_read_only() || ctx.tree[at.0].auxiliary {
        return;
    }
    let details = ctx.tree.record(at).details();
    let again = details.and_then(|details| details.again);
    let renewal = if again.is_some_and(RepeatReason::replaces) {
        Renewal::Again
    } else {
        Renewal::First
    };
    ctx.renewed.note(&ctx.tree, at, renewal);
}

/// Returns the recorded refusal to repeat an effect.
fn recorded_refusal(ctx: &Context, path: &str) -> Option<Arc<StepError>> {
    let recording = &ctx.outbox.recording;
    let was_refused = recording.end_without_call(path) == Some(EndWithoutCall::RepetitionRefused);
    let step = recording.step(path).filter(|_| was_refused)?;
    step.error.clone()
}

/// Ends the run because it may not repeat an effect. No `recover` arm catches that: what is missing is the consent of
/// whoever starts the run, and nothing that a plan could make up for.
fn refuse(ctx: &mut Context, at: NodeRef, error: Arc<StepError>) {
    ctx.fatal(error.class.clone(), &error.message);
    ctx.fail_step(at, error);
}

/// Returns true if the result of a step from before a retry completes it.
pub(in crate::run) fn is_kept(
    ctx: &mut Context,
    at: NodeRef,
    path: &str,
    arguments: &Value,
) -> bool {
    let Some(result) = ctx.executions.result(path, arguments) else {
        return false;
    };
    let (before, output) = (result.at, result.output.clone());
    let old = ctx.tree.record(before);
    let (recovered, in_doubt) = (old.recovered, old.in_doubt);
    let error = old.details().and_then(|details| details.error.clone());
    let undone = lasting_undone(ctx, before);
    let record = ctx.tree.record_mut(at);
    (record.recovered, record.in_doubt, record.reused) = (recovered, in_doubt, true);
    if error.is_some() || undone.is_some() || *arguments != ctx.no_arguments {
        let details = record.details_mut();
        (details.arguments, details.error) = (Some(arguments.clone()), error);
        details.undone = undone;
    }
    ctx.then(Inquiry::HandOver(before));
    ctx.settle(at, End::Completed(output));
    true
}

/// Returns the run that results are copied from.
fn base_run(ctx: &Context) -> Arc<str> {
    let copies = ctx.setup.copies.as_ref();
    copies.map(|copies| copies.run.clone()).unwrap_or_default()
}

/// Where the result of a call comes from, with the run that made the call.
pub(in crate::run) enum Source {
    /// The run that this run is based on.
    Run(Arc<str>),
    /// The cache.
    Cache(Arc<str>),
}

/// Completes a step with an earlier result, without a call.
pub(in crate::run) fn take_over(
    ctx: &mut Context,
    at: NodeRef,
    path: &Arc<str>,
    arguments: &Value,
    (source, output): (Source, Value),
) {
    let details = ctx.tree.record_mut(at).details_mut();
    details.arguments = Some(arguments.clone());
    let (run, cached) = match source {
        Source::Run(run) => (run, false),
        Source::Cache(run) => (run, true),
    };
    (details.copied, details.cached) = (!cached, cached);
    let program = ctx.tree.program(at.0);
    let labels = ctx
        .tree
        .step(&program, at)
        .map(|step| in_output(step, &output))
        .unwrap_or_default();
    ctx.outbox.note_secrets(&output, &labels);
    let kind = EventKind::StepCopied {
        path: path.clone(),
        run,
        output: output.clone(),
        cached,
    };
    ctx.outbox.emit_labelled(kind, below(OUTPUT, &labels));
    ctx.settle(at, End::Completed(output));
}
