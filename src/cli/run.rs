//! `planrun run`: check, then run, and tell what came of it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::arguments::{RunArguments, RunFormat, RunOutput};
use super::progress::Progress;
use super::workspace::Workspace;
use super::{Exit, Failure, Terminal};
use crate::diag::closest;
use crate::diag::render::{human, visible_line};
use crate::engine::{self, Context, Defaults, Observer, Outcome, Program};
use crate::journal::{Event, EventKind, StepError};
use crate::mock::{MockOptions, MockServer};
use crate::protocol::RunState;
use crate::protocol::Sent;
use crate::sema::{Plan, PlanParameter};
use crate::types::{ErrorClass, Literal, Transient, Type, decode};
use crate::value::Value;

/// The largest input document, in bytes.
const MOST_INPUT: u64 = 64 * 1024 * 1024;

/// Checks and runs a plan.
///
/// # Errors
/// When the plan, its inputs or its tools cannot be had.
pub fn run(arguments: &RunArguments, project: Option<&Path>, terminal: Terminal) -> Result<Exit, Failure> {
    let workspace = Workspace::open(&arguments.file, project)?;
    let Some(checked) = workspace.plan(&arguments.file, arguments.plan.as_deref(), terminal)? else {
        return Ok(Exit::Findings);
    };
    let plan = checked.plan.clone();
    if let Some(refused) = checked.not_yet() {
        terminal.say_plainly(&human(&[refused], terminal.look));
        return Ok(Exit::Findings);
    }
    let inputs = inputs(&plan, arguments)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Environment(format!("cannot start: {error}")))?;
    let outcome = runtime.block_on(execute(&workspace, &Arc::new(Program::new(plan)), &inputs, arguments, terminal));
    print(&outcome?, arguments, terminal)
}

async fn execute(
    workspace: &Workspace,
    program: &Arc<Program>,
    inputs: &BTreeMap<Arc<str>, Value>,
    arguments: &RunArguments,
    terminal: Terminal,
) -> Result<Outcome, Failure> {
    let mock = if arguments.mock { Some(start_mock(workspace).await?) } else { None };
    let tools = match &mock {
        Some(server) => workspace.catalog(Some(&|app| server.endpoint(app))),
        None => workspace.catalog(None),
    };
    let cancel = CancellationToken::new();
    tokio::spawn(stop_on_interrupt(cancel.clone()));
    // It listens from its first turn on, and the run may be told of before the next one.
    tokio::task::yield_now().await;
    let mut observer = Listener::new(arguments.format, terminal);
    let run_id = arguments.run_id.clone().unwrap_or_else(|| new_run_id(workspace));
    let context = Context {
        host: workspace.host.clone(),
        tools,
        limit: workspace.limit.clone(),
        root: workspace.project.root.clone(),
        run_id,
        defaults: Defaults { policy: workspace.policy.clone(), max_steps: arguments.max_steps },
        observer: &mut observer,
        cancel,
        log: None,
        past: None,
    };
    let outcome = engine::run(program, inputs, context).await;
    observer.close();
    if let Some(server) = mock {
        server.shutdown().await;
    }
    Ok(outcome)
}

/// The test double of the project's apps, on a free port of the loopback interface.
async fn start_mock(workspace: &Workspace) -> Result<MockServer, Failure> {
    let started = MockServer::start(&workspace.project.apps, MockOptions::default(), workspace.host.clone()).await;
    started.map_err(|error| Failure::Environment(format!("the mock of the apps cannot start: {error}")))
}

/// The first Ctrl-C stops gracefully: effects in flight are awaited. The second ends the process.
async fn stop_on_interrupt(cancel: CancellationToken) {
    if tokio::signal::ctrl_c().await.is_err() {
        return;
    }
    cancel.cancel();
    if tokio::signal::ctrl_c().await.is_ok() {
        std::process::exit(i32::from(Exit::Interrupted.code()));
    }
}

/// A time-ordered identifier (UUID version 7, RFC 9562).
fn new_run_id(workspace: &Workspace) -> String {
    let millis = u64::try_from(workspace.host.now() / 1_000_000).unwrap_or(0);
    let (high, low) = (workspace.host.random(), workspace.host.random());
    let mut random = [0; 10];
    random[..8].copy_from_slice(&high.to_le_bytes());
    random[8..].copy_from_slice(&low.to_le_bytes()[..2]);
    uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string()
}

/// Who listens to a run on the command line.
enum Listener {
    People(Box<Progress>),
    Programs(io::BufWriter<io::Stdout>),
    Nobody,
}

impl Listener {
    fn new(format: RunFormat, terminal: Terminal) -> Self {
        match format {
            RunFormat::Human => Self::People(Box::new(Progress::new(!terminal.quiet, terminal.look))),
            RunFormat::Ndjson => Self::Programs(io::BufWriter::new(io::stdout())),
            RunFormat::Json | RunFormat::Quiet => Self::Nobody,
        }
    }

    fn close(&mut self) {
        match self {
            Self::People(progress) => progress.close(),
            Self::Programs(writer) => drop(writer.flush()),
            Self::Nobody => {}
        }
    }
}

impl Observer for Listener {
    fn observe(&mut self, event: &Event<'_>) {
        match self {
            Self::Nobody => {}
            Self::Programs(writer) => {
                // A reader that has gone away does not stop the run.
                let _ = event.write_line(writer);
            }
            Self::People(progress) => match &event.kind {
                EventKind::StepRunning { path, tool, .. } => progress.started(path, tool),
                EventKind::StepWaiting { path, attempt, wait, error: Some(_), .. } => {
                    progress.retrying(path, *attempt, *wait);
                }
                EventKind::StepSettled { path, state, attempts, duration, .. } => {
                    progress.finished(path, *state, *attempts, *duration);
                }
                EventKind::RunStarted { .. }
                | EventKind::StepQueued { .. }
                | EventKind::StepWaiting { .. }
                | EventKind::StepRecovering { .. }
                | EventKind::TimerFired { .. }
                | EventKind::RunResumed
                | EventKind::RunCancelling
                | EventKind::RunPaused { .. }
                | EventKind::RunSettled { .. } => {}
            },
        }
    }

    fn idle(&mut self) {
        if let Self::Programs(writer) = self {
            let _ = writer.flush();
        }
    }
}

fn inputs(plan: &Plan, arguments: &RunArguments) -> Result<BTreeMap<Arc<str>, Value>, Failure> {
    let mut inputs = BTreeMap::new();
    if let Some(path) = &arguments.input {
        let text = read_input(path)?;
        let json: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| Failure::Usage(format!("`{}` is not JSON: {error}", path.display())))?;
        let serde_json::Value::Object(fields) = json else {
            return Err(Failure::Usage(format!("`{}` is no JSON object of inputs", path.display())));
        };
        for (name, json) in fields {
            let parameter = parameter(plan, &name)?;
            let value = decode(&json, &parameter.ty).map_err(|mismatch| unfit(&name, &parameter.ty, &mismatch))?;
            inputs.insert(parameter.name.clone(), value);
        }
    }
    for (name, text) in &arguments.inputs {
        let parameter = parameter(plan, name)?;
        inputs.insert(parameter.name.clone(), parse_input(parameter, text)?);
    }
    let missing =
        plan.parameters.iter().filter(|parameter| parameter.required && !inputs.contains_key(&parameter.name));
    let missing = missing.map(|parameter| format!("-i {}={}", parameter.name, placeholder(&parameter.ty)));
    let missing = missing.collect::<Vec<_>>();
    if missing.is_empty() {
        return Ok(inputs);
    }
    Err(Failure::Usage(format!("`{}` needs more inputs; add {}", plan.name, missing.join(" "))))
}

fn read_input(path: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MOST_INPUT).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MOST_INPUT).read_to_string(&mut text))
    };
    read.map_err(|error| Failure::Environment(format!("cannot read `{}`: {error}", path.display())))?;
    Ok(text)
}

fn parameter<'p>(plan: &'p Plan, name: &str) -> Result<&'p PlanParameter, Failure> {
    let found = plan.parameters.iter().find(|parameter| &*parameter.name == name);
    found.ok_or_else(|| {
        let names = plan.parameters.iter().map(|parameter| &*parameter.name).collect::<Vec<_>>();
        let hint = match closest(name, names.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if names.is_empty() => "it has none".to_owned(),
            None => format!("it has {}", names.join(", ")),
        };
        Failure::Usage(format!("`{}` has no input `{name}`; {hint}", plan.name))
    })
}

/// Text from the command line as a value of the declared type: text stays text where text is wanted.
fn parse_input(parameter: &PlanParameter, text: &str) -> Result<Value, Failure> {
    let plain = serde_json::Value::String(text.to_owned());
    let parsed = serde_json::from_str::<serde_json::Value>(text);
    let as_text = decode(&plain, &parameter.ty);
    let takes_text =
        parameter.ty.members().iter().any(|member| matches!(member, Type::String | Type::Literal(Literal::String(_))));
    if takes_text && let Ok(value) = as_text {
        return Ok(value);
    }
    match parsed {
        Ok(json) => decode(&json, &parameter.ty).map_err(|mismatch| unfit(&parameter.name, &parameter.ty, &mismatch)),
        Err(_) => as_text.map_err(|mismatch| unfit(&parameter.name, &parameter.ty, &mismatch)),
    }
}

fn unfit(name: &str, ty: &Type, mismatch: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("the input `{name}` is of type {ty}: {mismatch}"))
}

/// What somebody would type for an input of this type.
fn placeholder(ty: &Type) -> String {
    match ty.members().first() {
        Some(Type::Literal(Literal::String(text))) => text.to_string(),
        Some(Type::Literal(Literal::Int(number))) => number.to_string(),
        Some(Type::Int | Type::Uint) => "1".to_owned(),
        Some(Type::Bool) => "true".to_owned(),
        _ => "…".to_owned(),
    }
}

fn print(outcome: &Outcome, arguments: &RunArguments, terminal: Terminal) -> Result<Exit, Failure> {
    match arguments.format {
        RunFormat::Json => {
            let mut text = Vec::new();
            let written = outcome.write_json(&mut text);
            written.map_err(|error| Failure::Environment(format!("the outcome cannot be written: {error}")))?;
            text.push(b'\n');
            terminal.print(&String::from_utf8_lossy(&text))?;
        }
        RunFormat::Ndjson => {}
        RunFormat::Human | RunFormat::Quiet => {
            let text = shown(outcome, arguments.output);
            if !text.is_empty() {
                terminal.print(&text)?;
            }
            if let Some(error) = &outcome.error {
                explain_failure(error, terminal);
            }
        }
    }
    if outcome.error.as_deref().is_some_and(is_out_of_reach) {
        terminal.say("check that the service runs and its address is right, or try the plan with `--mock`");
        return Ok(Exit::Environment);
    }
    Ok(match outcome.state {
        RunState::Completed => Exit::Fine,
        RunState::Cancelled => Exit::Interrupted,
        RunState::Failed | RunState::Stalled | RunState::Running => Exit::Findings,
        RunState::Paused => Exit::Paused,
    })
}

/// What is printed of a run, as text that ends with a newline.
fn shown(outcome: &Outcome, output: RunOutput) -> String {
    let value = match output {
        RunOutput::Reply => match &outcome.reply {
            Some(Value::String(text)) => return format!("{}\n", crate::diag::render::visible_text(text)),
            Some(reply) => reply.to_json(),
            None => return String::new(),
        },
        RunOutput::Last => {
            match outcome.steps().into_iter().rev().find(|step| step.duration_ms > 0 || step.attempts > 0) {
                Some(step) => step.output.to_json(),
                None => return String::new(),
            }
        }
        RunOutput::Full => serde_json::to_value(outcome.steps()).unwrap_or_default(),
        RunOutput::Observations => {
            let steps = outcome.steps();
            let outputs = steps.iter().map(|step| (step.path.to_string(), step.output.to_json()));
            serde_json::Value::Object(outputs.collect())
        }
    };
    format!("{}\n", serde_json::to_string_pretty(&value).unwrap_or_default())
}

/// Whether the run failed because the other side could not be reached at all: nothing was sent.
fn is_out_of_reach(error: &StepError) -> bool {
    let mut first = error;
    while let Some(cause) = &first.cause {
        first = cause;
    }
    first.class == ErrorClass::Transient(Transient::Network) && first.sent == Sent::No
}

/// The failure, and what is behind it, a line each.
fn explain_failure(error: &StepError, terminal: Terminal) {
    let place = |error: &StepError| {
        if error.step.is_empty() { "the plan".to_owned() } else { format!("the step `{}`", error.step) }
    };
    terminal.complain(&format!("{} failed with {}: {}", place(error), error.class, visible_line(&error.message)));
    let mut cause = error.cause.as_deref();
    while let Some(error) = cause {
        terminal.say(&format!(
            "  because {} failed with {}: {}",
            place(error),
            error.class,
            visible_line(&error.message)
        ));
        cause = error.cause.as_deref();
    }
}
