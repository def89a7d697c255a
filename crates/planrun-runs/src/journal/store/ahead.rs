//! Read-ahead: if there are many events, a thread does the work of the next ones, such as verifying or parsing them,
//! while the caller processes the previous ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, channel, sync_channel};
use std::thread::Builder;

use super::failure::JournalError;

/// Number of events in a batch. Fewer events do not justify a thread.
const AT_ONCE: usize = 2_048;
/// Maximum number of batches that wait for the caller.
const MAX_BATCHES: usize = 4;

/// The results of some work on each event, in order.
type Events<T, E> = Box<dyn Iterator<Item = Result<T, E>> + Send>;

/// Returns the same results in the same order. If there are many, a thread computes them ahead.
#[must_use]
pub fn read_ahead<T, E>(mut events: Events<T, E>) -> Events<T, E>
where
    T: Send + 'static,
    E: From<JournalError> + Send + 'static,
{
    let first: Vec<Result<T, E>> = events.by_ref().take(AT_ONCE).collect();
    if first.len() < AT_ONCE {
        return Box::new(first.into_iter());
    }
    let (hand_over, taken_over) = channel();
    let (send, batches) = sync_channel(MAX_BATCHES);
    let reader = move || {
        let Ok(events) = taken_over.recv() else {
            return;
        };
        let mut events: Events<T, E> = events;
        loop {
            let read = || -> Vec<Result<T, E>> { events.by_ref().take(AT_ONCE).collect() };
            // Without an error in its place, the rest would seem not to exist.
            let batch = match catch_unwind(AssertUnwindSafe(read)) {
                Ok(batch) => batch,
                Err(panic) => {
                    let error = JournalError::panicked("reads events", &*panic);
                    let _ = send.send(vec![Err(error.into())]);
                    return;
                }
            };
            // Everything was read, or the receiver is gone.
            if batch.is_empty() || send.send(batch).is_err() {
                return;
            }
        }
    };
    let begun = Builder::new().name("planrun-events".into()).spawn(reader);
    if begun.is_err() {
        // The thread could not be started.
        return Box::new(first.into_iter().chain(events));
    }
    // The thread was started, so it receives the events.
    let _ = hand_over.send(events);
    let batches: Receiver<Vec<Result<T, E>>> = batches;
    Box::new(first.into_iter().chain(batches.into_iter().flatten()))
}

#[cfg(test)]
mod tests {
    use super::super::interface::{Recorded, RecordedEvents};
    use super::*;

    type Batch = Vec<Result<Recorded, JournalError>>;

    /// Sends a message when it is dropped.
    struct Tells(std::sync::mpsc::Sender<()>);

    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.send(()).unwrap();
        }
    }

    fn recorded(count: usize) -> RecordedEvents {
        Box::new((1..=count as u64).map(|number| {
            let line = format!("event {number}");
            Ok(Recorded { number, line })
        }))
    }

    #[test]
    fn all_events_come_in_their_order_however_many_there_are() {
        for count in [0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 9 * AT_ONCE + 7] {
            let read: Vec<Recorded> = read_ahead(recorded(count)).map(Result::unwrap).collect();
            let numbers: Vec<u64> = read.iter().map(|event| event.number).collect();
            assert_eq!(numbers, (1..=count as u64).collect::<Vec<_>>());
            assert!(
                read.last()
                    .is_none_or(|last| last.line == format!("event {count}"))
            );
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_in_its_place() {
        let count = 3 * AT_ONCE;
        let failure = || Err(JournalError::NotFound { run: "r".into() });
        let events = recorded(count).chain(std::iter::once_with(failure));
        let read: Batch = read_ahead(Box::new(events)).collect();
        assert_eq!(read.len(), count + 1);
        assert!(read.last().unwrap().is_err());
    }

    #[test]
    fn a_panic_while_reading_is_an_error_and_not_the_end() {
        let count = AT_ONCE as u64 + 5;
        let events = (1..).map(move |number| {
            assert!(number <= count, "no more");
            let line = String::new();
            Ok(Recorded { number, line })
        });
        let last = read_ahead::<Recorded, JournalError>(Box::new(events))
            .last()
            .unwrap();
        let error = last.unwrap_err().to_string();
        assert!(
            error.contains("reads events") && error.contains("no more"),
            "{error}"
        );
    }

    #[test]
    fn a_reader_that_stops_early_ends_the_reading() {
        let (dropped, is_dropped) = channel();
        let tells = Tells(dropped);
        let endless = (1..).map(move |number| {
            let _ = &tells;
            let line = String::new();
            Ok(Recorded { number, line })
        });
        let mut events = read_ahead::<Recorded, JournalError>(Box::new(endless));
        assert_eq!(events.next().unwrap().unwrap().number, 1);
        drop(events);
        is_dropped.recv().unwrap();
    }
}
