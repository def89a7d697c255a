//! The operations of A2A over JSON-RPC and over HTTP+JSON, each as one request.

use std::sync::Arc;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Validation};
use planrun_lang::value::Value;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Response, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use super::card::Binding;
use super::wire::{Task, Update};
use crate::host::Host;
use crate::tools::http::{
    EventStream, HttpClient, HttpRequest, MAX_BODY_BYTES, body, display_url, failure,
};
use crate::tools::{failed, invalid_result};

/// The protocol version.
const VERSION: &str = "1.0";
/// Maximum length in an error message of a body that describes no known error, in characters.
const MAX_BODY_PREVIEW: usize = 200;

pub(super) struct Agent {
    pub client: HttpClient,
    pub host: Arc<dyn Host>,
    pub url: Url,
    pub binding: Binding,
    pub tenant: Option<String>,
    pub headers: HeaderMap,
    /// Whether it streams updates of a task.
    pub streams: bool,
}

/// An operation of the protocol.
#[derive(Clone, Copy)]
enum Operation<'a> {
    /// The parameters of the message.
    Send(&'a Json),
    Stream(&'a Json),
    /// The id of a task, as in the variants below.
    Get(&'a str),
    Subscribe(&'a str),
    Cancel(&'a str),
}

/// The stream of an agent's updates.
pub(super) struct Updates {
    events: EventStream,
    binding: Binding,
    place: String,
}

/// A JSON-RPC answer.
#[derive(Deserialize)]
struct RpcAnswer<T> {
    result: Option<T>,
    error: Option<RpcError>,
}

#[derive(Deserialize)]
struct RpcError {
    #[serde(default)]
    code: i64,
    #[serde(default)]
    message: String,
    #[serde(default)]
    data: Json,
}

/// The body of a failed HTTP+JSON answer: a `google.rpc.Status`.
#[derive(Deserialize)]
struct RestFailure {
    error: RestError,
}

#[derive(Deserialize)]
struct RestError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    details: Vec<Json>,
}

impl Agent {
    /// Sends a message. The agent answers immediately, with a task if the work takes time.
    pub(super) async fn send(&self, request: &Json) -> Result<Update, CallError> {
        self.whole(Operation::Send(request)).await
    }

    /// Sends a message and subscribes to the updates of its task.
    pub(super) async fn stream(&self, request: &Json) -> Result<Updates, CallError> {
        self.updates(Operation::Stream(request)).await
    }

    /// Returns the current state of a task.
    pub(super) async fn get(&self, task: &str) -> Result<Task, CallError> {
        self.whole(Operation::Get(task)).await
    }

    /// Subscribes to the updates of an existing task.
    pub(super) async fn subscribe(&self, task: &str) -> Result<Updates, CallError> {
        self.updates(Operation::Subscribe(task)).await
    }

    pub(super) async fn cancel(&self, task: &str) -> Result<Task, CallError> {
        self.whole(Operation::Cancel(task)).await
    }

    async fn whole<T: DeserializeOwned>(&self, operation: Operation<'_>) -> Result<T, CallError> {
        let mut response = self.answered(operation, "application/json").await?;
        let body = body(&mut response, MAX_BODY_BYTES, |_| {}).await?;
        read(self.binding, &body, &display_url(&self.url))
    }

    async fn updates(&self, operation: Operation<'_>) -> Result<Updates, CallError> {
        let mut response = self.answered(operation, "text/event-stream").await?;
        let place = display_url(&self.url);
        let media_type = response.headers().get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        if !media_type.is_some_and(|value| value.starts_with("text/event-stream")) {
            let body = body(&mut response, MAX_BODY_BYTES, |_| {}).await?;
            // Over JSON-RPC, an error is a normal answer instead of a stream.
            read::<Json>(self.binding, &body, &place)?;
            return Err(invalid_answer(&place, "it is not an event stream"));
        }
        Ok(Updates {
            events: EventStream::new(response, MAX_BODY_BYTES),
            binding: self.binding,
            place,
        })
    }

    /// Sends a request and returns its answer if it is successful.
    async fn answered(
        &self,
        operation: Operation<'_>,
        accept: &'static str,
    ) -> Result<Response, CallError> {
        let mut response = self.client.open(self.request(operation, accept)?).await?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = body(&mut response, MAX_BODY_BYTES, |_| {}).await?;
        let place = display_url(&self.url);
        if let Ok(answer) = serde_json::from_slice::<RestFailure>(&body)
            && let Some(error) = rest_failure(&answer.error)
        {
            return Err(error);
        }
        let preview = Value::from(&*String::from_utf8_lossy(&body)).preview(MAX_BODY_PREVIEW);
        let known = failure(status.as_u16(), &headers, self.host.now(), &place, &preview);
        Err(known.unwrap_or_else(|| {
            let message = format!("{place} answered with status {status}: {preview}");
            failed(message, Sent::Answered)
        }))
    }

    fn request(
        &self,
        operation: Operation<'_>,
        accept: &'static str,
    ) -> Result<HttpRequest, CallError> {
        let mut headers = self.headers.clone();
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        headers.insert("a2a-version", HeaderValue::from_static(VERSION));
        let (method, url, body) = match self.binding {
            Binding::JsonRpc => (Method::POST, self.url.clone(), Some(self.rpc(operation))),
            Binding::Rest => self.rest(operation).ok_or_else(|| {
                let message = format!("{} cannot be extended by a path", display_url(&self.url));
                CallError::new(ErrorClass::Internal, message, Sent::No)
            })?,
        };
        if body.is_some() {
            let json = HeaderValue::from_static("application/json");
            headers.insert(header::CONTENT_TYPE, json);
        }
        Ok(HttpRequest {
            method,
            url,
            headers,
            body: body.map(|body| body.to_string().into_bytes()),
        })
    }

    fn rpc(&self, operation: Operation<'_>) -> Json {
        let (method, mut params) = match operation {
            Operation::Send(request) => ("SendMessage", request.clone()),
            Operation::Stream(request) => ("SendStreamingMessage", request.clone()),
            Operation::Get(task) => ("GetTask", json!({ "id": task, "historyLength": 0 })),
            Operation::Subscribe(task) => ("SubscribeToTask", json!({ "id": task })),
            Operation::Cancel(task) => ("CancelTask", json!({ "id": task })),
        };
        if let (Some(tenant), Some(params)) = (&self.tenant, params.as_object_mut()) {
            params.insert("tenant".to_owned(), tenant.as_str().into());
        }
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
    }

    fn rest(&self, operation: Operation<'_>) -> Option<(Method, Url, Option<Json>)> {
        let mut url = self.url.clone();
        let mut path = url.path_segments_mut().ok()?;
        path.pop_if_empty().extend(&self.tenant);
        let (method, body) = match operation {
            Operation::Send(request) => {
                path.push("message:send");
                (Method::POST, Some(request.clone()))
            }
            Operation::Stream(request) => {
                path.push("message:stream");
                (Method::POST, Some(request.clone()))
            }
            Operation::Get(task) => {
                path.extend(["tasks", task]);
                (Method::GET, None)
            }
            Operation::Subscribe(task) => {
                path.extend(["tasks", &format!("{task}:subscribe")]);
                (Method::POST, Some(json!({})))
            }
            Operation::Cancel(task) => {
                path.extend(["tasks", &format!("{task}:cancel")]);
                (Method::POST, Some(json!({})))
            }
        };
        drop(path);
        if matches!(operation, Operation::Get(_)) {
            url.query_pairs_mut().append_pair("historyLength", "0");
        }
        Some((method, url, body))
    }
}

impl Updates {
    /// Returns the next update and its size in bytes; `None` at the end of the stream.
    pub(super) async fn next(&mut self) -> Result<Option<(Update, usize)>, CallError> {
        let Some(data) = self.events.next().await? else {
            return Ok(None);
        };
        // Over HTTP+JSON, a failing stream ends with an event that contains the error.
        if self.binding == Binding::Rest
            && let Ok(answer) = serde_json::from_slice::<RestFailure>(&data)
        {
            return Err(
                rest_failure(&answer.error).unwrap_or_else(|| unavailable(&answer.error.message))
            );
        }
        let update = read(self.binding, &data, &self.place)?;
        Ok(Some((update, data.len())))
    }
}

/// Decodes the content of an answer.
fn read<T: DeserializeOwned>(binding: Binding, body: &[u8], place: &str) -> Result<T, CallError> {
    let unreadable = |problem: serde_json::Error| invalid_answer(place, &problem.to_string());
    if binding == Binding::Rest {
        return serde_json::from_slice(body).map_err(unreadable);
    }
    let answer: RpcAnswer<T> = serde_json::from_slice(body).map_err(unreadable)?;
    match (answer.error, answer.result) {
        (Some(error), _) => Err(rpc_failure(&error)),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(invalid_answer(
            place,
            "it has neither a result nor an error",
        )),
    }
}

fn invalid_answer(place: &str, why: &str) -> CallError {
    let message = format!("{place} did not answer like an A2A agent: {why}");
    invalid_result(message)
}

fn unavailable(message: &str) -> CallError {
    let class = ErrorClass::Transient(Transient::Unavailable);
    CallError::new(class, message, Sent::Maybe)
}

/// Converts a JSON-RPC error into the error of the step.
fn rpc_failure(error: &RpcError) -> CallError {
    let data = &error.data;
    let (class, sent) = match error.code {
        // The content of the message is not accepted, or the parameters are invalid.
        -32602 | -32005 => (ErrorClass::Validation(Validation::Arguments), Sent::No),
        // The request is malformed, or the operation is not supported, at all or in this version.
        -32700 | -32600 | -32601 | -32009 | -32008 | -32004 => (ErrorClass::Internal, Sent::No),
        _ => return unavailable(&error.message).with_details(data),
    };
    CallError::new(class, error.message.clone(), sent).with_details(data)
}

/// Converts an HTTP+JSON error like [`rpc_failure`]; `None` if the protocol does not define it.
fn rest_failure(error: &RestError) -> Option<CallError> {
    let code = error.details.iter().find_map(|detail| {
        Some(match detail["reason"].as_str()? {
            "INVALID_PARAMS" | "CONTENT_TYPE_NOT_SUPPORTED" => -32602,
            "INVALID_REQUEST"
            | "METHOD_NOT_FOUND"
            | "VERSION_NOT_SUPPORTED"
            | "EXTENSION_SUPPORT_REQUIRED"
            | "UNSUPPORTED_OPERATION" => -32600,
            "TASK_NOT_FOUND" => -32001,
            "INVALID_AGENT_RESPONSE" | "INTERNAL_ERROR" => -32603,
            _ => return None,
        })
    });
    let (message, data) = (error.message.clone(), error.details.clone().into());
    code.map(|code| {
        rpc_failure(&RpcError {
            code,
            message,
            data,
        })
    })
}
