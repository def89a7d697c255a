//! One call over a connection: sends the request, forwards progress and questions, and returns the outcome.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Validation};
use reqwest::header;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, InputRequest, InputRequests, InputResponses,
    ProgressNotificationParam, ReadResourceRequest, ReadResourceRequestParams, RequestMetaObject,
    ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};
use serde_json::Value as Json;
use tokio::sync::watch;

use super::McpServer;
use super::connection::Connection;
use super::lines::UNREADABLE;
use super::open_calls::{Elicitation, Registration, ServerMessage};
use super::result::{contents, outcome, with_data};
use super::task::{TaskId, pause};
use crate::tools::http::failure;
use crate::tools::{
    AskReply, EventSender, PinnedTool, Progress, Question, Request, ServerError, causes, denied,
    failed, innermost,
};

/// The key in `_meta` that contains the idempotency key of a call.
const KEY: &str = "planrun/idempotencyKey";
/// Maximum number of questions that a server may ask during a call.
const MAX_QUESTIONS: usize = 15;
/// Maximum number of times that a server may request input before it answers. A request need not contain a question.
const MAX_ROUNDS: usize = 64;

/// A call in progress.
pub(super) struct Call<'a> {
    pub server: &'a McpServer,
    pub tool: &'a PinnedTool,
    pub request: &'a Request,
    pub events: EventSender,
    /// Number of questions that the server has asked.
    pub questions: usize,
}

/// The request of a call. It is sent again when the server requests input.
enum Target {
    Tool(CallToolRequestParams),
    Resource(ReadResourceRequestParams),
}

impl Call<'_> {
    /// Makes the call, or resumes it if an earlier process left a handle.
    pub(super) async fn make(mut self) -> CallOutcome {
        if let Some(handle) = &self.request.handle {
            let Some(task) = TaskId::of(handle) else {
                return self
                    .request
                    .require_no_handle()
                    .and(Err(stopped(Sent::Maybe)));
            };
            return self.follow(&task, Duration::ZERO).await;
        }
        let (mut connection, mut target) = self.prepare().await?;
        let mut is_renewed = false;
        for _ in 0..MAX_ROUNDS {
            let Some(answer) = self.exchange(&connection, target.request()).await? else {
                if std::mem::replace(&mut is_renewed, true) {
                    return Err(self.session_unknown());
                }
                (connection, target) = self.prepare().await?;
                continue;
            };
            match answer {
                ServerResult::CallToolResult(result) => {
                    return outcome(result, &self.tool.signature);
                }
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                    return outcome(CallToolResult::success(Vec::new()), &self.tool.signature);
                }
                ServerResult::ReadResourceResult(result) => return contents(&result),
                ServerResult::InputRequiredResult(required) => {
                    let given = self
                        .inputs(required.input_requests.unwrap_or_default())
                        .await?;
                    target.answer(given, required.request_state);
                }
                ServerResult::CreateTaskResult(created) => {
                    let pause = pause(created.task.poll_interval_ms);
                    let task = TaskId::new(created.task.task_id);
                    self.events.handle(task.handle()?).await;
                    return self.follow(&task, pause).await;
                }
                _ => {
                    let message =
                        "the server answered with something that is not the result of a call";
                    return Err(protocol_error(message, Sent::Answered));
                }
            }
        }
        let message = format!("the server requested input {MAX_ROUNDS} times without answering");
        Err(protocol_error(&message, Sent::Maybe))
    }

    /// Does what [`Self::begin`] does, until the call is cancelled.
    async fn prepare(&self) -> Result<(Arc<Connection>, Target), CallError> {
        let cancel = &self.request.cancel;
        let beginning = cancel.run_until_cancelled(self.begin()).await;
        beginning.unwrap_or_else(|| Err(stopped(Sent::No)))
    }

    /// Connects and returns the connection and the request, after checking that the contract still holds.
    async fn begin(&self) -> Result<(Arc<Connection>, Target), CallError> {
        self.tool.check_contract(self.server).await?;
        let connection = self.server.connection().await;
        let connection = connection.map_err(ServerError::into_call_error)?;
        let name = &*self.tool.signature.name;
        let arguments = self.request.arguments.to_json();
        let is_resource = connection.reads_resources_as(name, self.server.renewals());
        let is_resource = is_resource.await;
        let target = match (is_resource, arguments) {
            (true, Json::Object(arguments)) => {
                let uri = arguments.get("uri").and_then(Json::as_str);
                let uri = uri.unwrap_or_default();
                Target::Resource(ReadResourceRequestParams::new(uri))
            }
            (_, Json::Object(arguments)) => {
                let params = CallToolRequestParams::new(name.to_owned());
                Target::Tool(params.with_arguments(arguments))
            }
            _ => Target::Tool(CallToolRequestParams::new(name.to_owned())),
        };
        Ok((connection, target))
    }

    /// Sends a request and waits for its answer; `None` if the server has ended the session, so nothing was done.
    async fn exchange(
        &mut self,
        connection: &Connection,
        call: ClientRequest,
    ) -> Result<Option<ServerResult>, CallError> {
        let mut meta = RequestMetaObject::new();
        if !self.request.idempotency_key.is_empty() {
            meta.insert(KEY.to_owned(), (*self.request.idempotency_key).into());
        }
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let lost = connection.calls().lost_answers();
        let sent = connection.peer().send_cancellable_request(call, options);
        let mut handle = match sent.await {
            Ok(handle) => handle,
            Err(problem) if connection.ends_with(&problem) => return Ok(None),
            Err(problem) => return Err(self.failed(&problem)),
        };
        let registration = connection.calls().register(handle.progress_token.clone());
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = self.request.cancel.cancelled() => return Err(cancel(handle).await),
            why = lost_answer(lost) => return Err(protocol_error(why, Sent::Maybe)),
            () = listen(registration, &mut self.events, &mut self.questions) => {
                Err(ServiceError::TransportClosed)
            }
        };
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(problem) if connection.ends_with(&problem) => Ok(None),
            Err(problem) => Err(self.failed(&problem)),
        }
    }

    /// The error for a server that does not know a session that it has just begun: its status says something else than
    /// that the session has ended.
    fn session_unknown(&self) -> CallError {
        let who = self.tool.signature.path();
        let message = format!("{who} answered with status 404 in a new session, too");
        failed(message, Sent::Answered)
    }

    /// Asks for the input that a server requests, one part after the other. Returns an error if the server asks more
    /// than [`MAX_QUESTIONS`] during the call; the question that is one too many is not asked.
    pub(super) async fn inputs(
        &mut self,
        requests: InputRequests,
    ) -> Result<InputResponses, CallError> {
        let mut responses = InputResponses::new();
        for (name, input) in requests {
            let InputRequest::Elicitation(elicitation) = input else {
                let message = "the server requests something other than a form to be filled in, which planrun does \
                               not support";
                return Err(protocol_error(message, Sent::Maybe));
            };
            if self.questions == MAX_QUESTIONS {
                let message = format!(
                    "the server asked more than {MAX_QUESTIONS} questions without answering; include what it needs in \
                     the arguments of the call"
                );
                return Err(protocol_error(&message, Sent::Maybe));
            }
            self.questions += 1;
            let response = serde_json::to_value(elicit(elicitation.params, &mut self.events).await);
            responses.insert(name, response.unwrap_or_default());
        }
        Ok(responses)
    }

    /// Converts an error of the connection or the server into the error of the step.
    pub(super) fn failed(&self, problem: &ServiceError) -> CallError {
        let challenge = problem.auth_challenge();
        if challenge.is_some() || problem.is_authorization_required() {
            return self
                .server
                .login_required(challenge.unwrap_or_default())
                .into_call_error();
        }
        match problem {
            ServiceError::McpError(error) if error.code.0 == UNREADABLE => {
                protocol_error(&error.message, Sent::Answered)
            }
            ServiceError::McpError(error) => {
                let (class, sent) = match error.code {
                    ErrorCode::INVALID_PARAMS => {
                        (ErrorClass::Validation(Validation::Arguments), Sent::No)
                    }
                    ErrorCode::METHOD_NOT_FOUND => (ErrorClass::Internal, Sent::No),
                    _ => (ErrorClass::Transient(Transient::Unavailable), Sent::Maybe),
                };
                let failure = CallError::new(class, error.message.to_string(), sent);
                with_data(failure, error.data.as_ref())
            }
            ServiceError::TransportClosed => {
                let message = "the server closed the connection before it answered";
                let class = ErrorClass::Transient(Transient::Network);
                CallError::new(class, message, Sent::Maybe)
            }
            other => self.refused(other).unwrap_or_else(|| {
                let class = ErrorClass::Transient(Transient::Network);
                CallError::new(class, innermost(other), sent(other))
            }),
        }
    }

    /// Returns the error for a request that was answered with a status that is not a success.
    fn refused(&self, problem: &ServiceError) -> Option<CallError> {
        let (status, retry_after) = http_status(problem)?;
        let retry_after = retry_after.and_then(|text| text.parse().ok());
        let headers = retry_after.map(|value| (header::RETRY_AFTER, value));
        let who = self.tool.signature.path();
        let now = self.server.now();
        let known = failure(status, &headers.into_iter().collect(), now, &who, "");
        known.or_else(|| match status {
            300..=399 => {
                let message = format!(
                    "{who} answered with status {status}, but redirects are not followed here"
                );
                Some(denied(message, Sent::Refused))
            }
            400..=499 => {
                let message = format!("{who} answered with status {status}");
                Some(failed(message, Sent::Answered))
            }
            _ => None,
        })
    }
}

/// Returns the status of a failure that the server answered over HTTP, and its `Retry-After`.
fn http_status(problem: &ServiceError) -> Option<(u16, Option<&str>)> {
    for error in causes(problem) {
        if let Some(status) = error.downcast_ref::<HttpStatusError>() {
            return Some((status.status, status.retry_after.as_deref()));
        }
        match error.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            Some(StreamableHttpError::HttpStatus(status)) => {
                return Some((status.status, status.retry_after.as_deref()));
            }
            // `HTTP 403 Forbidden: …`: other statuses are only in the text.
            Some(StreamableHttpError::UnexpectedServerResponse(text)) => {
                let status = text.strip_prefix("HTTP ")?.get(..3)?;
                return Some((status.parse().ok()?, None));
            }
            _ => {}
        }
    }
    None
}

impl Target {
    fn request(&self) -> ClientRequest {
        match self {
            Self::Tool(params) => {
                ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()))
            }
            Self::Resource(params) => {
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params.clone()))
            }
        }
    }

    /// Adds the requested input, and the state that the server wants to receive again.
    fn answer(&mut self, given: InputResponses, state: Option<String>) {
        let (responses, remembered) = match self {
            Self::Tool(params) => (&mut params.input_responses, &mut params.request_state),
            Self::Resource(params) => (&mut params.input_responses, &mut params.request_state),
        };
        (*responses, *remembered) = (Some(given), state);
    }
}

/// Tells the server that the answer is no longer needed.
async fn cancel(handle: RequestHandle<RoleClient>) -> CallError {
    // If the server is gone, there is nothing to cancel.
    let _ = handle.cancel(Some("the step was stopped".to_owned())).await;
    stopped(Sent::Maybe)
}

/// Waits until an answer is lost that may be the answer to this call, and returns the reason.
async fn lost_answer(mut lost: watch::Receiver<&'static str>) -> &'static str {
    if lost.changed().await.is_err() {
        // The connection has ended, which the pending request reports.
        std::future::pending::<()>().await;
    }
    *lost.borrow()
}

/// Forwards the progress and questions of a call while it is registered. A question that is open when the call ends is
/// cancelled, and so are those after the first [`MAX_QUESTIONS`].
async fn listen(mut call: Registration, events: &mut EventSender, questions: &mut usize) {
    while let Some(message) = call.messages.recv().await {
        match message {
            ServerMessage::Progress(progress) => events.progress(to_progress(&progress)),
            ServerMessage::Elicitation(Elicitation { params, reply }) => {
                let answer = if *questions == MAX_QUESTIONS {
                    ElicitResult::new(ElicitationAction::Cancel)
                } else {
                    *questions += 1;
                    elicit(params, events).await
                };
                // The server may have stopped waiting for the answer.
                let _ = reply.send(answer);
            }
        }
    }
}

fn to_progress(progress: &ProgressNotificationParam) -> Progress {
    let converted = match &progress.message {
        Some(message) => Progress::message(message),
        None => Progress::default(),
    };
    match progress.total.filter(|total| *total > 0.0) {
        Some(total) => converted.with_fraction(progress.progress / total),
        None => converted,
    }
}

/// Asks a question of the server. A question that is not a form, or is too large, is declined.
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

/// Returns whether a request that failed with this transport error may have arrived.
fn sent(problem: &ServiceError) -> Sent {
    let is_unsent = causes(problem).any(|error| {
        let error = error.downcast_ref::<reqwest::Error>();
        error.is_some_and(reqwest::Error::is_connect)
    });
    if is_unsent { Sent::No } else { Sent::Maybe }
}

/// The error for an answer that violates the protocol.
pub(super) fn protocol_error(message: &str, sent: Sent) -> CallError {
    CallError::new(ErrorClass::Validation(Validation::Result), message, sent)
}

pub(super) fn stopped(sent: Sent) -> CallError {
    let message = "the call was cancelled before it was answered";
    CallError::new(ErrorClass::Cancelled, message, sent)
}
