//! Implements the store interface for the journal file and its leases.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::digest::Digest;
use super::super::failure::JournalError;
use super::super::interface::{Lease, RecordedEvents, Store};
use super::super::message::{Message, Seen};
use super::super::pruning::{Prune, Pruned};
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
        Self::run(self, prefix)
    }

    fn runs(&self, filter: &Filter) -> Result<Vec<RunRow>, JournalError> {
        Self::runs(self, filter)
    }

    fn is_driven(&self, row: &RunRow) -> bool {
        Self::is_driven(self, row)
    }

    fn wait_released(&self, run: &str) {
        Self::wait_released(self, run);
    }

    fn events(&self, run: &str, from: u64) -> Result<RecordedEvents, JournalError> {
        Ok(Box::new(Self::events(self, run, from)?))
    }

    fn pinned(&self, run: &str) -> Result<Vec<u8>, JournalError> {
        Self::pinned(self, run)
    }

    fn values(&self, run: &str) -> Result<Vec<Digest>, JournalError> {
        Self::values(self, run)
    }

    fn blob(&self, digest: Digest) -> Result<Vec<u8>, JournalError> {
        Self::blob(self, digest)
    }

    fn post(&self, run: &str, text: &str) -> Result<u64, JournalError> {
        Self::post(self, run, text)
    }

    fn post_all(&self, run: &str, texts: &[String], seen: Seen) -> Result<bool, JournalError> {
        Self::post_all(self, run, texts, seen)
    }

    fn inbox(&self, run: &str) -> Result<Vec<Message>, JournalError> {
        Self::inbox(self, run)
    }

    fn cache(&self) -> Arc<dyn ResultCache> {
        Arc::new(SqliteCache::new(self.inner.clone()))
    }

    fn prunable(&self, prune: Prune) -> Result<Vec<RunRow>, JournalError> {
        Self::prunable(self, prune)
    }

    fn prune(&self, prune: Prune, kept: &BTreeSet<String>) -> Result<Pruned, JournalError> {
        Self::prune(self, prune, kept)
    }

    fn delete(&self, run: &str) -> Result<Pruned, JournalError> {
        self.inner.delete(run)
    }

    fn compact(&self) -> Result<(), JournalError> {
        Self::compact(self)
    }
}
