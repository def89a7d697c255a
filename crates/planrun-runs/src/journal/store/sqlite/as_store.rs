//! Implements the store interface for the journal file and its leases.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::OptionalExtension as _;

use super::super::digest::Digest;
use super::super::failure::{Damage, JournalError};
use super::super::interface::{Lease, Message, Prune, Pruned, RecordedEvents, Seen, Store};
use super::super::run_row::{Created, Filter, NewRun, RunRow};
use super::cache::SqliteCache;
use super::{Journal, SqliteLease};
use crate::journal::ResultCache;

impl Lease for SqliteLease {
    fn last(&self) -> u64 {
        Self::last(self)
    }

    fn close(self: Box<Self>) -> Result<(), JournalError> {
        Self::close(*self)
    }
}

impl Store for Journal {
    fn create(&self, new: &NewRun<'_>) -> Result<Created<Box<dyn Lease>>, JournalError> {
        Ok(match Self::create(self, new)? {
            Created::New(driver) => Created::New(Box::new(driver)),
            Created::Exists(row) => Created::Exists(row),
        })
    }

    fn drive(&self, run: &str) -> Result<Box<dyn Lease>, JournalError> {
        Ok(Box::new(Self::drive(self, run)?))
    }

    fn run(&self, prefix: &str) -> Result<RunRow, JournalError> {
        self.inner.resolve(prefix)
    }

    fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError> {
        self.inner.list(filter)
    }

    fn is_driven(&self, row: &RunRow) -> bool {
        row.holder
            .as_ref()
            .is_some_and(|holder| self.inner.is_driven(holder))
    }

    fn wait_released(&self, run: &str) {
        if let Some(commits) = self.inner.commits() {
            commits.queue.wait_released(run);
        }
    }

    fn events(&self, run: &str, from: u64) -> Result<RecordedEvents, JournalError> {
        Ok(Box::new(Self::events(self, run, from)?))
    }

    fn pinned(&self, run: &str) -> Result<Vec<u8>, JournalError> {
        self.blob(self.inner.row(run)?.1.pinned)
    }

    fn values(&self, run: &str) -> Result<Vec<Digest>, JournalError> {
        let (id, row) = self.inner.row(run)?;
        self.inner.values(id, row.pinned)
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        let select = "SELECT bytes FROM blobs WHERE digest = ?";
        let bytes: Option<Vec<u8>> = self.inner.read(|connection| {
            connection
                .prepare_cached(select)?
                .query_row([digest], |row| row.get(0))
                .optional()
        })?;
        let bytes = bytes.ok_or(JournalError::NoValue { digest })?;
        if Digest::of(&bytes) == digest {
            return Ok(bytes);
        }
        Err(self.inner.damaged(Damage::Value { digest }))
    }

    fn post(&self, run: &str, text: &str) -> Result<u64, JournalError> {
        self.inner.post(run, text)
    }

    fn post_all(&self, run: &str, texts: &[String], seen: Seen) -> Result<bool, JournalError> {
        self.inner.post_all(run, texts, seen)
    }

    fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        self.inner.inbox(run)
    }

    fn cache(&self) -> Arc<dyn ResultCache> {
        Arc::new(SqliteCache::new(self.inner.clone()))
    }

    fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError> {
        self.inner.prunable(prune)
    }

    fn prune(&self, prune: Prune, kept: &BTreeSet<String>) -> Result<Pruned, JournalError> {
        self.inner.prune(prune, kept)
    }

    fn delete(&self, run: &str) -> Result<Pruned, JournalError> {
        self.inner.delete(run)
    }

    fn compact(&self) -> Result<(), JournalError> {
        self.inner.compact()
    }
}
