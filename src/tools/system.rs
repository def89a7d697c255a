//! The namespace `sys`: nothing, an echo, a failure at will, a pause, the clock and fresh ids.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::protocol::Sent;
use planrun_lang::types::{Effect, ErrorClass, Parameter, Signature, Type, Validation};
use planrun_lang::value::Value;

use super::{Answer, CallError, Outcome, Reply, Request, Transport};
use crate::host::Host;

/// One tool of the namespace.
pub struct SystemTool {
    kind: Kind,
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

/// The tools of the namespace with their contracts.
pub fn system_tools(host: &Arc<dyn Host>) -> Vec<(Signature, Arc<dyn Transport>)> {
    let tool = |kind, signature: Signature| -> (Signature, Arc<dyn Transport>) {
        (
            signature,
            Arc::new(SystemTool {
                kind,
                host: host.clone(),
            }),
        )
    };
    let sent = Type::union(["no", "maybe", "answered"].map(Type::text));
    vec![
        tool(
            Kind::Nothing,
            signature(
                "nothing",
                "Does nothing and gives null.",
                Effect::Pure,
                vec![],
                Type::Null,
            ),
        ),
        tool(
            Kind::Echo,
            Signature {
                gives_back: Some("value".into()),
                ..signature(
                    "echo",
                    "Gives back its value.",
                    Effect::Pure,
                    vec![given("value", Type::Any, true)],
                    Type::Any,
                )
            },
        ),
        tool(
            Kind::Fail,
            signature(
                "fail",
                "Fails with an error class such as `transient.unavailable`; for trying out plans.",
                Effect::Pure,
                vec![
                    given("class", Type::String, true),
                    given("message", Type::String, false),
                    given("sent", sent, false),
                    given("retry_after", Type::Duration, false),
                ],
                Type::Never,
            ),
        ),
        tool(
            Kind::Sleep,
            signature(
                "sleep",
                "Waits.",
                Effect::Pure,
                vec![given("duration", Type::Duration, true)],
                Type::Null,
            ),
        ),
        tool(
            Kind::Now,
            Signature {
                reads_clock: true,
                ..signature(
                    "now",
                    "The time by the wall clock.",
                    Effect::Read,
                    vec![],
                    Type::Timestamp,
                )
            },
        ),
        tool(
            Kind::Uuid,
            signature(
                "uuid",
                "A fresh random id, as text.",
                Effect::Read,
                vec![],
                Type::String,
            ),
        ),
    ]
}

impl Transport for SystemTool {
    fn call(&self, request: Request) -> Reply {
        match self.kind {
            Kind::Nothing => now(Value::Null),
            Kind::Echo => now(request
                .arguments
                .get("value")
                .cloned()
                .unwrap_or(Value::Null)),
            Kind::Fail => Reply::Now(Err(failure(&request.arguments))),
            Kind::Sleep => sleep(request),
            Kind::Now => now(Value::Timestamp(self.host.now())),
            Kind::Uuid => {
                let bits = u128::from(self.host.random()) << 64 | u128::from(self.host.random());
                let id = uuid::Builder::from_random_bytes(bits.to_be_bytes()).into_uuid();
                now(Value::from(id.to_string()))
            }
        }
    }
}

fn now(value: Value) -> Reply {
    Reply::Now(Ok(Answer::Value(value)))
}

fn failure(arguments: &Value) -> CallError {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let written = text("class").unwrap_or_default();
    let Some(class) = ErrorClass::find(written) else {
        let nearest = planrun_lang::diag::closest(written, ErrorClass::names())
            .map(|name| format!("; did you mean `{name}`?"));
        let message = format!(
            "`{written}` is no error class{}",
            nearest.unwrap_or_default()
        );
        let class = ErrorClass::Validation(Validation::Arguments);
        return CallError {
            class,
            message,
            sent: Sent::No,
            retry_after: None,
        };
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
        .map(length);
    CallError {
        class,
        message,
        sent,
        retry_after,
    }
}

fn sleep(request: Request) -> Reply {
    let length = request
        .arguments
        .get("duration")
        .and_then(Value::as_duration)
        .map_or(Duration::ZERO, length);
    // The pause begins with the call, not when the runtime first looks at it.
    let pause = tokio::time::sleep(length);
    Reply::Later(Box::pin(async move {
        let slept = request.cancel.run_until_cancelled(pause).await;
        let stopped = || {
            let message = "the wait was stopped".to_owned();
            CallError {
                class: ErrorClass::Cancelled,
                message,
                sent: Sent::No,
                retry_after: None,
            }
        };
        Outcome::Ok(Answer::Value(
            slept.map(|()| Value::Null).ok_or_else(stopped)?,
        ))
    }))
}

/// A negative length is none at all.
fn length(nanoseconds: i128) -> Duration {
    Duration::from_nanos(u64::try_from(nanoseconds.max(0)).unwrap_or(u64::MAX))
}

fn signature(
    name: &str,
    description: &str,
    effect: Effect,
    parameters: Vec<Parameter>,
    returns: Type,
) -> Signature {
    Signature {
        description: Some(description.into()),
        parameters,
        returns,
        effect,
        effect_declared: true,
        usage: None,
        ..Signature::unknown("sys".into(), name.into())
    }
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
