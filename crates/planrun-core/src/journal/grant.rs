//! What somebody has agreed that a run may do as a whole, once, before it does anything.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::question::Answer;
use super::wire;

/// The calls of a plan that change something, and how often each may be made. Every call is held against it; one beyond it
/// is asked for by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grant {
    /// The digest of the plan's meaning: another plan needs another grant.
    pub plan: Arc<str>,
    pub calls: Vec<GrantedCalls>,
    #[serde(default)]
    pub scope: GrantScope,
    /// Who agreed, and by which channel, such as `elicitation:claude-code` or `terminal`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Arc<str>>,
    /// Until when, in nanoseconds since 1970; nothing before somebody has agreed.
    #[serde(
        default,
        with = "wire::moment",
        skip_serializing_if = "Option::is_none"
    )]
    pub expires: Option<i128>,
}

/// The calls of one tool that a grant is for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GrantedCalls {
    /// `namespace.name`.
    pub tool: Arc<str>,
    /// The digest of the tool's contract.
    pub contract: Arc<str>,
    pub effect: Effect,
    /// Executions at most: attempts at one of them count once.
    pub max: u64,
    /// Arguments that have these values in every call.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub constants: BTreeMap<Arc<str>, Json>,
}

/// Which runs a grant is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantScope {
    /// The run that asked.
    #[default]
    Once,
    /// Every run of the same plan until the grant expires.
    Plan,
}

/// The field of the answer to an approval that says yes or no.
pub const APPROVE: &str = "approve";
/// The field of the answer that says for which runs.
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
    /// The same as somebody has given it; nothing where the answer is a no.
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

    /// What it says of a tool.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<&GrantedCalls> {
        self.calls.iter().find(|calls| *calls.tool == *tool)
    }
}
