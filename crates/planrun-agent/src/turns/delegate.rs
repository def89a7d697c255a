//! Sub-agents: loops of their own with at most the permissions of whoever gave them their task. Each ends, one way or another.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use planrun_lang::permission::Grant;
use planrun_models::model::OfferedTool;
use planrun_runs::runs::Error;
use planrun_tools::tools::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tokio::time::timeout;

use super::round::all;
use super::{Agent, Ended, Event, Setup};
use crate::session::Session;
use crate::toolbox::{Called, DISPATCH};

/// Sub-agents of one call, and of one loop with all that it starts.
const MAX_AT_ONCE: usize = 8;
const MAX_IN_ALL: usize = 32;
/// Agents below each other, the first one not counted.
const MAX_DEPTH: usize = 2;
/// How long one that is stopped may still take.
const GRACE: Duration = Duration::from_secs(10);
/// Characters of a prompt that are a name.
const MAX_NAME: usize = 20;
/// Bytes of a report.
const MAX_REPORT: usize = 16 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tasks {
    #[serde(default, alias = "context_broadcast")]
    context_summary: String,
    sub_agents: Vec<Task>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    prompt: String,
    allowed_uris: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

/// The tool as a model is told it.
pub(super) fn definition() -> OfferedTool {
    let texts = || json!({ "type": "array", "items": { "type": "string" } });
    let task = json!({
        "type": "object",
        "properties": { "prompt": { "type": "string" }, "allowed_uris": texts(), "tools": texts() },
        "required": ["prompt"],
    });
    OfferedTool {
        name: DISPATCH.to_owned(),
        description: "Gives tasks to sub-agents, which work at the same time and know nothing but their prompt and the context \
                      summary; gives their reports. allowed_uris are the files and folders that one may read and write, tools those \
                      that it may call, both at most yours; without them it may what you may."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "context_summary": { "type": "string" },
                "sub_agents": { "type": "array", "items": task, "maxItems": MAX_AT_ONCE },
            },
            "required": ["sub_agents"],
        }),
    }
}

impl Agent {
    pub(super) fn can_delegate(&self) -> bool {
        self.depth < MAX_DEPTH
    }

    /// Has sub-agents do their tasks at the same time.
    pub(super) async fn delegate(&self, arguments: Map<String, Json>) -> Called {
        let tasks: Tasks = match serde_json::from_value(Json::Object(arguments)) {
            Ok(tasks) => tasks,
            Err(error) => return Called::Failed(format!("Nothing was begun: {error}")),
        };
        let count = tasks.sub_agents.len();
        if count == 0 {
            return Called::Failed("Error: sub_agents list empty.".to_owned());
        }
        let refused = if !self.can_delegate() {
            Some(format!("agents stand at most {MAX_DEPTH} below each other"))
        } else if count > MAX_AT_ONCE {
            Some(format!(
                "at most {MAX_AT_ONCE} sub-agents work at the same time"
            ))
        } else if self.family.fetch_add(count, Ordering::Relaxed) + count > MAX_IN_ALL {
            Some(format!("at most {MAX_IN_ALL} sub-agents are begun in all"))
        } else {
            None
        };
        if let Some(why) = refused {
            return Called::Failed(format!("Nothing was begun: {why}."));
        }
        let context = tasks.context_summary.trim();
        let works = tasks.sub_agents.iter().map(|task| {
            let work: BoxFuture<'_, _> = Box::pin(self.task(task, context));
            work
        });
        let reports = all(works.collect()).await;
        if self.setup.cancel.is_cancelled() {
            return Called::Failed("Error during fork: User aborted execution".to_owned());
        }
        let is_lost = reports.iter().all(Result::is_err);
        let reports = reports
            .into_iter()
            .map(|report| report.unwrap_or_else(|why| why));
        let text = reports.collect::<Vec<_>>().join("\n\n----------------\n\n");
        if is_lost {
            Called::Failed(text)
        } else {
            Called::Answered(text)
        }
    }

    /// The report of one sub-agent under its heading, or why there is none.
    async fn task(&self, task: &Task, context: &str) -> Result<String, String> {
        let name: String = task.prompt.trim().chars().take(MAX_NAME).collect();
        let name = name.replace(['\n', '\r', '\''], " ") + "...";
        (self.setup.watch)(Event::Delegated(&name));
        let report = self.child(task, context).await;
        (self.setup.watch)(Event::Reported {
            name: &name,
            is_error: report.is_err(),
        });
        match report {
            Ok(report) => Ok(format!(
                "### Sub-agent '{name}' Finished:\n{}",
                cut(&report)
            )),
            Err(why) => Err(format!("### Sub-agent '{name}' Failed:\n{}", cut(&why))),
        }
    }

    /// Boxed, since a sub-agent is what its parent is.
    fn child<'a>(
        &'a self,
        task: &'a Task,
        context: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.work(task, context))
    }

    async fn work(&self, task: &Task, context: &str) -> Result<String, String> {
        let prompt = if context.is_empty() {
            task.prompt.clone()
        } else {
            format!("## Context Summary\n{context}\n\n{}", task.prompt)
        };
        let told = |error: Error| error.to_string();
        let cancel = self.setup.cancel.child_token();
        let setup = Setup {
            planrun: self
                .setup
                .planrun
                .clone()
                .confined([self.grant(task).map_err(told)?]),
            sessions: None,
            watch: Arc::new(|_| {}),
            cancel: cancel.clone(),
            ..self.setup.clone()
        };
        let place = (self.depth + 1, self.family.clone());
        let child = Self::at_depth(setup, &prompt, place).map_err(told)?;
        let mut session = Session::default();
        let limit = self.setup.options.child_time;
        let outcome = {
            let mut work = pin!(child.run(&mut session, Some(&prompt)));
            if let Ok(outcome) = timeout(limit, &mut work).await {
                Some(outcome)
            } else {
                cancel.cancel();
                // What it is about to change is awaited; the rest is as after a crash.
                let _ = timeout(GRACE, &mut work).await;
                None
            }
        };
        self.used(*child.usage());
        let Some(outcome) = outcome else {
            return Err(format!("it was stopped after {} seconds", limit.as_secs()));
        };
        match outcome.map_err(|error| error.to_string())?.ended {
            Ended::Finished(report) => Ok(report),
            Ended::Done { text, .. } => Ok(text),
            Ended::Empty => Err("it said nothing".to_owned()),
            Ended::Limit(rounds) => Err(format!("it was not done after {rounds} rounds")),
            Ended::Cancelled => Err("it was stopped".to_owned()),
            Ended::Waits { run, question } => Err(format!(
                "it waits for an approval that nobody here can give, as run {run}: {question}"
            )),
            Ended::Failed(error) => Err(format!("its model gave no answer: {error}")),
        }
    }

    /// What a sub-agent may reach at most, beside what this agent may: a list that a task leaves out is the project's, which
    /// narrows nothing.
    fn grant(&self, task: &Task) -> Result<Grant, Error> {
        let workspace = self.toolbox.planrun().workspace()?;
        let own = workspace.project.settings.allow.clone().unwrap_or_default();
        let files = |own: Vec<String>| task.allowed_uris.clone().unwrap_or(own);
        let tools = task.tools.as_ref();
        let tools = tools.map(|tools| {
            tools
                .iter()
                .map(|name| self.toolbox.path_of(name))
                .collect()
        });
        Ok(Grant {
            read: files(own.read),
            write: files(own.write),
            tools: tools.or(own.tools),
            ..own
        })
    }
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_REPORT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_REPORT);
    format!(
        "{}… ({} bytes in all)",
        text.get(..end).unwrap_or_default(),
        text.len()
    )
}
