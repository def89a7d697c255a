//! The interface through which the engine calls tools.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use planrun_lang::call::{CallError, sensitive_arguments};
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::redact_paths;
use planrun_lang::types::{ErrorClass, Signature};
use planrun_lang::value::Value;
use tokio_util::sync::CancellationToken;

use super::conversation::{Conversation, Handle, panicked};

/// A boxed future, which trait objects can return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// One attempt of a call. The arguments have been checked against the contract.
#[derive(Clone)]
pub struct Request {
    /// The path of the calling step in the run.
    pub path: Arc<str>,
    /// The contract of the called tool.
    pub signature: Arc<Signature>,
    /// A map from argument names to values.
    pub arguments: Value,
    /// The same for every attempt of one execution, so that the server can detect repeated calls.
    pub idempotency_key: Arc<str>,
    /// The handle that an earlier process received for this call. If present, the call is resumed there and not sent
    /// again.
    pub handle: Option<Handle>,
    /// Cancelled when the attempt has to stop: a timeout, a cancelled run, a lost race.
    pub cancel: CancellationToken,
}

impl Request {
    /// Creates the first attempt of a call, which nothing cancels.
    pub fn new(
        path: impl Into<Arc<str>>,
        signature: Arc<Signature>,
        arguments: Value,
        idempotency_key: impl Into<Arc<str>>,
    ) -> Self {
        Self {
            path: path.into(),
            signature,
            arguments,
            idempotency_key: idempotency_key.into(),
            handle: None,
            cancel: CancellationToken::new(),
        }
    }
}

impl fmt::Debug for Request {
    /// Leaves out sensitive arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sensitive = sensitive_arguments(&self.signature, &self.arguments);
        f.debug_struct("Request")
            .field("path", &self.path)
            .field("tool", &self.signature.path())
            .field("arguments", &redact_paths(&self.arguments, &sensitive))
            .field("idempotency_key", &self.idempotency_key)
            .field("handle", &self.handle)
            .finish_non_exhaustive()
    }
}

impl Request {
    /// Checks that the call is new, for transports that do not support handles. Fails with the error for a call with a
    /// handle: it was sent before and must not be sent again.
    pub fn require_no_handle(&self) -> Result<(), CallError> {
        if self.handle.is_none() {
            return Ok(());
        }
        let path = self.signature.path();
        Err(CallError::new(
            ErrorClass::Internal,
            format!("a call of {path} cannot be resumed"),
            Sent::Maybe,
        ))
    }
}

/// Why the contracts of a transport cannot be determined.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{class}: {message}")]
pub struct DescribeError {
    pub class: ErrorClass,
    /// One sentence for the user.
    pub message: String,
}

/// The contracts that a transport offers.
pub type Described = Result<Vec<Arc<Signature>>, DescribeError>;

/// Calls tools. The engine handles timeouts and retries; a transport makes one attempt and reports its outcome.
pub trait Transport: Send + Sync {
    /// Starts one attempt. Must be called within a tokio runtime.
    fn call(&self, request: Request) -> Conversation;

    /// Adds everything that determines an answer besides the tool, contract and arguments: the address and the
    /// credentials. Adds nothing for tools that are the same for every user.
    fn identify(&self, _identity: &mut Identity) {}

    /// Returns the contracts that it offers now. They may change while a program runs. Returns an error if the called
    /// service cannot be reached or its answer is invalid.
    fn describe(&self) -> BoxFuture<'_, Described>;
}

/// Starts one attempt, as [`Transport::call`] does. A panic of the transport is the error of the attempt.
pub fn begin_call(transport: &dyn Transport, request: Request) -> Conversation {
    catch_unwind(AssertUnwindSafe(|| transport.call(request)))
        .unwrap_or_else(|panic| Conversation::Now(Err(panicked(&*panic))))
}

/// The address and credentials of a tool as a keyed hash. Credentials cannot be derived or guessed from it without the
/// key.
pub struct Identity(blake3::Hasher);

impl Identity {
    pub fn new(key: &[u8; 32]) -> Self {
        Self(blake3::Hasher::new_keyed(key))
    }

    /// Adds one part. The length is hashed too, so that parts cannot be confused.
    pub fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    /// Adds several parts in order.
    pub fn add_all<'a>(&mut self, parts: impl IntoIterator<Item = &'a String>) {
        for part in parts {
            self.add(part.as_bytes());
        }
    }

    pub fn hash(&self) -> [u8; 32] {
        *self.0.finalize().as_bytes()
    }
}

/// Answers [`Transport::describe`] for a transport whose contracts never change.
pub fn described<'a>(
    signatures: impl IntoIterator<Item = Arc<Signature>>,
) -> BoxFuture<'a, Described> {
    let signatures = signatures.into_iter().collect();
    Box::pin(std::future::ready(Ok(signatures)))
}

/// Answers calls in place of the tools, as tests of plans do.
pub trait StandIn: Transport {
    /// Returns the transport that answers in place of a tool; `None` if the tool has no transport.
    fn wrap(self: Arc<Self>, tool: Option<Arc<dyn Transport>>) -> Arc<dyn Transport>;

    /// Returns true if it answers in place of this tool; otherwise the tool itself is called.
    fn replaces(&self, signature: &Signature) -> bool;

    /// Returns true if it answers the call that verifies whether a step happened. If it does not, the step is treated
    /// as one without a `verify`.
    fn verifies(&self, signature: &Signature) -> bool;
}

#[cfg(test)]
mod tests {
    use planrun_lang::permission::Denial;
    use planrun_lang::value::{Key, Map};
    use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
    use reqwest::{Method, Url};

    use super::*;
    use crate::tools::http::{HttpRequest, HttpResponse};

    #[test]
    fn a_denial_is_a_failure_of_the_policy_and_nothing_was_sent() {
        let message = "running rm is not allowed".to_owned();
        let by = Vec::new();
        let error = CallError::from(Denial { message, by });
        assert_eq!(
            error.to_string(),
            "denied.policy: running rm is not allowed"
        );
        assert_eq!(error.sent, Sent::No);
    }

    #[test]
    fn debug_output_contains_no_sensitive_arguments() {
        let mut signature = Signature::unknown("door".into(), "open".into());
        signature.sensitive = vec!["pin".into()];
        let arguments = [("pin", "hunter2-pin"), ("door", "front")];
        let arguments = arguments.map(|(name, value)| (Key::from(name), Value::from(value)));
        let request = Request::new(
            "a",
            Arc::new(signature),
            Value::Map(Arc::new(arguments.into_iter().collect::<Map>())),
            "key",
        );
        let output = format!("{request:?}");
        assert!(
            output.contains("front") && !output.contains("hunter2"),
            "{output}"
        );
    }

    #[test]
    fn debug_output_of_requests_and_responses_names_headers_only() {
        let token = HeaderValue::from_static("Bearer hunter2-token");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        let request = HttpRequest {
            method: Method::POST,
            url: Url::parse("https://ann:hunter2@a.example/b?key=hunter2").unwrap(),
            headers: headers.clone(),
            body: Some(b"hunter2".to_vec()),
        };
        let response = HttpResponse {
            status: 200,
            headers,
            body: b"hunter2".to_vec(),
            from_redirect: false,
        };
        let output = format!("{request:?} {response:?}");
        assert!(output.contains("https://a.example/b") && output.contains("authorization"));
        assert!(!output.contains("hunter2"), "{output}");
    }
}
