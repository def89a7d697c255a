//! One call over a connection: what goes out, what is told and asked on the way, and how it ends.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient, Validation};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ErrorCode, InputRequest, InputRequests, InputResponses,
    ProgressNotificationParam, ReadResourceRequest, ReadResourceRequestParams, RequestMetaObject,
    ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, ServiceError};
use serde_json::Value as Json;
use tokio::sync::watch;

use super::McpServer;
use super::connection::Connection;
use super::handler::innermost;
use super::lines::UNREADABLE;
use super::open_calls::{Elicitation, Registration, Word};
use super::result::{contents, outcome, with_data};
use super::task::{TaskId, pause};
use crate::tools::{AskReply, EventSender, PinnedTool, Progress, Question, Request, ServerError};

/// The key of `_meta` under which a server finds the idempotency key of a call.
const KEY: &str = "planrun/idempotencyKey";
/// How often a server may ask for input before it has to answer.
const MAX_ROUNDS: usize = 16;

/// A call, as it is being made.
pub(super) struct Call<'a> {
    pub server: &'a McpServer,
    pub tool: &'a PinnedTool,
    pub request: &'a Request,
    pub events: EventSender,
}

/// What goes out, once or more often.
enum Wanted {
    Tool(CallToolRequestParams),
    Resource(ReadResourceRequestParams),
}

impl Call<'_> {
    /// Makes the call, or takes it up again where an earlier process has left it, and takes what is said to its end.
    pub(super) async fn make(mut self) -> CallOutcome {
        if let Some(handle) = &self.request.handle {
            let Some(task) = TaskId::of(handle) else {
                return self.request.begins().and(Err(stopped(Sent::Maybe)));
            };
            return self.follow(&task, Duration::ZERO).await;
        }
        let cancel = &self.request.cancel;
        let beginning = cancel.run_until_cancelled(self.begin()).await;
        let (connection, mut wanted) = beginning.unwrap_or_else(|| Err(stopped(Sent::No)))?;
        for _ in 0..MAX_ROUNDS {
            match self.round(&connection, wanted.request()).await? {
                ServerResult::CallToolResult(result) => {
                    return outcome(result, &self.tool.signature);
                }
                ServerResult::EmptyResult(_) | ServerResult::TaskAckResult(_) => {
                    return outcome(CallToolResult::success(Vec::new()), &self.tool.signature);
                }
                ServerResult::ReadResourceResult(result) => return contents(&result),
                ServerResult::InputRequiredResult(asks) => {
                    let given = self.inputs(asks.input_requests.unwrap_or_default()).await?;
                    wanted.answer(given, asks.request_state);
                }
                ServerResult::CreateTaskResult(created) => {
                    let pause = pause(created.task.poll_interval_ms);
                    let task = TaskId::new(created.task.task_id);
                    self.events.handle(task.handle()?).await;
                    return self.follow(&task, pause).await;
                }
                _ => {
                    let message =
                        "the server has answered with something that is no result of a call";
                    return Err(broken(message, Sent::Answered));
                }
            }
        }
        let message = format!("the server has asked for input {MAX_ROUNDS} times and not answered");
        Err(broken(&message, Sent::Maybe))
    }

    /// The connection, once the contract is known to hold, and what goes out over it.
    async fn begin(&self) -> Result<(Arc<Connection>, Wanted), CallError> {
        self.tool.holds(self.server).await?;
        let connection = self.server.connection().await;
        let connection = connection.map_err(ServerError::into_call_error)?;
        let name = &*self.tool.signature.name;
        let arguments = self.request.arguments.to_json();
        let is_resource = connection.reads_resources_as(name).await;
        let wanted = match (is_resource, arguments) {
            (true, Json::Object(arguments)) => {
                let uri = arguments.get("uri").and_then(Json::as_str);
                let uri = uri.unwrap_or_default();
                Wanted::Resource(ReadResourceRequestParams::new(uri))
            }
            (_, Json::Object(arguments)) => {
                let params = CallToolRequestParams::new(name.to_owned());
                Wanted::Tool(params.with_arguments(arguments))
            }
            _ => Wanted::Tool(CallToolRequestParams::new(name.to_owned())),
        };
        Ok((connection, wanted))
    }

    /// Sends a request, and waits for its answer.
    async fn round(
        &mut self,
        connection: &Connection,
        call: ClientRequest,
    ) -> Result<ServerResult, CallError> {
        let mut meta = RequestMetaObject::new();
        if !self.request.idempotency_key.is_empty() {
            meta.insert(KEY.to_owned(), (*self.request.idempotency_key).into());
        }
        let options = PeerRequestOptions::no_options().with_meta(meta);
        let lost = connection.calls().lost_answers();
        let sent = connection.peer().send_cancellable_request(call, options);
        let mut handle = sent.await.map_err(|problem| self.failed(&problem))?;
        let words = connection.calls().register(handle.progress_token.clone());
        let answer = tokio::select! {
            biased;
            answer = &mut handle.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            () = self.request.cancel.cancelled() => return Err(cancel(handle).await),
            why = lost_answer(lost) => return Err(broken(why, Sent::Maybe)),
            () = listen(words, &mut self.events) => Err(ServiceError::TransportClosed),
        };
        answer.map_err(|problem| self.failed(&problem))
    }

    /// The input that a server wants before it answers, each part asked for after the other.
    pub(super) async fn inputs(
        &mut self,
        asks: InputRequests,
    ) -> Result<InputResponses, CallError> {
        let mut responses = InputResponses::new();
        for (name, wanted) in asks {
            let InputRequest::Elicitation(elicitation) = wanted else {
                let message = "the server wants input that nobody here gives";
                return Err(broken(message, Sent::Maybe));
            };
            let response = serde_json::to_value(elicit(elicitation.params, &mut self.events).await);
            responses.insert(name, response.unwrap_or_default());
        }
        Ok(responses)
    }

    /// What an error of the connection or the server means for the step.
    pub(super) fn failed(&self, problem: &ServiceError) -> CallError {
        let challenge = problem.auth_challenge();
        if challenge.is_some() || problem.is_authorization_required() {
            return self
                .server
                .wants_login(challenge.unwrap_or_default())
                .into_call_error();
        }
        match problem {
            ServiceError::McpError(error) if error.code.0 == UNREADABLE => {
                broken(&error.message, Sent::Answered)
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
            other => {
                let class = ErrorClass::Transient(Transient::Network);
                CallError::new(class, innermost(other), sent(other))
            }
        }
    }
}

impl Wanted {
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

    /// The same with the input that the server wants, and with what it wants to be reminded of.
    fn answer(&mut self, given: InputResponses, state: Option<String>) {
        let (responses, remembered) = match self {
            Self::Tool(params) => (&mut params.input_responses, &mut params.request_state),
            Self::Resource(params) => (&mut params.input_responses, &mut params.request_state),
        };
        (*responses, *remembered) = (Some(given), state);
    }
}

/// Tells the server that nobody waits for the answer any more.
async fn cancel(handle: RequestHandle<RoleClient>) -> CallError {
    // A server that is gone needs not be told.
    let _ = handle.cancel(Some("the step was stopped".to_owned())).await;
    stopped(Sent::Maybe)
}

/// Why an answer was lost that may have been the one to this call, once one was.
async fn lost_answer(mut lost: watch::Receiver<&'static str>) -> &'static str {
    if lost.changed().await.is_err() {
        // The connection has ended, and the answer is told so.
        std::future::pending::<()>().await;
    }
    *lost.borrow()
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

/// Whether a request can have arrived that ended with this error of the transport.
fn sent(problem: &ServiceError) -> Sent {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(problem);
    while let Some(error) = cause {
        let unsent = error.downcast_ref::<reqwest::Error>();
        if unsent.is_some_and(reqwest::Error::is_connect) {
            return Sent::No;
        }
        cause = error.source();
    }
    Sent::Maybe
}

/// An answer that keeps to no contract.
pub(super) fn broken(message: &str, sent: Sent) -> CallError {
    CallError::new(ErrorClass::Validation(Validation::Result), message, sent)
}

pub(super) fn stopped(sent: Sent) -> CallError {
    let message = "the call was stopped before it was answered";
    CallError::new(ErrorClass::Cancelled, message, sent)
}
