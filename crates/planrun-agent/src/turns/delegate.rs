//! Sub-agents: loops of their own with at most the permissions of whoever gave them their task. Each ends, one way or another.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::permission::Grant;
use planrun_models::client::Models;
use planrun_models::model::{Model, OfferedTool};
use planrun_runs::runs::Error;
use planrun_tools::project::AgentType;
use planrun_tools::tools::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::family::Place;
use super::round::all;
use super::{Agent, Ended, Event, Setup, allowed};
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
/// Characters of a type that there is not.
const MAX_TYPE: usize = 100;
/// Bytes of a report.
const MAX_REPORT: usize = 16 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tasks {
    #[serde(default, alias = "context", alias = "context_broadcast")]
    context_summary: String,
    sub_agents: Vec<Task>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Task {
    prompt: String,
    #[serde(rename = "type", alias = "agent_type")]
    agent_type: Option<String>,
    allowed_uris: Option<Vec<String>>,
    tools: Option<Vec<String>>,
}

/// What a sub-agent is to do.
struct Work<'a> {
    task: &'a Task,
    agent_type: &'a AgentType,
    place: Place,
    /// Its task, after what all of them are told.
    prompt: String,
}

const WHAT: &str = "Gives tasks to sub-agents, which work at the same time and know nothing but their prompt and the context \
    summary; gives their reports. allowed_uris are the files and folders that one may read and write, tools those that it may \
    call, both at most yours; without them it may what you may.";

impl Agent {
    pub(super) fn can_delegate(&self) -> bool {
        self.place.len() <= MAX_DEPTH && !self.setup.agent_type.children.is_empty()
    }

    /// The tool as the model is told it.
    pub(super) fn dispatch(&self) -> OfferedTool {
        let children = &self.setup.agent_type.children;
        let types = children.iter().filter_map(|name| {
            let description = self.family.types.find(name)?.description.as_ref();
            let told = description.map_or(String::new(), |told| format!(" ({told})"));
            Some(format!("{name}{told}"))
        });
        let types = types.collect::<Vec<_>>().join(", ");
        let types = format!("One of: {types}. The first of them where it is left out.");
        let texts = || json!({ "type": "array", "items": { "type": "string" } });
        let task = json!({
            "type": "object",
            "properties": {
                "prompt": { "type": "string" },
                "type": { "type": "string", "description": types },
                "allowed_uris": texts(),
                "tools": texts(),
            },
            "required": ["prompt"],
        });
        OfferedTool {
            name: DISPATCH.to_owned(),
            description: WHAT.to_owned(),
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

    /// Has sub-agents do their tasks at the same time.
    pub(super) async fn delegate(&self, arguments: Map<String, Json>) -> Called {
        let tasks: Tasks = match serde_json::from_value(Json::Object(arguments)) {
            Ok(tasks) => tasks,
            Err(error) => return Called::Failed(format!("Nothing was begun: {error}")),
        };
        let works = match self.begin(&tasks) {
            Ok(works) => works,
            Err(why) => return Called::Failed(why),
        };
        let works = works.into_iter().map(|work| self.boxed(work));
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

    /// What sub-agents are to do, each in its place; or why none of them is begun.
    fn begin<'a>(&'a self, tasks: &'a Tasks) -> Result<Vec<Work<'a>>, String> {
        let count = tasks.sub_agents.len();
        if count == 0 {
            return Err("Error: sub_agents list empty.".to_owned());
        }
        let types = tasks.sub_agents.iter().map(|task| self.type_of(task));
        let types: Vec<&AgentType> = types.collect::<Result<_, _>>()?;
        let refused = |why: String| Err(format!("Nothing was begun: {why}."));
        if self.place.len() > MAX_DEPTH {
            return refused(format!("agents stand at most {MAX_DEPTH} below each other"));
        }
        if count > MAX_AT_ONCE {
            let why = format!("at most {MAX_AT_ONCE} sub-agents work at the same time");
            return refused(why);
        }
        let members = tasks.sub_agents.iter().zip(&types);
        let members = members.map(|(task, one)| (name_of(&task.prompt), one.name.clone()));
        let Some(places) = self.family.add(&self.place, members, MAX_IN_ALL) else {
            return refused(format!("at most {MAX_IN_ALL} sub-agents are begun in all"));
        };
        let context = tasks.context_summary.trim();
        let works = tasks.sub_agents.iter().zip(types).zip(places);
        let works = works.map(|((task, agent_type), place)| Work {
            task,
            agent_type,
            place,
            prompt: if context.is_empty() {
                task.prompt.clone()
            } else {
                format!("## Context Summary\n{context}\n\n{}", task.prompt)
            },
        });
        Ok(works.collect())
    }

    /// The type of a sub-agent: one that this agent may dispatch.
    fn type_of(&self, task: &Task) -> Result<&AgentType, String> {
        let (own, types) = (&self.setup.agent_type, &self.family.types);
        let listed = |names: Vec<&str>| match &*names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let first = || own.children.first().map(|name| &**name);
        let wanted = task.agent_type.as_deref().or_else(first);
        let name = wanted.unwrap_or("sub-agents");
        let found = types.find(name);
        if found.is_none() && wanted.is_some() {
            let name: String = name.chars().take(MAX_TYPE).collect();
            let types = listed(types.names().collect());
            return Err(format!(
                "Error: Unknown agent type '{name}'. Agent types: {types}"
            ));
        }
        let may = |one: &&AgentType| own.children.contains(&one.name);
        found.filter(may).ok_or_else(|| {
            let children = listed(own.children.iter().map(|name| &**name).collect());
            format!(
                "Error: Agent type '{}' cannot dispatch '{name}'. Allowed child types: {children}",
                own.name
            )
        })
    }

    /// Boxed, since a sub-agent is what its parent is.
    fn boxed<'a>(&'a self, work: Work<'a>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.task(work))
    }

    /// The report of one sub-agent under its heading, or why there is none.
    async fn task(&self, work: Work<'_>) -> Result<String, String> {
        let name = name_of(&work.task.prompt);
        match self.work(work).await {
            Ok(report) => Ok(format!(
                "### Sub-agent '{name}' Finished:\n{}",
                cut(&report)
            )),
            Err(why) => Err(format!("### Sub-agent '{name}' Failed:\n{}", cut(&why))),
        }
    }

    /// A sub-agent with its task, over what this agent has.
    fn child(&self, work: Work<'_>, cancel: CancellationToken) -> Result<Self, Error> {
        let planrun = self.setup.planrun.clone();
        let model: Arc<dyn Model> = match &work.agent_type.model {
            Some(name) => {
                let models = Models::of(&planrun.workspace()?.project, planrun.host());
                let model = models.open(Some(name));
                Arc::new(model.map_err(|error| Error::Unusable(error.to_string()))?)
            }
            None => self.setup.model.clone(),
        };
        let watch = self.setup.watch.clone();
        let setup = Setup {
            planrun: planrun.confined([self.grant(work.task)?]),
            agent_type: work.agent_type.clone(),
            model,
            sessions: None,
            // What it says is its own; who is at work below it is told.
            watch: Arc::new(move |event| {
                if let Event::SubAgent(_) = event {
                    watch(event);
                }
            }),
            cancel,
            ..self.setup.clone()
        };
        Self::at(setup, &work.prompt, (work.place, self.family.clone()))
    }

    async fn work(&self, work: Work<'_>) -> Result<String, String> {
        let cancel = self.setup.cancel.child_token();
        let prompt = work.prompt.clone();
        let child = self.child(work, cancel.clone());
        let child = child.map_err(|error| error.to_string())?;
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
            child.becomes(false, false);
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
        let own = allowed(self.toolbox.planrun())?;
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

/// The beginning of a prompt, by which an agent is known.
pub(super) fn name_of(prompt: &str) -> String {
    let name: String = prompt.trim().chars().take(MAX_NAME).collect();
    name.replace(['\n', '\r', '\''], " ") + "..."
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
