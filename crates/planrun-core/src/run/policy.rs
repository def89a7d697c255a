//! The effective settings of one plan instance: its own, then those of the project, then the defaults.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::sema::{Backoff, Budget, OnFailure, Policy, Retry, Step};
use planrun_lang::types::{Effect, ErrorPattern, Signature};

/// Settings of the project, for what a plan leaves open.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    pub policy: Policy,
    /// Upper limits of what a run of any plan may use.
    pub limits: Budget,
    /// Limit from the command line, which takes precedence over the plan.
    pub max_steps: Option<u64>,
    /// Retry settings by tool, for steps without their own; they apply to effects, too.
    pub retries: Arc<[ToolRetry]>,
    /// Tools whose calls need a confirmation, if the step has no `confirm` of its own.
    pub confirm: Arc<[ToolNames]>,
    /// Disables `recover` arms that only replace a result by a placeholder: see
    /// [`Plan::is_placeholder`](planrun_lang::sema::Plan::is_placeholder).
    pub strict: bool,
}

/// Names one tool, or all tools of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolNames {
    namespace: Arc<str>,
    tool: Option<Arc<str>>,
}

impl ToolNames {
    /// Parses `namespace.tool` or `namespace.*`; `None` if the text is neither.
    #[must_use]
    pub fn find(written: &str) -> Option<Self> {
        let (namespace, tool) = written.split_once('.')?;
        let tool = (tool != "*").then(|| tool.into());
        (!namespace.is_empty() && tool.as_deref() != Some("")).then(|| Self {
            namespace: namespace.into(),
            tool,
        })
    }

    /// Returns true if this tool is among them.
    #[must_use]
    pub fn covers(&self, called: &Signature) -> bool {
        self.names(&called.namespace, &called.name)
    }

    /// Returns true if the tool of this name is among them.
    #[must_use]
    pub fn names(&self, namespace: &str, tool: &str) -> bool {
        *self.namespace == *namespace && self.tool.as_ref().is_none_or(|own| **own == *tool)
    }

    /// Returns the question that is asked before a call, if the project requires a confirmation.
    #[must_use]
    pub fn question(tool: &str) -> String {
        format!("Call `{tool}`?")
    }
}

/// The `retry` setting of a project for calls of these tools.
#[derive(Clone, Debug)]
pub struct ToolRetry {
    pub tools: ToolNames,
    pub retry: Retry,
}

impl Defaults {
    /// Returns the `retry` of a step, or that of the project for its tool or namespace.
    pub(super) fn retry_of<'s>(&'s self, step: &'s Step, called: &Signature) -> Option<&'s Retry> {
        step.retry().or_else(|| self.retry_for(called))
    }

    /// Returns the `retry` setting of the project for a tool, or for its namespace.
    #[must_use]
    pub fn retry_for(&self, called: &Signature) -> Option<&Retry> {
        let own = || {
            self.retries
                .iter()
                .filter(|known| known.tools.covers(called))
        };
        let known = own()
            .find(|known| known.tools.tool.is_some())
            .or_else(|| own().next());
        known.map(|known| &known.retry)
    }
}

/// Default timeout of an attempt. Without a bound, a lost answer would block a run forever.
const TIMEOUT: Duration = Duration::from_mins(5);
const CONCURRENCY: u32 = 16;
/// Default limit for the steps of a run.
pub const MAX_STEPS: u64 = 10_000;
const MAX_FIRINGS: u64 = 1000;
const MAX_RESULT: u64 = 8 * 1024 * 1024;
const MAX_MEMORY: u64 = 1024 * 1024 * 1024;

/// The complete settings of one plan instance.
#[derive(Clone, Debug)]
pub(super) struct Effective {
    pub retry: Retry,
    pub timeout: Duration,
    pub deadline: Option<Duration>,
    pub concurrency: u32,
    pub on_failure: OnFailure,
    pub budget: Budget,
    pub max_steps: u64,
    pub max_firings: u64,
    pub max_result: u64,
    /// Disables `recover` arms that only replace a result by a placeholder.
    pub strict: bool,
}

impl Effective {
    pub(super) fn new(policy: &Policy, defaults: &Defaults) -> Self {
        let project = &defaults.policy;
        let mut budget = policy.budget.over(&project.budget).within(&defaults.limits);
        budget.memory = budget.memory.or(Some(MAX_MEMORY));
        Self {
            retry: policy.retry.over(&project.retry),
            timeout: policy.timeout.or(project.timeout).unwrap_or(TIMEOUT),
            // A time budget is a deadline with a warning before it.
            deadline: policy
                .deadline
                .or(project.deadline)
                .into_iter()
                .chain(budget.time)
                .min(),
            concurrency: policy
                .concurrency
                .or(project.concurrency)
                .unwrap_or(CONCURRENCY),
            on_failure: policy.on_failure.or(project.on_failure).unwrap_or_default(),
            budget,
            max_steps: defaults
                .max_steps
                .or(policy.max_steps)
                .or(project.max_steps)
                .unwrap_or(MAX_STEPS),
            max_firings: policy
                .max_firings
                .or(project.max_firings)
                .unwrap_or(MAX_FIRINGS),
            max_result: policy
                .max_result
                .or(project.max_result)
                .unwrap_or(MAX_RESULT),
            strict: defaults.strict,
        }
    }

    /// Returns how a call with this effect is retried, and on which errors.
    pub(super) fn backoff(
        &self,
        step: Option<&Retry>,
        effect: Effect,
    ) -> (Backoff, Vec<ErrorPattern>) {
        Backoff::of(step, &self.retry, effect)
    }

    /// Returns true if the run pauses when the attempts of a call are exhausted.
    pub(super) fn pauses_when_exhausted(&self, step: Option<&Retry>) -> bool {
        step.and_then(|retry| retry.pause_when_exhausted)
            .or(self.retry.pause_when_exhausted)
            .unwrap_or(false)
    }
}
