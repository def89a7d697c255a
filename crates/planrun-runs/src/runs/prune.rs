//! Deletes runs that have ended.

use super::{Error, Planrun, ResultFile, RunSummary};
use crate::journal::store::JournalError;

pub use crate::journal::store::Prune;

/// The result of pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Ids of the deleted runs, newest first.
    pub runs: Vec<String>,
    /// Number of large values that no run referred to any more.
    pub values: usize,
    /// Whether other processes use the journal, so that parts of the deleted content may remain next to its file until
    /// they end. In the file itself, it is already overwritten.
    pub lingers: bool,
}

impl Planrun {
    /// Returns the runs that [`Self::prune`] would delete, newest first.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn prunable(&self, prune: Prune) -> Result<Vec<RunSummary>, Error> {
        let journal = self.shared.journal()?;
        let rows = journal.prunable(prune)?;
        Ok(rows
            .into_iter()
            .map(|row| RunSummary::of(&journal, row))
            .collect())
    }

    /// Deletes runs that have ended, with their result files and the large values that only they refer to, and releases
    /// the space to the disk.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be written. What was deleted before remains deleted.
    pub fn prune(&self, prune: Prune) -> Result<Pruned, Error> {
        let journal = self.shared.journal()?;
        let pruned = journal.prune(prune)?;
        for run in &pruned.runs {
            ResultFile::of(self, run).remove();
        }
        let lingers = match if pruned.runs.is_empty() {
            Ok(())
        } else {
            journal.compact()
        } {
            Ok(()) => false,
            Err(JournalError::Busy { .. }) => true,
            Err(error) => return Err(error.into()),
        };
        Ok(Pruned {
            runs: pruned.runs,
            values: pruned.values,
            lingers,
        })
    }
}
