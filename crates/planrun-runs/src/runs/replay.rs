//! Reads the record of a run: its events, its replay state, and large values.

use super::{Error, Journal};
use crate::journal::store::{Digest, JournalError, Recorded, read_ahead};
use planrun_core::journal::{Event, EventError, ReplayState};

/// Returns the replay state of a run after all recorded events.
pub(super) fn replay(journal: &Journal, run: &str) -> Result<ReplayState, Error> {
    let mut state = ReplayState::default();
    read_events(journal, run, |event| state.take(event))?;
    Ok(state)
}

/// Passes every event of a run to `take`, in order.
pub(super) fn read_events(
    journal: &Journal,
    run: &str,
    mut take: impl FnMut(Event) -> Result<(), EventError>,
) -> Result<(), Error> {
    let unusable = |number, error: EventError, run: &str| Error::Event {
        run: run.to_owned(),
        number,
        why: error.to_string(),
    };
    let parse = {
        let (journal, run) = (journal.clone(), run.to_owned());
        move |recorded: Result<Recorded, JournalError>| {
            let Recorded { number, line } = recorded?;
            Event::read(line.as_bytes(), &mut |digest| kept(&journal, digest))
                .map_err(|error| unusable(number, error, &run))
        }
    };
    // One thread reads and verifies, another one parses.
    let lines = read_ahead(journal.events(run, 1)?);
    for event in read_ahead(Box::new(lines.map(parse))) {
        let event = event?;
        let number = event.number;
        take(event).map_err(|error| unusable(number, error, run))?;
    }
    Ok(())
}

/// Returns the stored large value with a hash.
pub(super) fn kept(journal: &Journal, digest: &str) -> Result<Vec<u8>, String> {
    let digest: Digest = digest
        .parse()
        .map_err(|error| format!("the hash `{digest}` of a stored value is {error}"))?;
    journal.blob(digest).map_err(|error| error.to_string())
}
