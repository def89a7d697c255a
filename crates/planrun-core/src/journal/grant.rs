//! Grants: what a person has approved that a run may do as a whole, before it does anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::question::Answer;
use super::wire;

/// The calls with effects that a plan may make, and how often each. Every call is checked against the grant; a call
/// beyond it needs an approval of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// Digest of the plan's text and of the plans that it calls. A plan with another digest needs another grant.
    pub plan: Arc<str>,
    pub calls: Vec<GrantedCalls>,
    #[serde(default)]
    pub scope: GrantScope,
    /// The person who approved, and the channel, such as `elicitation:claude-code` or `terminal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// Wall-clock time at which the grant expires, in nanoseconds since the Unix epoch; `None` until it is approved.
    #[serde(
        default,
        with = "wire::moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires: Option<i128>,
}

/// The calls of one tool that a grant covers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantedCalls {
    /// `namespace.name`.
    pub tool: Arc<str>,
    /// Digest of the tool's contract.
    pub contract: Arc<str>,
    pub effect: Effect,
    /// Maximum number of steps that may call the tool. Repeated calls of one step, such as retries and polls, count
    /// once; a step in an `each` or a `repeat` counts once for each element or round.
    pub max: u64,
    /// Arguments that have these values in every call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<Arc<str>, Json>,
}

/// Which runs a grant covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantScope {
    /// The run that asked.
    #[default]
    Once,
    /// Every run of the same plan until the grant expires.
    Plan,
}

/// Name of the field in the answer to an approval that holds yes or no.
pub const APPROVE: &str = "approve";
/// Name of the field in that answer that holds the scope.
pub const SCOPE: &str = "scope";

impl GrantScope {
    pub const ALL: [Self; 2] = [Self::Once, Self::Plan];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Plan => "plan",
        }
    }
}

impl Grant {
    /// Returns the grant as approved by this answer; `None` if the answer is a no.
    #[must_use]
    pub fn given(&self, answer: &Answer, expires: i128) -> Option<Self> {
        if answer.value.get(APPROVE) != Some(&Value::Bool(true)) {
            return None;
        }
        let scope = answer.value.get(SCOPE).and_then(Value::as_str);
        let scope = GrantScope::ALL
            .into_iter()
            .find(|one| Some(one.name()) == scope);
        Some(Self {
            scope: scope.unwrap_or_default(),
            by: answer.by.clone(),
            expires: Some(expires),
            ..self.clone()
        })
    }

    /// Returns the calls that the grant covers for a tool.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<&GrantedCalls> {
        self.calls.iter().find(|calls| *calls.tool == *tool)
    }
}
