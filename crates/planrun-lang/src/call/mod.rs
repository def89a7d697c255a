//! The outcome of a tool call: an answer, or a failure that records how far the attempt got; what is sensitive in
//! arguments and results; and what an HTTP status means.

mod details;
mod sensitive;
mod status;

use std::fmt::Write as _;
use std::time::Duration;

pub use details::{Details, MAX_DETAILS};
pub use sensitive::{named_values, sensitive_arguments, sensitive_result};
pub use status::{status_class, status_name};

use crate::permission::Denial;
use crate::protocol::Sent;
use crate::types::{Denied, ErrorClass};
use crate::value::Value;
use serde_json::Value as Json;

/// Maximum size of the message of a failure, in bytes; the rest of a longer one is left out.
const MAX_MESSAGE: usize = 16 * 1024;

/// The answer of a tool. JSON comes from outside and still has to be checked and decoded by the declared type.
#[derive(Clone, Debug)]
pub enum Answer {
    Value(Value),
    Json(Json),
}

/// A failed attempt, before the effect class of the tool is taken into account.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{class}: {message}")]
pub struct CallError {
    pub class: ErrorClass,
    /// One sentence for people.
    pub message: String,
    pub sent: Sent,
    /// How long the server asks the caller to wait.
    pub retry_after: Option<Duration>,
    /// Further information from the server, for plans to read.
    pub details: Option<Details>,
}

impl CallError {
    /// Creates a failure for which the server requests no wait. A message of more than 16 KiB is truncated, because it is
    /// copied to every event and report of the failure.
    pub fn new(class: ErrorClass, message: impl Into<String>, sent: Sent) -> Self {
        let mut message = message.into();
        let all = message.len();
        if all > MAX_MESSAGE {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
            // Writing to a string cannot fail.
            let _ = write!(message, "… ({all} bytes in total)");
        }
        Self {
            class,
            message,
            sent,
            retry_after: None,
            details: None,
        }
    }

    /// Adds details from the server. Null means none; details longer than `MAX_DETAILS` are left out, which the message
    /// then states.
    #[must_use]
    pub fn with_details(mut self, details: &Json) -> Self {
        match Details::new(details) {
            Ok(details) => self.details = details,
            Err(too_long) => self.message = format!("{} ({too_long})", self.message),
        }
        self
    }
}

/// The outcome of an attempt.
pub type CallOutcome = Result<Answer, CallError>;

impl From<Denial> for CallError {
    fn from(denial: Denial) -> Self {
        let class = ErrorClass::Denied(Denied::Policy);
        Self::new(class, denial.message, Sent::No)
    }
}
