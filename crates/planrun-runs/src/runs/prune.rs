//! Deleting runs that have ended.

use super::{Error, Planrun, RunSummary};
use crate::journal::store::JournalError;

pub use crate::journal::store::Prune;

/// What was deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// The ids of the runs, the newest first.
    pub runs: Vec<String>,
    /// Large values that no run referred to any more.
    pub values: usize,
    /// Others use the journal just now: parts of what was deleted may stand beside its file until they end. What was deleted
    /// is overwritten in the file already.
    pub lingers: bool,
}

impl Planrun {
    /// The runs that [`Self::prune`] would delete, the newest first.
    ///
    /// # Errors
    /// What the journal says.
    pub fn prunable(&self, prune: Prune) -> Result<Vec<RunSummary>, Error> {
        let journal = self.shared.journal()?;
        let rows = journal.prunable(prune)?;
        Ok(rows
            .into_iter()
            .map(|row| RunSummary::of(&journal, row))
            .collect())
    }

    /// Deletes runs that have ended, with the large values that only they refer to, and gives the room back to the disk.
    ///
    /// # Errors
    /// What the journal says; what was deleted before stays so.
    pub fn prune(&self, prune: Prune) -> Result<Pruned, Error> {
        let journal = self.shared.journal()?;
        let pruned = journal.prune(prune)?;
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
