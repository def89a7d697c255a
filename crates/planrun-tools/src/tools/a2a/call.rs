//! One call of an agent: sends the message, passes on the agent's questions, and returns the outcome. A task that an
//! earlier process started is resumed and not sent again.

use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Transient, Validation};
use serde_json::{Map, Value as Json, json};

use super::client::{Agent, Updates};
use super::result::{data_of, of_message, of_task, text_of, words_of};
use super::task::Known;
use super::wire::State;
use crate::tools::{AskReply, EventSender, Handle, Progress, Question, Request, failed};
use crate::tools::{invalid_arguments, invalid_result};

/// Maximum number of questions that an agent may ask during a call.
const MAX_QUESTIONS: usize = 15;
/// Maximum number of consecutive polls at which a working agent may be unreachable, and of times that it may not take an
/// answer.
const MAX_LOST: usize = 5;
/// Polling interval of a task whose agent does not stream: the first and the longest. It doubles after each poll.
const POLL_INTERVALS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(10)];

/// A call in progress.
pub(super) struct AgentCall<'a> {
    pub agent: &'a Agent,
    /// The requested skill; `None` for no particular one.
    pub skill: Option<&'a str>,
    pub request: &'a Request,
    pub events: EventSender,
    known: Known,
    /// Whether the engine has received the id of the task.
    has_sent_handle: bool,
}

impl<'a> AgentCall<'a> {
    pub(super) fn new(
        agent: &'a Agent,
        skill: Option<&'a str>,
        request: &'a Request,
        events: EventSender,
    ) -> Self {
        Self {
            agent,
            skill,
            request,
            events,
            known: Known::default(),
            has_sent_handle: false,
        }
    }

    /// Calls the agent with these arguments, or resumes an earlier call.
    pub(super) async fn run(mut self, arguments: &Map<String, Json>) -> CallOutcome {
        let cancel = self.request.cancel.clone();
        let outcome = cancel.run_until_cancelled(self.finish(arguments)).await;
        let outcome = outcome.unwrap_or_else(|| {
            let sent = if self.known.id.is_empty() && self.request.handle.is_none() {
                "before it had a task; the agent may continue it"
            } else {
                "before it was answered"
            };
            let message = format!("the call was cancelled {sent}");
            Err(CallError::new(ErrorClass::Cancelled, message, Sent::Maybe))
        });
        // A task whose call has failed for good is cancelled because no one will resume it. A task is kept if its agent
        // is unreachable, since the call may be resumed, or if it waits for an answer, since the process that has the
        // answer will resume it.
        if let Err(error) = &outcome
            && self.known.is_open()
            && !is_lost(error)
            && error.class != ErrorClass::Expired
        {
            // An agent that cannot cancel continues, which the failure of the call states.
            let _ = self.agent.cancel(&self.known.id).await;
        }
        outcome
    }

    async fn finish(&mut self, arguments: &Map<String, Json>) -> CallOutcome {
        if let Some(handle) = &self.request.handle {
            let text = |name: &str| handle.content()[name].as_str().unwrap_or_default();
            self.known = Known::of(text("task"), text("context"));
            self.has_sent_handle = true;
            self.watch().await?;
        } else {
            let parts = parts(arguments)?;
            let context = arguments.get("context").cloned();
            self.send(&self.request.idempotency_key, parts, context)
                .await?;
        }
        let mut questions = 0;
        loop {
            if let Some(answer) = &self.known.answer {
                return Ok(of_message(answer));
            }
            let status = &self.known.status;
            match status.state {
                State::Completed => {
                    return Ok(of_task(&self.known.artifacts, status.message.as_ref()));
                }
                State::Failed => return Err(self.failure("has failed", Sent::Answered)),
                State::Rejected => return Err(self.failure("has rejected the task", Sent::Refused)),
                State::Cancelled => {
                    return Err(self.failure("has cancelled the task", Sent::Answered));
                }
                State::InputRequired
                | State::AuthRequired
                | State::Submitted
                | State::Working
                | State::Unknown => {
                    if questions == MAX_QUESTIONS {
                        return Err(too_many_questions());
                    }
                    questions += 1;
                    self.ask().await?;
                }
            }
        }
    }

    /// Sends a message and follows its task until it is settled.
    async fn send(
        &mut self,
        id: &str,
        parts: Json,
        context: Option<Json>,
    ) -> Result<(), CallError> {
        let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": parts });
        let task = Some(&self.known.id).filter(|id| !id.is_empty());
        let task = task.map(|id| id.as_str().into());
        let metadata = self.skill.map(|skill| json!({ "skillId": skill }));
        for (name, value) in [
            ("contextId", context),
            ("taskId", task),
            ("metadata", metadata),
        ] {
            if let Some(value) = value.filter(|value| !value.is_null()) {
                message[name] = value;
            }
        }
        let request = json!({ "message": message, "configuration": { "returnImmediately": true } });
        if self.agent.streams {
            let updates = self.agent.stream(&request).await?;
            self.receive(updates).await?;
        } else {
            let update = self.agent.send(&request).await?;
            self.known.take(update, 0)?;
            self.send_handle().await?;
        }
        if self.known.is_settled() {
            return Ok(());
        }
        if self.known.id.is_empty() {
            let message = "the agent ended its answer without creating a task";
            let class = ErrorClass::Transient(Transient::Network);
            return Err(CallError::new(class, message, Sent::Maybe));
        }
        self.watch().await
    }

    /// Receives updates until the task is settled, or until the stream breaks off and the task can be queried instead.
    async fn receive(&mut self, mut updates: Updates) -> Result<(), CallError> {
        while !self.known.is_settled() {
            match updates.next().await {
                Ok(Some((update, bytes))) => {
                    self.known.take(update, bytes)?;
                    self.send_handle().await?;
                    self.report_progress();
                }
                Ok(None) => return Ok(()),
                Err(error) if is_lost(&error) && !self.known.id.is_empty() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Polls the task until it is settled. The polled state is authoritative; streamed updates only end the wait before
    /// the next poll.
    async fn watch(&mut self) -> Result<(), CallError> {
        let [mut wait, longest] = POLL_INTERVALS;
        let mut lost = 0;
        loop {
            match self.agent.get(&self.known.id).await {
                Ok(task) => {
                    lost = 0;
                    self.known.replace(task, 0)?;
                    self.report_progress();
                }
                Err(error) if is_lost(&error) && lost < MAX_LOST => lost += 1,
                Err(error) => {
                    return Err(CallError {
                        sent: Sent::Maybe,
                        ..error
                    });
                }
            }
            if self.known.is_settled() {
                return Ok(());
            }
            if self.agent.streams
                && lost == 0
                && let Ok(updates) = self.agent.subscribe(&self.known.id).await
            {
                self.receive(updates).await?;
                if self.known.is_settled() {
                    continue;
                }
            }
            tokio::time::sleep(wait).await;
            wait = longest.min(wait * 2);
        }
    }

    /// Passes the id of the task to the engine as soon as it is known.
    async fn send_handle(&mut self) -> Result<(), CallError> {
        if self.known.id.is_empty() || std::mem::replace(&mut self.has_sent_handle, true) {
            return Ok(());
        }
        let handle = json!({ "task": self.known.id, "context": self.known.context });
        let handle = Handle::new(handle).map_err(|problem| {
            let message = format!("the agent's id of the task cannot be stored: {problem}");
            invalid_result(message)
        })?;
        self.events.handle(handle).await;
        Ok(())
    }

    fn report_progress(&mut self) {
        let status = &self.known.status;
        let text = status.message.as_ref().map(text_of);
        let text = text.filter(|text| !text.is_empty());
        let text = text.unwrap_or_else(|| match self.known.artifacts.len() {
            0 => "working".to_owned(),
            1 => "1 artifact".to_owned(),
            artifacts => format!("{artifacts} artifacts"),
        });
        self.events.progress(Progress::message(&text));
    }

    /// Asks the agent's question and sends the answer to the agent.
    async fn ask(&mut self) -> Result<(), CallError> {
        let is_auth = self.known.status.state == State::AuthRequired;
        let message = self.known.status.message.as_ref();
        let text = message.map(text_of).filter(|text| !text.is_empty());
        let (usual, description) = if is_auth {
            (
                "the agent requires authorization",
                "the message to the agent after it was authorized; do not enter credentials here",
            )
        } else {
            ("the agent requires input", "the message to the agent")
        };
        let schema = json!({
            "type": "object",
            "properties": { "answer": {
                "type": "string", "description": description, "$comment": self.known.question(),
            } },
            "required": ["answer"],
        });
        let question = Question::new(text.unwrap_or_else(|| usual.to_owned()), schema);
        let question = question.map_err(|problem| {
            let message = format!("the agent's question cannot be asked: {problem}");
            invalid_result(message)
        })?;
        let refused = |class: ErrorClass, what: &str| {
            let message = format!("the agent's question was not answered: {what}");
            Err(CallError::new(class, message, Sent::Answered))
        };
        let answer = match self.events.ask(question).await {
            AskReply::Given(content) => content["answer"].clone(),
            AskReply::Declined => {
                return refused(ErrorClass::Denied(Denied::Human), "a person declined");
            }
            AskReply::Unanswered => return refused(ErrorClass::Expired, "no answer was given"),
        };
        let id = format!("{}:{}", self.request.idempotency_key, self.known.question());
        self.known.note_answer();
        if is_auth && let Ok(task) = self.agent.get(&self.known.id).await {
            // An agent that has been authorized continues by itself.
            self.known.replace(task, 0)?;
            if self.known.status.state != State::AuthRequired {
                return self.watch().await;
            }
        }
        let context = Some(&self.known.context).filter(|context| !context.is_empty());
        let context = context.map(|context| context.as_str().into());
        self.answer(&id, &json!([{ "text": answer }]), context)
            .await
    }

    /// Sends the answer to a question, again if the agent has not taken it. The task exists and waits for the answer, so
    /// a failure does not mean that nothing was sent: a repeated call would start a second task.
    async fn answer(
        &mut self,
        id: &str,
        parts: &Json,
        context: Option<Json>,
    ) -> Result<(), CallError> {
        let [mut wait, longest] = POLL_INTERVALS;
        let mut refusals = 0;
        loop {
            let sending = self.send(id, parts.clone(), context.clone());
            let Err(error) = sending.await else {
                return Ok(());
            };
            let pause = error.retry_after.unwrap_or(wait);
            if error.sent == Sent::No && is_lost(&error) && refusals < MAX_LOST && pause <= longest
            {
                refusals += 1;
                tokio::time::sleep(pause).await;
                wait = longest.min(wait * 2);
                continue;
            }
            let sent = match error.sent {
                Sent::No | Sent::Refused | Sent::Maybe => Sent::Maybe,
                Sent::Answered => Sent::Answered,
            };
            return Err(CallError { sent, ..error });
        }
    }

    fn failure(&self, what: &str, sent: Sent) -> CallError {
        let message = self.known.status.message.as_ref();
        let reason = message.map(words_of).filter(|reason| !reason.is_empty());
        let reason = reason.unwrap_or_else(|| "it gave no reason".to_owned());
        failed(format!("the agent {what}: {reason}"), sent)
            .with_details(&message.map(data_of).unwrap_or_default())
    }
}

/// The error for a question that is one too many. It is not asked.
fn too_many_questions() -> CallError {
    let message = format!(
        "the agent asked more than {MAX_QUESTIONS} questions without finishing the task; include what it needs in the \
         arguments of the call"
    );
    let class = ErrorClass::Validation(Validation::Result);
    CallError::new(class, message, Sent::Maybe)
}

/// Returns true if the agent may be reachable again later and report more then.
fn is_lost(error: &CallError) -> bool {
    matches!(error.class, ErrorClass::Transient(_))
}

/// Returns the arguments of a call as the parts of a message.
fn parts(arguments: &Map<String, Json>) -> Result<Json, CallError> {
    let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
    let mut parts = Vec::new();
    parts.extend(given("text").map(|text| json!({ "text": text })));
    parts.extend(given("data").map(|data| json!({ "data": data })));
    let invalid = |message: &str| invalid_arguments(message);
    for file in given("files")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let mut part = match (&file["bytes"], &file["url"]) {
            (Json::String(bytes), Json::Null) => json!({ "raw": bytes }),
            (Json::Null, Json::String(url)) => json!({ "url": url }),
            _ => return Err(invalid("a file must have either `bytes` or a `url`")),
        };
        for (name, field) in [("filename", "name"), ("mediaType", "mime")] {
            if !file[field].is_null() {
                part[name] = file[field].clone();
            }
        }
        parts.push(part);
    }
    if parts.is_empty() {
        return Err(invalid(
            "a message to an agent must have `text`, `data` or `files`",
        ));
    }
    Ok(parts.into())
}
