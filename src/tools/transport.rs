//! The one way in which the engine calls a tool.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::permission::Denial;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Signature};
use planrun_lang::value::Value;
use tokio_util::sync::CancellationToken;

/// One attempt at a call. The arguments have been checked against the tool's contract.
#[derive(Clone, Debug)]
pub struct Request {
    /// The step that calls, by its path in the run.
    pub path: Arc<str>,
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
    /// Equal for every attempt of one execution, so that the server can tell a repetition.
    pub idempotency_key: Arc<str>,
    /// Fires when the attempt shall stop: a timeout, a cancelled run, a lost race.
    pub cancel: CancellationToken,
}

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

/// How an attempt ended.
pub type Outcome = Result<Answer, CallError>;

/// An attempt's end, at once or later. Tools that compute answer at once and cost no task.
pub enum Reply {
    Now(Outcome),
    Later(Pin<Box<dyn Future<Output = Outcome> + Send>>),
}

/// Answers in place of every tool, as tests of plans do.
pub trait StandIn: Transport {
    /// What is called in place of a tool; `None` where nothing tells where the tool is.
    fn over(self: Arc<Self>, tool: Option<Arc<dyn Transport>>) -> Arc<dyn Transport>;

    /// Whether it stands in for this tool; any other is called.
    fn replaces(&self, signature: &Signature) -> bool;

    /// Whether it has an answer for a call that looks whether a step happened. Where it has none the step counts as one
    /// that says nothing of how to look at it.
    fn verifies(&self, signature: &Signature) -> bool;
}

/// A way to call tools. Timeouts and retries are the engine's; a transport makes one attempt and tells what it knows.
pub trait Transport: Send + Sync {
    /// Starts one attempt. Called within a tokio runtime.
    fn call(&self, request: Request) -> Reply;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_is_a_failure_of_the_policy_and_nothing_was_sent() {
        let message = "running rm is not allowed".to_owned();
        let error = CallError::from(Denial { message });
        assert_eq!(
            error.to_string(),
            "denied.policy: running rm is not allowed"
        );
        assert_eq!(error.sent, Sent::No);
    }
}
