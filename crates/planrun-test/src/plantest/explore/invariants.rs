//! Invariants: properties that every run must have, whatever fault is injected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use planrun_lang::protocol::{RunState, StepState, is_below};
use planrun_lang::sema::test::{steps_at, without_indices};
use planrun_lang::sema::{OnFailure, Plan, Step};
use planrun_lang::types::{Effect, ErrorClass, Validation, check_value};
use planrun_lang::value::counted;
use serde_json::Value as Json;

use super::super::play::Played;
use super::super::world::Called;
use planrun_core::journal::Waiting;
use planrun_core::run::{Outcome, StepReport};

/// A violation of an invariant.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Violation {
    /// The run neither ends nor waits for an answer.
    StandsStill,
    /// A bug in the engine.
    Internal(String),
    /// An expression of the plan cannot be evaluated, or a call violates the contract of its tool.
    PlanFault(PlanFault),
    /// Nothing that the plan names can wake the run.
    Stalled(String),
    /// An effect may have happened twice: it was sent with two idempotency keys.
    EffectTwice(String),
    /// A call was sent before its confirmation was given.
    Ungated(String),
    /// A step has effects and an `undo`, but was not undone.
    NotUndone(String),
    OverBudget(String),
    ReplyType(String),
    /// The outcome depends on the order of independent steps.
    OrderDependent(String),
}

/// An error in a plan.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PlanFault {
    pub why: String,
    /// The place of the expression in the text.
    pub place: Option<Arc<str>>,
}

impl Violation {
    /// Returns the stable name of its kind.
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

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandsStill => f.write_str("the run neither ends nor waits for input"),
            Self::Internal(why) => write!(f, "an error in the engine: {why}"),
            Self::PlanFault(fault) => write!(f, "an error in the plan: {}", fault.why),
            Self::Stalled(why) => write!(f, "the run stalls: {why}"),
            Self::EffectTwice(path) => write!(
                f,
                "`{path}` may have happened twice: it was sent under two keys"
            ),
            Self::Ungated(path) => write!(f, "`{path}` was sent before it was approved"),
            Self::NotUndone(path) => {
                write!(f, "`{path}` happened, has an `undo`, and was not undone")
            }
            Self::OverBudget(why) => write!(f, "a budget is exceeded: {why}"),
            Self::ReplyType(why) => write!(f, "the reply does not have the declared type: {why}"),
            Self::OrderDependent(why) => write!(
                f,
                "the outcome depends on the order of independent steps: {why}"
            ),
        }
    }
}

/// Returns all violations in a run of a plan.
#[must_use]
pub fn violations(plan: &Plan, played: &Played) -> Vec<Violation> {
    let Some(outcome) = &played.outcome else {
        return vec![Violation::StandsStill];
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
            ErrorClass::Internal => found.push(Violation::Internal(message())),
            ErrorClass::Validation(Validation::Expression | Validation::Arguments) => {
                let (why, place) = (message(), error.place.clone());
                found.push(Violation::PlanFault(PlanFault { why, place }));
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
        found.push(Violation::Stalled(why));
    }
    found.extend(twice(&played.calls).map(Violation::EffectTwice));
    found.extend(ungated(plan, &played.events.lines()).map(Violation::Ungated));
    found.extend(not_undone(plan, outcome, &played.calls).map(Violation::NotUndone));
    if let Some(limit) = plan.policy.budget.calls
        && outcome.usage.calls > limit
    {
        found.push(Violation::OverBudget(format!(
            "{}, {limit} allowed",
            counted(outcome.usage.calls, "call")
        )));
    }
    if let Some(reply) = outcome
        .reply
        .as_ref()
        .filter(|_| played.state == RunState::Completed)
        && let Err(mismatch) = check_value(reply, &plan.returns)
    {
        found.push(Violation::ReplyType(mismatch.to_string()));
    }
    found
}

/// Returns a step whose effect may have happened under more than one idempotency key.
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

/// Returns a step with `confirm` whose call was sent before an approval was recorded. An approval is valid for one
/// execution: a step that asks again needs a new one.
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

/// Returns true if the step at a path has a `confirm`.
fn asks(plan: &Plan, path: &str) -> bool {
    let asks = |step: &Step| step.confirm().is_some();
    let steps = steps_at(plan, &without_indices(path));
    !steps.is_empty() && steps.iter().all(|(step, _)| asks(step))
}

/// Returns a step with an `undo` that had effects before the run failed, but was not undone.
fn not_undone(plan: &Plan, outcome: &Outcome, calls: &[Called]) -> Option<String> {
    let failed = outcome.state == RunState::Failed
        && outcome.interruption.is_none()
        && outcome.reply.is_none();
    let verification_failed = outcome
        .error
        .as_ref()
        .is_some_and(|error| error.class == ErrorClass::Validation(Validation::Verify));
    let undoes = plan.policy.on_failure.unwrap_or_default() == OnFailure::Undo;
    let steps = outcome.steps();
    if !failed || verification_failed || !undoes || was_frozen(plan, outcome, &steps) {
        return None;
    }
    // Undoing a step also undoes the steps inside it.
    let covered: Vec<Arc<str>> = steps
        .iter()
        .filter(|step| is_undone(step))
        .map(|step| step.path.clone())
        .collect();
    // If branches share a name, the step at the path counts only if each of them has an `undo`.
    let own = |path: &str| {
        let steps = steps_at(plan, &without_indices(path));
        let undone = steps
            .iter()
            .all(|(step, is_own)| *is_own && step.undo().is_some());
        steps.first().filter(|_| undone).map(|(step, _)| *step)
    };
    let missing = steps.iter().find(|step| {
        let Some(own) = own(&step.path) else {
            return false;
        };
        let is_covered = covered.iter().any(|other| is_below(&step.path, other));
        let did = did_something(step, calls, own.verify().is_some());
        did && !is_undone(step) && !is_covered
    });
    missing.map(|step| step.path.to_string())
}

fn is_undone(step: &StepReport) -> bool {
    step.attributes
        .iter()
        .any(|word| matches!(*word, "undone" | "undo_failed"))
}

/// Returns true if only a listener failed after everything else had settled well: such a failure undoes nothing.
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

/// Returns true if a step has something to undo: it changed something, or its outcome is unknown and no `verify`
/// resolves it.
fn did_something(step: &StepReport, calls: &[Called], verifies: bool) -> bool {
    let changed =
        |call: &Called| call.failed.is_none() && !call.crashed && call.effect > Effect::Read;
    // Calls of a `recover` arm are not calls of the step itself, and `verify` changes nothing.
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
    // A `verify` tells whether a call happened, but not what it returned.
    let is_broken = class == Some(ErrorClass::Validation(Validation::Result));
    match step.status {
        StepState::Completed if step.recovered.is_none() => below() || itself(),
        // If a step that contains others failed, the `undo` of each inner step applies instead.
        StepState::Completed | StepState::Failed | StepState::Unknown => {
            step.in_doubt && (is_broken || !verifies)
        }
        // A cancelled step is undone if it had started, which the calls of a test do not show.
        StepState::Pending
        | StepState::Queued
        | StepState::Running
        | StepState::Waiting
        | StepState::Skipped
        | StepState::Cancelled => false,
    }
}
