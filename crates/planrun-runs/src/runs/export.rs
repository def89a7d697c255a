//! Exports a run as text that can be verified.

use std::io::Write;

use super::pinned::Pinned;
use super::redaction::redaction;
use super::{Error, Planrun};
use crate::journal::store;
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
        let journal = self.shared.journal()?;
        let run = journal.run(run)?.info.run;
        let redaction = if with_secrets {
            EventRedactor::default()
        } else {
            redaction(&journal, &run)?
        };
        if redaction.is_empty() {
            return Ok((store::export(&*journal, &run, writer)?, false));
        }
        let pinned = Pinned::read(&journal.pinned(&run)?)?.redacted();
        Ok((
            store::export_redacted(&*journal, &run, (&redaction, pinned), writer)?,
            true,
        ))
    }
}
