//! What of a run may be seen: everything but what its plan and its tools call sensitive.

use crate::cli::Failure;
use crate::cli::run::Pinned;
use crate::journal::store::{Digest, Journal};
use crate::journal::{Entry, Shown};

/// What must not be seen of a run, as far as it has come.
///
/// # Errors
/// When what was written cannot be used.
pub fn shown(journal: &Journal, run: &str) -> Result<Shown, Failure> {
    let mut shown = Shown::default();
    Pinned::read(&journal.pinned(run)?)?.hide(&mut shown)?;
    for event in journal.events(run, 1)? {
        let event = event?;
        if Shown::labels(&event.line) {
            learn(journal, &event.line, event.number, &mut shown)?;
        }
    }
    Ok(shown)
}

/// Learns what one event labels.
///
/// # Errors
/// When it cannot be read.
pub fn learn(journal: &Journal, line: &str, number: u64, shown: &mut Shown) -> Result<(), Failure> {
    let mut kept = |digest: &str| {
        let digest: Digest = digest.parse().map_err(|error| format!("`{digest}`: {error}"))?;
        journal.blob(digest).map_err(|error| error.to_string())
    };
    let learned = Entry::read(line.as_bytes()).and_then(|entry| shown.learn(entry, &mut kept));
    learned.map_err(|error| Failure::Environment(format!("event {number}: {error}")))
}
