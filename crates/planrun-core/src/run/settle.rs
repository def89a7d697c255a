//! Settles a statement: records its end and releases the statements that wait for it.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::StepState;
use planrun_lang::types::ErrorClass;
use planrun_lang::value::Value;

use super::agenda::{End, Next, Subject};
use super::call::budget::count_memory;
use super::context::Context;
use super::frame::{Flags, NodeRef};
use super::machine::Run;
use super::program::Program;
use super::sensitive::{below, in_output};
use crate::journal::{EventKind, OUTPUT, StepError};

impl Run {
    /// Settles a node, and releases those that wait for it.
    pub(super) fn settle(&mut self, at: NodeRef, end: End) {
        let (frame, node) = at;
        let program = self.ctx.tree.program(frame);
        let is_join = node as usize >= self.ctx.tree.graph(&program, frame).nodes;
        if self.ctx.tree.state_of(at).is_settled() {
            return;
        }
        let (state, available, reason) = match &end {
            End::Completed(_) => (StepState::Completed, true, None),
            End::GuardFalse => (StepState::Skipped, true, Some("guard")),
            End::Upstream => (StepState::Skipped, false, Some("upstream")),
            End::EndedAbove(reason) => (StepState::Skipped, false, Some(*reason)),
            End::Failed(error) => (failed_state(&self.ctx, at, error), false, None),
            End::Cancelled => (StepState::Cancelled, false, None),
        };
        let entry = self.ctx.tree[frame].node(node);
        entry.state = state;
        entry.flags.set(Flags::DECIDED);
        if available {
            entry.flags.set(Flags::AVAILABLE);
        }
        if !is_join {
            self.ctx.tree[frame].unsettled -= 1;
            if self.compensation.has_changed(&self.ctx, &program, at, &end) {
                self.compensation.note_change(&self.ctx, at);
            }
            if self.ctx.tree.step(&program, at).is_some() {
                self.compensation.note_settled(at);
                self.steps.settled(&mut self.ctx, at);
            }
            close(&mut self.ctx, &program, at, end, reason);
        }
        // Listeners are notified of the end of a step before the nodes that wait for it continue.
        if self.ctx.agenda.is_clean() {
            self.pass_on(&program, at, available);
        } else {
            self.ctx.then(Next::PassOn(at, available));
        }
    }

    /// Releases what waits for a node that has settled.
    pub(super) fn pass_on(&mut self, program: &Program, at: NodeRef, available: bool) {
        let mut flow = self.ctx.flow(program, at.0);
        flow.release_readers(at.1, available);
        self.listeners.unblock(&mut self.ctx, program, at);
        if self.ctx.agenda.is_clean() {
            advance(&mut self.ctx, program, at);
        } else {
            self.ctx.then(Next::Advance(at));
        }
    }
}

/// Advances the statements below a node that has settled. The frame ends with its last node.
pub(super) fn advance(ctx: &mut Context, program: &Program, at: NodeRef) {
    let mut flow = ctx.flow(program, at.0);
    if (at.1 as usize) < flow.graph.nodes {
        flow.advance();
        flow.report_end();
    }
}

/// Stores the value or the error of a statement, and emits the event of a step.
fn close(
    ctx: &mut Context,
    program: &Program,
    at: NodeRef,
    end: End,
    reason: Option<&'static str>,
) {
    let output = match &end {
        End::Completed(value) if ctx.tree.is_call(program, at) => Some(value.clone()),
        _ => None,
    };
    if let Some(value) = &output {
        count_memory(ctx, at.0, value);
    }
    let mut failure = None;
    match end {
        End::Completed(value) => {
            let slot = ctx.tree.node(program, at).slot;
            let slots = &mut ctx.tree[at.0].slots;
            if let Some(place) = slot.and_then(|slot| slots.get_mut(slot as usize)) {
                *place = value;
            }
        }
        End::Failed(error) => failure = Some(error),
        End::GuardFalse | End::Upstream | End::EndedAbove(_) | End::Cancelled => {}
    }
    if ctx.tree.step(program, at).is_none() {
        return;
    }
    let now = ctx.outbox.elapsed();
    let record = ctx.tree.record_mut(at);
    let since = record.started.map(|started| now.saturating_sub(started));
    record.duration = since.unwrap_or(0);
    record.reason = reason;
    if let Some(failure) = &failure {
        record.details_mut().error = Some(failure.clone());
    }
    if ctx.flow(program, at.0).is_untaken(at.1) {
        ctx.tree.record_mut(at).untaken = true;
        return;
    }
    let representative = ctx.flow(program, at.0).representative(at.1);
    emit_settled(ctx, program, at, output, failure);
    ctx.commit(Subject::Step((at.0, representative)));
}

/// Emits the event of a settled step.
fn emit_settled(
    ctx: &mut Context,
    program: &Program,
    at: NodeRef,
    output: Option<Value>,
    error: Option<Arc<StepError>>,
) {
    let mut labels = Vec::new();
    if let (Some(output), Some(step)) = (&output, ctx.tree.step(program, at)) {
        labels = in_output(step, output);
        ctx.outbox.note_secrets(output, &labels);
    }
    if ctx.outbox.recording.is_silent() {
        return;
    }
    let path = ctx.tree.path(program, at);
    if let Some(recorded) = ctx.outbox.recording.recorded_duration(&path) {
        ctx.tree.record_mut(at).duration = recorded;
    }
    let state = ctx.tree.state_of(at);
    let record = ctx.tree.record(at);
    let kind = EventKind::StepSettled {
        path: path.clone(),
        state,
        attempts: record.attempts,
        duration: Duration::from_micros(record.duration),
        recovered: record.recovered,
        reason: record.reason.map(Into::into),
        output,
        error,
    };
    let number = ctx.outbox.try_emit(kind, below(OUTPUT, &labels));
    let was_reused = !ctx.setup.replay_only || ctx.outbox.recording.was_reused(&path);
    ctx.tree.record_mut(at).reused |= number.is_none() && was_reused;
}

/// Returns the state of a node that has failed. What an arm has done does not make its step unknown: whether the call of
/// the step itself has happened is known if it is known of the failure that the arm has caught.
fn failed_state(ctx: &Context, at: NodeRef, error: &StepError) -> StepState {
    if error.class != ErrorClass::UnknownOutcome {
        return StepState::Failed;
    }
    let record = ctx.tree[at.0].records.get(at.1 as usize);
    let caught = record.and_then(|record| record.details()?.error.as_ref());
    let is_known = caught.is_some_and(|caught| caught.class != ErrorClass::UnknownOutcome);
    if is_known && record.is_some_and(|record| !record.in_doubt) {
        StepState::Failed
    } else {
        StepState::Unknown
    }
}
