//! Collects the secrets of a run: everything that its plan and its tools declare sensitive.

use std::fmt::Display;

use planrun_core::journal::{Event, EventKind, EventName, EventRedactor};

use super::pinned::Pinned;
use super::replay::kept;
use super::{Error, Journal};
use crate::journal::store::{Digest, Recorded};

/// Returns the secrets of a run, up to its last recorded event.
///
/// # Errors
/// Returns an error if the record of the run cannot be used.
pub(super) fn redaction(journal: &Journal, run: &str) -> Result<EventRedactor, Error> {
    let mut redactor = of_inputs(journal, run)?;
    add_events(journal, run, &mut redactor)?;
    Ok(redactor)
}

/// As [`redaction`], up to the first event that cannot be read.
///
/// # Errors
/// Returns an error if the pinned document of the run cannot be read.
pub(super) fn redaction_of_intact(journal: &Journal, run: &str) -> Result<EventRedactor, Error> {
    let mut redactor = of_inputs(journal, run)?;
    // Whoever reads the events gets the same error there.
    let _ = add_events(journal, run, &mut redactor);
    Ok(redactor)
}

fn of_inputs(journal: &Journal, run: &str) -> Result<EventRedactor, Error> {
    let mut redactor = EventRedactor::default();
    Pinned::read(&journal.pinned(run)?)?.add_secrets(&mut redactor)?;
    Ok(redactor)
}

fn add_events(journal: &Journal, run: &str, redactor: &mut EventRedactor) -> Result<(), Error> {
    for event in journal.events(run, 1)? {
        add_event(journal, run, &event?, redactor)?;
    }
    Ok(())
}

/// Adds the secrets that one event labels; for a patch, those of its pinned document.
///
/// # Errors
/// Returns an error if the event cannot be read.
pub(super) fn add_event(
    journal: &Journal,
    run: &str,
    event: &Recorded,
    redactor: &mut EventRedactor,
) -> Result<(), Error> {
    if let Some(document) = patched(run, event)? {
        Pinned::read(&journal.blob(document)?)?.add_secrets(redactor)?;
    }
    if !EventRedactor::has_labels(&event.line) {
        return Ok(());
    }
    let added = redactor.add_event(event.line.as_bytes(), &mut |digest| kept(journal, digest));
    added.map_err(|error| unusable(run, event, error))
}

/// Returns the hash of the pinned document of a patch; `None` if the event is not a patch.
///
/// # Errors
/// Returns an error if the event cannot be read.
pub(super) fn patched(run: &str, event: &Recorded) -> Result<Option<Digest>, Error> {
    if !event.line.contains(EventName::RunPatched.name()) {
        return Ok(None);
    }
    let read = Event::peek(event.line.as_bytes());
    let read = read.map_err(|error| unusable(run, event, error))?;
    let EventKind::RunPatched { after, .. } = read.kind else {
        return Ok(None);
    };
    let digest: Result<Digest, _> = after.parse();
    digest
        .map(Some)
        .map_err(|error| unusable(run, event, format!("its hash `{after}` is {error}")))
}

fn unusable(run: &str, event: &Recorded, why: impl Display) -> Error {
    Error::Event {
        run: run.to_owned(),
        number: event.number,
        why: why.to_string(),
    }
}
