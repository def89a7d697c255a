//! Tools that answer immediately, and runs of plans that call them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use planrun_core::journal::ReplayState;
use planrun_core::run::{Outcome, Program, Setup};
use planrun_lang::call::Answer;
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{NoFiles, Plan, check_without_rules};
use planrun_lang::source::SourceFile;
use planrun_lang::types::{Effect, Parameter, Signature, Type};
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context, Silence};
use planrun_runs::journal::Log;
use planrun_tools::host::{Host, RealHost};
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Request, Transport, described,
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// The environment of all runs.
pub struct World {
    runtime: Runtime,
    catalog: Arc<Catalog>,
    host: Arc<dyn Host>,
    /// Stops runs at the tool `shop.last`.
    gate: Arc<Gate>,
}

/// The tool `shop.last`. If there is a token, it cancels the run and never answers.
#[derive(Default)]
struct Gate(std::sync::Mutex<Option<CancellationToken>>);

/// The tool `shop.put`, which succeeds immediately.
struct PutTool;

impl Transport for PutTool {
    fn call(&self, _: Request) -> Conversation {
        Conversation::Now(Ok(Answer::Value(Value::Int(1))))
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

impl Transport for Gate {
    fn call(&self, _: Request) -> Conversation {
        let stop = self.0.lock().map(|stop| stop.clone()).unwrap_or_default();
        let Some(stop) = stop else {
            return Conversation::Now(Ok(Answer::Value(Value::Int(1))));
        };
        stop.cancel();
        Conversation::from_future(std::future::pending())
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

impl World {
    pub fn new() -> Result<Self, String> {
        // The same runtime as in `planrun run`.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let host: Arc<dyn Host> = Arc::new(RealHost);
        let mut catalog = Catalog::new(host.clone(), ".".into(), &Arc::new(Permissions::none()));
        let gate = Arc::new(Gate::default());
        catalog.add(signature("put", Effect::Effect), Arc::new(PutTool));
        catalog.add(signature("last", Effect::Idempotent), gate.clone());
        Ok(Self {
            runtime,
            catalog: Arc::new(catalog),
            host,
            gate,
        })
    }

    pub fn host(&self) -> Arc<dyn Host> {
        self.host.clone()
    }

    /// Returns a checked plan with its graph.
    pub fn plan(&self, text: &str) -> Result<Arc<Program>, String> {
        let tools = self.catalog.signatures().cloned().collect();
        let checked =
            check_without_rules(&SourceFile::new("measured.plan", text), &tools, &NoFiles);
        if let Some(error) = checked.diagnostics.iter().find(|found| found.is_error()) {
            return Err(format!("{}: {}", error.code.name, error.message));
        }
        let plan: Option<Arc<Plan>> = checked.plans.into_iter().next();
        plan.map(|plan| Arc::new(Program::new(plan)))
            .ok_or_else(|| "there is no plan".to_owned())
    }

    /// Runs to the end without a journal. Returns the time.
    pub fn run_without(&self, program: &Arc<Program>) -> Result<Duration, String> {
        let begun = Instant::now();
        let outcome = self.run(program, "measured", (None, None), CancellationToken::new());
        let taken = begun.elapsed();
        completed(&outcome).map(|()| taken)
    }

    /// Runs to the end with a journal.
    pub fn run_with(
        &self,
        program: &Arc<Program>,
        run: &str,
        log: Box<dyn Log>,
    ) -> Result<(), String> {
        completed(&self.run(program, run, (Some(log), None), CancellationToken::new()))
    }

    /// Resumes a run to its end.
    pub fn resume_run(
        &self,
        program: &Arc<Program>,
        run: &str,
        log: Box<dyn Log>,
        replay: ReplayState,
    ) -> Result<Outcome, String> {
        let outcome = self.run(
            program,
            run,
            (Some(log), Some(replay)),
            CancellationToken::new(),
        );
        completed(&outcome).map(|()| outcome)
    }

    /// Runs until `shop.last` is called, which stops the run.
    pub fn run_until_last(
        &self,
        program: &Arc<Program>,
        run: &str,
        log: Box<dyn Log>,
    ) -> Result<(), String> {
        let cancel = CancellationToken::new();
        self.stop_at_last(Some(cancel.clone()))?;
        let outcome = self.run(program, run, (Some(log), None), cancel);
        self.stop_at_last(None)?;
        match outcome.state {
            RunState::Paused => Ok(()),
            other => Err(format!("the run is {other}: {:?}", outcome.error)),
        }
    }

    fn stop_at_last(&self, cancel: Option<CancellationToken>) -> Result<(), String> {
        *self.gate.0.lock().map_err(|error| error.to_string())? = cancel;
        Ok(())
    }

    fn run(
        &self,
        program: &Arc<Program>,
        run: &str,
        (log, replay): (Option<Box<dyn Log>>, Option<ReplayState>),
        cancel: CancellationToken,
    ) -> Outcome {
        let mut observer = Silence;
        let setup = Setup {
            replay,
            ..Setup::new(run)
        };
        let context = Context {
            cancel,
            log,
            ..Context::new(self.host(), self.catalog.clone(), setup, &mut observer)
        };
        self.runtime
            .block_on(driver::run(program, &BTreeMap::new(), context))
    }
}

fn completed(outcome: &Outcome) -> Result<(), String> {
    match outcome.state {
        RunState::Completed if outcome.interruption.is_none() => Ok(()),
        other => Err(format!(
            "the run is {other}: {:?} {:?}",
            outcome.error, outcome.interruption
        )),
    }
}

fn signature(name: &str, effect: Effect) -> Signature {
    let parameter = |name: &str, required| Parameter {
        name: name.into(),
        ty: Type::Int,
        required,
        description: None,
        schema: None,
        default: None,
    };
    Signature {
        parameters: vec![parameter("n", true), parameter("with", false)],
        returns: Type::Int,
        effect,
        effect_declared: true,
        ..Signature::unknown("shop".into(), name.into())
    }
}
