//! Sub-agents: loops with at most the permissions of their parent. Each of them ends and is reported.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::permission::Grant;
use planrun_lang::value::counted;
use planrun_models::client::Models;
use planrun_models::model::{Model, OfferedTool};
use planrun_runs::runs::Error;
use planrun_tools::project::AgentType;
use planrun_tools::tools::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::round::join_all;
use super::tree::Position;
use super::{Agent, Ended, Event, Setup, allowed};
use crate::session::Session;
use crate::toolbox::{Called, DISPATCH};

/// Maximum number of sub-agents of one call, and of one loop with all of its descendants.
const MAX_AT_ONCE: usize = 8;
const MAX_IN_ALL: usize = 32;
/// Maximum depth of sub-agents below the main agent.
const MAX_DEPTH: usize = 2;
/// Time that a stopped sub-agent has to end.
const GRACE: Duration = Duration::from_secs(10);
/// Maximum length of a name made from a prompt, in characters.
const MAX_NAME: usize = 20;
/// Maximum number of characters quoted of an unknown type.
const MAX_TYPE: usize = 100;
/// Maximum size of a report, in bytes.
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

/// The work of a sub-agent.
struct Work<'a> {
    task: &'a Task,
    agent_type: &'a AgentType,
    position: Position,
    /// The prompt: the shared context, followed by the task.
    prompt: String,
}

const DISPATCH_DESCRIPTION: &str = "Gives tasks to sub-agents, which work at the same time and know nothing but their prompt \
    and the context summary; gives their reports. allowed_uris are the files and folders that one may read and write, tools \
    those that it may call, both at most yours; if omitted, the same as yours.";

impl Agent {
    pub(super) fn can_delegate(&self) -> bool {
        self.position.len() <= MAX_DEPTH && !self.setup.agent_type.children.is_empty()
    }

    /// Returns the tool as it is offered to the model.
    pub(super) fn dispatch(&self) -> OfferedTool {
        let children = &self.setup.agent_type.children;
        let types = children.iter().filter_map(|name| {
            let description = self.tree.types.find(name)?.description.as_ref();
            let suffix = description.map_or(String::new(), |text| format!(" ({text})"));
            Some(format!("{name}{suffix}"))
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
            description: DISPATCH_DESCRIPTION.to_owned(),
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

    /// Runs sub-agents concurrently, and returns their reports.
    pub(super) async fn delegate(&self, arguments: Map<String, Json>) -> Called {
        let tasks: Tasks = match serde_json::from_value(Json::Object(arguments)) {
            Ok(tasks) => tasks,
            Err(error) => return Called::Failed(format!("Nothing was started: {error}")),
        };
        let works = match self.begin(&tasks) {
            Ok(works) => works,
            Err(why) => return Called::Failed(why),
        };
        let works = works.into_iter().map(|work| self.boxed(work));
        let reports = join_all(works.collect()).await;
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

    /// Validates the tasks, and returns the work of each sub-agent with its position; or a message why none is
    /// started.
    fn begin<'a>(&'a self, tasks: &'a Tasks) -> Result<Vec<Work<'a>>, String> {
        let count = tasks.sub_agents.len();
        if count == 0 {
            return Err("Error: sub_agents list empty.".to_owned());
        }
        let types = tasks.sub_agents.iter().map(|task| self.type_of(task));
        let types: Vec<&AgentType> = types.collect::<Result<_, _>>()?;
        let refused = |why: String| Err(format!("Nothing was started: {why}."));
        if self.position.len() > MAX_DEPTH {
            return refused(format!("agents can be nested at most {MAX_DEPTH} deep"));
        }
        if count > MAX_AT_ONCE {
            let why = format!("at most {MAX_AT_ONCE} sub-agents can work at the same time");
            return refused(why);
        }
        let members = tasks.sub_agents.iter().zip(&types);
        let members = members.map(|(task, one)| (name_of(&task.prompt), one.name.clone()));
        let Some(positions) = self.tree.add(&self.position, members, MAX_IN_ALL) else {
            return refused(format!(
                "at most {MAX_IN_ALL} sub-agents can be started in total"
            ));
        };
        let context = tasks.context_summary.trim();
        let works = tasks.sub_agents.iter().zip(types).zip(positions);
        let works = works.map(|((task, agent_type), position)| Work {
            task,
            agent_type,
            position,
            prompt: if context.is_empty() {
                task.prompt.clone()
            } else {
                format!("## Context Summary\n{context}\n\n{}", task.prompt)
            },
        });
        Ok(works.collect())
    }

    /// Returns the type of a sub-agent, which must be one that this agent may dispatch.
    fn type_of(&self, task: &Task) -> Result<&AgentType, String> {
        let (own, types) = (&self.setup.agent_type, &self.tree.types);
        let listed = |names: Vec<&str>| match &*names {
            [] => "none".to_owned(),
            names => names.join(", "),
        };
        let first = || own.children.first().map(|name| &**name);
        let requested = task.agent_type.as_deref().or_else(first);
        let name = requested.unwrap_or("sub-agents");
        let found = types.find(name);
        if found.is_none() && requested.is_some() {
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

    /// Boxes the future, since a sub-agent has the same type as its parent.
    fn boxed<'a>(&'a self, work: Work<'a>) -> BoxFuture<'a, Result<String, String>> {
        Box::pin(self.task(work))
    }

    /// Returns the report of one sub-agent under its heading, or the reason why there is none.
    async fn task(&self, work: Work<'_>) -> Result<String, String> {
        let name = name_of(&work.task.prompt);
        match Box::pin(self.work(work)).await {
            Ok(report) => Ok(format!(
                "### Sub-agent '{name}' Finished:\n{}",
                cut(&report)
            )),
            Err(why) => Err(format!("### Sub-agent '{name}' Failed:\n{}", cut(&why))),
        }
    }

    /// Creates a sub-agent with its task, based on the setup of this agent.
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
            planrun: planrun.confined([self.grant(work.task)?.into()]),
            agent_type: work.agent_type.clone(),
            model,
            sessions: None,
            // The parts and calls of a sub-agent are not displayed; the status of its sub-agents is.
            watch: Arc::new(move |event| {
                if let Event::SubAgent(_) | Event::Asked(_) = event {
                    watch(event);
                }
            }),
            cancel,
            ..self.setup.clone()
        };
        Self::at(setup, &work.prompt, (work.position, self.tree.clone()))
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
                // Effects in flight are awaited; the rest ends as after a crash.
                let _ = timeout(GRACE, &mut work).await;
                None
            }
        };
        self.add_usage(*child.usage.lock());
        let Some(outcome) = outcome else {
            child.set_status(false, false);
            return Err(format!("it was stopped after {} seconds", limit.as_secs()));
        };
        match outcome.map_err(|error| error.to_string())?.ended {
            Ended::Finished(report) => Ok(report),
            Ended::Done { text, .. } => Ok(text),
            Ended::Empty => Err("its answer was empty".to_owned()),
            Ended::Limit(rounds) => Err(format!(
                "it was not done after {}",
                counted(rounds, "round")
            )),
            Ended::Cancelled => Err("it was stopped".to_owned()),
            Ended::Waits { run, question } => Err(format!(
                "its run {run} waits for an approval that cannot be given here: {question}"
            )),
            Ended::Failed(error) => Err(format!("its model gave no answer: {error}")),
        }
    }

    /// Returns the permissions to confine a sub-agent to, in addition to those of this agent. A list that a task
    /// omits is that of the project, which adds no restriction.
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

/// Returns the beginning of a prompt, which names the agent.
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
        "{}… ({} bytes in total)",
        text.get(..end).unwrap_or_default(),
        text.len()
    )
}
