//! What holds of every run, whatever befalls it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value as Json;

use super::super::play::Played;
use super::super::world::Called;
use crate::engine::Outcome;
use crate::protocol::{RunState, StepState};
use crate::sema::{OnFailure, Plan, Step};
use crate::types::{ErrorClass, Validation, check_value};

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
            Self::EffectTwice(path) => write!(f, "`{path}` may have happened twice: it went out under two keys"),
            Self::Ungated(path) => write!(f, "`{path}` went out before anybody agreed to it"),
            Self::NotUndone(path) => write!(f, "`{path}` happened, has an `undo`, and was not taken back"),
            Self::OverBudget(why) => write!(f, "a budget is passed: {why}"),
            Self::ReplyType(why) => write!(f, "the reply does not have the declared type: {why}"),
            Self::OrderDependent(why) => write!(f, "the outcome hangs on the order of what needs none: {why}"),
        }
    }
}

/// Everything that is wrong with a run of a plan.
#[must_use]
pub fn breaches(plan: &Plan, played: &Played) -> Vec<Breach> {
    let Some(outcome) = &played.outcome else { return vec![Breach::StandsStill] };
    let mut found = Vec::new();
    if let Some(error) = &outcome.error {
        let place = if error.step.is_empty() { "the plan".to_owned() } else { format!("`{}`", error.step) };
        let told = || format!("{} at {place}: {}", error.class, error.message);
        match error.class {
            ErrorClass::Internal => found.push(Breach::Internal(told())),
            ErrorClass::Validation(Validation::Expression | Validation::Arguments) => {
                found.push(Breach::PlanFault(told()));
            }
            _ => {}
        }
    }
    if played.state == RunState::Stalled {
        let why = outcome.error.as_ref().map(|error| error.message.to_string()).unwrap_or_default();
        found.push(Breach::Stalled(why));
    }
    found.extend(twice(&played.calls).map(Breach::EffectTwice));
    found.extend(ungated(plan, &played.events.lines()).map(Breach::Ungated));
    found.extend(not_undone(plan, outcome).map(Breach::NotUndone));
    if let Some(limit) = plan.policy.budget.calls
        && outcome.usage.calls > limit
    {
        found.push(Breach::OverBudget(format!("{} calls, {limit} allowed", outcome.usage.calls)));
    }
    if let Some(reply) = outcome.reply.as_ref().filter(|_| played.state == RunState::Completed)
        && let Err(mismatch) = check_value(reply, &plan.returns)
    {
        found.push(Breach::ReplyType(mismatch.to_string()));
    }
    found
}

/// A step whose effect may have happened under more than one key.
fn twice(calls: &[Called]) -> Option<String> {
    let mut keys: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for call in calls.iter().filter(|call| call.happened && !call.effect.repeatable()) {
        keys.entry(&call.path).or_default().insert(&call.key);
    }
    keys.into_iter().find(|(_, keys)| keys.len() > 1).map(|(path, _)| path.to_owned())
}

/// A step that asks somebody first, and went out before an answer was written down.
fn ungated(plan: &Plan, events: &[String]) -> Option<String> {
    let mut agreed: BTreeSet<String> = BTreeSet::new();
    for line in events {
        let Ok(event) = serde_json::from_str::<Json>(line) else { continue };
        let path = event["path"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap_or_default() {
            "answer.given" if event["value"] == true => {
                agreed.insert(path.to_owned());
            }
            "step.running" if asks(plan, path) && !agreed.contains(&format!("{path}.confirm")) => {
                return Some(path.to_owned());
            }
            _ => {}
        }
    }
    None
}

/// Whether the step at a path asks somebody before it calls. Only the plan's own blocks are looked at.
fn asks(plan: &Plan, path: &str) -> bool {
    let Some(step) = step_at(plan, path) else { return false };
    step.clauses.as_ref().is_some_and(|clauses| clauses.confirm.is_some())
}

/// The step that the last name of a path stands for.
fn step_at<'p>(plan: &'p Plan, path: &str) -> Option<&'p Step> {
    let name = path.rsplit('.').next()?.split('[').next()?;
    let own = plan.blocks.iter().flat_map(|block| &block.nodes).find(|node| node.name.as_deref() == Some(name));
    own.and_then(|node| node.step())
}

/// A step that completed before the run failed, and was not taken back although it says how.
fn not_undone(plan: &Plan, outcome: &Outcome) -> Option<String> {
    let failed = outcome.state == RunState::Failed && outcome.interruption.is_none() && outcome.reply.is_none();
    let looked = outcome.error.as_ref().is_some_and(|error| error.class == ErrorClass::Validation(Validation::Verify));
    let undoes = plan.policy.on_failure.unwrap_or_default() == OnFailure::Undo;
    if !failed || looked || !undoes {
        return None;
    }
    let taken_back = |attributes: &[&str]| attributes.iter().any(|word| matches!(*word, "undone" | "undo_failed"));
    // What stands under a step that takes all of it back is taken back with it.
    let steps = outcome.steps();
    let covered: Vec<Arc<str>> =
        steps.iter().filter(|step| taken_back(&step.attributes)).map(|step| step.path.clone()).collect();
    let own = |path: &str| step_at(plan, path).is_some_and(|step| step.undo().is_some());
    let left = steps.iter().find(|step| {
        let covers =
            |other: &Arc<str>| step.path.strip_prefix(&**other).is_some_and(|rest| rest.starts_with(['.', '[']));
        let recovered = step.recovered.is_some();
        step.status == StepState::Completed
            && own(&step.path)
            && !recovered
            && !taken_back(&step.attributes)
            && !covered.iter().any(covers)
    });
    left.map(|step| step.path.to_string())
}
