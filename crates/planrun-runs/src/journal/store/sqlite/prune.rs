//! Deletes runs, and values that no run refers to any more.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};

use super::super::failure::JournalError;
use super::super::interface::{Prune, Pruned};
use super::super::run_row::RunRow;
use super::rows;
use super::{Inner, commit, nanos};

/// Number of runs that are deleted in one transaction; other processes can write in between.
const AT_ONCE: usize = 50;

impl Inner {
    pub(super) fn prune(
        &self,
        prune: Prune,
        kept: &BTreeSet<String>,
    ) -> Result<Pruned, JournalError> {
        let mut pruned = Pruned::default();
        let ended = self.list_ended()?.into_iter().skip(prune.keep);
        let candidates: Vec<_> = ended.filter(|run| !kept.contains(run)).collect();
        for runs in candidates.chunks(AT_ONCE) {
            self.change(|transaction| {
                for run in runs {
                    // It may have been resumed, or deleted by another process, since it was listed.
                    let found =
                        rows::find(transaction, run).map_err(|error| self.failure(&error))?;
                    let Some((id, row)) = found.filter(|(_, row)| self.is_prunable(row, prune))
                    else {
                        continue;
                    };
                    pruned.values +=
                        delete(transaction, id).map_err(|error| self.failure(&error))?;
                    pruned.runs.push(row.info.run);
                }
                Ok(())
            })?;
        }
        Ok(pruned)
    }

    pub(super) fn delete(&self, run: &str) -> Result<Pruned, JournalError> {
        self.change(|transaction| {
            let found = rows::find(transaction, run).map_err(|error| self.failure(&error))?;
            let (id, row) = found.ok_or_else(|| JournalError::NotFound { run: run.into() })?;
            if let Some(holder) = row.holder.filter(|holder| self.is_driven(holder)) {
                return Err(JournalError::Driven {
                    run: run.into(),
                    holder: Box::new(holder),
                });
            }
            let values = delete(transaction, id).map_err(|error| self.failure(&error))?;
            let runs = vec![run.to_owned()];
            Ok(Pruned { runs, values })
        })
    }

    pub(super) fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError> {
        let mut found = Vec::new();
        for run in self.list_ended()?.into_iter().skip(prune.keep) {
            let row = self.read(|connection| rows::find(connection, &run))?;
            found.extend(
                row.map(|(_, row)| row)
                    .filter(|row| self.is_prunable(row, prune)),
            );
        }
        Ok(found)
    }

    /// Releases the space of deleted runs to the disk, which rewrites the file. The write-ahead log is moved into the
    /// file and emptied.
    pub(super) fn compact(&self) -> Result<(), JournalError> {
        self.writable()?;
        self.read(|connection| connection.execute_batch("VACUUM"))?;
        let busy: bool = self.read(|connection| {
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))
        })?;
        if busy {
            Err(JournalError::Busy {
                path: self.path.clone(),
            })
        } else {
            Ok(())
        }
    }

    fn list_ended(&self) -> Result<Vec<String>, JournalError> {
        let select = "SELECT run FROM runs WHERE ended ORDER BY created_at DESC, id DESC";
        self.read(|connection| {
            connection
                .prepare(select)?
                .query_map([], |row| row.get(0))?
                .collect()
        })
    }

    fn is_prunable(&self, row: &RunRow, prune: Prune) -> bool {
        let old = prune
            .before
            .is_none_or(|before| nanos(row.updated_at) < nanos(before));
        row.ended
            && old
            && !row
                .holder
                .as_ref()
                .is_some_and(|holder| self.is_driven(holder))
    }
}

/// Deletes everything of one run. Returns the number of values that were deleted with it.
fn delete(connection: &Connection, run: i64) -> rusqlite::Result<usize> {
    let [first, last] = commit::places(run);
    connection
        .prepare_cached("DELETE FROM segments WHERE id BETWEEN ? AND ?")?
        .execute([first, last])?;
    connection
        .prepare_cached("DELETE FROM messages WHERE run = ?")?
        .execute([run])?;
    let values = connection
        .prepare_cached(
            "DELETE FROM blobs WHERE id IN (SELECT blob FROM refs WHERE run = ?1)
             AND NOT EXISTS (SELECT 1 FROM refs WHERE blob = blobs.id AND run <> ?1)",
        )?
        .execute(params![run])?;
    connection
        .prepare_cached("DELETE FROM refs WHERE run = ?")?
        .execute([run])?;
    connection
        .prepare_cached("DELETE FROM runs WHERE id = ?")?
        .execute([run])?;
    Ok(values)
}
