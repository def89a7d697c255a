//! The inbox of a run: written by any process, read by the run's driver, and emptied as events record the messages.

use rusqlite::params;

use super::super::failure::JournalError;
use super::super::interface::{Message, Seen};
use super::{Inner, rows};

impl Inner {
    /// Sends several messages to a run at once, unless the run has progressed beyond `seen`.
    pub(super) fn post_all(
        &self,
        run: &str,
        texts: &[String],
        seen: Seen,
    ) -> Result<bool, JournalError> {
        self.change(|transaction| {
            let to_error = |error: rusqlite::Error| self.failure(&error);
            let found = rows::find(transaction, run).map_err(to_error)?;
            let (id, row) = found.ok_or_else(|| JournalError::NotFound { run: run.into() })?;
            let newest = "SELECT coalesce(max(id), 0) FROM messages WHERE run = ?";
            let newest: u64 = transaction
                .query_row(newest, [id], |row| row.get(0))
                .map_err(to_error)?;
            if seen.events.is_some_and(|events| row.events != events) || newest > seen.message {
                return Ok(false);
            }
            let insert = "INSERT INTO messages (run, at, text) VALUES (?, ?, ?)";
            for text in texts {
                transaction
                    .execute(insert, params![id, self.now(), text])
                    .map_err(to_error)?;
            }
            Ok(true)
        })
    }

    /// Returns the messages to a run that no event has recorded.
    pub(super) fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        let (id, _) = self.row(run)?;
        self.messages(id, 0)
    }

    pub(super) fn post(&self, run: &str, text: &str) -> Result<u64, JournalError> {
        self.change(|transaction| {
            let to_error = |error: rusqlite::Error| self.failure(&error);
            let found = rows::find(transaction, run).map_err(to_error)?;
            let (id, _) = found.ok_or_else(|| JournalError::NotFound { run: run.into() })?;
            let insert = "INSERT INTO messages (run, at, text) VALUES (?, ?, ?)";
            transaction
                .execute(insert, params![id, self.now(), text])
                .map_err(to_error)?;
            Ok(u64::try_from(transaction.last_insert_rowid()).unwrap_or(0))
        })
    }

    /// Returns the messages to a run after this one, oldest first.
    pub(super) fn messages(&self, run: i64, behind: u64) -> Result<Vec<Message>, JournalError> {
        let select = "SELECT id, at, text FROM messages WHERE run = ? AND id > ? ORDER BY id";
        self.read(|connection| {
            let mut statement = connection.prepare_cached(select)?;
            let messages = statement.query_map(params![run, behind], |row| {
                Ok(Message {
                    id: row.get(0)?,
                    at: row.get::<_, i64>(1)?.into(),
                    text: row.get(2)?,
                })
            })?;
            messages.collect()
        })
    }
}
