//! Results of calls that change nothing, kept so that a step with `cache` need not call again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use planrun_lang::value::Value;

use super::store::{Digest, JournalError};

/// So many results are kept; the oldest go first.
pub const MAX_CACHED_RESULTS: usize = 10_000;
/// A result whose typed JSON is longer than this, in bytes, is not kept.
pub const MAX_CACHED_BYTES: usize = 1024 * 1024;

/// A result that was given before.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedResult {
    /// When, in nanoseconds since 1970.
    pub at: i128,
    /// The run whose call gave it.
    pub run: Arc<str>,
    pub value: Value,
}

/// Where results are kept, by the hash of all that decides them. The conformance suite of stores holds every one to it.
pub trait ResultCache: Send + Sync {
    /// What hashes of credentials are keyed with, so that nobody who reads the cache can guess at them.
    ///
    /// # Errors
    /// What the store says.
    fn secret(&self) -> Result<[u8; 32], JournalError>;

    /// The result under this key, if it was given at `not_before` or later (nanoseconds since 1970).
    ///
    /// # Errors
    /// What the store says.
    fn recall(&self, key: Digest, not_before: i128) -> Result<Option<CachedResult>, JournalError>;

    /// Keeps a result in place of the one before; one longer than [`MAX_CACHED_BYTES`] is left out.
    ///
    /// # Errors
    /// What the store says.
    fn remember(&self, key: Digest, result: &CachedResult) -> Result<(), JournalError>;
}

/// A cache that ends with its process; its clones share what it holds.
#[derive(Clone, Debug, Default)]
pub struct MemoryCache {
    results: Arc<Mutex<BTreeMap<Digest, CachedResult>>>,
}

impl MemoryCache {
    fn results(&self) -> MutexGuard<'_, BTreeMap<Digest, CachedResult>> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ResultCache for MemoryCache {
    fn secret(&self) -> Result<[u8; 32], JournalError> {
        // Nobody else reads the memory of the process.
        Ok([0; 32])
    }

    fn recall(&self, key: Digest, not_before: i128) -> Result<Option<CachedResult>, JournalError> {
        let results = self.results();
        let found = results.get(&key);
        Ok(found.filter(|found| found.at >= not_before).cloned())
    }

    fn remember(&self, key: Digest, result: &CachedResult) -> Result<(), JournalError> {
        if typed_text(&result.value).len() > MAX_CACHED_BYTES {
            return Ok(());
        }
        let mut results = self.results();
        results.insert(key, result.clone());
        if results.len() > MAX_CACHED_RESULTS {
            let oldest = results.iter().min_by_key(|(_, result)| result.at);
            if let Some(oldest) = oldest.map(|(key, _)| *key) {
                results.remove(&oldest);
            }
        }
        Ok(())
    }
}

/// A value as a cache writes it.
pub(super) fn typed_text(value: &Value) -> String {
    value.to_typed_json().to_string()
}
