//! The effective settings of one plan instance: its own, then those of the project, then the defaults.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::sema::{Backoff, Budget, OnFailure, Policy, Retry, Step};
use planrun_lang::types::{Effect, ErrorPattern, Signature};

/// Settings of the project, for what a plan leaves out.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    pub policy: Policy,
    /// The most that a run of any plan may use.
    pub limits: Budget,
    /// Over what the plan says, from the command line.
    pub max_steps: Option<u64>,
    /// How steps that say nothing of it are retried, by what they call: effects too.
    pub retries: Arc<[ToolRetry]>,
    /// The tools before each call of which the project wants somebody's yes, where the step has no `confirm` of its own.
    pub confirm: Arc<[ToolNames]>,
    /// No `recover` arm puts a value in the place of a result: see [`Plan::is_placeholder`](planrun_lang::sema::Plan::is_placeholder).
    pub strict: bool,
}

/// Tools that a project speaks of: one, or all of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolNames {
    namespace: Arc<str>,
    tool: Option<Arc<str>>,
}

impl ToolNames {
    /// `namespace.tool`, or `namespace.*`; nothing where the text is neither.
    #[must_use]
    pub fn find(written: &str) -> Option<Self> {
        let (namespace, tool) = written.split_once('.')?;
        let tool = (tool != "*").then(|| tool.into());
        (!namespace.is_empty() && tool.as_deref() != Some("")).then(|| Self {
            namespace: namespace.into(),
            tool,
        })
    }

    /// Whether this tool is among them.
    #[must_use]
    pub fn covers(&self, called: &Signature) -> bool {
        self.names(&called.namespace, &called.name)
    }

    /// Whether the tool of this name is among them.
    #[must_use]
    pub fn names(&self, namespace: &str, tool: &str) -> bool {
        *self.namespace == *namespace && self.tool.as_ref().is_none_or(|own| **own == *tool)
    }

    /// What is asked before a call of one of them, where the project wants a yes.
    #[must_use]
    pub fn question(tool: &str) -> String {
        format!("Call `{tool}`?")
    }
}

/// `retry` of a project: what a step's own `retry` would say, for calls of these tools.
#[derive(Clone, Debug)]
pub struct ToolRetry {
    pub tools: ToolNames,
    pub retry: Retry,
}

impl Defaults {
    /// What a step's own `retry` says; else what the project says of the tool, or of its namespace.
    pub(super) fn retry_of<'s>(&'s self, step: &'s Step, called: &Signature) -> Option<&'s Retry> {
        step.retry().or_else(|| self.retry_for(called))
    }

    /// How calls of a tool are retried where their steps do not say: what the project says of it, or of its namespace.
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

/// How long an attempt may take when nobody says: without a bound a lost answer would hold a run for ever.
const TIMEOUT: Duration = Duration::from_mins(5);
const CONCURRENCY: u32 = 16;
/// Steps of a run where neither the plan nor the project says how many.
pub const MAX_STEPS: u64 = 10_000;
const MAX_FIRINGS: u64 = 1000;
const MAX_RESULT: u64 = 8 * 1024 * 1024;
const MAX_MEMORY: u64 = 1024 * 1024 * 1024;

/// The settings of one plan instance, complete.
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
    /// No arm of `recover` puts a value in the place of a result.
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
            // A budget of time is a deadline that is told of when it comes near.
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

    /// How a call of this class is retried, and on which errors.
    pub(super) fn backoff(
        &self,
        step: Option<&Retry>,
        effect: Effect,
    ) -> (Backoff, Vec<ErrorPattern>) {
        Backoff::of(step, &self.retry, effect)
    }

    /// Whether somebody wanted the run to pause when attempts are used up.
    pub(super) fn pauses_when_exhausted(&self, step: Option<&Retry>) -> bool {
        step.and_then(|retry| retry.pause_when_exhausted)
            .or(self.retry.pause_when_exhausted)
            .unwrap_or(false)
    }
}
