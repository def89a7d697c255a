//! A call that the server continues as a task. It is polled by its id, also by a later process.

use std::collections::BTreeSet;
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature};
use rmcp::model::{
    CallToolResult, CancelTaskParams, DetailedTask, ErrorCode, ErrorData, GetTaskParams,
    InputRequests, JsonObject, TaskPayload, UpdateTaskParams,
};
use rmcp::service::ServiceError;
use serde_json::{Value as Json, json};

use super::call::{Call, protocol_error, stopped};
use super::result::{outcome, with_data};
use crate::tools::{Handle, Progress, ServerError, failed};

/// Polling interval if the server does not specify one.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Bounds of the polling interval that a server specifies.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum number of consecutive polls that may fail before the task is given up.
const MAX_FAILURES: usize = 5;
/// Timeout for cancelling a task at the server.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// The server's id of a task.
pub(super) struct TaskId(String);

impl TaskId {
    pub(super) fn new(id: String) -> Self {
        Self(id)
    }

    pub(super) fn of(handle: &Handle) -> Option<Self> {
        handle.content()["task"].as_str().map(|id| Self(id.into()))
    }

    /// Returns the handle with which a later process can follow the task.
    pub(super) fn handle(&self) -> Result<Handle, CallError> {
        let handle = Handle::new(json!({ "task": self.0 }));
        handle.map_err(|problem| protocol_error(&problem.to_string(), Sent::Maybe))
    }
}

/// Returns the wait before the next poll, as the server requests within bounds.
pub(super) fn pause(interval: Option<u64>) -> Duration {
    let interval = interval.map_or(POLL_INTERVAL, Duration::from_millis);
    interval.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}

impl Call<'_> {
    /// Polls a task, the first time after a pause, until it has ended.
    pub(super) async fn follow(&mut self, task: &TaskId, mut pause: Duration) -> CallOutcome {
        let mut answered = BTreeSet::new();
        let mut failures = 0;
        loop {
            let cancel = self.request.cancel.clone();
            let next = async {
                tokio::time::sleep(pause).await;
                self.state(task).await
            };
            let Some(state) = cancel.run_until_cancelled(next).await else {
                return Err(self.cancel(task).await);
            };
            let now = match state {
                Ok(now) => now,
                Err(error) if is_transient(&error) && failures < MAX_FAILURES => {
                    failures += 1;
                    pause = POLL_INTERVAL;
                    continue;
                }
                Err(error) => return Err(error),
            };
            failures = 0;
            pause = self::pause(now.task.poll_interval_ms);
            match now.payload {
                TaskPayload::Working => {
                    if let Some(message) = &now.task.status_message {
                        self.events.progress(Progress::message(message));
                    }
                }
                TaskPayload::InputRequired { input_requests } => {
                    let giving = self.send_input(task, input_requests, &mut answered);
                    match cancel.run_until_cancelled(giving).await {
                        Some(given) => given?,
                        None => return Err(self.cancel(task).await),
                    }
                }
                TaskPayload::Completed { result } => {
                    return completed(result, &self.tool.signature);
                }
                TaskPayload::Failed { error } => return Err(failure(error)),
                TaskPayload::Cancelled => {
                    let message = "the server has cancelled the task";
                    return Err(CallError::new(ErrorClass::Cancelled, message, Sent::Maybe));
                }
                _ => {
                    return Err(protocol_error(
                        "the task is in an unknown state",
                        Sent::Maybe,
                    ));
                }
            }
        }
    }

    /// Returns the state of the task. Any error here is reported with an unknown outcome, because the task was started.
    async fn state(&self, task: &TaskId) -> Result<DetailedTask, CallError> {
        let begun = |error: CallError| CallError {
            sent: Sent::Maybe,
            ..error
        };
        let connection = self.server.connection().await;
        let connection = connection.map_err(|error| begun(error.into_call_error()))?;
        let params = GetTaskParams::new(&task.0);
        let state = connection.peer().get_task(params).await;
        if let Err(problem) = &state {
            connection.ends_with(problem);
        }
        match state {
            Ok(result) => Ok(result.task),
            Err(ServiceError::McpError(error)) if is_of_unknown_task(&error) => {
                let message = format!("the server no longer knows the task: {}", error.message);
                Err(CallError::new(ErrorClass::Internal, message, Sent::Maybe))
            }
            Err(problem) => Err(begun(self.failed(&problem))),
        }
    }

    /// Sends the input that a task requests. Each part is sent only once, because the task may continue to request it
    /// for a while.
    async fn send_input(
        &mut self,
        task: &TaskId,
        mut requests: InputRequests,
        answered: &mut BTreeSet<String>,
    ) -> Result<(), CallError> {
        requests.retain(|name, _| answered.insert(name.clone()));
        if requests.is_empty() {
            return Ok(());
        }
        let responses = self.inputs(requests).await?;
        let connect = async || self.server.connection().await;
        let connection = connect().await.map_err(ServerError::into_call_error)?;
        let params = UpdateTaskParams::new(&task.0, responses);
        let mut updated = connection.peer().update_task(params.clone()).await;
        if let Err(problem) = &updated
            && connection.ends_with(problem)
        {
            let connection = connect().await.map_err(ServerError::into_call_error)?;
            updated = connection.peer().update_task(params).await;
        }
        updated.map_err(|problem| CallError {
            sent: Sent::Maybe,
            ..self.failed(&problem)
        })
    }

    /// Cancels the task at the server.
    async fn cancel(&self, task: &TaskId) -> CallError {
        let cancelling = async {
            if let Ok(connection) = self.server.connection().await {
                // If the server is gone, there is nothing to cancel.
                let _ = connection
                    .peer()
                    .cancel_task(CancelTaskParams::new(&task.0))
                    .await;
            }
        };
        // A server that does not answer is not waited for.
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, cancelling).await;
        stopped(Sent::Maybe)
    }
}

fn completed(result: JsonObject, signature: &Signature) -> CallOutcome {
    let result = serde_json::from_value::<CallToolResult>(Json::Object(result));
    let result = result.map_err(|problem| {
        let message = format!("the result of the task is not the result of a call: {problem}");
        protocol_error(&message, Sent::Answered)
    })?;
    outcome(result, signature)
}

/// Returns the error of a failed task.
fn failure(error: JsonObject) -> CallError {
    let error = serde_json::from_value::<ErrorData>(Json::Object(error)).ok();
    let message = error.as_ref().map(|error| error.message.clone());
    let message = message.unwrap_or("the task failed without a reason".into());
    let failed = failed(message, Sent::Answered);
    with_data(failed, error.and_then(|error| error.data).as_ref())
}

/// Returns true if a poll was refused because there is no such task, or no tasks at all. Any other error is one of the
/// poll: the task may go on.
fn is_of_unknown_task(error: &ErrorData) -> bool {
    matches!(
        error.code,
        ErrorCode::INVALID_PARAMS | ErrorCode::METHOD_NOT_FOUND
    )
}

fn is_transient(error: &CallError) -> bool {
    matches!(error.class, ErrorClass::Transient(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_as_often_as_it_wants_within_reason() {
        assert_eq!(pause(None), POLL_INTERVAL);
        assert_eq!(pause(Some(0)), MIN_POLL_INTERVAL);
        assert_eq!(pause(Some(u64::MAX)), MAX_POLL_INTERVAL);
        assert_eq!(pause(Some(300)), Duration::from_millis(300));
    }
}
