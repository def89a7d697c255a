//! The namespace `sys`: nothing, echo, fail, sleep, now and uuid.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::builtins::refused_argument;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Effect, ErrorClass, Parameter, Signature, Type};
use planrun_lang::value::{Value, saturating_duration};

use super::{BoxFuture, Conversation, Described, Request, Transport, described};
use crate::host::{Host, runtime_now, sleep_until};
use crate::tools::invalid_arguments;
use planrun_lang::call::{Answer, CallError, CallOutcome};

/// One tool of the namespace.
pub struct SystemTool {
    kind: Kind,
    signature: Arc<Signature>,
    host: Arc<dyn Host>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Nothing,
    Echo,
    Fail,
    Sleep,
    Now,
    Uuid,
}

/// Returns the tools of the namespace with their contracts.
pub fn system_tools(host: &Arc<dyn Host>) -> Vec<(Arc<Signature>, Arc<dyn Transport>)> {
    let tool = |kind: Kind| -> (Arc<Signature>, Arc<dyn Transport>) {
        let signature = Arc::new(kind.signature());
        let tool = SystemTool {
            kind,
            signature: signature.clone(),
            host: host.clone(),
        };
        (signature, Arc::new(tool))
    };
    Kind::ALL.into_iter().map(tool).collect()
}

impl Kind {
    const ALL: [Self; 6] = [
        Self::Nothing,
        Self::Echo,
        Self::Fail,
        Self::Sleep,
        Self::Now,
        Self::Uuid,
    ];

    fn signature(self) -> Signature {
        let (name, description, effect, returns) = match self {
            Self::Nothing => (
                "nothing",
                "Does nothing and returns null.",
                Effect::Pure,
                Type::Null,
            ),
            Self::Echo => ("echo", "Returns its value.", Effect::Pure, Type::Any),
            Self::Fail => (
                "fail",
                "Fails with an error class such as `transient.unavailable`; for testing plans.",
                Effect::Pure,
                Type::Never,
            ),
            Self::Sleep => ("sleep", "Waits.", Effect::Pure, Type::Null),
            Self::Now => (
                "now",
                "The time by the wall clock.",
                Effect::Read,
                Type::Timestamp,
            ),
            Self::Uuid => (
                "uuid",
                "A new random id, as a string.",
                Effect::Read,
                Type::String,
            ),
        };
        Signature {
            description: Some(description.into()),
            parameters: self.parameters(),
            returns,
            returned_argument: matches!(self, Self::Echo).then(|| "value".into()),
            reads_clock: matches!(self, Self::Now),
            effect,
            effect_declared: true,
            ..Signature::unknown("sys".into(), name.into())
        }
    }

    fn parameters(self) -> Vec<Parameter> {
        match self {
            Self::Nothing | Self::Now | Self::Uuid => Vec::new(),
            Self::Echo => vec![given("value", Type::Any, true)],
            Self::Fail => vec![
                given("class", Type::String, true),
                given("message", Type::String, false),
                given(
                    "sent",
                    Type::union(["no", "maybe", "answered"].map(Type::text)),
                    false,
                ),
                given("retry_after", Type::Duration, false),
                given("details", Type::Any, false),
            ],
            Self::Sleep => vec![given("duration", Type::Duration, true)],
        }
    }
}

impl Transport for SystemTool {
    fn call(&self, request: Request) -> Conversation {
        match self.kind {
            Kind::Nothing => now(Value::Null),
            Kind::Echo => now(request
                .arguments
                .get("value")
                .cloned()
                .unwrap_or(Value::Null)),
            Kind::Fail => Conversation::Now(Err(failure(&request.arguments))),
            Kind::Sleep => sleep(request),
            Kind::Now => now(Value::Timestamp(self.host.now())),
            Kind::Uuid => {
                let bits = u128::from(self.host.random()) << 64 | u128::from(self.host.random());
                let id = uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid();
                now(Value::from(id.to_string()))
            }
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

fn now(value: Value) -> Conversation {
    Conversation::Now(Ok(Answer::Value(value)))
}

fn failure(arguments: &Value) -> CallError {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let written = arguments.get("class").unwrap_or(&Value::Null);
    let Some(class) = written.as_str().and_then(ErrorClass::find) else {
        let refused = refused_argument(("sys", "fail"), "class", written);
        let message = refused.unwrap_or_else(|| "the class is missing".to_owned());
        return invalid_arguments(message);
    };
    let sent = match text("sent") {
        Some("no") => Sent::No,
        Some("maybe") => Sent::Maybe,
        _ => Sent::Answered,
    };
    let message =
        text("message").map_or_else(|| format!("asked to fail with {class}"), str::to_owned);
    let retry_after = arguments
        .get("retry_after")
        .and_then(Value::as_duration)
        .map(saturating_duration);
    let details = arguments.get("details").map(Value::to_json);
    CallError {
        retry_after,
        ..CallError::new(class, message, sent).with_details(&details.unwrap_or_default())
    }
}

fn sleep(request: Request) -> Conversation {
    let length = request
        .arguments
        .get("duration")
        .and_then(Value::as_duration)
        .map_or(Duration::ZERO, saturating_duration);
    // The wait starts with the call, not when the future is first polled.
    let pause = sleep_until(runtime_now().checked_add(length));
    Conversation::from_future(async move {
        let slept = request.cancel.run_until_cancelled(pause).await;
        let stopped = || {
            let message = "the wait was cancelled".to_owned();
            CallError::new(ErrorClass::Cancelled, message, Sent::No)
        };
        CallOutcome::Ok(Answer::Value(
            slept.map(|()| Value::Null).ok_or_else(stopped)?,
        ))
    })
}

fn given(name: &str, ty: Type, required: bool) -> Parameter {
    Parameter {
        name: name.into(),
        ty,
        required,
        description: None,
        schema: None,
        default: None,
    }
}
