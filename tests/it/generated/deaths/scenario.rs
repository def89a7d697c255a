//! Drives a run to its end, in as many processes as necessary.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::{Asking, Interruption, Outcome, Program, Setup};
use planrun_lang::protocol::RunState;
use planrun_lang::sema::Plan;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Answering, Asker, Context, Silence};
use planrun_runs::journal::{Log, MemoryLog};
use planrun_tools::host::{Host, MemoryHost, VirtualHost};
use planrun_tools::tools::{BoxFuture, Catalog, Conversation, Described, Request, Transport};
use serde_json::{Value as Json, json};

use crate::durable::{completed_keys, keys_to_keep_from_retries};
use crate::generate::Project;
use crate::generated::harness::{self, FailureRate};
use crate::generated::people;

/// More processes than any run needs.
const MAX_PROCESSES: usize = 400;
/// Maximum number of times that a failed run is resumed.
const MAX_RETRIES: usize = 8;

/// A run to drive.
pub struct Scenario<'a> {
    pub made: &'a Arc<Project>,
    pub plan: &'a Arc<Plan>,
    pub failure_rate: FailureRate,
    pub seed: u64,
    /// For each of the first processes, the number of its own events after which it dies.
    pub deaths: Vec<usize>,
}

/// The result of a run.
pub struct ScenarioResult {
    pub state: RunState,
    pub reply: Json,
    /// The class of its error.
    pub class: Option<String>,
    /// The reason why it still waits, if it does.
    pub waits: Option<&'static str>,
    pub steps: Vec<Json>,
    pub tasks: Vec<Json>,
    pub events: Vec<Json>,
    /// The same, as seen by a process that only replays the journal.
    pub replayed: (RunState, Json, Vec<Json>, Vec<Json>),
    pub calls: Vec<Call>,
}

/// One call as the tool received it.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: String,
    pub key: String,
    pub effect: bool,
}

/// Drives a run to its end, or until it waits for an answer or an event that never comes.
pub fn run_scenario(scenario: &Scenario<'_>) -> Result<ScenarioResult, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let harness_run = Harness {
            scenario,
            log: MemoryLog::default(),
            calls: Arc::default(),
            refused: Arc::default(),
        };
        harness_run.drive().await
    })
}

struct Harness<'a> {
    scenario: &'a Scenario<'a>,
    log: MemoryLog,
    calls: Arc<Mutex<Vec<Call>>>,
    refused: Arc<Mutex<Option<String>>>,
}

impl Harness<'_> {
    async fn drive(&self) -> Result<ScenarioResult, String> {
        let mut now = BEGIN;
        let (mut retries, mut left) = (0, self.scenario.deaths.iter());
        let mut resumes = false;
        for process in 0..MAX_PROCESSES {
            let written = self.log.lines().len();
            let _ = match left.next() {
                Some(more) => self.log.clone().dying_after(written + more),
                None => self.log.clone().revived(),
            };
            let mortal = process < self.scenario.deaths.len();
            let over = if resumes {
                keys_to_keep_from_retries(&self.log)
            } else {
                completed_keys(&self.log)
            };
            let before = self.calls.lock().unwrap().len();
            let host: Arc<dyn Host> = at(self.scenario.seed, now);
            let outcome = self.process(&host, resumes).await;
            self.no_repeated_calls(&over, before)?;
            if let Some(refused) = self.refused.lock().unwrap().take() {
                return Err(format!("an answer is not taken: {refused}"));
            }
            let Some(outcome) = outcome else {
                if !mortal {
                    return Err("the run stands still".to_owned());
                }
                now = self
                    .log
                    .replay_state()
                    .map_err(|error| error.to_string())?
                    .last_at
                    .max(now);
                continue;
            };
            now = host.now();
            resumes = false;
            match &outcome.interruption {
                None => return self.end(&outcome, None, now).await,
                Some(Interruption::Waiting {
                    wake: Some(wake), ..
                }) => now = (*wake).max(now),
                Some(Interruption::Waiting { wake: None, .. }) => {
                    return self.end(&outcome, Some("events"), now).await;
                }
                Some(Interruption::Failed(_)) if retries == MAX_RETRIES => {
                    return self.end(&outcome, Some("failed"), now).await;
                }
                Some(Interruption::Failed(_)) => (retries, resumes) = (retries + 1, true),
                Some(other) => return Err(format!("the process let go: {other:?}")),
            }
        }
        Err(format!(
            "{MAX_PROCESSES} processes do not bring it to its end"
        ))
    }

    /// Runs one process of the run. `None` if it died.
    async fn process(&self, host: &Arc<dyn Host>, retries: bool) -> Option<Outcome> {
        let replay = (!self.log.lines().is_empty()).then(|| self.log.replay_state().unwrap());
        let mut silent = Silence;
        let asker = DeterministicAsker {
            seed: self.scenario.seed,
            refused: self.refused.clone(),
        };
        let setup = Setup {
            replay,
            retries,
            ..Setup::new("test-run")
        };
        let context = Context {
            root: PathBuf::from("/"),
            log: Some(Box::new(self.log.clone()) as Box<dyn Log>),
            answering: Answering {
                answers: Vec::new(),
                asker: Some(Arc::new(asker)),
            },
            ..Context::new(host.clone(), Arc::new(self.tools(host)), setup, &mut silent)
        };
        let (program, inputs) = (
            Arc::new(Program::new(self.scenario.plan.clone())),
            self.inputs(),
        );
        let running = driver::run(&program, &inputs, context);
        tokio::time::timeout(Duration::from_hours(24 * 365), running)
            .await
            .ok()
    }

    async fn end(
        &self,
        outcome: &Outcome,
        waits: Option<&'static str>,
        now: i128,
    ) -> Result<ScenarioResult, String> {
        let host: Arc<dyn Host> = at(self.scenario.seed, now);
        let mut silent = Silence;
        let setup = Setup {
            replay: Some(self.log.replay_state().map_err(|error| error.to_string())?),
            replay_only: true,
            ..Setup::new("test-run")
        };
        let context = Context {
            root: PathBuf::from("/"),
            ..Context::new(
                host.clone(),
                Arc::new(self.tools(&host)),
                setup,
                &mut silent,
            )
        };
        let before = self.calls.lock().unwrap().len();
        let (program, inputs) = (
            Arc::new(Program::new(self.scenario.plan.clone())),
            self.inputs(),
        );
        let replayed = driver::run(&program, &inputs, context);
        let replayed = tokio::time::timeout(Duration::from_hours(1), replayed).await;
        let replayed =
            replayed.map_err(|_| "who only looks at the journal stands still".to_owned())?;
        if self.calls.lock().unwrap().len() > before {
            return Err("who only looks at the journal calls something".to_owned());
        }
        let events = self
            .log
            .lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        Ok(ScenarioResult {
            state: outcome.state,
            reply: reply(outcome),
            class: outcome.error.as_ref().map(|error| error.class.to_string()),
            waits,
            steps: steps(outcome),
            tasks: tasks(outcome),
            events,
            replayed: (
                replayed.state,
                reply(&replayed),
                steps(&replayed),
                tasks(&replayed),
            ),
            calls: self.calls.lock().unwrap().clone(),
        })
    }

    /// Checks that a process has called nothing that was settled in the journal when it started.
    fn no_repeated_calls(&self, over: &BTreeSet<String>, before: usize) -> Result<(), String> {
        let calls = self.calls.lock().unwrap();
        match calls[before..].iter().find(|call| over.contains(&call.key)) {
            Some(again) => Err(format!(
                "its end is written down, and it is called again: {again:?}"
            )),
            None => Ok(()),
        }
    }

    fn inputs(&self) -> std::collections::BTreeMap<Arc<str>, Value> {
        harness::inputs(self.scenario.plan, self.scenario.seed)
    }

    fn tools(&self, host: &Arc<dyn Host>) -> Catalog {
        let catalog = harness::tools(
            host,
            self.scenario.made,
            self.scenario.failure_rate,
            self.scenario.seed,
        );
        let mut watched = catalog.clone();
        for tool in &self.scenario.made.tools {
            let inner = catalog.tool(&tool.namespace, &tool.name).unwrap().clone();
            watched.add(
                (*inner.signature).clone(),
                Arc::new(RecordingTransport {
                    inner: inner.transport,
                    calls: self.calls.clone(),
                }),
            );
        }
        watched
    }
}

/// Returns the host of a process that starts at this time, in nanoseconds since the Unix epoch.
fn at(seed: u64, now: i128) -> Arc<dyn Host> {
    let memory = MemoryHost::new(seed);
    memory.set_now(now);
    Arc::new(VirtualHost::new(memory))
}

/// 2026-01-01T00:00:00Z.
const BEGIN: i128 = 1_767_225_600_000_000_000;

fn reply(outcome: &Outcome) -> Json {
    outcome.reply.as_ref().map_or(Json::Null, Value::to_json)
}

fn tasks(outcome: &Outcome) -> Vec<Json> {
    let report = |task: &planrun_core::run::TaskReport| {
        json!([
            *task.name,
            *task.status,
            task.context.to_json(),
            task.trace.len()
        ])
    };
    outcome.tasks.iter().map(report).collect()
}

fn steps(outcome: &Outcome) -> Vec<Json> {
    let class =
        |error: &Option<Value>| error.as_ref().map(|error| error.to_json()["class"].clone());
    let report = |mut step: planrun_core::run::StepReport| {
        // This attribute depends on the process.
        step.attributes.retain(|attribute| *attribute != "reused");
        json!({
            "path": *step.path, "status": step.status.to_string(), "reason": step.reason, "tool": step.tool,
            "arguments": step.arguments.to_json(), "output": step.output.to_json(), "error": class(&step.error),
            "recovered": class(&step.recovered), "attributes": step.attributes, "attempts": step.attempts,
        })
    };
    outcome.steps().into_iter().map(report).collect()
}

/// A transport that records calls.
struct RecordingTransport {
    inner: Arc<dyn Transport>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Transport for RecordingTransport {
    fn call(&self, request: Request) -> Conversation {
        self.calls.lock().unwrap().push(Call {
            tool: request.signature.path(),
            key: request.idempotency_key.to_string(),
            effect: !request.signature.effect.is_read_only(),
        });
        // External tools never answer synchronously.
        match self.inner.call(request) {
            Conversation::Now(outcome) => Conversation::from_future(std::future::ready(outcome)),
            Conversation::Later(events) => Conversation::Later(events),
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.inner.describe()
    }
}

/// An asker that answers every question. The answer depends only on the question.
struct DeterministicAsker {
    seed: u64,
    refused: Arc<Mutex<Option<String>>>,
}

impl Asker for DeterministicAsker {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>> {
        if let Some(refused) = asking.refused {
            *self.refused.lock().unwrap() = Some(format!("{}: {refused}", asking.path));
            return Box::pin(async { None });
        }
        let given = people::given(&asking.path, &asking.question, self.seed);
        Box::pin(async move { Some(given) })
    }
}
