//! The events of a run as they may be seen: those that are there, and those that come while it goes on.

use std::time::Duration;

use super::redaction::{learn, redaction};
use super::{Error, Journal, Planrun};
use crate::journal::store::RecordedEvents;
use planrun_core::journal::Shown;

/// How often a journal is looked at that another process writes.
const LOOK: Duration = Duration::from_millis(100);

/// Which events of a run are read.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventOptions {
    /// The number of the first; the first of all is 1.
    pub from: u64,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent {
    pub number: u64,
    /// One line of JSON, with marks in the place of what is secret.
    pub line: String,
}

/// Events of a run, in order. As an iterator it ends with the last that is there, and may give more when it is asked
/// again; [`Self::follow`] waits for them.
pub struct RunEvents {
    journal: Journal,
    run: String,
    next: u64,
    redaction: Shown,
    /// Those that were there at the last look.
    there: Option<RecordedEvents>,
    /// Whether the run had ended before that look.
    ended: bool,
}

impl Planrun {
    /// The events of a run, named by its id or the beginning of it.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn events(&self, run: &str, options: EventOptions) -> Result<RunEvents, Error> {
        let journal = self.journal()?;
        let run = journal.run(run)?.run;
        let redaction = redaction(&journal, &run)?;
        Ok(RunEvents {
            journal,
            run,
            next: options.from.max(1),
            redaction,
            there: None,
            ended: false,
        })
    }
}

impl RunEvents {
    /// The next event; waits for it while the run goes on, whichever process drives it. Nothing when the run has ended.
    ///
    /// # Errors
    /// What the journal says, in the place of an event.
    pub async fn follow(&mut self) -> Option<Result<RunEvent, Error>> {
        loop {
            match self.next() {
                None if !self.ended => tokio::time::sleep(LOOK).await,
                next => return next,
            }
        }
    }

    fn look(&mut self) -> Result<RecordedEvents, Error> {
        // The row first: events that come after it are found by the next look.
        self.ended = self.journal.run(&self.run)?.ended;
        Ok(self.journal.events(&self.run, self.next)?)
    }

    fn read(&mut self) -> Result<Option<RunEvent>, Error> {
        let mut there = match self.there.take() {
            Some(there) => there,
            None => self.look()?,
        };
        let Some(event) = there.next().transpose()? else {
            return Ok(None);
        };
        self.there = Some(there);
        self.next = event.number + 1;
        if Shown::labels(&event.line) {
            learn(
                &self.journal,
                &event.line,
                event.number,
                &mut self.redaction,
            )?;
        }
        let line = self.redaction.line(&event.line).into_owned();
        Ok(Some(RunEvent {
            number: event.number,
            line,
        }))
    }
}

impl Iterator for RunEvents {
    type Item = Result<RunEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}
