//! Sends signals, moves of tasks and cancellations to runs, each checked first against what the run waits for.

use std::sync::Arc;

use serde_json::Value as Json;

use super::job::Job;
use super::list::open;
use super::recorded::RecordedRun;
use super::{Error, Planrun, ResumeOptions, Run};
use planrun_core::journal::{Cancel, InboxCommand, Move, Signal};
use planrun_core::run::{
    Awaited, Interruption, Outcome, Program, accepts_move, accepts_signal, expects_signal,
};
use planrun_lang::diag::render::{command, quoted};
use planrun_lang::types::Type;

/// Sends signals and moves of tasks to a run.
pub struct Receiver {
    recorded: RecordedRun,
    program: Arc<Program>,
}

/// How a run is cancelled.
#[derive(Clone, Copy, Debug, Default)]
pub struct CancelOptions {
    /// Whether the effects of the run are kept instead of undone.
    pub keep: bool,
    /// Whether the run ends even while its effects are being undone; those that remain are kept.
    pub force: bool,
}

/// Returns the commands that send a suspended run what it waits for; empty if nothing from outside can wake it. Only the
/// parts between `<` and `>` have to be filled in.
#[must_use]
pub fn signal_commands(outcome: &Outcome) -> Vec<String> {
    let Some(Interruption::Waiting { awaited, .. }) = &outcome.interruption else {
        return Vec::new();
    };
    let commands = awaited.iter().map(|awaited| {
        let message = match awaited {
            Awaited::Signal { name, payload } => with_payload(name, payload.as_ref()),
            Awaited::Task { name, status: None } => format!("{}=<STATUS>", quoted(name)),
            Awaited::Task {
                name,
                status: Some(status),
            } => format!("{}={}", quoted(name), quoted(status)),
        };
        command(&format!("runs signal {} {message}", outcome.run))
    });
    commands.collect()
}

/// Returns a signal and its payload as they are written in a command, with a placeholder for each value that has to be
/// filled in.
fn with_payload(name: &str, payload: Option<&Type>) -> String {
    match payload {
        Some(Type::Object(object)) => {
            let fields = object.fields.iter().filter(|field| !field.may_be_null());
            let fields =
                fields.map(|field| format!("{}: <{}>", Json::from(&*field.name), field.ty));
            let fields = fields.collect::<Vec<_>>().join(", ");
            quoted(&format!("{name}={{{fields}}}"))
        }
        Some(payload) => format!("{}=<{payload}>", quoted(name)),
        None => format!("{}=<JSON>", quoted(name)),
    }
}

impl Planrun {
    /// Opens a run that has not ended, to send it signals and moves of tasks.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if its record cannot be used; [`Error::Ended`].
    pub fn receiver(&self, run: &str) -> Result<Receiver, Error> {
        let journal = self.shared.journal_of(run)?;
        open(&journal, run)?;
        let recorded = self.recorded(run)?;
        let program = recorded.load()?.program;
        Ok(Receiver { recorded, program })
    }

    /// Sends a signal to a run. Returns true if a live process drives it; otherwise the signal is handled when the run
    /// is resumed.
    ///
    /// # Errors
    /// As for [`Self::receiver`]; [`Error::Invalid`] if the run waits for no such signal.
    pub fn signal(&self, run: &str, name: &str, payload: Json) -> Result<bool, Error> {
        self.receiver(run)?.signal(name, payload)
    }

    /// Asks a run to end. If no process drives it, the run is returned and has to be driven to its end.
    ///
    /// # Errors
    /// Returns an error if there is no such run, if it cannot be driven, or if an `undo` that it needs is impossible here;
    /// [`Error::Ended`].
    pub fn cancel(
        &self,
        run: &str,
        options: CancelOptions,
        drive: ResumeOptions,
    ) -> Result<Option<Run>, Error> {
        let journal = self.shared.journal_of(run)?;
        let row = open(&journal, run)?;
        if !options.keep && !journal.is_driven(&row) {
            can_undo(&self.recorded(&row.run)?)?;
        }
        let command = Cancel {
            cancel: true,
            keep: options.keep,
            force: options.force,
        };
        journal.post(&row.run, &InboxCommand::Cancel(command).to_text())?;
        // Its process may have released the run since the row was read.
        let row = journal.run(&row.run)?;
        if journal.is_driven(&row) {
            return Ok(None);
        }
        // A run that is cancelled is not retried, even if processes died while driving it.
        let drive = ResumeOptions {
            retries: false,
            again: true,
            ..drive
        };
        self.resume_row(journal, row, drive).map(Some)
    }
}

/// Refuses to cancel a run whose effects cannot be undone here, because each `undo` would fail.
fn can_undo(recorded: &RecordedRun) -> Result<(), Error> {
    let why = Job::pinned(recorded)?.undo_obstacle(&recorded.replay);
    let run = &recorded.row.run;
    why.map_or(Ok(()), |why| {
        Err(Error::Unusable(format!(
            "the effects of the run `{run}` cannot be undone here: {why}; set it, or keep the effects (`--keep`)"
        )))
    })
}

impl Receiver {
    #[must_use]
    pub fn run(&self) -> &str {
        &self.recorded.row.run
    }

    /// Returns true if the plan has a task of this name.
    #[must_use]
    pub fn has_task(&self, name: &str) -> bool {
        self.program
            .plan
            .tasks
            .iter()
            .any(|task| *task.name == *name)
    }

    /// Checks that the run waits for a signal, whatever its payload.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it does not.
    pub fn expects(&self, signal: &str) -> Result<(), Error> {
        expects_signal(&self.program, signal).map_err(Error::Invalid)
    }

    /// Sends a signal. Returns true if a live process drives the run.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the run waits for no such signal.
    pub fn signal(&self, name: &str, payload: Json) -> Result<bool, Error> {
        accepts_signal(&self.program, name, &payload).map_err(Error::Invalid)?;
        self.post(&InboxCommand::Signal(Signal {
            name: name.into(),
            payload,
        }))
    }

    /// Moves an `external` task; `context` is merged into that of the task. Returns true if a live process drives the
    /// run.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no such task, or if it cannot be moved like this from outside.
    pub fn move_task(&self, name: &str, status: &str, context: Json) -> Result<bool, Error> {
        let task = self
            .program
            .plan
            .tasks
            .iter()
            .find(|task| *task.name == *name);
        let task = task.ok_or_else(|| Error::Invalid(format!("the plan has no task `{name}`")))?;
        accepts_move(task, status, &context).map_err(Error::Invalid)?;
        self.post(&InboxCommand::Move(Move {
            task: name.into(),
            status: status.into(),
            context,
        }))
    }

    fn post(&self, command: &InboxCommand) -> Result<bool, Error> {
        let RecordedRun { journal, row, .. } = &self.recorded;
        journal.post(&row.run, &command.to_text())?;
        // The row that was read when the receiver was created may be long out of date.
        Ok(journal.is_driven(&journal.run(&row.run)?))
    }
}
