//! The values that `expect` reads of a run, in the order of their slots.

use std::sync::Arc;

use planrun_lang::protocol::RunState;
use planrun_lang::sema::test::{CallQuery, Caller, OutcomeName, without_indices};
use planrun_lang::sema::{Node, Plan, Step, Target};
use planrun_lang::value::{Key, Map, Value};

use super::case::Case;
use super::play::Played;
use super::slots::Slots;
use super::world::Called;
use planrun_core::journal::StepError;
use planrun_core::run::{Outcome, StepReport};

/// Returns the values of the frame of a test after its run.
#[must_use]
pub fn slots(case: &Case, played: &Played) -> Slots {
    let test = &case.test;
    let reads = |place: OutcomeName| {
        let reads = test
            .expects
            .iter()
            .flat_map(|expect| &expect.condition.reads);
        reads.into_iter().any(|read| *read.name == *place.name())
    };
    let outcome = OutcomeName::ALL.iter().map(|place| match place {
        OutcomeName::Reply => reply(played),
        OutcomeName::Status => Ok(Value::String(played.state.name().into())),
        OutcomeName::Error => error(played),
        OutcomeName::Usage => Ok(usage(played)),
        OutcomeName::Steps if reads(*place) => Ok(steps(played)),
        OutcomeName::Tasks if reads(*place) => Ok(tasks(played)),
        OutcomeName::Steps | OutcomeName::Tasks => Ok(Value::Null),
    });
    let asked = test
        .queries
        .iter()
        .map(|asked| Ok(asked_of(asked, &test.plan, &played.calls)));
    Slots::new(outcome.chain(inputs(case)).chain(asked).collect())
}

/// Describes how the run ended.
#[must_use]
pub fn end(played: &Played) -> String {
    let error = played
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.error.as_deref());
    match (played.state, error) {
        (
            state,
            Some(StepError {
                class,
                message,
                place,
                ..
            }),
        ) => {
            let place = place.as_ref();
            let at = place.map_or_else(String::new, |place| format!(", at {place}"));
            format!("it ended with status `{state}` ({class}: {message}{at})")
        }
        (RunState::Paused, None) => "it is paused".to_owned(),
        (state, None) => format!("it ended with status `{state}`"),
    }
}

fn reply(played: &Played) -> Result<Value, Arc<str>> {
    let outcome = played.outcome.as_ref();
    let reply = outcome.and_then(|outcome| outcome.reply.clone());
    match (reply, played.state) {
        (Some(reply), _) => Ok(reply),
        (None, RunState::Completed) => Ok(Value::Null),
        (None, _) => Err(format!("the run has no reply: {}", end(played)).into()),
    }
}

fn error(played: &Played) -> Result<Value, Arc<str>> {
    let error = played
        .outcome
        .as_ref()
        .and_then(|outcome| outcome.error.as_deref());
    error
        .map(StepError::to_value)
        .ok_or_else(|| format!("the run has no error: {}", end(played)).into())
}

fn usage(played: &Played) -> Value {
    let usage = played
        .outcome
        .as_ref()
        .map(|outcome| outcome.usage)
        .unwrap_or_default();
    let whole = |count: u64| Value::Int(i64::try_from(count).unwrap_or(i64::MAX));
    Value::object([
        ("calls", whole(usage.calls)),
        ("tokens", whole(usage.tokens)),
        ("cost", Value::Double(usage.cost)),
    ])
}

/// Returns the steps of a run by their paths.
fn steps(played: &Played) -> Value {
    let reports = played
        .outcome
        .as_ref()
        .map(Outcome::steps)
        .unwrap_or_default();
    let entries = reports
        .into_iter()
        .map(|report| (Key::String(report.path.clone()), step(report)));
    Value::Map(Arc::new(entries.collect::<Map>()))
}

fn step(report: StepReport) -> Value {
    let text = |text: &str| Value::String(text.into());
    let attributes = report
        .attributes
        .iter()
        .filter(|attribute| **attribute != "reused")
        .map(|one| text(one));
    Value::object([
        ("status", text(report.status.name())),
        ("attempts", Value::Int(i64::from(report.attempts))),
        ("tool", report.tool.as_deref().map_or(Value::Null, text)),
        ("arguments", report.arguments),
        ("output", report.output),
        ("error", report.error.unwrap_or(Value::Null)),
        ("recovered", report.recovered.unwrap_or(Value::Null)),
        (
            "attributes",
            Value::List(attributes.collect::<Vec<_>>().into()),
        ),
        ("reason", report.reason.map_or(Value::Null, text)),
    ])
}

fn tasks(played: &Played) -> Value {
    let tasks = played.outcome.iter().flat_map(|outcome| &outcome.tasks);
    let entries = tasks.map(|task| {
        let fields = [
            ("status", Value::String(task.status.clone())),
            ("context", task.context.clone()),
        ];
        (Key::String(task.name.clone()), Value::object(fields))
    });
    Value::Map(Arc::new(entries.collect::<Map>()))
}

/// Returns the inputs of the run. A default may read the inputs above it.
fn inputs(case: &Case) -> Vec<Result<Value, Arc<str>>> {
    let mut inputs = Vec::new();
    for parameter in &case.test.plan.parameters {
        let given = case.inputs.get(&parameter.name).cloned().map(Ok);
        let default = || {
            let default = parameter.default.as_ref()?;
            let value = Slots::new(inputs.clone()).evaluate(default);
            Some(value.map_err(|error| error.to_string().into()))
        };
        inputs.push(given.or_else(default).unwrap_or(Ok(Value::Null)));
    }
    inputs
}

fn asked_of(asked: &CallQuery, plan: &Plan, calls: &[Called]) -> Value {
    let is_by = |caller: &Caller, call: &Called| is_by(caller, plan, call);
    let count = |caller: &Caller| calls.iter().filter(|call| is_by(caller, call)).count();
    let first = |caller: &Caller| calls.iter().position(|call| is_by(caller, call));
    let last = |caller: &Caller| calls.iter().rposition(|call| is_by(caller, call));
    match asked {
        CallQuery::Calls(caller) => Value::Int(i64::try_from(count(caller)).unwrap_or(i64::MAX)),
        CallQuery::Ran(caller) => Value::Bool(first(caller).is_some()),
        CallQuery::Before(one, other) => Value::Bool(
            last(one)
                .zip(first(other))
                .is_some_and(|(last, first)| last < first),
        ),
    }
}

/// Returns true if a call is to this tool, or is made by this step of the plan or a step inside it. Calls of `verify` and
/// `undo` do not count as calls of the step, nor do those of steps inside it, also in a plan that it calls. Steps of
/// called plans are not those of the plan.
fn is_by(caller: &Caller, plan: &Plan, call: &Called) -> bool {
    let name = match caller {
        Caller::Tool(tool) => return call.tool == *tool,
        Caller::Step(name) => &**name,
    };
    let path = without_indices(&call.path);
    let (mut found, mut owner, mut inside) = (false, None, plan);
    for part in path.split('.') {
        let is_clause = owner.is_some_and(|(plan, owner)| has_clause(plan, owner, part));
        if found && is_clause {
            return false;
        }
        let enters = steps_named(inside, part).find_map(|step| called_plan(inside, step));
        found |= part == name && !is_clause;
        if !found && enters.is_some() {
            return false;
        }
        owner = Some((inside, part));
        inside = enters.filter(|_| !is_clause).unwrap_or(inside);
    }
    found
}

/// Returns the steps of a plan with this name.
pub(super) fn steps_named<'p>(plan: &'p Plan, name: &'p str) -> impl Iterator<Item = &'p Step> {
    let nodes = plan
        .nodes()
        .filter(move |node| node.name.as_deref() == Some(name));
    nodes.filter_map(Node::step)
}

/// Returns the plan that a step calls.
fn called_plan<'p>(plan: &'p Plan, step: &Step) -> Option<&'p Plan> {
    match &step.call()?.target {
        Target::Plan(index, _) => plan.plans.get(*index).map(Arc::as_ref),
        Target::Tool(_) => None,
    }
}

/// Returns true if a part of a path behind the name of a step is one of its clauses.
fn has_clause(plan: &Plan, step: &str, part: &str) -> bool {
    steps_named(plan, step).any(|step| match part {
        "undo" => step.undo().is_some(),
        "verify" => step.verify().is_some() || step.agent_check().is_some(),
        _ => false,
    })
}
