//! What of a run may be seen: everything but what its plan and its tools call sensitive.

use super::pinned::Pinned;
use super::replay::kept;
use super::{Error, Journal};
use planrun_core::journal::EventRedactor;

/// What must not be seen of a run, as far as it has come.
///
/// # Errors
/// When what was written cannot be used.
pub(super) fn redaction(journal: &Journal, run: &str) -> Result<EventRedactor, Error> {
    let mut shown = EventRedactor::default();
    Pinned::read(&journal.pinned(run)?)?.hide(&mut shown)?;
    for event in journal.events(run, 1)? {
        let event = event?;
        if EventRedactor::labels(&event.line) {
            learn(journal, &event.line, event.number, &mut shown)?;
        }
    }
    Ok(shown)
}

/// Learns what one event labels.
///
/// # Errors
/// When it cannot be read.
pub(super) fn learn(
    journal: &Journal,
    line: &str,
    number: u64,
    shown: &mut EventRedactor,
) -> Result<(), Error> {
    let learned = shown.learn(line.as_bytes(), &mut |digest| kept(journal, digest));
    learned.map_err(|error| Error::Unusable(format!("event {number}: {error}")))
}
