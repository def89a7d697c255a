//! What a call of a tool comes to: an answer, or a failure that says whether the world has seen it.

use std::time::Duration;

use crate::permission::Denial;
use crate::protocol::Sent;
use crate::types::{Denied, ErrorClass};
use crate::value::Value;

/// What a tool gave: JSON from outside is still to be checked and decoded by the declared type.
#[derive(Clone, Debug)]
pub enum Answer {
    Value(Value),
    Json(serde_json::Value),
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
}

impl CallError {
    /// A failure after which the other side asks for no wait.
    pub fn new(class: ErrorClass, message: impl Into<String>, sent: Sent) -> Self {
        Self {
            class,
            message: message.into(),
            sent,
            retry_after: None,
        }
    }
}

/// How an attempt ended.
pub type CallOutcome = Result<Answer, CallError>;

impl From<Denial> for CallError {
    fn from(denial: Denial) -> Self {
        Self {
            class: ErrorClass::Denied(Denied::Policy),
            message: denial.message,
            sent: Sent::No,
            retry_after: None,
        }
    }
}
