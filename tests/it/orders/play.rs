//! One plan with its inputs and tools, to be run in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{Event, EventKind, SubmittedAnswer};
use planrun_core::run::{Order, Program, Setup};
use planrun_lang::protocol::RunState;
use planrun_lang::sema::Plan;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Answering, Context};
use planrun_tools::host::Host;
use planrun_tools::tools::Catalog;
use serde_json::{Value as Json, json};

/// Creates new tools for each run, so that runs do not affect each other.
pub type NewTools = Box<dyn Fn() -> (Arc<dyn Host>, Catalog) + Send + Sync>;

pub struct Play {
    pub name: String,
    pub plan: Arc<Plan>,
    pub inputs: BTreeMap<Arc<str>, Value>,
    /// The answers of people.
    pub answers: Vec<SubmittedAnswer>,
    pub new_tools: NewTools,
}

/// The result of a run, without anything that depends on the clock or the order.
#[derive(Debug)]
pub struct Played {
    pub state: RunState,
    pub reply: Json,
    pub class: Option<String>,
    /// Path, state, reason, attempts, tool, arguments, output and error of each step, by its path.
    pub steps: BTreeMap<String, Json>,
    /// Every attempt of a call, in the order of their beginnings.
    pub calls: Vec<Call>,
    /// The final states of tasks and listeners.
    pub reactions: Vec<Json>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub path: String,
    pub attempt: u32,
    pub tool: String,
    pub arguments: String,
    pub key: String,
    pub changes: bool,
}

impl Play {
    pub fn perform(&self, order: Order) -> Played {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (host, tools) = (self.new_tools)();
            let calls = Arc::new(Mutex::new(Vec::new()));
            let recorded = calls.clone();
            let mut observer = move |event: &Event| recorded.lock().unwrap().extend(call(event));
            let setup = Setup {
                order,
                ..Setup::new("test-run")
            };
            let context = Context {
                root: PathBuf::from("/"),
                answering: Answering {
                    answers: self.answers.clone(),
                    asker: None,
                },
                ..Context::new(host, Arc::new(tools), setup, &mut observer)
            };
            let program = Arc::new(Program::new(self.plan.clone()));
            let running = driver::run(&program, &self.inputs, context);
            let outcome = tokio::time::timeout(Duration::from_hours(24 * 365), running).await;
            let outcome = outcome.unwrap_or_else(|_| panic!("{}: the run stands still", self.name));
            let calls = calls.lock().unwrap().clone();
            let tasks = outcome
                .tasks
                .iter()
                .map(|task| json!([*task.name, *task.status, task.context.to_json()]));
            let listeners = outcome
                .listeners
                .iter()
                .map(|one| json!([*one.path, one.fired, one.surplus]));
            Played {
                state: outcome.state,
                reply: outcome.reply.as_ref().map_or(Json::Null, Value::to_json),
                class: outcome.error.as_ref().map(|error| error.class.to_string()),
                steps: outcome
                    .steps()
                    .iter()
                    .map(|step| (step.path.to_string(), step_json(step)))
                    .collect(),
                reactions: tasks.chain(listeners).collect(),
                calls,
            }
        })
    }
}

impl Played {
    /// Returns true if the run failed or some steps were cancelled: then the progress of other steps may differ.
    pub fn was_cut_short(&self) -> bool {
        let ended = |step: &Json| step["status"] == "cancelled" || step["reason"] == "replied";
        self.state != RunState::Completed || self.steps.values().any(ended)
    }

    /// Returns the set of calls.
    pub fn set_of_calls(&self) -> BTreeSet<&Call> {
        self.calls.iter().collect()
    }

    /// Returns the paths of effects by enclosing block and namespace of the tool, in the order of their beginnings.
    pub fn effects(&self) -> BTreeMap<(&str, &str), Vec<&str>> {
        let mut effects: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for call in self
            .calls
            .iter()
            .filter(|call| call.changes && call.attempt == 1)
        {
            let block = call.path.rsplit_once('.').map_or("", |(block, _)| block);
            let namespace = call.tool.split('.').next().unwrap_or_default();
            effects
                .entry((block, namespace))
                .or_default()
                .push(&call.path);
        }
        effects
    }
}

fn call(event: &Event) -> Option<Call> {
    let EventKind::StepRunning {
        path,
        tool,
        attempt,
        call: Some(call),
    } = &event.kind
    else {
        return None;
    };
    Some(Call {
        path: path.to_string(),
        attempt: *attempt,
        tool: tool.to_string(),
        arguments: call.arguments.to_json().to_string(),
        key: call.key.to_string(),
        changes: !call.effect.is_read_only(),
    })
}

fn step_json(step: &planrun_core::run::StepReport) -> Json {
    let class =
        |error: &Option<Value>| error.as_ref().map(|error| error.to_json()["class"].clone());
    json!({
        "status": step.status.to_string(),
        "reason": step.reason,
        "attempts": step.attempts,
        "tool": step.tool,
        "arguments": step.arguments.to_json(),
        "output": step.output.to_json(),
        "error": class(&step.error),
        "recovered": class(&step.recovered),
        "attributes": step.attributes,
    })
}
