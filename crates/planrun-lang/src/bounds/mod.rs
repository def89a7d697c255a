//! What a run of a plan does at most, as data: which tools it calls how often, with what, and how much it may use.
//!
//! [`bounds`] counts **executions**: calls that share their arguments and their idempotency key. Retries are attempts of one
//! execution, and [`Use::attempts`] says how many there may be. Loops multiply what stands in them, arms that exclude each
//! other count with the larger, polls count each time, and the budget of a plan bounds its calls.
//!
//! Only what people do to a run afterwards is beyond that: `runs retry`, `runs patch`, a failed step that is tried again with
//! `--resume`, and the answer that a call in doubt did not happen each begin an execution more.

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

/// What a run of a plan does at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Everything that may be called, in the order of the page.
    pub uses: Vec<Use>,
    pub limits: Limits,
}

/// The calls of one tool, in one class and one role.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Use {
    /// The dotted name; `ask NAME` for an agent, of whose own calls nothing is known, and `infer` for a model.
    pub tool: Arc<str>,
    pub effect: Effect,
    pub role: Role,
    /// The most executions in one run; `None` where there is no bound.
    pub max: Option<u64>,
    /// The most attempts of one execution.
    pub attempts: u64,
    /// What it is called with, in the order of the first call.
    pub arguments: Vec<Argument>,
    /// What becomes of it where the plan fails; `None` where there is nothing to undo: it changes nothing, or it looks or
    /// undoes itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<Undoing>,
}

/// What a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The work of the plan.
    Forward,
    /// An arm of `recover`, after something has failed.
    Recover,
    /// It looks whether a call has happened.
    Verify,
    /// It takes a call back, after the plan has failed.
    Undo,
}

/// Where the values of an argument come from, all calls together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Argument {
    pub name: Arc<str>,
    pub from: Vec<Source>,
    /// Whether it is made of these sources and is not simply one of them, or a part of one.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub computed: bool,
    /// Whether there are more sources than are told.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub more: bool,
    /// The tools whose free text, which strangers write, may flow into it. Told of calls that change something.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub strangers: Vec<Arc<str>>,
}

/// What becomes of a change where the plan fails later. Of several calls of a tool the worst is told.
///
/// The order is that of growing trouble.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Undoing {
    /// It is taken back by calls of these tools; by none where an `undo` calls nothing.
    With(Vec<Arc<str>>),
    /// By calls of these tools, once the step around it that says so has completed; where that fails in the middle, it stays.
    Whole(Vec<Arc<str>>),
    /// It stays, because the policy says so: `pause`, or `settle` as long as nothing ends the plan.
    Policy(OnFailure),
    /// It stays. The contract names this tool as what takes it back, and no `undo` calls it.
    Inverse(Arc<str>),
    /// It stays: nothing says how to take it back.
    Stays,
    /// It happens after the plan has ended, when nothing is taken back any more.
    AfterEnd,
}

/// What bounds a run beside its own text: settings of the plan over those of the project, within the project's limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Attempts of forward calls and of arms; looks and undos are free. The counts of [`Use::max`] are held within it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub calls: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tokens: Option<u64>,
    /// In the unit in which tools report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cost: Option<f64>,
    /// In milliseconds, without the time in which everything waits for people: the budget's time or the deadline.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub time_ms: Option<u64>,
    /// In bytes, for what calls give.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub memory: Option<u64>,
    /// Steps that are executed, where the plan or the project says so.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub steps: Option<u64>,
}

/// What the project says of the runs of its plans.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// What plans leave out.
    pub policy: &'a Policy,
    /// The most that a run of any plan may use.
    pub limits: &'a Budget,
    /// How calls of a tool are retried where their step does not say.
    pub retry: &'a dyn Fn(&Signature) -> Option<Retry>,
    /// The statements of the plan itself that run, by their numbers; all where it says nothing.
    pub wanted: Option<&'a BTreeSet<u32>>,
}

/// What a run of a plan does at most, with every input.
#[must_use]
pub fn bounds(plan: &Plan, around: &Around<'_>) -> Bounds {
    Bounds {
        uses: count::uses(plan, around),
        limits: Limits::of(plan, around),
    }
}

impl Around<'_> {
    fn budget(&self, plan: &Plan) -> Budget {
        let own = plan.policy.budget.over(&self.policy.budget);
        own.within(self.limits)
    }
}

impl Limits {
    fn of(plan: &Plan, around: &Around<'_>) -> Self {
        let budget = around.budget(plan);
        let deadline = plan.policy.deadline.or(around.policy.deadline);
        let time = deadline.into_iter().chain(budget.time).min();
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self {
            calls: budget.calls,
            tokens: budget.tokens,
            cost: budget.cost,
            time_ms: time.map(milliseconds),
            memory: budget.memory,
            steps: plan.policy.max_steps.or(around.policy.max_steps),
        }
    }
}

impl Undoing {
    /// In words, without the call that it speaks of: `undone by desk.reopen_ticket`.
    #[must_use]
    pub fn told(&self) -> String {
        match self {
            Self::With(tools) if tools.is_empty() => "undone by no call".to_owned(),
            Self::With(tools) => format!("undone by {}", tools.join(", ")),
            Self::Whole(tools) => {
                let tools = tools.join(", ");
                format!("undone by {tools} once the step around it has completed")
            }
            Self::Policy(OnFailure::Pause) => "stays, since `on_failure` is `pause`".to_owned(),
            Self::Policy(OnFailure::Settle | OnFailure::Undo) => {
                "stays where `on_failure: settle` goes on".to_owned()
            }
            Self::Inverse(tool) => format!("stays: no `undo` calls {tool}"),
            Self::Stays => "stays".to_owned(),
            Self::AfterEnd => "stays: it comes after the end".to_owned(),
        }
    }
}

impl Use {
    /// The bound in words: `desk.close_ticket at most 50 effect`, with what it is for where that is not the plan's work.
    #[must_use]
    pub fn told(&self) -> String {
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
