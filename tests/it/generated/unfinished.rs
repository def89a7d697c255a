//! Generated plans that are cut off: their complete part, and the early start of reads while the rest is being written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use planrun_core::run::{Copied, Copies, Outcome, Program, Setup};
use planrun_lang::diag::Diagnostic;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::Plan;
use planrun_lang::source::SourceFile;
use planrun_lang::syntax::ast::{File, ItemKind, Statement};
use planrun_lang::syntax::{complete_prefix, parse};
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use planrun_runs::driver::{self, Context, Early, EarlyReads, Silence};
use planrun_tools::host::Host;
use planrun_tools::tools::{BoxFuture, Catalog, Conversation, Described, Request, Transport};
use rayon::prelude::*;
use tokio_util::sync::CancellationToken;

use super::harness::{FailureRate, host_and_tools, inputs};
use super::project_context::{ProjectContext, seeds};
use crate::generate::{Dice, Project, Size, project};

/// Number of plans that are cut off, and of cuts per plan.
const BROKEN_OFF: u64 = 1_000;
const LINES: usize = 6;
/// Number of plans that run while they are written.
const RUN: u64 = 5_000;

/// Words of constructs that depend on the duration of calls, which differs if calls start early.
const OF_TIME: [&str; 6] = ["race", "timeout", "within", "deadline", "budget", "every "];

#[test]
fn what_is_whole_of_a_plan_is_its_beginning() {
    let (base, count) = seeds(BROKEN_OFF);
    // Cuts inside a multi-line string are damaged: its lines are not statements.
    let (clean, damaged) = (AtomicUsize::new(0), AtomicUsize::new(0));
    (base..base + count).into_par_iter().for_each(|seed| {
        let size = Size {
            whole_language: true,
            network: true,
            ..Size::SMALL
        };
        let made = project(seed, size);
        let whole = parse(&SourceFile::new("main.plan", made.main())).file;
        let ends: Vec<usize> = made
            .main()
            .match_indices('\n')
            .map(|(end, _)| end)
            .collect();
        let mut dice = Dice::new(seed);
        for _ in 0..LINES {
            let end = *dice.pick(&ends);
            let text = made.main().get(..=end).unwrap();
            let Some(so_far) = complete_prefix(&SourceFile::new("main.plan", text)) else {
                continue;
            };
            let parsed = parse(&so_far);
            let context = || format!("seed {seed}, up to byte {end}:\n{}", so_far.text());
            if !parsed.diagnostics.is_empty() {
                damaged.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            clean.fetch_add(1, Ordering::Relaxed);
            let (own, all) = (statements(&parsed.file), statements(&whole));
            let same = own.iter().zip(&all).all(|(own, all)| {
                so_far.slice(own.span) == made.main().get(all.span.range()).unwrap()
            });
            assert!(same && own.len() < all.len(), "{}", context());
        }
    });
    let (clean, damaged) = (clean.into_inner(), damaged.into_inner());
    println!("{clean} beginnings are whole, {damaged} are not");
    assert!(clean > damaged * 10, "too little is whole");
}

/// Returns the statements of all plans, in order.
fn statements(file: &File) -> Vec<&Statement> {
    let plans = file.items.iter().filter_map(|item| match &item.kind {
        ItemKind::Plan(plan) => Some(&plan.body.statements),
        _ => None,
    });
    plans.flatten().collect()
}

#[test]
fn a_plan_that_begins_early_comes_to_what_it_would_have_come_to() {
    try_seeds(false);
}

#[test]
fn a_plan_that_begins_early_over_another_run_does_not_do_again_what_that_has_done() {
    try_seeds(true);
}

fn try_seeds(over_base: bool) {
    let (base, count) = seeds(RUN);
    let begun = Mutex::new(0_usize);
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| {
            let tried = try_seed(seed, over_base)?;
            *begun.lock().unwrap() += usize::from(tried.as_ref().is_ok_and(|reads| *reads > 0));
            tried.err()
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.first().unwrap()
    );
    let begun = begun.into_inner().unwrap();
    println!("{begun} of {count} plans have begun early");
    // Many of the reads that could start early were done by the other run.
    let least = if over_base { 100 } else { 50 };
    assert!(
        count < 1_000 || begun as u64 > count / least,
        "too little begins early"
    );
}

/// Returns the number of reads that started early. `None` if the plan is not suitable.
fn try_seed(seed: u64, over_base: bool) -> Option<Result<usize, String>> {
    let made = project(seed, Size::SMALL);
    let text = made.main();
    if OF_TIME.iter().any(|word| text.contains(word)) {
        return None;
    }
    let whole = checked(&made)?;
    let ends: Vec<usize> = text.match_indices('\n').map(|(end, _)| end).collect();
    let mut dice = Dice::new(seed);
    let end = *dice.pick(&ends);
    let beginning = complete_prefix(&SourceFile::new("main.plan", text.get(..=end)?))?;
    let mut unfinished = made.clone();
    beginning.text().clone_into(&mut unfinished.plans[0].1);
    let beginning = checked(&unfinished)?;
    let pause = Duration::from_millis(*dice.pick(&[0, 1, 20, 2_000, 60_000]));

    let done = if over_base {
        let outcome = LoggedTools::new(&made, seed).run(&whole, None, &[]);
        completed(&whole, &outcome, &mut dice)
    } else {
        Vec::new()
    };
    let setup = LoggedTools::new(&made, seed);
    let usual = setup.run(&whole, None, &done);
    let usual = observable(&usual, &setup);
    let setup = LoggedTools::new(&made, seed);
    let outcome = setup.run(&whole, Some((&beginning, pause)), &done);
    let early = setup.early.lock().unwrap().clone();
    let is_done = |call: &&Call| {
        let mut lines = done
            .iter()
            .map(|(path, copied)| line(path, &copied.arguments));
        lines.any(|line| line == call.line)
    };
    if let Some(call) = early.iter().find(|call| !call.is_read || is_done(call)) {
        return Some(Err(format!(
            "seed {seed}: {} was called early\n{text}",
            call.line
        )));
    }
    let unusual = observable(&outcome, &setup);
    if usual != unusual {
        return Some(Err(format!(
            "seed {seed}, up to byte {end}, after {pause:?}: {unusual:#?}\nand else {usual:#?}\n{text}"
        )));
    }
    Some(Ok(early.len()))
}

/// Returns the main plan if its file has no errors.
fn checked(made: &Project) -> Option<Arc<Plan>> {
    let checked = ProjectContext::of(made).check(made);
    let is_wrong = checked.diagnostics.iter().any(Diagnostic::is_error);
    checked.plans.last().filter(|_| !is_wrong).cloned()
}

/// Returns some of the completed calls of a run, as if the run had failed in the middle.
fn completed(plan: &Plan, outcome: &Outcome, dice: &mut Dice) -> Vec<(Arc<str>, Copied)> {
    let called = plan.with_called().into_iter();
    let contracts: BTreeMap<String, String> = called
        .flat_map(Plan::tool_calls)
        .map(|signature| (signature.path(), signature.digest()))
        .collect();
    let steps = outcome.steps();
    let completed = steps
        .iter()
        .filter(|step| step.status == StepState::Completed);
    let copied = completed.filter_map(|step| {
        let copied = Copied {
            arguments: step.arguments.clone(),
            output: step.output.clone(),
            contract: contracts.get(step.tool.as_deref()?)?.clone(),
            again: None,
        };
        (!dice.one_in(3)).then(|| (step.path.clone(), copied))
    });
    copied.collect()
}

fn line(path: &str, arguments: &Value) -> String {
    format!("{path} {}", arguments.to_json())
}

/// Returns the reply, the steps and the effects of a run. For a failed run, only that it failed: the time of a failure
/// determines which other steps have ended by then, and which failure is the first.
fn observable(outcome: &Outcome, setup: &LoggedTools) -> (String, Vec<String>, Vec<String>) {
    if outcome.error.is_some() {
        return ("failed".to_owned(), Vec::new(), Vec::new());
    }
    let end = format!("{:?}", outcome.reply);
    let steps = outcome.steps();
    let steps = steps
        .iter()
        .map(|step| format!("{} {:?}", step.path, step.status))
        .collect();
    (end, steps, setup.changes())
}

#[derive(Clone)]
struct Call {
    is_read: bool,
    line: String,
}

/// Tools, and a record of their calls.
struct LoggedTools {
    host: Arc<dyn Host>,
    catalog: Arc<Catalog>,
    log: Arc<Mutex<Vec<Call>>>,
    /// The calls that were made before the plan was complete.
    early: Mutex<Vec<Call>>,
    seed: u64,
}

impl LoggedTools {
    fn new(made: &Project, seed: u64) -> Self {
        let (host, mut catalog) = host_and_tools(made, FailureRate::Steady(5), seed);
        let log = Arc::<Mutex<Vec<Call>>>::default();
        for tool in &made.tools {
            let known = catalog.tool(&tool.namespace, &tool.name).unwrap();
            let logged = Arc::new(Logged {
                tool: known.transport.clone(),
                log: log.clone(),
            });
            let (namespace, name) = (tool.namespace.as_str(), tool.name.as_str());
            catalog.add(Signature::unknown(namespace.into(), name.into()), logged);
        }
        Self {
            host,
            catalog: Arc::new(catalog),
            log,
            early: Mutex::default(),
            seed,
        }
    }

    /// Runs a plan on top of another run's results. If there is a beginning of the plan, it runs first for a while.
    fn run(
        &self,
        plan: &Arc<Plan>,
        beginning: Option<(&Arc<Plan>, Duration)>,
        done: &[(Arc<str>, Copied)],
    ) -> Outcome {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let reads = Arc::<EarlyReads>::default();
            if let Some((beginning, pause)) = beginning {
                let end = CancellationToken::new();
                let begins = Early::Start(reads.clone(), end.clone());
                tokio::select! {
                    _ = self.drive(beginning, begins, done) => {}
                    () = tokio::time::sleep(pause) => {}
                }
                end.cancel();
                self.early
                    .lock()
                    .unwrap()
                    .clone_from(&self.log.lock().unwrap());
            }
            self.drive(plan, Early::Reuse(reads), done).await
        })
    }

    async fn drive(&self, plan: &Arc<Plan>, early: Early, done: &[(Arc<str>, Copied)]) -> Outcome {
        let mut silent = Silence;
        let copies = Copies {
            run: "another-run".into(),
            results: done.iter().cloned().collect(),
            repeats_effects: false,
        };
        let setup = Setup {
            copies: (!done.is_empty()).then_some(copies),
            ..Setup::new("test-run")
        };
        let context = Context {
            root: "/".into(),
            early: Some(early),
            ..Context::new(self.host.clone(), self.catalog.clone(), setup, &mut silent)
        };
        let program = Arc::new(Program::new(plan.clone()));
        driver::run(&program, &inputs(plan, self.seed), context).await
    }

    /// Returns the calls with effects, sorted.
    fn changes(&self) -> Vec<String> {
        let log = self.log.lock().unwrap();
        let changes = log.iter().filter(|call| !call.is_read);
        let mut changes: Vec<String> = changes.map(|call| call.line.clone()).collect();
        changes.sort();
        changes
    }
}

/// A transport that records calls.
struct Logged {
    tool: Arc<dyn Transport>,
    log: Arc<Mutex<Vec<Call>>>,
}

impl Transport for Logged {
    fn call(&self, request: Request) -> Conversation {
        let line = line(&request.path, &request.arguments);
        let is_read = request.signature.effect.is_read_only();
        self.log.lock().unwrap().push(Call { is_read, line });
        self.tool.call(request)
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.tool.describe()
    }
}
