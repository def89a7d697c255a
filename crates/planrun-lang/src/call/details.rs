//! Details of a failure that a server sends in addition to the message.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::secrets::Redactor;

/// Maximum length of details, in bytes of JSON: every event that describes the failure contains them.
pub const MAX_DETAILS: usize = 16 * 1024;

/// JSON of at most `MAX_DETAILS` bytes that is not null. Clones share it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Details(Arc<Json>);

/// Details that exceed `MAX_DETAILS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("its details are omitted: they have {0} bytes, and at most {MAX_DETAILS} are kept")]
pub struct TooLong(usize);

impl Details {
    /// Creates details of a failure; `None` for null.
    ///
    /// # Errors
    /// If the details are longer than `MAX_DETAILS`.
    pub fn new(json: &Json) -> Result<Option<Self>, TooLong> {
        if json.is_null() {
            return Ok(None);
        }
        let mut length = Length(0);
        // Neither counting bytes nor serializing JSON can fail.
        let _ = serde_json::to_writer(&mut length, json);
        if length.0 > MAX_DETAILS {
            return Err(TooLong(length.0));
        }
        Ok(Some(Self(Arc::new(json.clone()))))
    }

    #[must_use]
    pub fn json(&self) -> &Json {
        &self.0
    }

    /// Returns the details with secrets redacted.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Self {
        let mut json = Json::clone(&self.0);
        redactor.json(&mut json);
        Self(Arc::new(json))
    }
}

/// Counts the bytes written to it.
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
        let failed = |details: &Json| {
            CallError::new(ErrorClass::Internal, "it broke", Sent::Answered).with_details(details)
        };
        let longest = Json::from("x".repeat(MAX_DETAILS - 2));
        assert_eq!(failed(&longest).details.unwrap().json(), &longest);
        assert_eq!(failed(&Json::Null).details, None);
        let left_out = failed(&json!(["x".repeat(MAX_DETAILS - 2)]));
        assert_eq!(left_out.details, None);
        assert_eq!(
            left_out.message,
            "it broke (its details are omitted: they have 16386 bytes, and at most 16384 are kept)"
        );
    }
}
