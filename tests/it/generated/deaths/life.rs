//! The whole life of a run, in as many processes as it takes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::Given;
use planrun_core::run::{Asking, Interruption, Outcome, Program};
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
use crate::generated::people;
use crate::generated::stage::{self, Weather};

/// More processes than this no run needs.
const MAX_PROCESSES: usize = 400;
/// So often somebody resumes what has failed.
const MAX_RETRIES: usize = 8;

/// What is lived.
pub struct Life<'a> {
    pub made: &'a Arc<Project>,
    pub plan: &'a Arc<Plan>,
    pub weather: Weather,
    pub seed: u64,
    /// After how many events of its own each of the first processes dies.
    pub deaths: Vec<usize>,
}

/// What came of it.
pub struct Lived {
    pub state: RunState,
    pub reply: Json,
    /// The class of its error.
    pub class: Option<String>,
    /// Why it still waits, where it does.
    pub waits: Option<&'static str>,
    pub steps: Vec<Json>,
    pub tasks: Vec<Json>,
    pub events: Vec<Json>,
    /// The same, from a process that only looked at the journal.
    pub looked: (RunState, Json, Vec<Json>, Vec<Json>),
    pub calls: Vec<Call>,
}

/// One call as the world saw it.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: String,
    pub key: String,
    pub effect: bool,
}

/// Lives a run to its end, or until only somebody who never comes could go on with it.
pub fn lived(life: &Life<'_>) -> Result<Lived, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let stand = Stand {
            life,
            log: MemoryLog::default(),
            calls: Arc::default(),
            refused: Arc::default(),
        };
        stand.live().await
    })
}

struct Stand<'a> {
    life: &'a Life<'a>,
    log: MemoryLog,
    calls: Arc<Mutex<Vec<Call>>>,
    refused: Arc<Mutex<Option<String>>>,
}

impl Stand<'_> {
    async fn live(&self) -> Result<Lived, String> {
        let mut now = BEGIN;
        let (mut retries, mut left) = (0, self.life.deaths.iter());
        let mut resumes = false;
        for process in 0..MAX_PROCESSES {
            let written = self.log.lines().len();
            let _ = match left.next() {
                Some(more) => self.log.clone().dying_after(written + more),
                None => self.log.clone().living(),
            };
            let mortal = process < self.life.deaths.len();
            let over = if resumes {
                keys_to_keep_from_retries(&self.log)
            } else {
                completed_keys(&self.log)
            };
            let before = self.calls.lock().unwrap().len();
            let host: Arc<dyn Host> = at(self.life.seed, now);
            let outcome = self.process(&host, resumes).await;
            self.nothing_again(&over, before)?;
            if let Some(refused) = self.refused.lock().unwrap().take() {
                return Err(format!("an answer is not taken: {refused}"));
            }
            let Some(outcome) = outcome else {
                if !mortal {
                    return Err("the run stands still".to_owned());
                }
                now = self
                    .log
                    .past()
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

    /// One process of the run; nothing where it died.
    async fn process(&self, host: &Arc<dyn Host>, retries: bool) -> Option<Outcome> {
        let past = (!self.log.lines().is_empty()).then(|| self.log.past().unwrap());
        let mut nobody = Silence;
        let clerk = Clerk {
            seed: self.life.seed,
            refused: self.refused.clone(),
        };
        let context = Context {
            root: PathBuf::from("/"),
            log: Some(Box::new(self.log.clone()) as Box<dyn Log>),
            past,
            retries,
            answering: Answering {
                answers: Vec::new(),
                asker: Some(Arc::new(clerk)),
            },
            ..Context::new(
                host.clone(),
                Arc::new(self.tools(host)),
                "test-run",
                &mut nobody,
            )
        };
        let (program, inputs) = (
            Arc::new(Program::new(self.life.plan.clone())),
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
    ) -> Result<Lived, String> {
        let host: Arc<dyn Host> = at(self.life.seed, now);
        let mut nobody = Silence;
        let context = Context {
            root: PathBuf::from("/"),
            past: Some(self.log.past().map_err(|error| error.to_string())?),
            replay_only: true,
            ..Context::new(
                host.clone(),
                Arc::new(self.tools(&host)),
                "test-run",
                &mut nobody,
            )
        };
        let before = self.calls.lock().unwrap().len();
        let (program, inputs) = (
            Arc::new(Program::new(self.life.plan.clone())),
            self.inputs(),
        );
        let looked = driver::run(&program, &inputs, context);
        let looked = tokio::time::timeout(Duration::from_hours(1), looked).await;
        let looked = looked.map_err(|_| "who only looks at the journal stands still".to_owned())?;
        if self.calls.lock().unwrap().len() > before {
            return Err("who only looks at the journal calls something".to_owned());
        }
        let events = self
            .log
            .lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        Ok(Lived {
            state: outcome.state,
            reply: reply(outcome),
            class: outcome.error.as_ref().map(|error| error.class.to_string()),
            waits,
            steps: steps(outcome),
            tasks: tasks(outcome),
            events,
            looked: (looked.state, reply(&looked), steps(&looked), tasks(&looked)),
            calls: self.calls.lock().unwrap().clone(),
        })
    }

    /// What had ended in the journal when a process began was not called by it.
    fn nothing_again(&self, over: &BTreeSet<String>, before: usize) -> Result<(), String> {
        let calls = self.calls.lock().unwrap();
        match calls[before..].iter().find(|call| over.contains(&call.key)) {
            Some(again) => Err(format!(
                "its end is written down, and it is called again: {again:?}"
            )),
            None => Ok(()),
        }
    }

    fn inputs(&self) -> std::collections::BTreeMap<Arc<str>, Value> {
        stage::inputs(self.life.plan, self.life.seed)
    }

    fn tools(&self, host: &Arc<dyn Host>) -> Catalog {
        let catalog = stage::tools(host, self.life.made, self.life.weather, self.life.seed);
        let mut watched = catalog.clone();
        for tool in &self.life.made.tools {
            let inner = catalog.tool(&tool.namespace, &tool.name).unwrap().clone();
            watched.add(
                (*inner.signature).clone(),
                Arc::new(Watched {
                    inner: inner.transport,
                    calls: self.calls.clone(),
                }),
            );
        }
        watched
    }
}

/// The host of a process that begins at this moment, in nanoseconds since 1970.
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
    let told = |task: &planrun_core::run::TaskReport| {
        json!([
            *task.name,
            *task.status,
            task.context.to_json(),
            task.trace.len()
        ])
    };
    outcome.tasks.iter().map(told).collect()
}

fn steps(outcome: &Outcome) -> Vec<Json> {
    let class =
        |error: &Option<Value>| error.as_ref().map(|error| error.to_json()["class"].clone());
    let told = |mut step: planrun_core::run::StepReport| {
        // That an earlier process had done it is what differs.
        step.attributes.retain(|attribute| *attribute != "reused");
        json!({
            "path": *step.path, "status": step.status.to_string(), "reason": step.reason, "tool": step.tool,
            "arguments": step.arguments.to_json(), "output": step.output.to_json(), "error": class(&step.error),
            "recovered": class(&step.recovered), "attributes": step.attributes, "attempts": step.attempts,
        })
    };
    outcome.steps().into_iter().map(told).collect()
}

/// Notes what is called.
struct Watched {
    inner: Arc<dyn Transport>,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Transport for Watched {
    fn call(&self, request: Request) -> Conversation {
        self.calls.lock().unwrap().push(Call {
            tool: request.signature.path(),
            key: request.idempotency_key.to_string(),
            effect: !request.signature.effect.is_read_only(),
        });
        // Nothing outside answers before the next thing is done.
        match self.inner.call(request) {
            Conversation::Now(outcome) => Conversation::from_future(std::future::ready(outcome)),
            Conversation::Later(events) => Conversation::Later(events),
        }
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.inner.describe()
    }
}

/// Answers whatever is asked; what it says hangs on the question alone.
struct Clerk {
    seed: u64,
    refused: Arc<Mutex<Option<String>>>,
}

impl Asker for Clerk {
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<Given>> + Send>> {
        if let Some(refused) = asking.refused {
            *self.refused.lock().unwrap() = Some(format!("{}: {refused}", asking.path));
            return Box::pin(async { None });
        }
        let given = people::given(&asking, self.seed);
        Box::pin(async move { Some(given) })
    }
}
