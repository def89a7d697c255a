//! The one way in which the engine calls a tool.

use std::pin::Pin;
use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature};
use planrun_lang::value::Value;
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Handle};

/// A future that a trait object can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One attempt at a call. The arguments have been checked against the contract of what is called.
#[derive(Clone, Debug)]
pub struct Request {
    /// The step that calls, by its path in the run.
    pub path: Arc<str>,
    /// The contract of what is called.
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
    /// Equal for every attempt of one execution, so that the server can tell a repetition.
    pub idempotency_key: Arc<str>,
    /// What an earlier process was given for this call: it is taken up again there, and nothing is sent a second time.
    pub handle: Option<Handle>,
    /// Fires when the attempt shall stop: a timeout, a cancelled run, a lost race.
    pub cancel: CancellationToken,
}

impl Request {
    /// Passes where the call begins, for transports that give no handles.
    ///
    /// # Errors
    /// What a call with a handle ends with there: it was sent before, and must not be sent again.
    pub fn begins(&self) -> Result<(), CallError> {
        if self.handle.is_none() {
            return Ok(());
        }
        let path = self.signature.path();
        Err(CallError::new(
            ErrorClass::Internal,
            format!("a call of {path} cannot be taken up again where it was left"),
            Sent::Maybe,
        ))
    }
}

/// Why nobody knows what a transport offers at present.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{class}: {message}")]
pub struct DescribeError {
    pub class: ErrorClass,
    /// One sentence for people.
    pub message: String,
}

/// The contracts of what a transport offers.
pub type Described = Result<Vec<Arc<Signature>>, DescribeError>;

/// A way to call tools. Timeouts and retries are the engine's; a transport makes one attempt and tells what it knows.
pub trait Transport: Send + Sync {
    /// Starts one attempt. Called within a tokio runtime.
    fn call(&self, request: Request) -> Conversation;

    /// Adds what beside a call's tool, contract and arguments decides its answer: where it is called, and with which
    /// credentials. Nothing for tools that are the same for everybody.
    fn identify(&self, _identity: &mut Identity) {}

    /// What it offers at present. May be asked again while a program runs, and tell something else then.
    ///
    /// # Errors
    /// When what it calls cannot be reached, or answers with something else.
    fn describe(&self) -> BoxFuture<'_, Described>;
}

/// Where a tool is called, and as whom: a keyed hash, from which no credential can be read or guessed without the key.
pub struct Identity(blake3::Hasher);

impl Identity {
    #[must_use]
    pub fn new(key: &[u8; 32]) -> Self {
        Self(blake3::Hasher::new_keyed(key))
    }

    /// Adds one part. Parts do not run into each other.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds parts one after the other.
    pub fn add_all<'a>(&mut self, parts: impl IntoIterator<Item = &'a String>) {
        for part in parts {
            self.add(part.as_bytes());
        }
    }

    #[must_use]
    pub fn hash(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

/// The answer of a transport to [`Transport::describe`] whose contracts never change.
pub fn described<'a>(
    signatures: impl IntoIterator<Item = Arc<Signature>>,
) -> BoxFuture<'a, Described> {
    let signatures = signatures.into_iter().collect();
    Box::pin(std::future::ready(Ok(signatures)))
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

#[cfg(test)]
mod tests {
    use planrun_lang::permission::Denial;

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
