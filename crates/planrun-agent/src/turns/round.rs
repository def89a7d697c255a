//! Makes the calls of one round: concurrently if all of them only read, otherwise one after the other. Each call gets
//! an answer, except one that waits for an approval.

use std::collections::{BTreeMap, BTreeSet};
use std::task::Poll;

use planrun_lang::types::Contract;
use planrun_models::arguments::{ReadCall, calls};
use planrun_models::model::{Message, OfferedTool, ToolCall, Turn};
use planrun_runs::runs::new_run_id;
use planrun_tools::tools::BoxFuture;
use serde_json::{Map, Value as Json, json};
use tokio::sync::Semaphore;

use super::{Agent, Ended, Event};
use crate::session::{Answered, Session, SessionError};
use crate::toolbox::{Called, DISPATCH, OWN_TOOLS, SKILL, TASK_FINISH};

/// Maximum number of calls made in one round.
const MAX_CALLS: usize = 32;
/// Maximum number of concurrent calls.
const MAX_AT_ONCE: usize = 8;
/// The characters of generated ids.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The result of a call, and the report if the call finishes the task.
pub(super) struct CallResult {
    pub(super) called: Called,
    report: Option<String>,
}

impl From<Called> for CallResult {
    fn from(called: Called) -> Self {
        Self {
            called,
            report: None,
        }
    }
}

impl Agent {
    /// Returns the tools that are offered to the model in this round.
    pub(super) fn offered(&self) -> Vec<OfferedTool> {
        let own = [
            self.can_delegate().then(|| self.dispatch()),
            (!self.rules.skills.is_empty())
                .then(|| define(SKILL, "Gives a skill: how something is done.", "name")),
            self.has_parent().then(|| {
                let description = "Ends your task. Your report goes to whoever gave it to you.";
                define(TASK_FINISH, description, "context_summary")
            }),
        ];
        let own = own.into_iter().flatten();
        self.toolbox.offered().into_iter().chain(own).collect()
    }

    /// Makes the calls of a turn.
    pub(super) async fn calls(
        &self,
        session: &mut Session,
        turn: Turn,
    ) -> Result<Option<Ended>, SessionError> {
        let host = self.setup.planrun.host();
        let known = session.messages.iter().flat_map(|message| match message {
            Message::Assistant { calls, .. } => calls.as_slice(),
            Message::System { .. } | Message::User { .. } | Message::Tool { .. } => &[],
        });
        let known = known.map(|call| call.id.clone()).collect();
        let read_calls = self.read(turn.calls.clone(), known);
        let calls = read_calls.iter().map(|one| one.call.clone()).collect();
        session.messages.push(Turn { calls, ..turn }.into_message());
        // Stored before the calls, so that a later process finds their runs.
        let runs = read_calls
            .iter()
            .map(|one| (one.call.id.clone(), new_run_id(&**host)));
        session.runs = runs.collect();
        self.save(session)?;
        let results = self.execute(&read_calls, &session.runs).await;
        let (mut waits, mut report) = (None, None);
        for (one, result) in read_calls.into_iter().zip(results) {
            let (text, is_error) = match result.called {
                Called::Answered(text) => (text, false),
                Called::Failed(text) => (text, true),
                Called::Waits { run, question } => {
                    waits.get_or_insert(Ended::Waits { run, question });
                    continue;
                }
            };
            report = report.or(result.report);
            let call = one.call;
            session.answer(vec![Answered {
                call,
                text,
                is_error,
            }]);
        }
        Ok(waits.or_else(|| report.map(Ended::Finished)))
    }

    /// Parses the arguments of the calls of a turn, and gives each call an id that is unique in the conversation.
    fn read(&self, written: Vec<ToolCall>, mut ids: BTreeSet<String>) -> Vec<ReadCall> {
        let host = self.setup.planrun.host();
        let tools = self.offered();
        let read = written.into_iter().flat_map(|call| {
            let tool = tools.iter().find(|tool| tool.name == call.name);
            let schema = tool.map(|tool| Contract::of_arguments(tool.parameters.clone()));
            let changes_something = !self.toolbox.only_reads(&call.name);
            calls(call, schema.as_ref(), changes_something, String::new)
        });
        let mut read: Vec<ReadCall> = read.collect();
        for ReadCall { call, .. } in &mut read {
            while call.id.is_empty() || ids.contains(&call.id) {
                call.id = new_id(host.random());
            }
            ids.insert(call.id.clone());
        }
        read
    }

    pub(super) async fn execute(
        &self,
        calls: &[ReadCall],
        runs: &BTreeMap<String, String>,
    ) -> Vec<CallResult> {
        let only_reads = |one: &ReadCall| {
            let name = &*one.call.name;
            !OWN_TOOLS.contains(&name) && self.toolbox.only_reads(name)
        };
        let run = |one: &ReadCall| runs.get(&one.call.id).cloned().unwrap_or_default();
        if calls.iter().all(only_reads) {
            let calls = calls.iter().enumerate().map(|(index, one)| {
                let run = run(one);
                let call: BoxFuture<'_, CallResult> =
                    Box::pin(async move { self.one(index, one, &run).await });
                call
            });
            return join_bounded(calls.collect()).await;
        }
        let mut results: Vec<CallResult> = Vec::new();
        for (index, one) in calls.iter().enumerate() {
            let before = results.last();
            let stopped = match before {
                Some(CallResult {
                    report: Some(_), ..
                }) => Some("the task is finished"),
                Some(CallResult {
                    called: Called::Waits { .. },
                    ..
                }) => Some("an earlier call waits for an approval"),
                Some(_) | None => None,
            };
            let next = match stopped {
                Some(why) => {
                    // All remaining calls get the same answer.
                    let rest = calls.len() - index;
                    let skipped = || Called::Failed(format!("Nothing was called: {why}.")).into();
                    results.extend((0..rest).map(|_| skipped()));
                    break;
                }
                None => self.one(index, one, &run(one)).await,
            };
            results.push(next);
        }
        results
    }

    async fn one(&self, index: usize, read: &ReadCall, run: &str) -> CallResult {
        let result = self.call(index, read, run).await;
        let (text, is_error) = match &result.called {
            Called::Answered(text) => (text, false),
            Called::Failed(text) => (text, true),
            Called::Waits { question, .. } => (question, true),
        };
        (self.setup.watch)(Event::Called {
            call: &read.call,
            text,
            is_error,
        });
        result
    }

    async fn call(&self, index: usize, read: &ReadCall, run: &str) -> CallResult {
        let failed = |why: String| Called::Failed(why).into();
        if self.setup.cancel.is_cancelled() {
            return failed("[Cancelled] Nothing was called: the user has stopped it.".to_owned());
        }
        if index >= MAX_CALLS {
            return failed(format!(
                "Nothing was called: a turn makes at most {MAX_CALLS} calls."
            ));
        }
        let arguments = match &read.arguments {
            Ok(arguments) => arguments.clone(),
            Err(fault) => return failed(format!("Nothing was called: {fault}")),
        };
        match &*read.call.name {
            TASK_FINISH if !self.has_parent() => failed(format!(
                "Tool '{TASK_FINISH}' is only available for Sub-Agents."
            )),
            TASK_FINISH => match text(&arguments, "context_summary") {
                Some(report) => CallResult {
                    called: Called::Answered("Task Finished. Report submitted.".to_owned()),
                    report: Some(report.to_owned()),
                },
                None => failed("Nothing was reported: `context_summary` is missing.".to_owned()),
            },
            DISPATCH => self.delegate(arguments).await.into(),
            SKILL => self.skill(&arguments).await.into(),
            name => {
                let called = self.toolbox.call(name, arguments, run, &self.setup.cancel);
                called.await.into()
            }
        }
    }

    async fn skill(&self, arguments: &Map<String, Json>) -> Called {
        let name = text(arguments, "name").unwrap_or_default();
        let mut skills = self.rules.skills.iter();
        if let Some(skill) = skills.find(|skill| skill.name == name) {
            let text = vec![(skill.path.clone(), &*skill.text)];
            return Called::Answered(self.expand_texts(text).await.concat());
        }
        let names = self.rules.skills.iter().map(|skill| &*skill.name);
        let names = names.collect::<Vec<_>>().join(", ");
        Called::Failed(format!("There is no such skill; available: {names}"))
    }
}

/// Returns a string argument; `None` if it is missing or not a string.
fn text<'a>(arguments: &'a Map<String, Json>, name: &str) -> Option<&'a str> {
    arguments.get(name).and_then(Json::as_str)
}

fn define(name: &str, description: &str, argument: &str) -> OfferedTool {
    OfferedTool {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({
            "type": "object",
            "properties": { argument: { "type": "string" } },
            "required": [argument],
        }),
    }
}

/// Returns an id: `call_` and nine characters.
fn new_id(random: u64) -> String {
    let mut rest = random;
    let letters = (0..9).map(|_| {
        let letter = LETTERS.get(usize::try_from(rest % 36).unwrap_or_default());
        rest /= 36;
        char::from(*letter.unwrap_or(&b'0'))
    });
    format!("call_{}", letters.collect::<String>())
}

/// Runs all futures, at most [`MAX_AT_ONCE`] of them concurrently, and returns their results in order.
pub(super) async fn join_bounded<T: Send>(calls: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let room = Semaphore::new(MAX_AT_ONCE);
    let calls = calls.into_iter().map(|call| {
        let room = &room;
        let call: BoxFuture<'_, T> = Box::pin(async move {
            // The semaphore is never closed.
            let _permit = room.acquire().await;
            call.await
        });
        call
    });
    join_all(calls.collect()).await
}

/// Runs all futures concurrently, and returns their results in order.
pub(super) async fn join_all<T>(mut works: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut results: Vec<Option<T>> = works.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut is_over = true;
        for (work, slot) in works.iter_mut().zip(&mut results) {
            if slot.is_none() {
                match work.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Some(value),
                    Poll::Pending => is_over = false,
                }
            }
        }
        if is_over {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
    results.into_iter().flatten().collect()
}
