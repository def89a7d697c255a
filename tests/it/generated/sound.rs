//! Soundness of the check: no run of a plan that passes ends with an error that could have been known before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use planrun_core::journal::StepError;
use planrun_core::run::Outcome;
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{BlockId, CheckedFile, Node, Plan, Step, StepKind, Target};
use planrun_lang::types::{ErrorClass, FailureKind, Type, Validation, check_value};
use planrun_lang::value::Value;
use rayon::prelude::*;

use super::correct::describe;
use super::harness::{FailureRate, perform};
use super::project_context::{ProjectContext, seeds};
use super::shrink::shrunk;
use crate::generate::{Project, Size, mutated, project};

/// Number of plans that are tried in CI. Those with odd seeds are mutants, which are probably wrong.
const PLANS: u64 = 20_000;

/// One in this number of plans has tasks, listeners, gates and forms. Questions are not answered.
const ALL_OF_IT: u64 = 4;

/// Returns the reason why a check cannot know that a well-typed expression has no value. `None` if it can know.
fn left_to_the_data(kind: FailureKind) -> Option<&'static str> {
    match kind {
        FailureKind::Overflow => Some("types do not bound numbers"),
        FailureKind::DivideByZero => Some("no type leaves zero out"),
        FailureKind::NoSuchKey => Some("which keys a map has, its type does not say"),
        FailureKind::IndexOutOfRange => Some("how long a list is, its type does not say"),
        FailureKind::Range => Some("what a result may grow to hangs on its operands"),
        FailureKind::InvalidArgument => {
            Some("a text that is no date, a list beyond its `max`, a key that `by` gives twice")
        }
        FailureKind::DuplicateKey => Some("computed keys may be equal"),
        FailureKind::CostLimit => Some("how much work it is hangs on the length of what is read"),
        FailureKind::NoOverload
        | FailureKind::NoSuchField
        | FailureKind::Unknown
        | FailureKind::Misfit => None,
    }
}

/// Totals of a test.
#[derive(Default)]
struct Tally {
    passed: u64,
    correct: u64,
    /// Plans with a value whose type only the run can check.
    open: u64,
    /// Plans with a call whose arguments only the run can check against the contract.
    contracts: u64,
    runs: u64,
    completed: u64,
    steps: u64,
    recovered: u64,
    /// Errors of steps by their class.
    errors: BTreeMap<String, u64>,
    /// Expressions without a value, with the reason why the check cannot know.
    kinds: BTreeMap<(FailureKind, &'static str), u64>,
}

#[test]
fn what_passes_the_check_fails_for_no_reason_that_could_have_been_known() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new(Tally::default());
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| try_seed(seed, &tally).err())
        .collect();
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
    println!("  expressions without a value: {:?}", tally.kinds);
    for fault in wrong.iter().take(3) {
        println!("{fault}");
    }
    for fault in wrong.iter().skip(3) {
        println!("{}", fault.lines().next().unwrap_or_default());
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} plans break the promise",
        wrong.len()
    );
    if count >= 1000 {
        // Makes sure that the test covers enough.
        assert!(
            tally.passed > count * 55 / 100 && tally.passed - tally.correct > count / 20,
            "too few plans pass"
        );
        assert!(
            tally.completed > count / 4 && tally.steps > count * 2 && tally.recovered > count / 50,
            "too little ran"
        );
        assert!(
            tally.open < count / 20,
            "too many plans leave their types to the run"
        );
    }
}

fn try_seed(seed: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let number = seed / 2;
    let correct = project(
        number,
        Size {
            whole_language: number.is_multiple_of(ALL_OF_IT),
            ..Size::SMALL
        },
    );
    let sound = seed.is_multiple_of(2);
    let made = if sound {
        correct
    } else {
        mutated(&correct, seed)
    };
    let project_context = ProjectContext::of(&made);
    let checked = project_context.check(&made);
    if let Some(found) = checked.diagnostics.iter().find(|found| found.is_error()) {
        return if sound {
            Err(describe(&made, seed, found))
        } else {
            Ok(())
        };
    }
    let left = left_to_the_run(&checked);
    {
        let mut tally = tally.lock().unwrap();
        tally.passed += 1;
        tally.correct += u64::from(sound);
        tally.open += u64::from(left.types);
        tally.contracts += u64::from(!left.contracts.is_empty());
    }
    for failure_rate in [FailureRate::Never, FailureRate::Often] {
        let plan = checked.plans.last().unwrap();
        let (outcome, failures) = perform(plan, &made, failure_rate, seed);
        note(&outcome, &failures, tally);
        if let Some(broken) = preventable_failure(&outcome, &failures, plan, &left) {
            let still = |made: &Project| still_broken(made, failure_rate, seed);
            let small = shrunk(&made, &still);
            let text = if still(&small) { small } else { made };
            let files: Vec<String> = text
                .plans
                .iter()
                .map(|(name, text)| format!("// {name}\n{text}"))
                .collect();
            let files = files.concat();
            return Err(format!("seed {seed}, {failure_rate:?}: {broken}\n{files}"));
        }
    }
    Ok(())
}

fn still_broken(made: &Project, failure_rate: FailureRate, seed: u64) -> bool {
    let checked = ProjectContext::of(made).check(made);
    if checked
        .diagnostics
        .iter()
        .any(planrun_lang::diag::Diagnostic::is_error)
    {
        return false;
    }
    let Some(plan) = checked.plans.last() else {
        return false;
    };
    let (outcome, failures) = perform(plan, made, failure_rate, seed);
    preventable_failure(&outcome, &failures, plan, &left_to_the_run(&checked)).is_some()
}

fn note(outcome: &Outcome, failures: &[StepError], tally: &Mutex<Tally>) {
    let steps = outcome.steps();
    let mut tally = tally.lock().unwrap();
    for kind in failures.iter().filter_map(|failure| failure.kind) {
        *tally
            .kinds
            .entry((kind, left_to_the_data(kind).unwrap_or("this can be known")))
            .or_default() += 1;
    }
    tally.runs += 1;
    tally.completed += u64::from(outcome.error.is_none());
    for step in steps {
        tally.steps += u64::from(step.status == StepState::Completed);
        tally.recovered += u64::from(step.recovered.is_some());
        if let Some(class) = step
            .error
            .as_ref()
            .or(step.recovered.as_ref())
            .and_then(|error| text_of(error, "class"))
        {
            *tally.errors.entry(class).or_default() += 1;
        }
    }
}

/// Returns the first error of a run that could have been known before it.
fn preventable_failure(
    outcome: &Outcome,
    failures: &[StepError],
    plan: &Arc<Plan>,
    left: &LeftToRun,
) -> Option<String> {
    for failure in failures {
        let chain = std::iter::successors(Some(failure), |failure| failure.cause.as_deref());
        // An enclosing step fails with the failure of an inner step, which is the one to judge.
        let own = |failure: &&StepError| {
            failure
                .cause
                .as_ref()
                .is_none_or(|cause| cause.class != failure.class)
        };
        if let Some(failure) = chain
            .into_iter()
            .filter(own)
            .find(|failure| known_before(failure, left))
        {
            let arguments = outcome
                .steps()
                .into_iter()
                .find(|step| step.path == failure.step)
                .map(|step| step.arguments);
            if failure.kind.is_none() && arguments.is_some_and(|arguments| has_no_json(&arguments))
            {
                continue;
            }
            return Some(format!(
                "{} at `{}` ({:?}): {}",
                failure.class, failure.step, failure.kind, failure.message
            ));
        }
    }
    let reply = outcome.reply.as_ref()?;
    let mismatch = check_value(reply, &plan.returns).err()?;
    Some(format!(
        "the reply {reply} is no {}: {mismatch}",
        plan.returns
    ))
}

/// The checks that are left to the run, and where.
struct LeftToRun {
    types: bool,
    /// The steps whose call only the run can check against the contract.
    contracts: BTreeSet<Arc<str>>,
    /// The steps that may ask a person; nobody answers.
    asking: BTreeSet<Arc<str>>,
}

fn known_before(failure: &StepError, left: &LeftToRun) -> bool {
    match (&failure.class, failure.kind) {
        (ErrorClass::Validation(Validation::Expression | Validation::Arguments), Some(kind)) => {
            !left.types && left_to_the_data(kind).is_none()
        }
        // Ranges and patterns depend on the data if the check has left the call to the run.
        (ErrorClass::Validation(Validation::Arguments), None) => {
            !is_step_in(&failure.step, &left.contracts) && !left.types
        }
        // Every failed expression has a kind.
        (ErrorClass::Validation(Validation::Expression), None)
        | (ErrorClass::Validation(Validation::Result), _) => true,
        (ErrorClass::Internal, _) => !is_step_in(&failure.step, &left.asking),
        _ => false,
    }
}

/// Returns true if a path is a step with one of these names, which may contain dots.
fn is_step_in(path: &str, names: &BTreeSet<Arc<str>>) -> bool {
    let path = path
        .strip_suffix(']')
        .and_then(|path| path.rsplit_once('['))
        .map_or(path, |(path, _)| path);
    let last = |name: &str| {
        path.strip_suffix(name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    names.iter().any(|name| last(name))
}

/// Returns true if a value contains a double that JSON cannot represent. Types do not exclude such results.
fn has_no_json(value: &Value) -> bool {
    match value {
        Value::Double(number) => !number.is_finite(),
        Value::List(list) => list.iter().any(has_no_json),
        Value::Map(map) => map.values().any(has_no_json),
        _ => false,
    }
}

fn field_of(value: &Value, name: &str) -> Option<Value> {
    let Value::Map(entries) = value else {
        return None;
    };
    entries.get(&planrun_lang::value::Key::from(name)).cloned()
}

fn text_of(value: &Value, name: &str) -> Option<String> {
    field_of(value, name)?.as_str().map(str::to_owned)
}

fn left_to_the_run(checked: &CheckedFile) -> LeftToRun {
    let plans = || {
        checked
            .plans
            .iter()
            .flat_map(|plan| std::iter::once(plan).chain(&plan.plans))
    };
    let named = |matches_step: &dyn Fn(&Step) -> bool| {
        let nodes = plans()
            .flat_map(|plan| &plan.blocks)
            .flat_map(|block| &block.nodes);
        let found = nodes.filter(|node| node.step().is_some_and(matches_step));
        // The steps of a clause are named after the clause.
        let clause_names = || vec!["verify".into(), "undo".into()];
        found
            .flat_map(|node| {
                node.name
                    .clone()
                    .map_or_else(clause_names, |name| vec![name])
            })
            .collect()
    };
    let contracts =
        named(&|step| matches!(&step.kind, StepKind::Call(call) if call.checked_at_run));
    let confirms = |step: &Step| {
        step.clauses
            .as_ref()
            .is_some_and(|clauses| clauses.confirm.is_some())
    };
    let asking = named(&|step| matches!(step.kind, StepKind::Input(_)) || confirms(step));
    LeftToRun {
        types: leaves_types_open(checked),
        contracts,
        asking,
    }
}

/// Returns true if a value is passed to a place where only the run can check its type, as the language reference
/// specifies.
fn leaves_types_open(checked: &CheckedFile) -> bool {
    checked.plans.iter().any(|plan| {
        if plan
            .parameters
            .iter()
            .any(|parameter| has_any(&parameter.ty))
        {
            return true;
        }
        // The data about a step that an agent gets has no declared type.
        let asked: BTreeSet<BlockId> = plan
            .steps()
            .filter_map(|step| step.agent_check()?.body())
            .collect();
        let nodes = plan.sites().filter(|(block, ..)| !asked.contains(block));
        let nodes = nodes.map(|(.., node)| node);
        let mut nodes = nodes.chain(plan.plans.iter().flat_map(|plan| &plan.body().nodes));
        nodes.any(is_open)
    })
}

fn is_open(node: &Node) -> bool {
    let mut open = node.step().is_some_and(|step| match &step.kind {
        // What a model gives may be declared as `any`; the result of `sys.echo` has the type of its argument.
        StepKind::Call(call) => match &call.target {
            Target::Tool(tool) => &*tool.namespace != "sys" && has_any(&tool.returns),
            Target::Plan(..) => false,
        },
        _ => false,
    });
    node.codes(&mut |code| {
        open |= has_any(&code.ty) || code.into.as_ref().is_some_and(|place| !place.sure);
    });
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
