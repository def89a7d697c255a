//! Exports a run as text that can be verified.

use std::collections::BTreeMap;
use std::io::Write;

use super::pinned::Pinned;
use super::redaction::{patched, redaction};
use super::{Error, Journal, Planrun};
use crate::journal::store::{self, Digest};
use planrun_core::journal::EventRedactor;

pub use crate::journal::store::{ExportFault, Exported, verify_export};

impl Planrun {
    /// Writes a run as JSON lines that can be verified with [`verify_export`]. Without `with_secrets`, the values that
    /// its plan and its tools declare sensitive are redacted. Also returns whether anything was redacted.
    ///
    /// # Errors
    /// Returns an error if there is no such run, if it cannot be read, or if the writer fails.
    pub fn export(
        &self,
        run: &str,
        with_secrets: bool,
        writer: &mut impl Write,
    ) -> Result<(Exported, bool), Error> {
        let journal = self.shared.journal_of(run)?;
        let run = journal.run(run)?.info.run;
        let redaction = if with_secrets {
            EventRedactor::default()
        } else {
            redaction(&journal, &run)?
        };
        if redaction.is_empty() {
            return Ok((store::export(&*journal, &run, writer)?, false));
        }
        let documents = redacted_documents(&journal, &run)?;
        Ok((
            store::export_redacted(&*journal, &run, (&redaction, documents), writer)?,
            true,
        ))
    }
}

/// Returns the redacted pinned documents of a run, that of its start and those of its patches, by the hashes of the
/// originals.
fn redacted_documents(journal: &Journal, run: &str) -> Result<BTreeMap<Digest, Vec<u8>>, Error> {
    let mut documents = BTreeMap::new();
    let mut add = |digest: Digest| -> Result<(), Error> {
        let document = Pinned::read(&journal.blob(digest)?)?;
        documents.insert(digest, document.redacted());
        Ok(())
    };
    add(journal.run(run)?.pinned)?;
    for event in journal.events(run, 1)? {
        if let Some(document) = patched(run, &event?)? {
            add(document)?;
        }
    }
    Ok(documents)
}
