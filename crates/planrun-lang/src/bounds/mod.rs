//! Computes what a run of a plan does at most, as data: which tools it calls how often, with what arguments, and how
//! much it may use.
//!
//! [`bounds`] counts **executions** of calls. The attempts of one execution share its arguments and its idempotency
//! key; [`Use::attempts`] is their maximum number. The calls in a loop are multiplied by its rounds. Of arms that
//! exclude each other, the larger count is taken. Each poll counts. The budget of a plan bounds its calls.
//!
//! Not included is what people do to a run afterwards: `runs retry`, `runs patch`, retrying a failed step with
//! `--resume`, and answering that a call whose outcome is unknown did not happen each start one more execution.

mod count;
mod length;
mod tally;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::origin::Source;
use crate::sema::{Budget, OnFailure, Plan, Policy, Retry};
use crate::types::{Effect, Signature};

/// Upper bounds of the effects of a run of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Every call that may be made, in source order.
    pub uses: Vec<Use>,
    pub limits: Limits,
}

/// The calls of one tool with one effect class and one role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// Dotted name of the tool; `ask NAME` for an agent, whose own calls are not known, and `infer` for a model.
    pub tool: Arc<str>,
    pub effect: Effect,
    pub role: Role,
    /// Maximum number of executions in one run; `None` if there is no bound.
    pub max: Option<u64>,
    /// Maximum number of attempts of one execution.
    pub attempts: u64,
    /// Arguments of the calls, in the order of the first call.
    pub arguments: Vec<Argument>,
    /// How the effect is undone if the plan fails; `None` if there is nothing to undo: the call changes nothing, or
    /// is itself a `verify` or `undo`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undoing>,
}

/// Purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The work of the plan.
    Forward,
    /// An arm of `recover`, after a failure.
    Recover,
    /// A check whether a call has happened.
    Verify,
    /// The undo of a call after the plan has failed.
    Undo,
}

/// An argument with the sources of its value in all calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    pub name: Arc<str>,
    pub from: Vec<Source>,
    /// Whether the value is computed from these sources instead of being one of them or a part of one. A value that has
    /// a constant as a part, or is a part of a constant, is computed from it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub computed: bool,
    /// Whether there are more sources than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub more: bool,
    /// Tools whose untrusted free text may flow into the argument. Only filled for calls that change something.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub strangers: Vec<Arc<str>>,
}

/// How an effect is undone if the plan fails later. For several calls of a tool the worst case is reported.
///
/// Variants are ordered from best to worst.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undoing {
    /// Undone by calls of these tools; empty if the `undo` makes no call.
    With(Vec<Arc<str>>),
    /// Undone by calls of these tools once the step around it that has the `undo` has completed; if that step fails
    /// before, the effect stays.
    Whole(Vec<Arc<str>>),
    /// It stays because of the policy: `pause`, or `settle` unless something ends the plan.
    Policy(OnFailure),
    /// It stays. The contract names this tool as the inverse, but no `undo` calls it.
    Inverse(Arc<str>),
    /// It stays: there is no `undo` and no known inverse.
    Stays,
    /// It happens after the plan has ended, when nothing is undone any more.
    AfterEnd,
}

/// Limits of a run that do not follow from its statements: settings of the plan over those of the project, within the
/// project's limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Attempts of forward calls and of `recover` arms; `verify` and `undo` do not count. [`Use::max`] of these calls
    /// never exceeds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
    /// In the unit in which tools report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<f64>,
    /// In milliseconds, excluding the time in which the whole run waits for people: the smaller of the budget's time
    /// and the deadline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ms: Option<u64>,
    /// In bytes of call results.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<u64>,
    /// Number of executed steps, if the plan or the project limits it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<u64>,
}

/// Settings of the project and of the run for which the bounds are computed.
#[derive(Clone, Copy)]
pub struct BoundsContext<'a> {
    /// Defaults for the policies of plans.
    pub policy: &'a Policy,
    /// Limits of every run.
    pub limits: &'a Budget,
    /// Retry settings of a tool for steps without their own; `None` for those of the policy.
    pub retry: &'a dyn Fn(&Signature) -> Option<Retry>,
    /// Indices of the statements of the plan itself that run; `None` for all.
    pub statements: Option<&'a BTreeSet<u32>>,
}

/// Returns what a run of a plan does at most, whatever its inputs are.
#[must_use]
pub fn bounds(plan: &Plan, context: &BoundsContext<'_>) -> Bounds {
    Bounds {
        uses: count::uses(plan, context),
        limits: Limits::of(plan, context),
    }
}

impl BoundsContext<'_> {
    fn budget(&self, plan: &Plan) -> Budget {
        let own = plan.policy.budget.over(&self.policy.budget);
        own.within(self.limits)
    }
}

impl Limits {
    fn of(plan: &Plan, context: &BoundsContext<'_>) -> Self {
        let budget = context.budget(plan);
        let deadline = plan.policy.deadline.or(context.policy.deadline);
        let time = deadline.into_iter().chain(budget.time).min();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            calls: budget.calls,
            tokens: budget.tokens,
            cost: budget.cost,
            time_ms: time.map(milliseconds),
            memory: budget.memory,
            steps: plan.policy.max_steps.or(context.policy.max_steps),
        }
    }
}

impl Undoing {
    /// Describes the outcome without naming the call, such as `undone by desk.reopen_ticket`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::With(tools) if tools.is_empty() => "undone without a call".to_owned(),
            Self::With(tools) => format!("undone by {}", tools.join(", ")),
            Self::Whole(tools) => {
                let tools = tools.join(", ");
                format!("undone by {tools} once the step around it has completed")
            }
            Self::Policy(OnFailure::Pause) => {
                "not undone, since `on_failure` is `pause`".to_owned()
            }
            Self::Policy(OnFailure::Settle | OnFailure::Undo) => {
                "not undone if `on_failure: settle` continues the run".to_owned()
            }
            Self::Inverse(tool) => format!("not undone: no `undo` calls {tool}"),
            Self::Stays => "not undone".to_owned(),
            Self::AfterEnd => "not undone: it comes after the end".to_owned(),
        }
    }
}

impl Use {
    /// Describes the bound, such as `desk.close_ticket at most 50 effect`; the role is appended unless it is
    /// [`Role::Forward`].
    #[must_use]
    pub fn describe(&self) -> String {
        let most = self.max.map_or_else(
            || "without a bound".to_owned(),
            |max| format!("at most {max}"),
        );
        let role = match self.role {
            Role::Forward => "",
            Role::Recover => ", after a failure",
            Role::Verify => ", to verify",
            Role::Undo => ", to undo",
        };
        format!("{} {most} {}{role}", self.tool, self.effect)
    }
}

#[cfg(test)]
mod tests;
