//! Builds the outcome when a run ends, or when a process stops driving it.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::RunState;

use super::clock::Moment;
use super::command::Command;
use super::context::Context;
use super::frame::{Ending, Frame};
use super::interruption::Interruption;
use super::machine::Run;
use super::outcome::{Outcome, Usage};
use super::scope::Spent;
use crate::journal::{EventKind, StepError};

impl Run {
    /// Returns the outcome of the run, or of the part that this process has driven, after it has emitted
    /// [`Command::End`]. The last events are added to `commands`.
    #[must_use]
    pub fn conclude(&mut self, now: Moment, commands: &mut Vec<Command>) -> Outcome {
        self.ctx.outbox.now = now;
        let exempt_calls = self.steps.calls.budgets.exempt_calls;
        let mut outcome = outcome_of_root(&mut self.ctx, exempt_calls);
        let mut wake = None;
        let failure = self.steps.parking.first_failure();
        name_failure(&mut self.ctx, failure.or(outcome.error.as_ref()));
        if let Some(interruption) = &self.ctx.interruption {
            outcome.pause();
            match interruption {
                Interruption::Waiting { wake: until, .. } => wake = *until,
                Interruption::Failed(error) => outcome.error = Some(error.clone()),
                Interruption::Asked => wake = self.waiting().next_wait_over(),
                Interruption::Journal(_) | Interruption::Reached => {}
            }
            let still = self.waiting().only_others_are_awaited();
            self.ctx.outbox.emit(EventKind::RunPaused { wake, still });
            self.steps.calls.open.slots.close(&mut self.ctx.tree);
        } else {
            outcome.retryable = self.compensation.retryable(&self.ctx);
            self.ctx.outbox.emit(EventKind::RunSettled {
                state: outcome.state,
                reply: outcome.reply.clone(),
                error: outcome.error.clone(),
                retryable: outcome.retryable.clone(),
            });
        }
        let class = outcome.error.as_ref().map(|error| error.class.to_string());
        outcome.not_undone = self.compensation.not_undone(&self.ctx);
        let note = match outcome.not_undone.len() {
            0 => None,
            1 => Some("1 step not undone".to_owned()),
            count => Some(format!("{count} steps not undone")),
        };
        (self.ctx.outbox).summarize((outcome.state, wake), class, note);
        self.ctx.outbox.drain_into(commands);
        outcome.interruption = self.ctx.interruption.take();
        outcome.recorded = self.ctx.is_recorded();
        (outcome.tasks, outcome.listeners) = (
            self.tasks.reports(&self.ctx),
            self.listeners.reports(&self.ctx),
        );
        (outcome.questions, outcome.unused_answers) = self.steps.people.left_open(&self.ctx);
        outcome.asked = self.steps.people.question_reports(&self.ctx);
        let completed = |root: &Frame| root.ending.is_none();
        if outcome.interruption.is_none() && self.ctx.tree.frames.first().is_some_and(completed) {
            outcome.found = Some(self.compensation.reports(&self.ctx));
        }
        outcome.duration = Duration::from_micros(self.ctx.outbox.elapsed());
        let (frames, scopes) = (
            std::mem::take(&mut self.ctx.tree.frames),
            std::mem::take(&mut self.ctx.tree.scopes),
        );
        outcome.with_trace(
            frames,
            scopes,
            self.ctx.outbox.begun_at,
            self.ctx.outbox.redactor.clone(),
        )
    }
}

/// Replaces the failure because of which the run is suspended by its present one: the step may have ended since, with a
/// call that was awaited.
fn name_failure(ctx: &mut Context, present: Option<&Arc<StepError>>) {
    if let (Some(Interruption::Failed(error)), Some(present)) = (&mut ctx.interruption, present) {
        error.clone_from(present);
    }
}

fn outcome_of_root(ctx: &mut Context, exempt_calls: u64) -> Outcome {
    let run = ctx.setup.run_id.to_string();
    let plan = ctx.tree.scopes[0].program.plan.clone();
    let Some(root) = ctx.tree.frames.first_mut() else {
        return Outcome::new(run, &plan.name, RunState::Failed);
    };
    let reply = root.values.pop();
    let failure = root.first_failure.clone();
    let (state, reply, error) = match &root.ending {
        _ if ctx.tree.stalled.is_some() => (RunState::Stalled, None, ctx.tree.stalled.take()),
        Some(Ending::Failed(error)) => (RunState::Failed, None, Some(error.clone())),
        Some(Ending::Cancelled) => (RunState::Cancelled, None, None),
        None if failure.is_some() => (RunState::Failed, reply, failure),
        None => (RunState::Completed, reply, None),
    };
    let mut outcome = Outcome::new(run, &plan.name, state);
    (outcome.reply, outcome.error, outcome.strict) = (reply, error, ctx.setup.defaults.strict);
    let Spent { calls, used, .. } = ctx.tree.scopes[0].spent;
    outcome.usage = Usage {
        calls,
        tokens: used.tokens,
        cost: used.cost,
        exempt_calls,
    };
    outcome
}
