//! A run as a text of its own, which proves itself.

use std::io::Write;

use super::pinned::Pinned;
use super::redaction::redaction;
use super::{Error, Planrun};
use crate::journal::store;
use planrun_core::journal::EventRedactor;

pub use crate::journal::store::{ExportFault, Exported, verify_export};

impl Planrun {
    /// Writes a run as lines of JSON that prove themselves: see [`verify_export`]. Without `with_secrets` marks stand for
    /// what its plan and its tools call sensitive. Also tells whether there are such marks.
    ///
    /// # Errors
    /// When there is no such run, it cannot be read, or the writer refuses.
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
        let pinned = Pinned::read(&journal.pinned(&run)?)?.shown();
        Ok((
            store::export_shown(&*journal, &run, (&redaction, pinned), writer)?,
            true,
        ))
    }
}
