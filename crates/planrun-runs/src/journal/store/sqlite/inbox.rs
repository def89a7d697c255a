//! The inbox of a run: written by any process, read by the run's driver, and emptied as events record the messages.

use rusqlite::{Transaction, params};

use super::super::failure::JournalError;
use super::super::interface::{Message, Seen};
use super::commit::newest_message;
use super::{Inner, rows};

impl Inner {
    /// Sends several messages to a run at once, unless the run has progressed beyond `seen`.
    pub(super) fn post_all(
        &self,
        run: &str,
        texts: &[String],
        seen: Seen,
    ) -> Result<bool, JournalError> {
        let sent = self.change(|transaction| {
            let to_error = |error: rusqlite::Error| self.failure(&error);
            let found = rows::find(transaction, run).map_err(to_error)?;
            let (id, row) = found.ok_or_else(|| JournalError::NotFound { run: run.into() })?;
            let newest = newest_message(transaction, id).map_err(to_error)?;
            if seen.events.is_some_and(|events| row.events != events) || newest > seen.message {
                return Ok(None);
            }
            let mut sent = 0;
            for text in texts {
                sent = self.add_message(transaction, id, text)?;
            }
            Ok(Some((id, sent)))
        })?;
        if let Some((id, newest)) = sent {
            self.report_message(id, newest);
        }
        Ok(sent.is_some())
    }

    /// Adds a message to the inbox of a run. Returns its number.
    fn add_message(
        &self,
        transaction: &Transaction<'_>,
        run: i64,
        text: &str,
    ) -> Result<u64, JournalError> {
        let insert = "INSERT INTO messages (run, at, text) VALUES (?, ?, ?)";
        transaction
            .execute(insert, params![run, self.now(), text])
            .map_err(|error| self.failure(&error))?;
        Ok(u64::try_from(transaction.last_insert_rowid()).unwrap_or(0))
    }

    /// Reports a message to the driver of a run, if it has one in this process; those of others poll.
    fn report_message(&self, run: i64, newest: u64) {
        if let Some(commits) = self.commits() {
            commits.queue.report_message_to(run, newest);
        }
    }

    /// Returns the messages to a run that no event has recorded.
    pub(super) fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        let (id, _) = self.row(run)?;
        self.messages(id, 0)
    }

    pub(super) fn post(&self, run: &str, text: &str) -> Result<u64, JournalError> {
        let (id, sent) = self.change(|transaction| {
            let found = rows::find(transaction, run).map_err(|error| self.failure(&error))?;
            let (id, _) = found.ok_or_else(|| JournalError::NotFound { run: run.into() })?;
            Ok((id, self.add_message(transaction, id, text)?))
        })?;
        self.report_message(id, sent);
        Ok(sent)
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
