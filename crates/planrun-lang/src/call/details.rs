//! What the other side says of a failure beside its message.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::secrets::Redactor;

/// How long details may be, as JSON in bytes: they are kept with every event that tells of the failure.
pub const MAX_DETAILS: usize = 16 * 1024;

/// JSON of at most `MAX_DETAILS` that is not null. Clones share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Details(Arc<Json>);

/// Details that are too long to be carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its details are left out: they have {0} bytes, and at most {MAX_DETAILS} are kept")]
pub struct TooLong(usize);

impl Details {
    /// Details of a failure; nothing for null.
    ///
    /// # Errors
    /// When they are longer than `MAX_DETAILS`.
    pub fn new(told: &Json) -> Result<Option<Self>, TooLong> {
        if told.is_null() {
            return Ok(None);
        }
        let mut length = Length(0);
        // Neither what counts bytes nor what is JSON already can fail.
        let _ = serde_json::to_writer(&mut length, told);
        if length.0 > MAX_DETAILS {
            return Err(TooLong(length.0));
        }
        Ok(Some(Self(Arc::new(told.clone()))))
    }

    #[must_use]
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// The same with marks for what is secret.
    #[must_use]
    pub fn shown(&self, redactor: &Redactor) -> Self {
        let mut shown = Json::clone(&self.0);
        redactor.json(&mut shown);
        Self(Arc::new(shown))
    }
}

/// Counts what is written to it.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, written: &[u8]) -> io::Result<usize> {
        self.0 += written.len();
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::call::CallError;
    use crate::protocol::Sent;
    use crate::types::ErrorClass;

    #[test]
    fn details_are_kept_up_to_their_bound_and_their_absence_is_said() {
        let failed = |told: &Json| {
            CallError::new(ErrorClass::Internal, "it broke", Sent::Answered).with_details(told)
        };
        let longest = Json::from("x".repeat(MAX_DETAILS - 2));
        assert_eq!(failed(&longest).details.unwrap().json(), &longest);
        assert_eq!(failed(&Json::Null).details, None);
        let left_out = failed(&json!(["x".repeat(MAX_DETAILS - 2)]));
        assert_eq!(left_out.details, None);
        assert_eq!(
            left_out.message,
            "it broke (its details are left out: they have 16386 bytes, and at most 16384 are kept)"
        );
    }
}
