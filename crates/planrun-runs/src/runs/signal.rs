//! Sends a run signals, moves of tasks and requests to end, each checked first against what the run waits for.

use std::sync::Arc;

use serde_json::Value as Json;

use super::list::open;
use super::recorded::RecordedRun;
use super::{Error, Planrun, ResumeOptions, Run};
use planrun_core::journal::{Cancel, InboxCommand, Move, Signal};
use planrun_core::run::{Program, accepts_move, accepts_signal};

/// A run that takes signals and moves of tasks.
pub struct Receiver {
    recorded: RecordedRun,
    program: Arc<Program>,
}

/// How a run is ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct CancelOptions {
    /// Nothing of what it did is taken back.
    pub keep: bool,
    /// Even while it takes things back; what is left stays as it is.
    pub force: bool,
}

impl Planrun {
    /// A run that has not ended, to send it signals and moves of tasks.
    ///
    /// # Errors
    /// When there is no such run, or what was written of it cannot be used; [`Error::Ended`].
    pub fn receiver(&self, run: &str) -> Result<Receiver, Error> {
        let journal = self.shared.journal()?;
        open(&journal, run)?;
        let recorded = self.recorded(run)?;
        let program = recorded.load()?.program;
        Ok(Receiver { recorded, program })
    }

    /// Sends a signal to a run. Tells whether a process that lives drives it; another one goes on with it when somebody
    /// resumes it.
    ///
    /// # Errors
    /// As for [`Self::receiver`]; [`Error::Invalid`] where the run waits for no such signal.
    pub fn signal(&self, run: &str, name: &str, payload: Json) -> Result<bool, Error> {
        self.receiver(run)?.signal(name, payload)
    }

    /// Asks for the end of a run. One that no process drives is given back: to drive it is to end it.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be driven; [`Error::Ended`].
    pub fn cancel(
        &self,
        run: &str,
        options: CancelOptions,
        drive: ResumeOptions,
    ) -> Result<Option<Run>, Error> {
        let journal = self.shared.journal()?;
        let row = open(&journal, run)?;
        let said = Cancel {
            cancel: true,
            keep: options.keep,
            force: options.force,
        };
        journal.post(&row.run, &InboxCommand::Cancel(said).to_text())?;
        if journal.is_driven(&row) {
            return Ok(None);
        }
        // Whoever ends a run at which processes die wants no more of it done.
        let drive = ResumeOptions {
            retries: false,
            again: true,
            ..drive
        };
        let row = journal.run(&row.run)?;
        self.resume_row(journal, row, drive).map(Some)
    }
}

impl Receiver {
    #[must_use]
    pub fn run(&self) -> &str {
        &self.recorded.row.run
    }

    /// Whether the plan has a task of this name.
    #[must_use]
    pub fn has_task(&self, name: &str) -> bool {
        self.program
            .plan
            .tasks
            .iter()
            .any(|task| *task.name == *name)
    }

    /// Sends a signal; tells whether a process that lives drives the run.
    ///
    /// # Errors
    /// [`Error::Invalid`] where the run waits for no such signal.
    pub fn signal(&self, name: &str, payload: Json) -> Result<bool, Error> {
        accepts_signal(&self.program, name, &payload).map_err(Error::Invalid)?;
        self.post(&InboxCommand::Signal(Signal {
            name: name.into(),
            payload,
        }))
    }

    /// Moves a task that is `external`; `context` is merged into that of the task.
    ///
    /// # Errors
    /// [`Error::Invalid`] where there is no such task, or it cannot be moved so from outside.
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

    fn post(&self, said: &InboxCommand) -> Result<bool, Error> {
        let RecordedRun { journal, row, .. } = &self.recorded;
        journal.post(&row.run, &said.to_text())?;
        Ok(journal.is_driven(row))
    }
}
