//! The cache of results of calls without effects, for steps with `cache`.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use planrun_lang::value::Value;

use super::store::{Digest, JournalError};

/// Maximum number of cached results; the oldest are removed first.
pub const MAX_CACHED_RESULTS: usize = 10_000;
/// Maximum length of a cached result as typed JSON, in bytes.
pub const MAX_CACHED_BYTES: usize = 1024 * 1024;

/// A cached result.
#[derive(Clone, Debug, PartialEq)]
pub struct CachedResult {
    /// Wall-clock time of the result, in nanoseconds since the Unix epoch.
    pub at: i128,
    /// The run that made the call.
    pub run: Arc<str>,
    pub value: Value,
}

/// Stores results by the hash of everything that determines them. The conformance suite of stores tests every
/// implementation.
pub trait ResultCache: Send + Sync {
    /// Returns the key for hashes of credentials, which prevents readers of the cache from guessing them.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn secret(&self) -> Result<[u8; 32], JournalError>;

    /// Returns the result under this key, if its time is `not_before` or later (nanoseconds since the Unix epoch).
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn recall(&self, key: Digest, not_before: i128) -> Result<Option<CachedResult>, JournalError>;

    /// Stores a result in place of the previous one. A result longer than [`MAX_CACHED_BYTES`] is not stored.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    fn remember(&self, key: Digest, result: &CachedResult) -> Result<(), JournalError>;
}

/// A cache in the memory of the process; clones share their content.
#[derive(Clone, Debug, Default)]
pub struct MemoryCache {
    results: Arc<Mutex<BTreeMap<Digest, CachedResult>>>,
}

impl ResultCache for MemoryCache {
    fn secret(&self) -> Result<[u8; 32], JournalError> {
        // No other process reads this memory.
        Ok([0; 32])
    }

    fn recall(&self, key: Digest, not_before: i128) -> Result<Option<CachedResult>, JournalError> {
        let results = self.results.lock();
        let found = results.get(&key);
        Ok(found.filter(|found| found.at >= not_before).cloned())
    }

    fn remember(&self, key: Digest, result: &CachedResult) -> Result<(), JournalError> {
        if typed_text(&result.value).len() > MAX_CACHED_BYTES {
            return Ok(());
        }
        let mut results = self.results.lock();
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

/// Returns the text of a value in a cache.
pub(super) fn typed_text(value: &Value) -> String {
    value.to_typed_json().to_string()
}
