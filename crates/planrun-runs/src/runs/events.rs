//! The redacted events of a run: the recorded ones, and those that follow while it runs.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::{Sleep, sleep};

use super::redaction::{add_event, redaction_of_intact};
use super::{Error, Journal, Planrun};
use crate::journal::store::RecordedEvents;
use planrun_core::journal::EventRedactor;

/// How often the journal is read again while a run is driven, by any process.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Selects the events of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct EventOptions {
    /// Number of the first event; events are numbered from 1.
    pub from: u64,
}

/// An event of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEvent {
    pub number: u64,
    /// One line of JSON, with secrets redacted.
    pub line: String,
}

/// The recorded events of a run, in order. The iterator ends with the last one, and may return more when `next` is
/// called again. After an error it has ended for good.
pub struct RunEvents {
    journal: Journal,
    run: String,
    next: u64,
    redaction: EventRedactor,
    /// Events that were recorded when the journal was last read.
    recorded: Option<RecordedEvents>,
    /// Whether the run had ended before that.
    ended: bool,
    /// Whether an error was returned.
    failed: bool,
}

/// The events of a run until it ends, in order: the recorded ones, and then each as it is recorded, whichever process
/// drives the run. The stream also ends after an error. Must be polled within a tokio runtime, because it reads the
/// journal again every 100 ms.
pub struct FollowedEvents {
    events: RunEvents,
    /// The wait until the journal is read again.
    pause: Option<Pin<Box<Sleep>>>,
}

impl Planrun {
    /// Returns the events of a run, given by its id or a prefix of it.
    ///
    /// # Errors
    /// Returns an error if there is no such run, or if it cannot be read.
    pub fn events(&self, run: &str, options: EventOptions) -> Result<RunEvents, Error> {
        let journal = self.shared.journal_of(run)?;
        let run = journal.run(run)?.info.run;
        let redaction = redaction_of_intact(&journal, &run)?;
        Ok(RunEvents {
            journal,
            run,
            next: options.from.max(1),
            redaction,
            recorded: None,
            ended: false,
            failed: false,
        })
    }

    /// As [`Self::events`], as a stream that continues until the run ends.
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
    /// Returns the next event, without a stream trait in scope; `None` when the run has ended, or after an error.
    ///
    /// # Errors
    /// Returns an error of the journal in place of an event.
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
                None if !followed.events.ended && !followed.events.failed => {
                    followed.pause = Some(Box::pin(sleep(POLL_INTERVAL)));
                }
                next => return Poll::Ready(next),
            }
        }
    }
}

impl RunEvents {
    fn read_journal(&mut self) -> Result<RecordedEvents, Error> {
        // Read the row first: events that are recorded after it are found at the next reading.
        self.ended = self.journal.run(&self.run)?.ended;
        Ok(self.journal.events(&self.run, self.next)?)
    }

    fn read(&mut self) -> Result<Option<RunEvent>, Error> {
        let mut recorded = match self.recorded.take() {
            Some(recorded) => recorded,
            None => self.read_journal()?,
        };
        let Some(event) = recorded.next().transpose()? else {
            return Ok(None);
        };
        self.recorded = Some(recorded);
        self.next = event.number + 1;
        add_event(&self.journal, &self.run, &event, &mut self.redaction)?;
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
        if self.failed {
            return None;
        }
        let next = self.read().transpose();
        self.failed = matches!(next, Some(Err(_)));
        next
    }
}
