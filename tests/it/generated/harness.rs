//! Runs a checked plan in this process, on paused time, against tools that fulfill their contracts and sometimes fail.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::journal::{Event, EventKind, StepError};
use planrun_core::run::{Outcome, Program, Setup};
use planrun_lang::call::{Answer, CallError, CallOutcome, Details};
use planrun_lang::permission::Permissions;
use planrun_lang::protocol::Sent;
use planrun_lang::sema::Plan;
use planrun_lang::types::{ErrorClass, Signature, decode, to_schema};
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context};
use planrun_tools::host::{Host, MemoryHost};
use planrun_tools::tools::{
    BoxFuture, Catalog, Conversation, Described, Prompts, Request, Tool as CatalogTool, Transport,
    described,
};
use serde_json::{Value as Json, json};

use super::edges::answer;
use crate::generate::{Dice, Project, Tool};

/// A tool that returns values of its schema, and fails with the errors of its contract and of the network.
struct Double {
    /// `None` for a model, which returns a value of the type in the prompt.
    tool: Option<Tool>,
    seed: u64,
    /// The number of attempts per execution, by idempotency key. Calls without a key are not counted.
    attempts: Mutex<BTreeMap<Arc<str>, u64>>,
    /// One in this number of calls fails; none if it is zero.
    failing: usize,
    /// Whether all attempts of an execution have the same result.
    steady: bool,
}

/// A model that answers like a tool.
struct Model(Arc<Double>);

impl Prompts for Model {
    fn model(&self) -> Arc<dyn Transport> {
        self.0.clone()
    }

    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    fn refusal(&self, _model: Option<&str>) -> Option<String> {
        None
    }

    fn agent(&self, _context: Option<&Arc<str>>, _tools: Vec<CatalogTool>) -> Arc<dyn Transport> {
        self.0.clone()
    }
}

/// The failure rate of calls.
#[derive(Clone, Copy, Debug)]
pub enum FailureRate {
    Never,
    Often,
    /// One in this number of calls fails, none if it is zero, and all attempts of an execution have the same result.
    Steady(usize),
}

/// Runs a plan, and returns all failures during the run. Everything is determined by the seed.
pub fn perform(
    plan: &Arc<Plan>,
    project: &Project,
    failure_rate: FailureRate,
    seed: u64,
) -> (Outcome, Vec<StepError>) {
    let failures = Mutex::new(Vec::new());
    let outcome = observe(plan, project, failure_rate, seed, |event| {
        let failure = match &event.kind {
            EventKind::StepWaiting { error, .. }
            | EventKind::StepSettled { error, .. }
            | EventKind::RunSettled { error, .. } => error.as_deref(),
            EventKind::StepRecovering { error, .. } => Some(&**error),
            _ => None,
        };
        failures.lock().unwrap().extend(failure.cloned());
    });
    (outcome, failures.into_inner().unwrap())
}

/// Runs a plan, and reports every event.
pub fn observe(
    plan: &Arc<Plan>,
    project: &Project,
    failure_rate: FailureRate,
    seed: u64,
    mut listener: impl FnMut(&Event) + Send,
) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (host, catalog) = host_and_tools(project, failure_rate, seed);
        let context = Context {
            root: PathBuf::from("/"),
            ..Context::new(
                host,
                Arc::new(catalog),
                Setup::new("test-run"),
                &mut listener,
            )
        };
        driver::run(
            &Arc::new(Program::new(plan.clone())),
            &inputs(plan, seed),
            context,
        )
        .await
    })
}

/// Returns the host and the tools of a run.
pub fn host_and_tools(
    project: &Project,
    failure_rate: FailureRate,
    seed: u64,
) -> (Arc<dyn Host>, Catalog) {
    let host: Arc<dyn Host> = Arc::new(MemoryHost::new(seed));
    let catalog = tools(&host, project, failure_rate, seed);
    (host, catalog)
}

/// Returns the tools of a run.
pub fn tools(
    host: &Arc<dyn Host>,
    project: &Project,
    failure_rate: FailureRate,
    seed: u64,
) -> Catalog {
    let mut catalog = Catalog::new(
        host.clone(),
        PathBuf::from("/"),
        &Arc::new(Permissions::none()),
    );
    let failing = match failure_rate {
        FailureRate::Never => 0,
        FailureRate::Often => 3,
        FailureRate::Steady(failing) => failing,
    };
    let steady = matches!(failure_rate, FailureRate::Steady(_));
    let double = |tool: Option<&Tool>| {
        Arc::new(Double {
            tool: tool.cloned(),
            seed,
            attempts: Mutex::default(),
            failing,
            steady,
        })
    };
    catalog.set_prompts(Arc::new(Model(double(None))));
    for tool in &project.tools {
        let signature =
            Signature::unknown(tool.namespace.as_str().into(), tool.name.as_str().into());
        catalog.add(signature, double(Some(tool)));
    }
    catalog
}

/// Returns values for the parameters of a plan; some optional ones are left out.
pub fn inputs(plan: &Plan, seed: u64) -> BTreeMap<Arc<str>, Value> {
    let mut dice = Dice::new(seed);
    let mut inputs = BTreeMap::new();
    for parameter in &plan.parameters {
        if parameter.required || dice.one_in(2) {
            let json = answer(&to_schema(&parameter.ty), &mut dice);
            inputs.insert(
                parameter.name.clone(),
                decode(&json, &parameter.ty).unwrap(),
            );
        }
    }
    inputs
}

impl Transport for Double {
    fn call(&self, request: Request) -> Conversation {
        // The result depends only on the call, not on previous calls.
        let arguments = request.arguments.to_json().to_string();
        let attempt = {
            let mut attempts = self.attempts.lock().unwrap();
            let attempt = attempts.entry(request.idempotency_key.clone()).or_default();
            *attempt += u64::from(!self.steady && !request.idempotency_key.is_empty());
            *attempt
        };
        let call = [
            &request.signature.path(),
            &*request.idempotency_key,
            &arguments,
        ]
        .concat();
        let name = call.bytes().fold(attempt, |hash, byte| {
            hash.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        let mut dice = Dice::new(self.seed ^ name.wrapping_mul(0x9e37));
        let wait = *dice.pick(&[0, 0, 10, 1500]);
        let outcome = match &self.tool {
            Some(tool) => outcome(tool, self.failing, &mut dice),
            None => model_answer(&request.signature, self.failing, &mut dice),
        };
        if wait == 0 {
            return Conversation::Now(outcome);
        }
        Conversation::from_future(async move {
            tokio::time::sleep(Duration::from_millis(wait)).await;
            outcome
        })
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

/// Returns the answer of a model: a value of the requested type, or a failure.
pub fn model_answer(signature: &Signature, failing: usize, dice: &mut Dice) -> CallOutcome {
    if failing > 0 && dice.one_in(failing) {
        let class = ErrorClass::find("transient.rate_limited").unwrap();
        return Err(CallError::new(class, "made up: too many", Sent::No));
    }
    let requested = signature.output_schema.as_ref().unwrap();
    Ok(Answer::Json(answer(requested.schema(), dice)))
}

/// Returns the result of a call: a value of its contract, or a failure in one of `failing` calls.
pub fn outcome(tool: &Tool, failing: usize, dice: &mut Dice) -> CallOutcome {
    if failing > 0 && dice.one_in(failing) {
        Err(failure(tool, dice))
    } else {
        Ok(Answer::Json(answer(&tool.returns, dice)))
    }
}

fn failure(tool: &Tool, dice: &mut Dice) -> CallError {
    let mut kinds = vec![
        ("transient.timeout".to_owned(), Sent::Maybe),
        ("transient.unavailable".to_owned(), Sent::No),
        ("transient.rate_limited".to_owned(), Sent::No),
        ("transient.unavailable".to_owned(), Sent::Maybe),
        ("auth.authorization".to_owned(), Sent::Answered),
        ("tool.failed".to_owned(), Sent::Answered),
    ];
    kinds.extend(
        tool.fails
            .iter()
            .map(|name| (format!("tool.{name}"), Sent::Refused)),
    );
    let (class, sent) = dice.pick(&kinds).clone();
    let retry_after = dice.one_in(4).then_some(Duration::from_secs(3));
    let class = ErrorClass::find(&class).unwrap();
    let details = [Json::Null, json!({ "at": [1, 2.50] }), json!("said")];
    let details = dice.pick(&details).clone();
    CallError {
        message: format!("made up: {class}"),
        class,
        sent,
        retry_after,
        details: Details::new(&details).unwrap(),
    }
}
