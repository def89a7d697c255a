//! Tools that are written in Rust: a contract as a plan writes it, and what a call of it does.
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
//! The word behind the result is the effect class, and what planrun may do with a call depends on it: a `pure` or `read` tool
//! runs beside others and is retried, an `idempotent` one is retried with the same key, an `effect` or `irreversible` one is
//! called in the order of the plan and never a second time unless it is certain that nothing happened ([`Sent`]). Give the
//! tools to [`Planrun::with_tools`](crate::Planrun::with_tools).

use std::future::Future;
use std::sync::Arc;

use planrun_lang::diag::Diagnostic;
use planrun_lang::diag::render::{FileReport, Look, human};
use planrun_lang::sema::declared_tools;
use planrun_lang::source::SourceFile;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use planrun_lang::call::{Answer, CallError, CallOutcome};
pub use planrun_lang::protocol::Sent;
pub use planrun_lang::types::{Effect, ErrorClass, Signature, Transient};
pub use planrun_tools::tools::{
    BoxFuture, Conversation, Described, EventSender, Progress, Request, Tool, Transport, described,
};

/// Why a contract cannot be used: it has errors, or does not declare exactly one tool. The text draws what is wrong in its
/// lines.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ContractError(String);

/// A tool whose calls are computed at once. The arguments arrive as `A`, whose fields are the parameters of the contract;
/// `serde_json::Value` takes any. What is returned must fit the contract's result, or the step fails with
/// `validation.result`.
///
/// The function runs on a thread of the runtime: what waits or blocks belongs into [`from_async`].
///
/// # Errors
/// [`ContractError`].
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

/// A tool whose calls take time: `function` starts one, and its future is dropped when the step's `timeout` is over or the
/// run is cancelled.
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
/// [`ContractError`].
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

/// A tool that is called by a [`Transport`]: it sees the idempotency key and the handle of a call, and can tell its progress
/// and ask.
///
/// # Errors
/// [`ContractError`].
pub fn from_transport(
    contract: &str,
    transport: Arc<dyn Transport>,
) -> Result<Tool, ContractError> {
    let signature = signature(contract)?;
    Ok(Tool {
        signature,
        transport,
    })
}

/// A transport of one tool that calls a function.
struct Function<F> {
    signature: Arc<Signature>,
    call: F,
}

impl<F: Fn(Request) -> Conversation + Send + Sync> Transport for Function<F> {
    fn call(&self, request: Request) -> Conversation {
        match request.begins() {
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
        transport,
    })
}

/// The one tool that a contract declares.
fn signature(contract: &str) -> Result<Arc<Signature>, ContractError> {
    let source = SourceFile::new("contract", contract);
    let (mut declared, found) = declared_tools(&source);
    if found.iter().any(Diagnostic::is_error) {
        let report = FileReport::new(source, found);
        return Err(ContractError(human(&[report], Look::PLAIN)));
    }
    match (declared.pop(), declared.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(_), false) | (None, _) => Err(ContractError(
            "a contract declares one tool, such as `tool weather.temperature(city: string) -> int read`"
                .to_owned(),
        )),
    }
}

fn arguments<A: DeserializeOwned>(request: &Request) -> Result<A, CallError> {
    serde_json::from_value(request.arguments.to_json()).map_err(|error| {
        let tool = request.signature.path();
        let message = format!("the arguments do not fit the function behind {tool}: {error}");
        CallError::new(ErrorClass::Internal, message, Sent::No)
    })
}

/// What a function gave, to be checked by the contract. It has been called, whatever is wrong with its result.
fn answer<R: Serialize>(given: R) -> CallOutcome {
    serde_json::to_value(given)
        .map(Answer::Json)
        .map_err(|error| {
            let message = format!("the result is no JSON: {error}");
            CallError::new(ErrorClass::Internal, message, Sent::Answered)
        })
}
