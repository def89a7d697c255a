//! The events of a run as they may be seen: those that are there, and those that come while it goes on.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::redaction::{learn, redaction};
use super::{Error, Journal, Planrun};
use crate::journal::store::RecordedEvents;
use planrun_core::journal::EventRedactor;

/// How often the journal is read again while a run goes on, in whichever process.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

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

/// The events of a run that are there, in order. The iterator ends with the last one, and may give more when it is asked
/// again.
pub struct RunEvents {
    journal: Journal,
    run: String,
    next: u64,
    redaction: EventRedactor,
    /// Those that were there when the journal was last read.
    there: Option<RecordedEvents>,
    /// Whether the run had ended before that.
    ended: bool,
}

/// The events of a run to its end, in order: those that are there, and then each as it comes, whichever process drives the
/// run. Polled within a tokio runtime, since it reads the journal again every 100 ms.
pub struct FollowedEvents {
    events: RunEvents,
    /// Until the journal is read again.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Planrun {
    /// The events of a run, named by its id or the beginning of it.
    ///
    /// # Errors
    /// When there is no such run, or it cannot be read.
    pub fn events(&self, run: &str, options: EventOptions) -> Result<RunEvents, Error> {
        let journal = self.shared.journal()?;
        let run = journal.run(run)?.info.run;
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

    /// The same as a stream that goes on until the run ends.
    ///
    /// # Errors
    /// As for [`Self::events`].
    pub fn follow(&self, run: &str, options: EventOptions) -> Result<FollowedEvents, Error> {
        Ok(FollowedEvents {
            events: self.events(run, options)?,
            pause: None,
        })
    }
}

impl FollowedEvents {
    /// The next event, without a trait for streams in scope; nothing when the run has ended.
    ///
    /// # Errors
    /// What the journal says, in the place of an event.
    pub async fn next(&mut self) -> Option<Result<RunEvent, Error>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for FollowedEvents {
    type Item = Result<RunEvent, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let followed = self.get_mut();
        loop {
            if let Some(pause) = &mut followed.pause {
                ready!(pause.as_mut().poll(context));
                followed.pause = None;
            }
            match followed.events.next() {
                None if !followed.events.ended => {
                    followed.pause = Some(Box::pin(sleep(POLL_INTERVAL)));
                }
                next => return Poll::Ready(next),
            }
        }
    }
}

impl RunEvents {
    fn read_journal(&mut self) -> Result<RecordedEvents, Error> {
        // The row first: events that come after it are found by the next reading.
        self.ended = self.journal.run(&self.run)?.ended;
        Ok(self.journal.events(&self.run, self.next)?)
    }

    fn read(&mut self) -> Result<Option<RunEvent>, Error> {
        let mut there = match self.there.take() {
            Some(there) => there,
            None => self.read_journal()?,
        };
        let Some(event) = there.next().transpose()? else {
            return Ok(None);
        };
        self.there = Some(there);
        self.next = event.number + 1;
        if EventRedactor::labels(&event.line) {
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
