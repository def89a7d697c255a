//! The calls of one round: at the same time where all of them only read, else one after the other, and each has an answer.

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

/// Calls of one round; those beyond are not made.
const MAX_CALLS: usize = 32;
/// Calls that are made at the same time.
const MAX_AT_ONCE: usize = 8;
/// The letters of ids.
const LETTERS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// What came of a call, and the report with which the task is finished by it.
pub(super) struct Came {
    pub(super) called: Called,
    report: Option<String>,
}

impl From<Called> for Came {
    fn from(called: Called) -> Self {
        Self {
            called,
            report: None,
        }
    }
}

impl Agent {
    /// The tools as the model is told them in this round.
    pub(super) fn offered(&self) -> Vec<OfferedTool> {
        let own = [
            self.can_delegate().then(|| self.dispatch()),
            (!self.rules.skills.is_empty())
                .then(|| define(SKILL, "Gives a skill: how something is done.", "name")),
            self.has_parent().then(|| {
                let said = "Ends your task. Your report goes to whoever gave it to you.";
                define(TASK_FINISH, said, "context_summary")
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
        let wanted = self.read(turn.calls.clone(), known);
        let calls = wanted.iter().map(|one| one.call.clone()).collect();
        session.messages.push(Turn { calls, ..turn }.into_message());
        // Who comes after this process finds the runs of its calls.
        let runs = wanted
            .iter()
            .map(|one| (one.call.id.clone(), new_run_id(&**host)));
        session.runs = runs.collect();
        self.save(session)?;
        let came = self.execute(&wanted, &session.runs).await;
        let (mut waits, mut report) = (None, None);
        for (one, came) in wanted.into_iter().zip(came) {
            let (text, is_error) = match came.called {
                Called::Answered(text) => (text, false),
                Called::Failed(text) => (text, true),
                Called::Waits { run, question } => {
                    waits.get_or_insert(Ended::Waits { run, question });
                    continue;
                }
            };
            report = report.or(came.report);
            let call = one.call;
            session.answer(vec![Answered {
                call,
                text,
                is_error,
            }]);
        }
        Ok(waits.or_else(|| report.map(Ended::Finished)))
    }

    /// The calls of a turn with their arguments read, each under an id that no other call of the conversation has.
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
        wanted: &[ReadCall],
        runs: &BTreeMap<String, String>,
    ) -> Vec<Came> {
        let only_reads = |one: &ReadCall| {
            let name = &*one.call.name;
            !OWN_TOOLS.contains(&name) && self.toolbox.only_reads(name)
        };
        let run = |one: &ReadCall| runs.get(&one.call.id).cloned().unwrap_or_default();
        if wanted.iter().all(only_reads) {
            let calls = wanted.iter().enumerate().map(|(index, one)| {
                let run = run(one);
                let call: BoxFuture<'_, Came> =
                    Box::pin(async move { self.one(index, one, &run).await });
                call
            });
            return side_by_side(calls.collect()).await;
        }
        let mut came: Vec<Came> = Vec::new();
        for (index, one) in wanted.iter().enumerate() {
            let before = came.last();
            let stopped = match before {
                Some(Came {
                    report: Some(_), ..
                }) => Some("the task is finished"),
                Some(Came {
                    called: Called::Waits { .. },
                    ..
                }) => Some("a call before it waits for an approval"),
                Some(_) | None => None,
            };
            let next = match stopped {
                Some(why) => {
                    // All that follow are told the same.
                    let rest = wanted.len() - index;
                    let told = || Called::Failed(format!("Nothing was called: {why}.")).into();
                    came.extend((0..rest).map(|_| told()));
                    break;
                }
                None => self.one(index, one, &run(one)).await,
            };
            came.push(next);
        }
        came
    }

    async fn one(&self, index: usize, wanted: &ReadCall, run: &str) -> Came {
        let came = self.call(index, wanted, run).await;
        let (text, is_error) = match &came.called {
            Called::Answered(text) => (text, false),
            Called::Failed(text) => (text, true),
            Called::Waits { question, .. } => (question, true),
        };
        (self.setup.watch)(Event::Called {
            call: &wanted.call,
            text,
            is_error,
        });
        came
    }

    async fn call(&self, index: usize, wanted: &ReadCall, run: &str) -> Came {
        let failed = |why: String| Called::Failed(why).into();
        if self.setup.cancel.is_cancelled() {
            return failed("[Cancelled] Nothing was called: the user has stopped it.".to_owned());
        }
        if index >= MAX_CALLS {
            return failed(format!(
                "Nothing was called: a turn makes at most {MAX_CALLS} calls."
            ));
        }
        let arguments = match &wanted.arguments {
            Ok(arguments) => arguments.clone(),
            Err(fault) => return failed(format!("Nothing was called: {fault}")),
        };
        match &*wanted.call.name {
            TASK_FINISH if !self.has_parent() => failed(format!(
                "Tool '{TASK_FINISH}' is only available for Sub-Agents."
            )),
            TASK_FINISH => match text(&arguments, "context_summary") {
                Some(report) => Came {
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
        let wanted = text(arguments, "name").unwrap_or_default();
        let mut skills = self.rules.skills.iter();
        if let Some(skill) = skills.find(|skill| skill.name == wanted) {
            let text = vec![(skill.path.clone(), &*skill.text)];
            return Called::Answered(self.in_place(text).await.concat());
        }
        let names = self.rules.skills.iter().map(|skill| &*skill.name);
        let names = names.collect::<Vec<_>>().join(", ");
        Called::Failed(format!("There is no such skill, but: {names}"))
    }
}

/// An argument that is a text.
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

/// `call_` and nine letters.
fn new_id(random: u64) -> String {
    let mut rest = random;
    let letters = (0..9).map(|_| {
        let letter = LETTERS.get(usize::try_from(rest % 36).unwrap_or_default());
        rest /= 36;
        char::from(*letter.unwrap_or(&b'0'))
    });
    format!("call_{}", letters.collect::<String>())
}

/// What all of them come to, in their order. So many calls as a loop makes at the same time go on beside each other.
pub(super) async fn side_by_side<T: Send>(calls: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let room = Semaphore::new(MAX_AT_ONCE);
    let calls = calls.into_iter().map(|call| {
        let room = &room;
        let call: BoxFuture<'_, T> = Box::pin(async move {
            // It is never closed.
            let _permit = room.acquire().await;
            call.await
        });
        call
    });
    all(calls.collect()).await
}

/// What all of them come to, in their order. They go on at the same time.
pub(super) async fn all<T>(mut works: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut came: Vec<Option<T>> = works.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut is_over = true;
        for (work, came) in works.iter_mut().zip(&mut came) {
            if came.is_none() {
                match work.as_mut().poll(context) {
                    Poll::Ready(value) => *came = Some(value),
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
    came.into_iter().flatten().collect()
}
