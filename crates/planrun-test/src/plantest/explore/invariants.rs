//! What holds of every run, whatever befalls it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use planrun_lang::protocol::{RunState, StepState};
use planrun_lang::sema::test::{steps_at, without_indices};
use planrun_lang::sema::{OnFailure, Plan, Step};
use planrun_lang::types::{Effect, ErrorClass, Transient, Validation, check_value};
use serde_json::Value as Json;

use super::super::play::Played;
use super::super::world::Called;
use planrun_core::journal::Waiting;
use planrun_core::run::{Outcome, StepReport};

/// What is wrong with a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Breach {
    /// It neither ends nor waits for anybody.
    StandsStill,
    /// The engine is at fault.
    Internal(String),
    /// An expression of the plan has no value there, or a call breaks the contract of its tool.
    PlanFault(String),
    /// Nothing that the plan names can wake it.
    Stalled(String),
    /// An effect may have happened twice: it went out under two keys.
    EffectTwice(String),
    /// A call went out before somebody agreed to it.
    Ungated(String),
    /// What happened was not taken back, and says how it could be.
    NotUndone(String),
    OverBudget(String),
    ReplyType(String),
    /// The outcome hangs on the order of what needs none.
    OrderDependent(String),
}

impl Breach {
    /// The stable name of its kind.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::StandsStill => "stands-still",
            Self::Internal(_) => "internal",
            Self::PlanFault(_) => "plan-fault",
            Self::Stalled(_) => "stalled",
            Self::EffectTwice(_) => "effect-twice",
            Self::Ungated(_) => "ungated",
            Self::NotUndone(_) => "not-undone",
            Self::OverBudget(_) => "over-budget",
            Self::ReplyType(_) => "reply-type",
            Self::OrderDependent(_) => "order-dependent",
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandsStill => f.write_str("the run neither ends nor waits for anybody"),
            Self::Internal(why) => write!(f, "a fault of the engine: {why}"),
            Self::PlanFault(why) => write!(f, "the plan itself is at fault: {why}"),
            Self::Stalled(why) => write!(f, "the run stalls: {why}"),
            Self::EffectTwice(path) => write!(
                f,
                "`{path}` may have happened twice: it went out under two keys"
            ),
            Self::Ungated(path) => write!(f, "`{path}` went out before anybody agreed to it"),
            Self::NotUndone(path) => write!(
                f,
                "`{path}` happened, has an `undo`, and was not taken back"
            ),
            Self::OverBudget(why) => write!(f, "a budget is passed: {why}"),
            Self::ReplyType(why) => write!(f, "the reply does not have the declared type: {why}"),
            Self::OrderDependent(why) => write!(
                f,
                "the outcome hangs on the order of what needs none: {why}"
            ),
        }
    }
}

/// Everything that is wrong with a run of a plan.
#[must_use]
pub fn breaches(plan: &Plan, played: &Played) -> Vec<Breach> {
    let Some(outcome) = &played.outcome else {
        return vec![Breach::StandsStill];
    };
    let mut found = Vec::new();
    if let Some(error) = &outcome.error {
        let place = if error.step.is_empty() {
            "the plan".to_owned()
        } else {
            format!("`{}`", error.step)
        };
        let message = || format!("{} at {place}: {}", error.class, error.message);
        match error.class {
            ErrorClass::Internal => found.push(Breach::Internal(message())),
            ErrorClass::Validation(Validation::Expression | Validation::Arguments) => {
                found.push(Breach::PlanFault(message()));
            }
            _ => {}
        }
    }
    if played.state == RunState::Stalled {
        let why = outcome
            .error
            .as_ref()
            .map(|error| error.message.to_string())
            .unwrap_or_default();
        found.push(Breach::Stalled(why));
    }
    found.extend(twice(&played.calls).map(Breach::EffectTwice));
    found.extend(ungated(plan, &played.events.lines()).map(Breach::Ungated));
    found.extend(not_undone(plan, outcome, &played.calls).map(Breach::NotUndone));
    if let Some(limit) = plan.policy.budget.calls
        && outcome.usage.calls > limit
    {
        found.push(Breach::OverBudget(format!(
            "{} calls, {limit} allowed",
            outcome.usage.calls
        )));
    }
    if let Some(reply) = outcome
        .reply
        .as_ref()
        .filter(|_| played.state == RunState::Completed)
        && let Err(mismatch) = check_value(reply, &plan.returns)
    {
        found.push(Breach::ReplyType(mismatch.to_string()));
    }
    found
}

/// A step whose effect may have happened under more than one key.
fn twice(calls: &[Called]) -> Option<String> {
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for call in calls
        .iter()
        .filter(|call| call.happened && !call.effect.repeatable())
    {
        keys.entry(&call.path).or_default().insert(&call.key);
    }
    keys.into_iter()
        .find(|(_, keys)| keys.len() > 1)
        .map(|(path, _)| path.to_owned())
}

/// A step that asks somebody first, and went out before a yes was written down. Who is asked again has to agree again:
/// each execution has an answer of its own.
fn ungated(plan: &Plan, events: &[String]) -> Option<String> {
    let mut agreed: BTreeSet<String> = BTreeSet::new();
    for line in events {
        let Ok(event) = serde_json::from_str::<Json>(line) else {
            continue;
        };
        let path = event["path"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap_or_default() {
            "answer.given" if event["value"] == true => {
                agreed.insert(path.to_owned());
            }
            "answer.given" => {
                agreed.remove(path);
            }
            "step.waiting" if event["for"] == Waiting::Confirm.name() => {
                agreed.remove(&format!("{path}.confirm"));
            }
            "step.running" if asks(plan, path) && !agreed.contains(&format!("{path}.confirm")) => {
                return Some(path.to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Whether the step at a path asks somebody before it calls.
fn asks(plan: &Plan, path: &str) -> bool {
    let asks = |step: &Step| {
        step.clauses
            .as_ref()
            .is_some_and(|clauses| clauses.confirm.is_some())
    };
    let steps = steps_at(plan, &without_indices(path));
    !steps.is_empty() && steps.iter().all(|(step, _)| asks(step))
}

/// A step that did something before the run failed, and was not taken back although it says how.
fn not_undone(plan: &Plan, outcome: &Outcome, calls: &[Called]) -> Option<String> {
    let failed = outcome.state == RunState::Failed
        && outcome.interruption.is_none()
        && outcome.reply.is_none();
    let looked = outcome
        .error
        .as_ref()
        .is_some_and(|error| error.class == ErrorClass::Validation(Validation::Verify));
    let undoes = plan.policy.on_failure.unwrap_or_default() == OnFailure::Undo;
    let steps = outcome.steps();
    if !failed || looked || !undoes || was_frozen(plan, outcome, &steps) {
        return None;
    }
    // What stands under a step that takes all of it back is taken back with it.
    let covered: Vec<Arc<str>> = steps
        .iter()
        .filter(|step| is_taken_back(step))
        .map(|step| step.path.clone())
        .collect();
    // Of branches that give one name each must say how it is taken back.
    let own = |path: &str| {
        let steps = steps_at(plan, &without_indices(path));
        let undone = steps
            .iter()
            .all(|(step, is_own)| *is_own && step.undo().is_some());
        steps.first().filter(|_| undone).map(|(step, _)| *step)
    };
    let left = steps.iter().find(|step| {
        let Some(own) = own(&step.path) else {
            return false;
        };
        let is_covered = covered.iter().any(|other| is_below(&step.path, other));
        let did = did_something(step, calls, own.verify().is_some());
        did && !is_taken_back(step) && !is_covered
    });
    left.map(|step| step.path.to_string())
}

fn is_taken_back(step: &StepReport) -> bool {
    step.attributes
        .iter()
        .any(|word| matches!(*word, "undone" | "undo_failed"))
}

/// Whether everything had settled well, and only a listener failed afterwards: from there nothing is undone.
fn was_frozen(plan: &Plan, outcome: &Outcome, steps: &[StepReport]) -> bool {
    let listener = |path: &str| {
        let name = path.split(['.', '[']).next();
        outcome
            .listeners
            .iter()
            .any(|listener| Some(&*listener.path) == name)
    };
    let own = |path: &str| !path.contains(['.', '[']) && !steps_at(plan, path).is_empty();
    let settled_well =
        |step: &StepReport| matches!(step.status, StepState::Completed | StepState::Skipped);
    let of_listener = outcome
        .error
        .as_ref()
        .is_some_and(|error| listener(&error.step));
    of_listener
        && steps
            .iter()
            .filter(|step| own(&step.path))
            .all(settled_well)
}

/// Whether a step has something to take back: it has changed something, or may have and nothing tells whether it did.
fn did_something(step: &StepReport, calls: &[Called], looks: bool) -> bool {
    let changed =
        |call: &Called| call.failed.is_none() && !call.crashed && call.effect > Effect::Read;
    // What an arm did to recover a step is not the step's, and what looks at it changes nothing.
    let within = |call: &Called| {
        let rest = call.path.strip_prefix(&*step.path).unwrap_or_default();
        !["recover", "verify", "undo"]
            .iter()
            .any(|aside| rest.split('.').any(|part| part == *aside))
    };
    let below = || {
        calls
            .iter()
            .any(|call| is_below(&call.path, &step.path) && within(call) && changed(call))
    };
    let itself = || {
        calls
            .iter()
            .any(|call| call.path == step.path && changed(call))
    };
    let caught = step.recovered.as_ref().or(step.error.as_ref());
    let class = caught.and_then(|error| error.get("class")?.as_str().and_then(ErrorClass::find));
    let doubtful = match class {
        Some(ErrorClass::UnknownOutcome | ErrorClass::Transient(Transient::Timeout)) => !looks,
        Some(ErrorClass::Validation(Validation::Result)) => true,
        _ => false,
    };
    let calls_itself = calls
        .iter()
        .any(|call| call.path == step.path && call.effect > Effect::Read);
    match step.status {
        StepState::Completed if step.recovered.is_none() => below() || itself(),
        // Of a step that holds others, and has not worked, what they say takes them back.
        StepState::Completed | StepState::Failed => doubtful && calls_itself,
        StepState::Unknown => calls_itself && !looks,
        // What was stopped is taken back where it had begun, and that the calls of a test do not tell.
        StepState::Pending
        | StepState::Queued
        | StepState::Running
        | StepState::Waiting
        | StepState::Skipped
        | StepState::Cancelled => false,
    }
}

fn is_below(path: &str, other: &str) -> bool {
    path.strip_prefix(other)
        .is_some_and(|rest| rest.starts_with(['.', '[']))
}
