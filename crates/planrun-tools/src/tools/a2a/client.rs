//! The operations of A2A over JSON-RPC and over HTTP+JSON, each one request.

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
    EventStream, HttpClient, HttpRequest, MAX_BODY_BYTES, body, failure, shown,
};

/// The revision that is spoken.
const VERSION: &str = "1.0";
/// What a failure tells of an answer that is no JSON, in characters.
const TOLD_OF_BODY: usize = 200;

/// An agent at the place where it is called.
pub(super) struct Agent {
    pub client: HttpClient,
    pub host: Arc<dyn Host>,
    pub url: Url,
    pub binding: Binding,
    pub tenant: Option<String>,
    pub headers: HeaderMap,
    /// Whether it tells how a task goes on.
    pub streams: bool,
}

/// What an agent is asked for.
#[derive(Clone, Copy)]
enum Operation<'a> {
    /// With the message, and what else belongs to sending it.
    Send(&'a Json),
    Stream(&'a Json),
    /// With the id of a task, as all of these.
    Get(&'a str),
    Subscribe(&'a str),
    Cancel(&'a str),
}

/// What an agent tells, as it tells it.
pub(super) struct Updates {
    events: EventStream,
    binding: Binding,
    place: String,
}

/// An answer over JSON-RPC.
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

/// What HTTP+JSON answers where it fails: a `google.rpc.Status`.
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
    /// Sends a message. The answer comes at once: whatever takes time is a task.
    pub(super) async fn send(&self, request: &Json) -> Result<Update, CallError> {
        self.whole(Operation::Send(request)).await
    }

    /// Sends a message, and hears how its task goes on.
    pub(super) async fn stream(&self, request: &Json) -> Result<Updates, CallError> {
        self.updates(Operation::Stream(request)).await
    }

    /// A task as it is now.
    pub(super) async fn get(&self, task: &str) -> Result<Task, CallError> {
        self.whole(Operation::Get(task)).await
    }

    /// Hears how a task goes on that was begun before.
    pub(super) async fn subscribe(&self, task: &str) -> Result<Updates, CallError> {
        self.updates(Operation::Subscribe(task)).await
    }

    pub(super) async fn cancel(&self, task: &str) -> Result<Task, CallError> {
        self.whole(Operation::Cancel(task)).await
    }

    async fn whole<T: DeserializeOwned>(&self, operation: Operation<'_>) -> Result<T, CallError> {
        let mut response = self.answered(operation, "application/json").await?;
        let body = body(&mut response, MAX_BODY_BYTES, |_| {}).await?;
        read(self.binding, &body, &shown(&self.url))
    }

    async fn updates(&self, operation: Operation<'_>) -> Result<Updates, CallError> {
        let mut response = self.answered(operation, "text/event-stream").await?;
        let place = shown(&self.url);
        let media_type = response.headers().get(header::CONTENT_TYPE);
        let media_type = media_type.and_then(|value| value.to_str().ok());
        if !media_type.is_some_and(|value| value.starts_with("text/event-stream")) {
            let body = body(&mut response, MAX_BODY_BYTES, |_| {}).await?;
            // Over JSON-RPC an error is an answer of its own.
            read::<Json>(self.binding, &body, &place)?;
            return Err(no_answer(&place, "it is no stream of events"));
        }
        Ok(Updates {
            events: EventStream::new(response, MAX_BODY_BYTES),
            binding: self.binding,
            place,
        })
    }

    /// The answer to a request, where it is one that succeeds.
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
        let place = shown(&self.url);
        if let Ok(told) = serde_json::from_slice::<RestFailure>(&body)
            && let Some(error) = rest_failure(&told.error)
        {
            return Err(error);
        }
        let told = Value::from(&*String::from_utf8_lossy(&body)).preview(TOLD_OF_BODY);
        let failed = failure(status.as_u16(), &headers, self.host.now(), &place, &told);
        Err(failed.unwrap_or_else(|| {
            let message = format!("{place} answered with status {status}: {told}");
            CallError::new(ErrorClass::Tool("failed".into()), message, Sent::Answered)
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
                let message = format!("{} cannot have paths", shown(&self.url));
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
    /// What is told next, and how many bytes it took; `None` where nothing follows.
    pub(super) async fn next(&mut self) -> Result<Option<(Update, usize)>, CallError> {
        let Some(data) = self.events.next().await? else {
            return Ok(None);
        };
        // Over HTTP+JSON a stream that fails ends with an event that says so.
        if self.binding == Binding::Rest
            && let Ok(told) = serde_json::from_slice::<RestFailure>(&data)
        {
            return Err(
                rest_failure(&told.error).unwrap_or_else(|| unavailable(&told.error.message))
            );
        }
        let update = read(self.binding, &data, &self.place)?;
        Ok(Some((update, data.len())))
    }
}

/// What stands in an answer.
fn read<T: DeserializeOwned>(binding: Binding, body: &[u8], place: &str) -> Result<T, CallError> {
    let unreadable = |problem: serde_json::Error| no_answer(place, &problem.to_string());
    if binding == Binding::Rest {
        return serde_json::from_slice(body).map_err(unreadable);
    }
    let answer: RpcAnswer<T> = serde_json::from_slice(body).map_err(unreadable)?;
    match (answer.error, answer.result) {
        (Some(error), _) => Err(rpc_failure(&error)),
        (None, Some(result)) => Ok(result),
        (None, None) => Err(no_answer(place, "it has neither a result nor an error")),
    }
}

fn no_answer(place: &str, why: &str) -> CallError {
    let message = format!("{place} has not answered as an agent does: {why}");
    let class = ErrorClass::Validation(Validation::Result);
    CallError::new(class, message, Sent::Answered)
}

fn unavailable(message: &str) -> CallError {
    let class = ErrorClass::Transient(Transient::Unavailable);
    CallError::new(class, message, Sent::Maybe)
}

/// What an error of JSON-RPC means for the step.
fn rpc_failure(error: &RpcError) -> CallError {
    let data = &error.data;
    let (class, sent) = match error.code {
        // A message whose content the agent does not take, and one that is none.
        -32602 | -32005 => (ErrorClass::Validation(Validation::Arguments), Sent::No),
        // What is asked for is not offered, or not in this revision.
        -32700 | -32600 | -32601 | -32009 | -32008 | -32004 => (ErrorClass::Internal, Sent::No),
        _ => return unavailable(&error.message).with_details(data),
    };
    CallError::new(class, error.message.clone(), sent).with_details(data)
}

/// The same over HTTP+JSON, where it is one that the protocol knows.
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
