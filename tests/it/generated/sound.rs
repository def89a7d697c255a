//! A green check is a promise: no run of a plan that passes ends with an error that could have been known before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use planrun::engine::Outcome;
use planrun::journal::StepError;
use planrun::protocol::StepState;
use planrun::sema::{CheckedFile, Node, Plan, StepKind};
use planrun::types::{ErrorClass, FailureKind, Type, Validation, check_value};
use planrun::value::Value;
use rayon::prelude::*;

use super::correct::told;
use super::shrink::shrunk;
use super::stage::{Weather, perform};
use super::workshop::{Workshop, seeds};
use crate::generate::{Project, Size, mutated, project};

/// So many plans are tried in CI. The odd ones are probably wrong.
const PLANS: u64 = 20_000;

/// Whether only the data can make an expression whose types are right fail so.
fn hangs_on_data(kind: FailureKind) -> bool {
    match kind {
        FailureKind::Overflow
        | FailureKind::DivideByZero
        | FailureKind::NoSuchKey
        | FailureKind::IndexOutOfRange
        | FailureKind::Range
        | FailureKind::InvalidArgument
        | FailureKind::DuplicateKey
        | FailureKind::CostLimit => true,
        FailureKind::NoOverload | FailureKind::NoSuchField | FailureKind::Unknown | FailureKind::Misfit => false,
    }
}

/// What the plans of a test came to.
#[derive(Default)]
struct Tally {
    passed: u64,
    correct: u64,
    /// Plans with a fit that only the run can tell.
    open: u64,
    /// Plans with a call of which only the run can tell whether it keeps the contract.
    contracts: u64,
    runs: u64,
    completed: u64,
    steps: u64,
    recovered: u64,
    /// Errors of steps by their class.
    errors: BTreeMap<String, u64>,
}

#[test]
fn what_passes_the_check_fails_for_no_reason_that_could_have_been_known() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new(Tally::default());
    let wrong: Vec<String> =
        (base..base + count).into_par_iter().filter_map(|seed| try_seed(seed, &tally).err()).collect();
    let tally = tally.into_inner().unwrap();
    println!("{count} plans from seed {base} (PLANRUN_SEED replays one, PLANRUN_PLANS widens):");
    println!(
        "  {} pass the check, {} of them mutants, {} with a fit that only the run can tell",
        tally.passed,
        tally.passed - tally.correct,
        tally.open
    );
    println!(
        "  {} runs, {} completed; {} steps ran, {} recovered",
        tally.runs, tally.completed, tally.steps, tally.recovered
    );
    println!("  errors of steps: {:?}", tally.errors);
    for told in wrong.iter().take(3) {
        println!("{told}");
    }
    for told in wrong.iter().skip(3) {
        println!("{}", told.lines().next().unwrap_or_default());
    }
    assert!(wrong.is_empty(), "{} of {count} plans break the promise", wrong.len());
    if count >= 1000 {
        // The test must not become empty.
        assert!(tally.passed > count * 55 / 100 && tally.passed - tally.correct > count / 20, "too few plans pass");
        assert!(
            tally.completed > count / 4 && tally.steps > count * 2 && tally.recovered > count / 50,
            "too little ran"
        );
        assert!(tally.open < count / 20, "too many plans leave their types to the run");
    }
}

fn try_seed(seed: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let correct = project(seed / 2, Size::SMALL);
    let sound = seed.is_multiple_of(2);
    let made = if sound { correct } else { mutated(&correct, seed) };
    let workshop = Workshop::of(&made);
    let checked = workshop.check(&made);
    if let Some(found) = checked.diagnostics.iter().find(|found| found.is_error()) {
        return if sound { Err(told(&made, seed, found)) } else { Ok(()) };
    }
    let left = left_to_the_run(&checked);
    {
        let mut tally = tally.lock().unwrap();
        tally.passed += 1;
        tally.correct += u64::from(sound);
        tally.open += u64::from(left.types);
        tally.contracts += u64::from(left.contracts);
    }
    for weather in [Weather::Fair, Weather::Rough] {
        let plan = checked.plans.last().unwrap();
        let (outcome, failures) = perform(plan, &made, weather, seed);
        note(&outcome, tally);
        if let Some(broken) = broken_promise(&outcome, &failures, plan, left) {
            let still = |made: &Project| still_broken(made, weather, seed);
            let small = shrunk(&made, &still);
            let text = if still(&small) { small } else { made };
            let files: Vec<String> = text.plans.iter().map(|(name, text)| format!("// {name}\n{text}")).collect();
            let files = files.concat();
            return Err(format!("seed {seed}, {weather:?}: {broken}\n{files}"));
        }
    }
    Ok(())
}

fn still_broken(made: &Project, weather: Weather, seed: u64) -> bool {
    let checked = Workshop::of(made).check(made);
    if checked.diagnostics.iter().any(planrun::diag::Diagnostic::is_error) {
        return false;
    }
    let Some(plan) = checked.plans.last() else { return false };
    let (outcome, failures) = perform(plan, made, weather, seed);
    broken_promise(&outcome, &failures, plan, left_to_the_run(&checked)).is_some()
}

fn note(outcome: &Outcome, tally: &Mutex<Tally>) {
    let steps = outcome.steps();
    let mut tally = tally.lock().unwrap();
    tally.runs += 1;
    tally.completed += u64::from(outcome.error.is_none());
    for step in steps {
        tally.steps += u64::from(step.status == StepState::Completed);
        tally.recovered += u64::from(step.recovered.is_some());
        if let Some(class) = step.error.as_ref().or(step.recovered.as_ref()).and_then(|error| text_of(error, "class")) {
            *tally.errors.entry(class).or_default() += 1;
        }
    }
}

/// What in a run could have been known before it.
fn broken_promise(outcome: &Outcome, failures: &[StepError], plan: &Arc<Plan>, left: Left) -> Option<String> {
    for failure in failures {
        let chain = std::iter::successors(Some(failure), |failure| failure.cause.as_deref());
        if let Some(failure) = chain.into_iter().find(|failure| known_before(failure, left)) {
            return Some(format!("{} at `{}` ({:?}): {}", failure.class, failure.step, failure.kind, failure.message));
        }
    }
    let reply = outcome.reply.as_ref()?;
    let mismatch = check_value(reply, &plan.returns).err()?;
    Some(format!("the reply {reply} is no {}: {mismatch}", plan.returns))
}

/// What the check has left to the run.
#[derive(Clone, Copy)]
struct Left {
    types: bool,
    contracts: bool,
    /// Whether it may ask somebody, and nobody is there.
    asks: bool,
}

fn known_before(failure: &StepError, left: Left) -> bool {
    match (&failure.class, failure.kind) {
        (ErrorClass::Validation(Validation::Expression | Validation::Arguments), Some(kind)) => {
            !left.types && !hangs_on_data(kind)
        }
        // Ranges and patterns belong to the data, where the check said that it cannot tell.
        (ErrorClass::Validation(Validation::Arguments), None) => !left.contracts && !left.types,
        // Every expression that fails says how.
        (ErrorClass::Validation(Validation::Expression), None) => !left.types,
        (ErrorClass::Validation(Validation::Result), _) => true,
        (ErrorClass::Internal, _) => !left.asks,
        _ => false,
    }
}

fn field_of(value: &Value, name: &str) -> Option<Value> {
    let Value::Map(entries) = value else { return None };
    entries.get(&planrun::value::Key::from(name)).cloned()
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    field_of(value, name)?.as_str().map(str::to_owned)
}

fn left_to_the_run(checked: &CheckedFile) -> Left {
    let plans = || checked.plans.iter().flat_map(|plan| std::iter::once(plan).chain(&plan.plans));
    let mut steps = plans().flat_map(|plan| &plan.blocks).flat_map(|block| &block.nodes).filter_map(|node| node.step());
    let contracts = steps.any(|step| matches!(&step.kind, StepKind::Call(call) if call.open));
    let mut steps = plans().flat_map(|plan| &plan.blocks).flat_map(|block| &block.nodes).filter_map(|node| node.step());
    let asks = steps.any(|step| {
        matches!(step.kind, StepKind::Input(_))
            || step.clauses.as_ref().is_some_and(|clauses| clauses.confirm.is_some())
    });
    Left { types: leaves_types_open(checked), contracts, asks }
}

/// Whether a value goes somewhere where only the run can tell whether it fits: the reference says that this is found
/// out there.
fn leaves_types_open(checked: &CheckedFile) -> bool {
    checked.plans.iter().any(|plan| {
        if plan.parameters.iter().any(|parameter| has_any(&parameter.ty)) {
            return true;
        }
        let nodes = plan.blocks.iter().flat_map(|block| &block.nodes);
        let mut nodes = nodes.chain(plan.plans.iter().flat_map(|plan| &plan.body().nodes));
        nodes.any(is_open)
    })
}

fn is_open(node: &Node) -> bool {
    let mut open = false;
    node.codes(&mut |code| open |= has_any(&code.ty) || code.into.as_ref().is_some_and(|place| !place.sure));
    open
}

fn has_any(ty: &Type) -> bool {
    match ty {
        Type::Any => true,
        Type::List(inner) | Type::Result(inner) => has_any(inner),
        Type::Map(map) => has_any(&map.value),
        Type::Object(object) => object.fields.iter().any(|field| has_any(&field.ty)),
        Type::Union(members) => members.iter().any(has_any),
        _ => false,
    }
}
