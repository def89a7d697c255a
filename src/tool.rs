//! Tools written in Rust: a contract in the syntax of plans, and the code that executes a call.
//!
//! ```
//! use planrun::tool::{self, CallError, ErrorClass, Sent};
//!
//! # fn main() -> Result<(), tool::ContractError> {
//! #[derive(serde::Deserialize)]
//! struct Arguments {
//!     city: String,
//! }
//!
//! let thermometer = tool::from_fn(
//!     "tool weather.temperature(city: string) -> int read fails unknown_city",
//!     |asked: Arguments| match &*asked.city {
//!         "Oslo" => Ok(-4),
//!         "Lisbon" => Ok(21),
//!         other => Err(CallError::new(
//!             ErrorClass::Tool("unknown_city".into()),
//!             format!("nothing is known of {other}"),
//!             Sent::Refused,
//!         )),
//!     },
//! )?;
//! assert_eq!(thermometer.signature.path(), "weather.temperature");
//! # Ok(())
//! # }
//! ```
//!
//! The word after the result type is the effect class, which decides what planrun may do with a call. A `pure` or
//! `read` tool runs concurrently with other calls and is retried. An `idempotent` tool is retried with the same
//! idempotency key. An `effect` or `irreversible` tool is called in the order of the plan and is never called again
//! unless it is certain that the first call had no effect ([`Sent`]). Pass tools to
//! [`Planrun::with_tools`](crate::Planrun::with_tools).
//!
//! A result that a step with a `cache` clause has stored is reused only by calls of the same [`Tool`] value, since
//! planrun does not know on whose behalf the tool is called. If you state that with [`with_identity`], programs with
//! the same identity share results.

use std::future::Future;
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{Appearance, FileReport, human};
use planrun_lang::sema::declared_tools;
use planrun_lang::source::SourceFile;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use planrun_lang::call::{Answer, CallError, CallOutcome};
pub use planrun_lang::protocol::Sent;
pub use planrun_lang::types::{Effect, ErrorClass, Signature, Transient};
use planrun_runs::runs::real_host;
use planrun_tools::host::random_hex;
pub use planrun_tools::tools::{
    AskReply, BoxFuture, CallEvent, Conversation, Described, EventSender, Events, Handle, Identity,
    Progress, Question as PeerQuestion, Request, Tool, Transport, Usage as CallUsage, described,
};

/// Why a contract cannot be used: it has errors, or does not declare exactly one tool. Displays the diagnostics with
/// the lines they are about.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ContractError(String);

/// Returns a tool whose calls are computed synchronously. The arguments are deserialized into `A`, whose fields are
/// the parameters of the contract; `serde_json::Value` accepts any arguments. If the returned value does not match
/// the result type of the contract, the step fails with `validation.result`.
///
/// The function runs on a thread of the runtime. Use [`from_async`] for code that waits, and in it
/// `tokio::task::spawn_blocking` for code that blocks.
///
/// # Errors
/// Returns an error if `contract` has errors or does not declare exactly one tool.
pub fn from_fn<A, R, F>(contract: &str, function: F) -> Result<Tool, ContractError>
where
    A: DeserializeOwned + 'static,
    R: Serialize + 'static,
    F: Fn(A) -> Result<R, CallError> + Send + Sync + 'static,
{
    from_call(contract, move |request| {
        Conversation::Now(arguments(&request).and_then(&function).and_then(answer))
    })
}

/// Returns a tool whose calls are asynchronous. `function` starts a call; its future is dropped when the `timeout` of
/// the step expires or the run is cancelled.
///
/// ```
/// use planrun::tool::{self, CallError};
/// use serde_json::Value;
///
/// let echo = tool::from_async("tool test.echo(text: string) -> string pure", |asked: Value| async move {
///     tokio::time::sleep(std::time::Duration::from_millis(1)).await;
///     Ok::<_, CallError>(asked["text"].clone())
/// });
/// assert!(echo.is_ok());
/// ```
///
/// # Errors
/// Returns an error if `contract` has errors or does not declare exactly one tool.
pub fn from_async<A, R, F, W>(contract: &str, function: F) -> Result<Tool, ContractError>
where
    A: DeserializeOwned + 'static,
    R: Serialize + 'static,
    F: Fn(A) -> W + Send + Sync + 'static,
    W: Future<Output = Result<R, CallError>> + Send + 'static,
{
    from_call(contract, move |request| match arguments(&request) {
        Ok(arguments) => {
            let work = function(arguments);
            Conversation::from_future(async move { work.await.and_then(answer) })
        }
        Err(error) => Conversation::Now(Err(error)),
    })
}

/// Returns a tool that is called through a [`Transport`], which has access to the idempotency key and the handle of a
/// call, and can report progress and ask questions.
///
/// # Errors
/// Returns an error if `contract` has errors or does not declare exactly one tool.
pub fn from_transport(
    contract: &str,
    transport: Arc<dyn Transport>,
) -> Result<Tool, ContractError> {
    let signature = signature(contract)?;
    Ok(Tool {
        signature,
        transport: Arc::new(Unshared::new(transport)),
    })
}

/// Sets the identity of a tool: a text that states on whose behalf, and at which address, it is called. Programs whose
/// tools have the same name and the same identity share cached results. The identity replaces the one that the
/// transport of the tool reports. Only a keyed hash of it is stored, so it may contain credentials.
///
/// ```
/// use planrun::tool::{self, CallError};
/// use serde_json::Value;
///
/// # fn main() -> Result<(), tool::ContractError> {
/// let user = "alice@example.com";
/// let inbox = tool::from_fn("tool mail.inbox() -> int read", |_: Value| Ok::<_, CallError>(7))?;
/// let inbox = tool::with_identity(inbox, user);
/// # Ok(())
/// # }
/// ```
#[must_use]
pub fn with_identity(tool: Tool, identity: impl Into<String>) -> Tool {
    let (transport, identity) = (tool.transport, identity.into());
    Tool {
        transport: Arc::new(Identified {
            transport,
            identity,
        }),
        ..tool
    }
}

/// A transport with an identity that was given for it.
struct Identified {
    transport: Arc<dyn Transport>,
    identity: String,
}

impl Transport for Identified {
    fn call(&self, request: Request) -> Conversation {
        self.transport.call(request)
    }

    fn identify(&self, identity: &mut Identity) {
        identity.add(self.identity.as_bytes());
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.transport.describe()
    }
}

/// A transport whose answers are not shared beyond this value, unless it has an identity of its own.
struct Unshared {
    transport: Arc<dyn Transport>,
    /// Different for each value.
    value: String,
}

impl Unshared {
    fn new(transport: Arc<dyn Transport>) -> Self {
        let value = random_hex(&*real_host(), 4);
        Self { transport, value }
    }
}

impl Transport for Unshared {
    fn call(&self, request: Request) -> Conversation {
        self.transport.call(request)
    }

    fn identify(&self, identity: &mut Identity) {
        let before = identity.hash();
        self.transport.identify(identity);
        if identity.hash() == before {
            identity.add(self.value.as_bytes());
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.transport.describe()
    }
}

/// A transport that calls a function for its only tool.
struct Function<F> {
    signature: Arc<Signature>,
    call: F,
}

impl<F: Fn(Request) -> Conversation + Send + Sync> Transport for Function<F> {
    fn call(&self, request: Request) -> Conversation {
        match request.require_no_handle() {
            Ok(()) => (self.call)(request),
            Err(error) => Conversation::Now(Err(error)),
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

fn from_call<F>(contract: &str, call: F) -> Result<Tool, ContractError>
where
    F: Fn(Request) -> Conversation + Send + Sync + 'static,
{
    let signature = signature(contract)?;
    let transport = Arc::new(Function {
        signature: signature.clone(),
        call,
    });
    Ok(Tool {
        signature,
        transport: Arc::new(Unshared::new(transport)),
    })
}

/// Parses the only tool that a contract declares.
fn signature(contract: &str) -> Result<Arc<Signature>, ContractError> {
    let source = SourceFile::new("contract", contract);
    let (mut declared, found) = declared_tools(&source);
    if found.iter().any(Diagnostic::is_error) {
        let report = FileReport::new(source, found);
        return Err(ContractError(human(&[report], Appearance::PLAIN)));
    }
    match (declared.pop(), declared.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) | (None, _) => Err(ContractError(
            "a contract must declare exactly one tool, such as `tool weather.temperature(city: string) -> int read`"
                .to_owned(),
        )),
    }
}

fn arguments<A: DeserializeOwned>(request: &Request) -> Result<A, CallError> {
    serde_json::from_value(request.arguments.to_json()).map_err(|error| {
        let tool = request.signature.path();
        let message = format!("the arguments do not fit the function of {tool}: {error}");
        CallError::new(ErrorClass::Internal, message, Sent::No)
    })
}

/// Converts the result of a function, which the contract checks later. The call has been made even if its result is
/// invalid.
fn answer<R: Serialize>(given: R) -> CallOutcome {
    serde_json::to_value(given)
        .map(Answer::Json)
        .map_err(|error| {
            let message = format!("the result is not valid JSON: {error}");
            CallError::new(ErrorClass::Internal, message, Sent::Answered)
        })
}
