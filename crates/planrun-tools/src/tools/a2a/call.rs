//! One call of an agent: what is sent, what is asked on the way, and how it ends. A task that an earlier process has begun is
//! taken up again, and nothing is sent a second time.

use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Transient, Validation};
use serde_json::{Map, Value as Json, json};

use super::client::{Agent, Updates};
use super::result::{data_of, of_message, of_task, text_of, words_of};
use super::task::Known;
use super::wire::State;
use crate::tools::{AskReply, EventSender, Handle, Progress, Question, Request};

/// How often an agent may ask before it has to come to an end.
const MAX_ROUNDS: usize = 16;
/// How often in a row an agent may be out of reach while it works.
const MAX_LOST: usize = 5;
/// Between two looks at a task, where the agent tells nothing by itself: at first, and at most.
const LOOKS: [Duration; 2] = [Duration::from_millis(250), Duration::from_secs(10)];

/// A call that goes on.
pub(super) struct Talk<'a> {
    pub agent: &'a Agent,
    /// The skill that is meant; `None` for none of them.
    pub skill: Option<&'a str>,
    pub request: &'a Request,
    pub events: EventSender,
    known: Known,
    /// Whether the engine has the id of the task.
    is_handed_over: bool,
}

impl<'a> Talk<'a> {
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
            is_handed_over: false,
        }
    }

    /// Calls the agent with these arguments, or takes up what was begun.
    pub(super) async fn run(mut self, arguments: &Map<String, Json>) -> CallOutcome {
        let cancel = self.request.cancel.clone();
        let outcome = cancel.run_until_cancelled(self.finish(arguments)).await;
        let outcome = outcome.unwrap_or_else(|| {
            let sent = if self.known.id.is_empty() && self.request.handle.is_none() {
                "before it had a task; the agent may go on with it"
            } else {
                "before it was answered"
            };
            let message = format!("the call was stopped {sent}");
            Err(CallError::new(ErrorClass::Cancelled, message, Sent::Maybe))
        });
        // Nobody comes back to a task whose call fails for good. To one that is out of reach somebody may, and to one that waits
        // for an answer the process that has it.
        if let Err(error) = &outcome
            && self.known.is_open()
            && !is_lost(error)
            && error.class != ErrorClass::Expired
        {
            // An agent that cannot cancel goes on, which the failure of the call admits.
            let _ = self.agent.cancel(&self.known.id).await;
        }
        outcome
    }

    async fn finish(&mut self, arguments: &Map<String, Json>) -> CallOutcome {
        if let Some(handle) = &self.request.handle {
            let text = |name: &str| handle.content()[name].as_str().unwrap_or_default();
            self.known = Known::of(text("task"), text("context"));
            self.is_handed_over = true;
            self.watch().await?;
        } else {
            let parts = parts(arguments)?;
            let context = arguments.get("context").cloned();
            self.send(&self.request.idempotency_key, parts, context)
                .await?;
        }
        for _ in 0..MAX_ROUNDS {
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
                | State::Unknown => self.ask().await?,
            }
        }
        let message = format!("the agent has asked {MAX_ROUNDS} times and not come to an end");
        let class = ErrorClass::Validation(Validation::Result);
        Err(CallError::new(class, message, Sent::Maybe))
    }

    /// Sends a message, and hears of its task until there is something to do.
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
            self.hear(updates).await?;
        } else {
            let update = self.agent.send(&request).await?;
            self.known.take(update, 0)?;
            self.hand_over().await?;
        }
        if self.known.is_settled() {
            return Ok(());
        }
        if self.known.id.is_empty() {
            let message = "the agent has ended its answer before it had a task";
            let class = ErrorClass::Transient(Transient::Network);
            return Err(CallError::new(class, message, Sent::Maybe));
        }
        self.watch().await
    }

    /// Hears what the agent tells until there is something to do, or it breaks off with a task that can be asked for.
    async fn hear(&mut self, mut updates: Updates) -> Result<(), CallError> {
        while !self.known.is_settled() {
            match updates.next().await {
                Ok(Some((update, bytes))) => {
                    self.known.take(update, bytes)?;
                    self.hand_over().await?;
                    self.tell();
                }
                Ok(None) => return Ok(()),
                Err(error) if is_lost(&error) && !self.known.id.is_empty() => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Looks at the task until there is something to do. What it looks like is the truth; what the agent tells in between says
    /// when to look again.
    async fn watch(&mut self) -> Result<(), CallError> {
        let [mut wait, longest] = LOOKS;
        let mut lost = 0;
        loop {
            match self.agent.get(&self.known.id).await {
                Ok(task) => {
                    lost = 0;
                    self.known.replace(task, 0)?;
                    self.tell();
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
                self.hear(updates).await?;
                if self.known.is_settled() {
                    continue;
                }
            }
            tokio::time::sleep(wait).await;
            wait = longest.min(wait * 2);
        }
    }

    /// Gives the id of the task to the engine, as soon as there is one.
    async fn hand_over(&mut self) -> Result<(), CallError> {
        if self.known.id.is_empty() || std::mem::replace(&mut self.is_handed_over, true) {
            return Ok(());
        }
        let handle = json!({ "task": self.known.id, "context": self.known.context });
        let handle = Handle::new(handle).map_err(|problem| {
            let message = format!("the agent's id of the task cannot be kept: {problem}");
            let class = ErrorClass::Validation(Validation::Result);
            CallError::new(class, message, Sent::Answered)
        })?;
        self.events.handle(handle).await;
        Ok(())
    }

    fn tell(&mut self) {
        let status = &self.known.status;
        let told = status.message.as_ref().map(text_of);
        let told = told.filter(|text| !text.is_empty());
        let told = told.unwrap_or_else(|| match self.known.artifacts.len() {
            0 => "working".to_owned(),
            1 => "1 artifact".to_owned(),
            artifacts => format!("{artifacts} artifacts"),
        });
        self.events.progress(Progress::message(&told));
    }

    /// Puts the agent's question to people, and sends what they say.
    async fn ask(&mut self) -> Result<(), CallError> {
        let is_auth = self.known.status.state == State::AuthRequired;
        let message = self.known.status.message.as_ref();
        let text = message.map(text_of).filter(|text| !text.is_empty());
        let (usual, description) = if is_auth {
            (
                "the agent needs an authorization",
                "what the agent is told once it is authorized; credentials do not belong here",
            )
        } else {
            ("the agent needs input", "what the agent is told")
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
            let message = format!("what the agent asks cannot be asked: {problem}");
            let class = ErrorClass::Validation(Validation::Result);
            CallError::new(class, message, Sent::Answered)
        })?;
        let refused = |class: ErrorClass, what: &str| {
            let message = format!("what the agent asks was not answered: {what}");
            Err(CallError::new(class, message, Sent::Answered))
        };
        let answer = match self.events.ask(question).await {
            AskReply::Given(content) => content["answer"].clone(),
            AskReply::Declined => {
                return refused(ErrorClass::Denied(Denied::Human), "somebody has declined");
            }
            AskReply::Unanswered => return refused(ErrorClass::Expired, "nobody was there"),
        };
        let id = format!("{}:{}", self.request.idempotency_key, self.known.question());
        self.known.note_answer();
        if is_auth && let Ok(task) = self.agent.get(&self.known.id).await {
            // An agent that has been authorized goes on by itself.
            self.known.replace(task, 0)?;
            if self.known.status.state != State::AuthRequired {
                return self.watch().await;
            }
        }
        let context = Some(&self.known.context).filter(|context| !context.is_empty());
        let context = context.map(|context| context.as_str().into());
        self.send(&id, json!([{ "text": answer }]), context).await
    }

    fn failure(&self, what: &str, sent: Sent) -> CallError {
        let last_words = self.known.status.message.as_ref();
        let said = last_words.map(words_of).filter(|said| !said.is_empty());
        let said = said.unwrap_or_else(|| "it does not say why".to_owned());
        let class = ErrorClass::Tool("failed".into());
        CallError::new(class, format!("the agent {what}: {said}"), sent)
            .with_details(&last_words.map(data_of).unwrap_or_default())
    }
}

/// Whether the agent may be there again, and know more then.
fn is_lost(error: &CallError) -> bool {
    matches!(error.class, ErrorClass::Transient(_))
}

/// The arguments of a call as the parts of a message.
fn parts(arguments: &Map<String, Json>) -> Result<Json, CallError> {
    let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
    let mut parts = Vec::new();
    parts.extend(given("text").map(|text| json!({ "text": text })));
    parts.extend(given("data").map(|data| json!({ "data": data })));
    let wrong = |message: &str| {
        let class = ErrorClass::Validation(Validation::Arguments);
        CallError::new(class, message, Sent::No)
    };
    for file in given("files")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let mut part = match (&file["bytes"], &file["url"]) {
            (Json::String(bytes), Json::Null) => json!({ "raw": bytes }),
            (Json::Null, Json::String(url)) => json!({ "url": url }),
            _ => return Err(wrong("a file has either `bytes` or a `url`")),
        };
        for (name, field) in [("filename", "name"), ("mediaType", "mime")] {
            if !file[field].is_null() {
                part[name] = file[field].clone();
            }
        }
        parts.push(part);
    }
    if parts.is_empty() {
        return Err(wrong("an agent is told a `text`, `data` or `files`"));
    }
    Ok(parts.into())
}
