//! Deletes runs that have ended, and damaged ones.

use std::collections::BTreeSet;

use super::replay::replay;
use super::{Error, ErrorKind, Journal, OpenRun, Planrun, ResultFile, RunSummary};
use crate::journal::store::{JournalError, RunRow};

pub use crate::journal::store::Prune;

/// The runs to delete.
#[derive(Clone, Copy, Debug)]
pub enum Pruning<'a> {
    /// Runs that have ended, except those in which a failed undo can still be retried.
    Ended(Prune),
    /// Every run that has ended.
    AllEnded,
    /// The run with this id, which need not have ended. Its record must be damaged, so that nothing else can be done
    /// with it.
    Damaged(&'a str),
}

/// The runs that pruning would delete and keep, newest first.
#[derive(Clone, Debug, Default)]
pub struct Prunable {
    pub runs: Vec<RunSummary>,
    /// Runs that have ended and are kept, because a failed undo can still be retried.
    pub retryable: Vec<RunSummary>,
}

/// The result of pruning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Ids of the deleted runs, newest first.
    pub runs: Vec<String>,
    /// Ids of the runs that were kept because a failed undo can still be retried, in alphabetical order.
    pub retryable: Vec<String>,
    /// Number of large values that no run referred to any more.
    pub values: usize,
    /// Whether other processes use the journal, so that parts of the deleted content may remain next to its file until
    /// they end. In the file itself, it is already overwritten.
    pub lingers: bool,
}

impl Planrun {
    /// Returns the runs that [`Self::prune`] would delete with [`Pruning::Ended`], and those that it would keep.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be read.
    pub fn prunable(&self, prune: Prune) -> Result<Prunable, Error> {
        let journal = self.shared.journal()?;
        let rows = journal.prunable(prune)?.into_iter();
        let (retryable, others): (Vec<_>, Vec<_>) =
            rows.partition(|row| is_retryable(&journal, row));
        let summaries = |rows: Vec<RunRow>| {
            let rows = rows.into_iter();
            rows.map(|row| RunSummary::of(&journal, row)).collect()
        };
        Ok(Prunable {
            runs: summaries(others),
            retryable: summaries(retryable),
        })
    }

    /// Deletes runs, with their result files and the large values that only they refer to, and releases the space to the
    /// disk.
    ///
    /// # Errors
    /// Returns an error if the journal cannot be written; what was deleted before remains deleted. A run that is to be
    /// deleted although it may not have ended must be damaged, and no process may drive it.
    pub fn prune(&self, pruning: Pruning<'_>) -> Result<Pruned, Error> {
        let journal = self.shared.journal()?;
        let mut kept = BTreeSet::new();
        let pruned = match pruning {
            Pruning::Ended(prune) => {
                let retryable = self.prunable(prune)?.retryable.into_iter();
                kept.extend(retryable.map(|row| row.run.clone()));
                journal.prune(prune, &kept)?
            }
            Pruning::AllEnded => journal.prune(Prune::default(), &kept)?,
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
            retryable: kept.into_iter().collect(),
            values: pruned.values,
            lingers,
        })
    }
}

/// Returns true if a failed undo of a run that has ended can still be retried. A record that cannot be read allows none.
fn is_retryable(journal: &Journal, row: &RunRow) -> bool {
    // Only the list of runs in which something was not undone has a note on a run that has ended.
    row.note.is_some() && replay(journal, &row.run).is_ok_and(|state| !state.retryable.is_empty())
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
        Ok(_) => Err(Error::NotDamaged { run, ended }),
    }
}
