//! The end of a run, or of a process that drove it: what came of it.

use std::time::Duration;

use planrun_lang::protocol::RunState;

use super::budget::Spent;
use super::clock::Moment;
use super::command::Command;
use super::frame::{Ending, Frame};
use super::machine::Run;
use super::outcome::{Interruption, Outcome, Usage};
use crate::journal::EventKind;

impl Run {
    /// What came of the run, or of it in this process, once it has given [`Command::End`]. The last events are added to
    /// `commands`.
    #[must_use]
    pub fn conclude(&mut self, now: Moment, commands: &mut Vec<Command>) -> Outcome {
        self.now = now;
        let mut outcome = self.outcome_of_root();
        let mut wake = None;
        if let Some(interruption) = &self.interruption {
            outcome.state = RunState::Paused;
            match interruption {
                Interruption::Waiting { wake: until, .. } => wake = *until,
                Interruption::Failed(error) => outcome.error = Some(error.clone()),
                Interruption::Asked | Interruption::Journal(_) | Interruption::Reached => {}
            }
            let still = self.only_others_are_awaited();
            self.emit(EventKind::RunPaused { wake, still });
            self.close_queue();
        } else {
            self.emit(EventKind::RunSettled {
                state: outcome.state,
                reply: outcome.reply.clone(),
                error: outcome.error.clone(),
            });
        }
        let class = outcome.error.as_ref().map(|error| error.class.to_string());
        self.summarize(outcome.state, wake, class);
        commands.append(&mut self.commands);
        outcome.interruption = self.interruption.take();
        (outcome.tasks, outcome.listeners) = (self.task_reports(), self.listener_reports());
        (outcome.questions, outcome.unused_answers) = self.left_open();
        outcome.asked = self.question_reports();
        outcome.not_undone = self.not_undone();
        let completed = |root: &Frame| root.ending.is_none();
        if outcome.interruption.is_none() && self.frames.first().is_some_and(completed) {
            outcome.verification = self.verification();
        }
        outcome.duration = Duration::from_micros(self.elapsed());
        let (frames, scopes) = (
            std::mem::take(&mut self.frames),
            std::mem::take(&mut self.scopes),
        );
        outcome.with_trace(frames, scopes, self.begun_at, self.redactor.clone())
    }

    fn outcome_of_root(&mut self) -> Outcome {
        let run = self.setup.run_id.to_string();
        let plan = self.scopes[0].program.plan.clone();
        let Some(root) = self.frames.first_mut() else {
            return Outcome::new(run, &plan.name, RunState::Failed);
        };
        let reply = root.values.pop();
        let failure = root.first_failure.clone();
        let (state, reply, error) = match &root.ending {
            _ if self.reactions.stalled.is_some() => {
                (RunState::Stalled, None, self.reactions.stalled.take())
            }
            Some(Ending::Failed(error)) => (RunState::Failed, None, Some(error.clone())),
            Some(Ending::Cancelled) => (RunState::Cancelled, None, None),
            None if failure.is_some() => (RunState::Failed, reply, failure),
            None => (RunState::Completed, reply, None),
        };
        let mut outcome = Outcome::new(run, &plan.name, state);
        (outcome.reply, outcome.error, outcome.strict) = (reply, error, self.setup.defaults.strict);
        let Spent { calls, used } = self.scopes[0].spent;
        outcome.usage = Usage {
            calls,
            tokens: used.tokens,
            cost: used.cost,
            exempt_calls: self.exempt_calls,
        };
        outcome
    }
}
