//! Collects the secrets of a run: everything that its plan and its tools declare sensitive.

use super::pinned::Pinned;
use super::replay::kept;
use super::{Error, Journal};
use planrun_core::journal::EventRedactor;

/// Returns the secrets of a run, up to its last recorded event.
///
/// # Errors
/// Returns an error if the record of the run cannot be used.
pub(super) fn redaction(journal: &Journal, run: &str) -> Result<EventRedactor, Error> {
    let mut redactor = EventRedactor::default();
    Pinned::read(&journal.pinned(run)?)?.add_secrets(&mut redactor)?;
    for event in journal.events(run, 1)? {
        let event = event?;
        if EventRedactor::has_labels(&event.line) {
            add_event(journal, &event.line, event.number, &mut redactor)?;
        }
    }
    Ok(redactor)
}

/// Adds the secrets that one event labels.
///
/// # Errors
/// Returns an error if the event cannot be read.
pub(super) fn add_event(
    journal: &Journal,
    line: &str,
    number: u64,
    redactor: &mut EventRedactor,
) -> Result<(), Error> {
    let added = redactor.add_event(line.as_bytes(), &mut |digest| kept(journal, digest));
    added.map_err(|error| Error::Unusable(format!("event {number}: {error}")))
}
