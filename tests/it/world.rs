//! Scripted tools: a plan runs in the test process, on paused time, against tools with scripted answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{AnswerError, Event, EventKind, SubmittedAnswer};
use planrun_core::run::{Approval, Order, Outcome, Program, Setup, StepReport};
use planrun_lang::call::{Answer, CallError};
use planrun_lang::diag::Diagnostic;
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::{self, Files, Tools};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{ErrorClass, Signature, UsagePaths};
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Answering, Asker, Context, Observer};
use planrun_runs::journal::{Log, MemoryLog, ResultCache};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::app::read_app;
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Progress, Prompts, Request, Tool, Transport,
    described,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// The answer of a tool to one call. The last script is used for all further calls.
#[derive(Clone)]
pub enum Script {
    Give(serde_json::Value),
    /// An error class, and whether the tool received the call.
    Fail(&'static str, Sent),
    /// A complete error.
    Error(CallError),
    /// A `transient.rate_limited` error that asks for a wait.
    Limited(Duration),
    /// Another script, after a delay.
    After(Duration, Box<Script>),
}

/// One call as a tool received it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub tool: String,
    /// Milliseconds since the world was created.
    pub at: u128,
    pub arguments: serde_json::Value,
    pub key: String,
}

/// Tools, and a record of their calls.
pub struct World {
    catalog: Catalog,
    seen: Arc<Mutex<Vec<Seen>>>,
    cancelled: Arc<Mutex<Vec<String>>>,
    pub host: Arc<MemoryHost>,
    files: BTreeMap<String, String>,
    pub cancel: CancellationToken,
    pub stop_after: Option<Duration>,
    /// Time after which a run counts as one that does not end.
    pub limit: Duration,
    /// The journal of runs. If it has events already, the run is resumed.
    pub journal: Option<MemoryLog>,
    /// Cached results of steps.
    pub cache: Option<Arc<dyn ResultCache>>,
    /// Whether the run is only replayed from the journal, without calls.
    pub replay_only: bool,
    /// Answers that are given in advance: a path and JSON.
    pub answers: Vec<(&'static str, serde_json::Value)>,
    pub asker: Option<Arc<dyn Asker>>,
    pub order: Order,
    /// What has to be approved before a run does anything.
    pub approval: Option<Approval>,
}

struct Scripted {
    name: String,
    scripts: Mutex<VecDeque<Script>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    cancelled: Arc<Mutex<Vec<String>>>,
    begun: Instant,
}

pub fn give(json: serde_json::Value) -> Script {
    Script::Give(json)
}

pub fn after(millis: u64, script: Script) -> Script {
    Script::After(Duration::from_millis(millis), Box::new(script))
}

impl World {
    pub fn new() -> Self {
        let host = Arc::new(MemoryHost::new(7));
        let catalog = Catalog::new(
            host.clone() as Arc<dyn Host>,
            PathBuf::from("/"),
            &Arc::new(Permissions::none()),
        );
        let (seen, cancelled) = (Arc::default(), Arc::default());
        let (files, cancel) = (BTreeMap::new(), CancellationToken::new());
        Self {
            catalog,
            seen,
            cancelled,
            host,
            files,
            cancel,
            stop_after: None,
            limit: Duration::from_hours(24 * 365),
            journal: None,
            cache: None,
            replay_only: false,
            answers: Vec::new(),
            asker: None,
            order: Order::Source,
            approval: None,
        }
    }

    /// Adds a tool such as `hr.create` with its scripts.
    pub fn tool(mut self, path: &str, scripts: impl IntoIterator<Item = Script>) -> Self {
        let (namespace, name) = path.split_once('.').unwrap();
        let transport = Scripted {
            name: path.to_owned(),
            scripts: Mutex::new(scripts.into_iter().collect()),
            seen: self.seen.clone(),
            cancelled: self.cancelled.clone(),
            begun: Instant::now(),
        };
        self.catalog.add(
            Signature::unknown(namespace.into(), name.into()),
            Arc::new(transport),
        );
        self
    }

    /// Sets the answers to `ask` and `infer`, in the order of the requests.
    pub fn prompted(mut self, scripts: impl IntoIterator<Item = Script>) -> Self {
        let transport = Scripted {
            name: "ask".to_owned(),
            scripts: Mutex::new(scripts.into_iter().collect()),
            seen: self.seen.clone(),
            cancelled: self.cancelled.clone(),
            begun: Instant::now(),
        };
        self.catalog
            .set_prompts(Arc::new(Prompted(Arc::new(transport))));
        self
    }

    /// Adds a tool such as `hr.create` with its own transport, which has effects.
    pub fn wired(mut self, path: &str, transport: Arc<dyn Transport>) -> Self {
        let (namespace, name) = path.split_once('.').unwrap();
        self.catalog
            .add(Signature::unknown(namespace.into(), name.into()), transport);
        self
    }

    /// Sets the contract of a tool from the schemas of an app file.
    pub fn contract(
        mut self,
        path: &str,
        parameters: &serde_json::Value,
        returns: Option<serde_json::Value>,
    ) -> Self {
        let (namespace, name) = path.split_once('.').unwrap();
        let mut tool = serde_json::json!({"name": name, "description": "d", "endpoint": "http://127.0.0.1:8009/tool",
            "effect": "read", "parameters": parameters});
        if let Some(returns) = returns {
            tool["returns"] = returns;
        }
        let text = serde_json::json!({"name": namespace, "tools": [tool]}).to_string();
        let (app, found) = read_app(
            &SourceFile::new("app.yaml", text),
            &*self.host,
            &BTreeSet::new(),
        );
        assert!(found.is_empty(), "{found:#?}");
        let signature = (*app.unwrap().tools[0].signature).clone();
        let transport = self
            .catalog
            .tool(namespace, name)
            .unwrap()
            .transport
            .clone();
        self.catalog.add(signature, transport);
        self
    }

    /// Declares that the answers of a tool report their cost in `usage`.
    pub fn reporting(mut self, path: &str) -> Self {
        let (namespace, name) = path.split_once('.').unwrap();
        let tool = self.catalog.tool(namespace, name).unwrap().clone();
        let paths = UsagePaths {
            tokens: Some("usage.total_tokens".into()),
            cost: Some("usage.cost".into()),
        };
        let signature = Signature {
            usage: Some(Arc::new(paths)),
            ..(*tool.signature).clone()
        };
        self.catalog.add(signature, tool.transport);
        self
    }

    /// Adds a file that plans may use.
    pub fn file(mut self, path: &str, text: &str) -> Self {
        self.files.insert(path.to_owned(), text.to_owned());
        self
    }

    /// Returns its tools, for tests that run a plan themselves.
    pub fn into_catalog(self) -> Catalog {
        self.catalog
    }

    /// Runs the last plan of a text. Fails if the plan has errors.
    pub async fn run(&self, text: &str) -> Ran {
        self.run_with(text, BTreeMap::new()).await
    }

    pub async fn run_with(&self, text: &str, inputs: BTreeMap<Arc<str>, Value>) -> Ran {
        self.run_until_it_dies(text, inputs)
            .await
            .expect("the run ends")
    }

    /// Runs the last plan of a text. `None` if its journal accepted no more events and the run stopped.
    pub async fn run_until_it_dies(
        &self,
        text: &str,
        inputs: BTreeMap<Arc<str>, Value>,
    ) -> Option<Ran> {
        let source = SourceFile::new("test.plan", text);
        let tools: Tools = self.catalog.signatures().cloned().collect();
        let checked = sema::check_without_rules(&source, &tools, &PlanFiles(&self.files));
        let errors = checked
            .diagnostics
            .iter()
            .filter(|found| found.is_error())
            .collect::<Vec<&Diagnostic>>();
        assert!(errors.is_empty(), "{errors:#?}");
        let program = Arc::new(Program::new(checked.plans.last().unwrap().clone()));
        let events = Arc::new(Mutex::new(Vec::new()));
        let (refused, sink) = (Arc::new(Mutex::new(Vec::new())), events.clone());
        let progress = Arc::new(Mutex::new(Vec::new()));
        let mut observer = Watcher {
            events: sink,
            refused: refused.clone(),
            progress: progress.clone(),
        };
        let begun = Instant::now();
        let (log, replay) = self.journal.as_ref().map_or((None, None), |log| {
            let replay = (!log.lines().is_empty()).then(|| log.replay_state().unwrap());
            (Some(Box::new(log.clone()) as Box<dyn Log>), replay)
        });
        let setup = Setup {
            replay,
            retries: true,
            replay_only: self.replay_only,
            order: self.order,
            approval: self.approval.clone(),
            ..Setup::new("test-run")
        };
        let context = Context {
            root: PathBuf::from("/"),
            cancel: self.cancel.clone(),
            log,
            cache: self.cache.clone(),
            answering: self.answering(),
            ..Context::new(
                self.host.clone() as Arc<dyn Host>,
                Arc::new(self.catalog.clone()),
                setup,
                &mut observer,
            )
        };
        if let Some(wait) = self.stop_after {
            let cancel = self.cancel.clone();
            tokio::spawn(async move {
                tokio::time::sleep(wait).await;
                cancel.cancel();
            });
        }
        let running = driver::run(&program, &inputs, context);
        let outcome = tokio::time::timeout(self.limit, running).await;
        let Ok(outcome) = outcome else { return None };
        let took = begun.elapsed().as_millis();
        // Cancelled tools get a moment to notice.
        tokio::time::sleep(Duration::from_millis(1)).await;
        let events = events.lock().unwrap().clone();
        let (seen, cancelled) = (
            self.seen.lock().unwrap().clone(),
            self.cancelled.lock().unwrap().clone(),
        );
        let refused = refused.lock().unwrap().clone();
        let progress = progress.lock().unwrap().clone();
        Some(Ran {
            outcome,
            seen,
            cancelled,
            took,
            events,
            refused,
            progress,
        })
    }

    fn answering(&self) -> Answering {
        let given = |(path, value): &(&'static str, serde_json::Value)| SubmittedAnswer {
            path: (*path).into(),
            value: value.clone(),
            by: None,
            note: None,
        };
        Answering {
            answers: self.answers.iter().map(given).collect(),
            asker: self.asker.clone(),
        }
    }

    /// Returns every call so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

/// An event: its name, its path, and the milliseconds of a wait.
type ObservedEvent = (&'static str, String, u128);

/// Records the events of a run.
struct Watcher {
    events: Arc<Mutex<Vec<ObservedEvent>>>,
    refused: Arc<Mutex<Vec<String>>>,
    progress: Arc<Mutex<Vec<(String, Progress)>>>,
}

impl Observer for Watcher {
    fn progressed(&mut self, path: &str, progress: &Progress) {
        let report = (path.to_owned(), progress.clone());
        self.progress.lock().unwrap().push(report);
    }

    fn observe(&mut self, event: &Event) {
        let wait = if let EventKind::StepWaiting { wait, .. } = &event.kind {
            wait.as_millis()
        } else {
            0
        };
        self.events
            .lock()
            .unwrap()
            .push((event.name(), event.kind.path().to_owned(), wait));
    }

    fn refused(&mut self, error: &AnswerError) {
        self.refused.lock().unwrap().push(error.to_string());
    }
}

/// A finished run.
pub struct Ran {
    pub outcome: Outcome,
    pub seen: Vec<Seen>,
    pub cancelled: Vec<String>,
    /// Duration in milliseconds.
    pub took: u128,
    /// Name, path, and the milliseconds of a wait.
    pub events: Vec<(&'static str, String, u128)>,
    /// Errors of answers that were refused.
    pub refused: Vec<String>,
    /// Progress reports of calls, by the path of the step.
    pub progress: Vec<(String, Progress)>,
}

impl Ran {
    pub fn reply(&self) -> serde_json::Value {
        self.outcome
            .reply
            .as_ref()
            .map_or(serde_json::Value::Null, Value::to_json)
    }

    pub fn step(&self, path: &str) -> StepReport {
        self.outcome
            .steps()
            .into_iter()
            .find(|step| &*step.path == path)
            .unwrap_or_else(|| panic!("no step {path}"))
    }

    /// Returns the status of a step: `completed`, `skipped(guard)` …
    pub fn status(&self, path: &str) -> String {
        let step = self.step(path);
        match step.reason {
            Some(reason) => format!("{}({reason})", step.status),
            None => step.status.to_string(),
        }
    }

    /// Returns the class of the run's error, or an empty string.
    pub fn class(&self) -> String {
        self.outcome
            .error
            .as_ref()
            .map_or_else(String::new, |error| error.class.to_string())
    }

    /// Returns the names of the tools, in the order of their calls.
    pub fn order(&self) -> Vec<&str> {
        self.seen.iter().map(|seen| seen.tool.as_str()).collect()
    }

    /// Returns the arguments `x` of all calls of a tool, in order.
    pub fn given(&self, tool: &str) -> Vec<serde_json::Value> {
        let calls = self.calls(tool);
        let arguments = calls.iter().map(|seen| seen.arguments["x"].clone());
        arguments.collect()
    }

    pub fn calls(&self, tool: &str) -> Vec<&Seen> {
        self.seen.iter().filter(|seen| seen.tool == tool).collect()
    }

    pub fn waits(&self, path: &str) -> Vec<u128> {
        self.events
            .iter()
            .filter(|(name, at, _)| *name == "step.waiting" && at == path)
            .map(|(.., wait)| *wait)
            .collect()
    }
}

impl Transport for Scripted {
    fn call(&self, request: Request) -> Conversation {
        self.seen.lock().unwrap().push(Seen {
            tool: self.name.clone(),
            at: self.begun.elapsed().as_millis(),
            arguments: request.arguments.to_json(),
            key: request.idempotency_key.to_string(),
        });
        let mut scripts = self.scripts.lock().unwrap();
        let script = if scripts.len() > 1 {
            scripts.pop_front()
        } else {
            scripts.front().cloned()
        };
        let script = script.unwrap_or(Script::Give(serde_json::Value::Null));
        let (name, cancelled) = (self.name.clone(), self.cancelled.clone());
        Conversation::from_future(async move {
            tokio::select! {
                outcome = play(script) => outcome,
                () = request.cancel.cancelled() => {
                    cancelled.lock().unwrap().push(name);
                    Err(failure("cancelled", Sent::Maybe, None))
                }
            }
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

/// The same scripted transport for every model and every agent.
struct Prompted(Arc<Scripted>);

impl Prompts for Prompted {
    fn model(&self) -> Arc<dyn Transport> {
        self.0.clone()
    }

    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    fn refusal(&self, _: Option<&str>) -> Option<String> {
        None
    }

    fn agent(&self, _: Option<&Arc<str>>, _: Vec<Tool>) -> Arc<dyn Transport> {
        self.0.clone()
    }
}

async fn play(mut script: Script) -> Result<Answer, CallError> {
    loop {
        match script {
            Script::Give(json) => return Ok(Answer::Json(json)),
            Script::Fail(class, sent) => return Err(failure(class, sent, None)),
            Script::Error(error) => return Err(error),
            Script::Limited(wait) => {
                return Err(failure("transient.rate_limited", Sent::No, Some(wait)));
            }
            Script::After(wait, then) => {
                tokio::time::sleep(wait).await;
                script = *then;
            }
        }
    }
}

fn failure(class: &str, sent: Sent, retry_after: Option<Duration>) -> CallError {
    let class = ErrorClass::find(class).unwrap();
    CallError {
        message: format!("scripted {class}"),
        class,
        sent,
        retry_after,
        details: None,
    }
}

struct PlanFiles<'a>(&'a BTreeMap<String, String>);

impl Files for PlanFiles<'_> {
    fn read(&self, _from: &str, path: &str) -> Result<SourceFile, String> {
        let text = self
            .0
            .get(path)
            .ok_or_else(|| format!("there is no `{path}`"))?;
        Ok(SourceFile::new(path, text.as_str()))
    }
}
