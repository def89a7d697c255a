//! One call over a connection: what goes out, what is told and asked on the way, and how it ends.

use std::collections::BTreeMap;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Validation};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, InputRequest, InputRequiredResult,
    ProgressNotificationParam, RequestMetaObject, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value as Json;

use super::McpServer;
use super::connection::Connection;
use super::open_calls::{Elicitation, Registration, Word};
use super::result::outcome;
use crate::tools::{AskReply, EventSender, PinnedTool, Progress, Question, Request, ServerError};

/// The key of `_meta` under which a server finds the idempotency key of a call.
const KEY: &str = "planrun/idempotencyKey";
/// How often a server may ask for input before it has to answer.
const MAX_ROUNDS: usize = 16;

/// Calls a tool, and takes what is said to its end.
pub(super) async fn converse(
    server: &McpServer,
    tool: &PinnedTool,
    request: &Request,
    mut events: EventSender,
) -> CallOutcome {
    let connecting = async {
        tool.holds(server).await?;
        server
            .connection()
            .await
            .map_err(ServerError::into_call_error)
    };
    let connecting = request.cancel.run_until_cancelled(connecting).await;
    let connection = connecting.unwrap_or_else(|| Err(stopped(Sent::No)))?;
    let signature = &*tool.signature;
    let mut params = CallToolRequestParams::new(signature.name.to_string());
    if let Json::Object(arguments) = request.arguments.to_json() {
        params = params.with_arguments(arguments);
    }
    for _ in 0..MAX_ROUNDS {
        let answer = round(&connection, params.clone(), request, &mut events).await?;
        match answer {
            Answered::Result(result) => return outcome(result, signature),
            Answered::Asks(asks) => {
                params.request_state.clone_from(&asks.request_state);
                params.input_responses = Some(inputs(asks, &mut events).await?);
            }
        }
    }
    let message = format!("the server has asked for input {MAX_ROUNDS} times and not answered");
    let class = ErrorClass::Validation(Validation::Result);
    Err(CallError::new(class, message, Sent::Maybe))
}

/// How one round of a call ends.
enum Answered {
    Result(CallToolResult),
    /// It wants input first, and the same call again with that.
    Asks(InputRequiredResult),
}

/// Sends the call, and waits for its answer.
async fn round(
    connection: &Connection,
    params: CallToolRequestParams,
    request: &Request,
    events: &mut EventSender,
) -> Result<Answered, CallError> {
    let mut meta = RequestMetaObject::new();
    if !request.idempotency_key.is_empty() {
        meta.insert(KEY.to_owned(), (*request.idempotency_key).into());
    }
    let call = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let options = PeerRequestOptions::no_options().with_meta(meta);
    let sent = connection.peer().send_cancellable_request(call, options);
    let mut handle = sent
        .await
        .map_err(|problem| failed(&problem, Sent::Maybe))?;
    let words = connection.calls().register(handle.progress_token.clone());
    let answer = tokio::select! {
        biased;
        answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
        () = request.cancel.cancelled() => return Err(cancel(handle).await),
        () = listen(words, events) => Err(ServiceError::TransportClosed),
    };
    match answer.map_err(|problem| failed(&problem, Sent::Maybe))? {
        ServerResult::CallToolResult(result) => Ok(Answered::Result(result)),
        ServerResult::InputRequiredResult(asks) => Ok(Answered::Asks(asks)),
        _ => {
            let message = "the server has answered with something that is no result of a call";
            let class = ErrorClass::Validation(Validation::Result);
            Err(CallError::new(class, message, Sent::Answered))
        }
    }
}

/// Tells the server that nobody waits for the answer any more.
async fn cancel(handle: RequestHandle<RoleClient>) -> CallError {
    // A server that is gone needs not be told.
    let _ = handle.cancel(Some("the step was stopped".to_owned())).await;
    stopped(Sent::Maybe)
}

/// Passes on what the server says in the course of a call, for as long as the connection knows of the call. A question that
/// is open when the call ends is cancelled with it.
async fn listen(mut call: Registration, events: &mut EventSender) {
    while let Some(word) = call.words.recv().await {
        match word {
            Word::Progress(progress) => events.progress(shown(&progress)),
            Word::Elicitation(Elicitation { params, reply }) => {
                // A server that has stopped waiting does not hear the answer.
                let _ = reply.send(elicit(params, events).await);
            }
        }
    }
}

fn shown(progress: &ProgressNotificationParam) -> Progress {
    let shown = match &progress.message {
        Some(message) => Progress::message(message),
        None => Progress::default(),
    };
    match progress.total.filter(|total| *total > 0.0) {
        Some(total) => shown.with_fraction(progress.progress / total),
        None => shown,
    }
}

/// Puts a question of the server to people. What is no form, or too long to be one, is declined.
async fn elicit(params: ElicitRequestParams, events: &mut EventSender) -> ElicitResult {
    let ElicitRequestParams::FormElicitationParams {
        message,
        requested_schema,
        ..
    } = params
    else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    let schema = serde_json::to_value(requested_schema).unwrap_or_default();
    let Ok(question) = Question::new(message, schema) else {
        return ElicitResult::new(ElicitationAction::Decline);
    };
    match events.ask(question).await {
        AskReply::Given(content) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(content)
        }
        AskReply::Declined => ElicitResult::new(ElicitationAction::Decline),
        AskReply::Unanswered => ElicitResult::new(ElicitationAction::Cancel),
    }
}

/// The input that a server wants before it answers, each part asked for after the other.
async fn inputs(
    asks: InputRequiredResult,
    events: &mut EventSender,
) -> Result<BTreeMap<String, Json>, CallError> {
    let mut responses = BTreeMap::new();
    for (name, wanted) in asks.input_requests.into_iter().flatten() {
        let InputRequest::Elicitation(elicitation) = wanted else {
            let message = "the server wants input that nobody here gives";
            let class = ErrorClass::Validation(Validation::Result);
            return Err(CallError::new(class, message, Sent::Maybe));
        };
        let response = serde_json::to_value(elicit(elicitation.params, events).await);
        responses.insert(name, response.unwrap_or_default());
    }
    Ok(responses)
}

/// What an error of the connection or the server means for the step.
fn failed(problem: &ServiceError, sent: Sent) -> CallError {
    match problem {
        ServiceError::McpError(error) if error.code == ErrorCode::INVALID_PARAMS => {
            let class = ErrorClass::Validation(Validation::Arguments);
            CallError::new(class, error.message.to_string(), Sent::No)
        }
        ServiceError::McpError(error) if error.code == ErrorCode::METHOD_NOT_FOUND => {
            CallError::new(ErrorClass::Internal, error.message.to_string(), Sent::No)
        }
        ServiceError::McpError(error) => {
            let class = ErrorClass::Transient(Transient::Unavailable);
            CallError::new(class, error.message.to_string(), sent)
        }
        ServiceError::TransportClosed => {
            let message = "the server closed the connection before it answered";
            CallError::new(ErrorClass::Transient(Transient::Network), message, sent)
        }
        other => {
            let class = ErrorClass::Transient(Transient::Network);
            CallError::new(class, other.to_string(), sent)
        }
    }
}

fn stopped(sent: Sent) -> CallError {
    let message = "the call was stopped before it was answered";
    CallError::new(ErrorClass::Cancelled, message, sent)
}
