//! A call that the server goes on with as a task: it is followed by its id, by a later process too.

use std::collections::BTreeSet;
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature};
use rmcp::model::{
    CallToolResult, CancelTaskParams, DetailedTask, ErrorData, GetTaskParams, InputRequests,
    JsonObject, TaskPayload, UpdateTaskParams,
};
use rmcp::service::ServiceError;
use serde_json::{Value as Json, json};

use super::call::{Call, broken, stopped};
use super::result::{outcome, with_data};
use crate::tools::{Handle, Progress, ServerError};

/// How often a server is asked that does not say how often.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Whatever a server says.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_mins(1);
/// How often in a row a server may not be reached before the task is given up.
const MAX_FAILURES: usize = 5;
/// How long a server may take to hear that a task is not wanted any more.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// What a server calls a task.
pub(super) struct TaskId(String);

impl TaskId {
    pub(super) fn new(id: String) -> Self {
        Self(id)
    }

    /// The task of a handle.
    pub(super) fn of(handle: &Handle) -> Option<Self> {
        handle.content()["task"].as_str().map(|id| Self(id.into()))
    }

    /// What a later process needs to follow the task.
    pub(super) fn handle(&self) -> Result<Handle, CallError> {
        let handle = Handle::new(json!({ "task": self.0 }));
        handle.map_err(|problem| broken(&problem.to_string(), Sent::Maybe))
    }
}

/// Until a task is asked for again, as the server wants it.
pub(super) fn pause(wanted: Option<u64>) -> Duration {
    let wanted = wanted.map_or(POLL_INTERVAL, Duration::from_millis);
    wanted.clamp(MIN_POLL_INTERVAL, MAX_POLL_INTERVAL)
}

impl Call<'_> {
    /// Asks for a task, the first time after a pause, until it has ended.
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
                    let giving = self.give(task, input_requests, &mut answered);
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
                    return Err(broken(
                        "the task is in a state that is not known here",
                        Sent::Maybe,
                    ));
                }
            }
        }
    }

    /// How far the task is. Whatever goes wrong here, it was begun.
    async fn state(&self, task: &TaskId) -> Result<DetailedTask, CallError> {
        let begun = |error: CallError| CallError {
            sent: Sent::Maybe,
            ..error
        };
        let connection = self.server.connection().await;
        let connection = connection.map_err(|error| begun(error.into_call_error()))?;
        let params = GetTaskParams::new(&task.0);
        match connection.peer().get_task(params).await {
            Ok(result) => Ok(result.task),
            Err(ServiceError::McpError(error)) => {
                let message = format!(
                    "the server does not know the task any more: {}",
                    error.message
                );
                Err(CallError::new(ErrorClass::Internal, message, Sent::Maybe))
            }
            Err(problem) => Err(begun(self.failed(&problem))),
        }
    }

    /// Gives the input that a task wants, each part of it once: it may say for a while that it still wants it.
    async fn give(
        &mut self,
        task: &TaskId,
        mut wanted: InputRequests,
        answered: &mut BTreeSet<String>,
    ) -> Result<(), CallError> {
        wanted.retain(|name, _| answered.insert(name.clone()));
        if wanted.is_empty() {
            return Ok(());
        }
        let responses = self.inputs(wanted).await?;
        let connection = self.server.connection().await;
        let connection = connection.map_err(ServerError::into_call_error)?;
        let params = UpdateTaskParams::new(&task.0, responses);
        let updated = connection.peer().update_task(params).await;
        updated.map_err(|problem| CallError {
            sent: Sent::Maybe,
            ..self.failed(&problem)
        })
    }

    /// Tells the server that nobody wants the task any more.
    async fn cancel(&self, task: &TaskId) -> CallError {
        let told = async {
            if let Ok(connection) = self.server.connection().await {
                // A server that is gone needs not be told.
                let _ = connection
                    .peer()
                    .cancel_task(CancelTaskParams::new(&task.0))
                    .await;
            }
        };
        // Nor does one that does not listen.
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, told).await;
        stopped(Sent::Maybe)
    }
}

/// What a task has come to.
fn completed(result: JsonObject, signature: &Signature) -> CallOutcome {
    let result = serde_json::from_value::<CallToolResult>(Json::Object(result));
    let result = result.map_err(|problem| {
        let message = format!("the result of the task is none of a call: {problem}");
        broken(&message, Sent::Answered)
    })?;
    outcome(result, signature)
}

/// Why a task has failed.
fn failure(error: JsonObject) -> CallError {
    let error = serde_json::from_value::<ErrorData>(Json::Object(error)).ok();
    let message = error.as_ref().map(|error| error.message.clone());
    let message = message.unwrap_or("the task has failed and does not say why".into());
    let failed = CallError::new(ErrorClass::Tool("failed".into()), message, Sent::Answered);
    with_data(failed, error.and_then(|error| error.data).as_ref())
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
