//! Deletes runs that have ended, and damaged ones.

use super::{Error, ErrorKind, Journal, OpenRun, Planrun, ResultFile, RunSummary};
use crate::journal::store::JournalError;

pub use crate::journal::store::Prune;

/// The runs to delete.
#[derive(Clone, Copy, Debug)]
pub enum Pruning<'a> {
    /// Runs that have ended.
    Ended(Prune),
    /// The run with this id, which need not have ended. Its record must be damaged, so that nothing else can be done
    /// with it.
    Damaged(&'a str),
}

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

    /// Deletes runs, with their result files and the large values that only they refer to, and releases the space to the
    /// disk.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be written; what was deleted before remains deleted. A run that is to be
    /// deleted although it may not have ended must be damaged, and no process may drive it.
    pub fn prune(&self, pruning: Pruning<'_>) -> Result<Pruned, Error> {
        let journal = self.shared.journal()?;
        let pruned = match pruning {
            Pruning::Ended(prune) => journal.prune(prune)?,
            Pruning::Damaged(run) => journal.delete(&damaged(&journal, run)?)?,
        };
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

/// Returns the id of a damaged run, given by its id or a prefix of it.
fn damaged(journal: &Journal, run: &str) -> Result<String, Error> {
    let row = match journal.run(run) {
        Ok(row) => row,
        Err(JournalError::Damaged { .. }) => return Ok(run.to_owned()),
        Err(error) => return Err(error.into()),
    };
    let (run, ended) = (row.run.clone(), row.ended);
    match OpenRun::of(journal, row) {
        Err(error) if error.kind() == ErrorKind::Environment => Ok(run),
        Err(error) => Err(error),
        Ok(_) => {
            let remedy = if ended {
                "`planrun runs prune` deletes runs that have ended".to_owned()
            } else {
                format!("`planrun runs cancel {run}` ends it")
            };
            let message =
                format!("the run `{run}` is not damaged, so it was not deleted; {remedy}");
            Err(Error::Invalid(message))
        }
    }
}
