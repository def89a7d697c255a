//! What a call of a tool comes to: an answer, or a failure that says whether the world has seen it.

mod details;

use std::time::Duration;

pub use details::{Details, MAX_DETAILS};

use crate::permission::Denial;
use crate::protocol::Sent;
use crate::types::{Denied, ErrorClass};
use crate::value::Value;
use serde_json::Value as Json;

/// What a tool gave: JSON from outside is still to be checked and decoded by the declared type.
#[derive(Clone, Debug)]
pub enum Answer {
    Value(Value),
    Json(Json),
}

/// A failed attempt, before the effect class of the tool is considered.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{class}: {message}")]
pub struct CallError {
    pub class: ErrorClass,
    /// One sentence for people.
    pub message: String,
    pub sent: Sent,
    /// How long the other side asks us to wait.
    pub retry_after: Option<Duration>,
    /// What the other side says of the failure beside the message, for plans to read.
    pub details: Option<Details>,
}

impl CallError {
    /// A failure after which the other side asks for no wait.
    pub fn new(class: ErrorClass, message: impl Into<String>, sent: Sent) -> Self {
        Self {
            class,
            message: message.into(),
            sent,
            retry_after: None,
            details: None,
        }
    }

    /// The same with what the other side says of it. Null is nothing; what is longer than `MAX_DETAILS` is left out, and
    /// the message says so.
    #[must_use]
    pub fn with_details(mut self, told: &Json) -> Self {
        match Details::new(told) {
            Ok(details) => self.details = details,
            Err(too_long) => self.message = format!("{} ({too_long})", self.message),
        }
        self
    }
}

/// How an attempt ended.
pub type CallOutcome = Result<Answer, CallError>;

impl From<Denial> for CallError {
    fn from(denial: Denial) -> Self {
        let class = ErrorClass::Denied(Denied::Policy);
        Self::new(class, denial.message, Sent::No)
    }
}
