//! The table of cached results.

use std::sync::Arc;

use rusqlite::{OptionalExtension as _, params};

use planrun_lang::value::Value;

use planrun_core::journal::deep;

use super::super::digest::Digest;
use super::super::failure::JournalError;
use super::{Inner, nanos};
use crate::journal::cache::{
    CachedResult, MAX_CACHED_BYTES, MAX_CACHED_RESULTS, ResultCache, typed_text,
};

/// The result cache of a journal.
pub(super) struct SqliteCache {
    inner: Arc<Inner>,
}

impl SqliteCache {
    pub(super) fn new(inner: Arc<Inner>) -> Self {
        Self { inner }
    }
}

impl ResultCache for SqliteCache {
    fn secret(&self) -> Result<[u8; 32], JournalError> {
        self.inner.read(|connection| {
            connection.query_row("SELECT bytes FROM cache_secret", [], |row| row.get(0))
        })
    }

    fn recall(&self, key: Digest, not_before: i128) -> Result<Option<CachedResult>, JournalError> {
        let found = self.inner.read(|connection| {
            connection
                .prepare_cached("SELECT at, run, value FROM cache WHERE key = ? AND at >= ?")?
                .query_row(params![key, nanos(not_before)], |row| {
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get::<_, String>(1)?,
                        row.get::<_, String>(2)?,
                    ))
                })
                .optional()
        })?;
        // An unreadable result is ignored, so the call is made again.
        Ok(found.and_then(|(at, run, text)| {
            let json = deep::from_str(&text).ok()?;
            Some(CachedResult {
                at: at.into(),
                run: run.into(),
                value: Value::from_typed_json(&json).ok()?,
            })
        }))
    }

    fn remember(&self, key: Digest, result: &CachedResult) -> Result<(), JournalError> {
        let text = typed_text(&result.value);
        if text.len() > MAX_CACHED_BYTES {
            return Ok(());
        }
        let to_error = |error: rusqlite::Error| self.inner.failure(&error);
        self.inner.change(|transaction| {
            let insert = "INSERT OR REPLACE INTO cache (key, at, run, value) VALUES (?, ?, ?, ?)";
            transaction
                .prepare_cached(insert)
                .and_then(|mut insert| {
                    insert.execute(params![key, nanos(result.at), &*result.run, text])
                })
                .map_err(to_error)?;
            let excess = "DELETE FROM cache WHERE key IN
                (SELECT key FROM cache ORDER BY at DESC LIMIT -1 OFFSET ?)";
            transaction
                .prepare_cached(excess)
                .and_then(|mut excess| excess.execute([MAX_CACHED_RESULTS]))
                .map_err(to_error)?;
            Ok(())
        })
    }
}
