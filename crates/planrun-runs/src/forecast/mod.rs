//! Forecasts what a run would do, as far as that is known before it does anything.

mod knowledge;
mod step;
mod walk;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use planrun_lang::bounds::Bounds;
use planrun_lang::permission::Permissions;
use planrun_lang::sema::Plan;
use planrun_lang::source::SourceFile;
use planrun_lang::value::Value;
use planrun_tools::host::Host;
use serde::Serialize;
use serde_json::{Map, Value as Json};

/// Everything that a forecast needs in addition to the plan.
pub(crate) struct ForecastContext<'a> {
    pub host: &'a dyn Host,
    /// Folder that relative paths are resolved against.
    pub root: &'a Path,
    /// The project's limit on the permissions of plans; `None` if it sets none.
    pub limit: Option<&'a Permissions>,
    /// The text of the plan's own file.
    pub source: &'a SourceFile,
    /// Numbers of the plan's own statements that would run; `None` for all.
    pub statements: Option<&'a BTreeSet<u32>>,
    /// Returns the question that the project asks people before a call of this tool.
    pub question_before: &'a dyn Fn(&str) -> Option<String>,
}

/// A forecast of a run.
#[derive(Debug, Serialize)]
pub struct Forecast {
    pub version: u32,
    pub plan: Arc<str>,
    pub dry_run: bool,
    pub steps: Vec<Item>,
    /// Number of steps that would or might run and are calls, by effect. `bounds` says how often each call is made.
    pub calls: BTreeMap<&'static str, usize>,
    /// Upper bounds for a run, whatever its inputs are.
    pub bounds: Bounds,
    /// Why the run would fail, if that is already known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Known>,
    /// Whether there are more steps than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A step.
#[derive(Debug, Serialize)]
pub struct Item {
    /// `[*]` denotes elements, rounds and firings that are not known yet.
    pub path: String,
    /// `call`, `plan`, or the word that the step begins with.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<&'static str>,
    pub runs: Runs,
    /// Why it does not run: `guard`, `replied`, `failed`, or `not needed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    pub arguments: Map<String, Json>,
    /// Arguments that are not known yet.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, Unknown>,
    /// The question that people are asked before the step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Gate>,
    /// The permission that the call requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
}

/// Whether a step runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Runs {
    Yes,
    /// Depends on something that is not known yet.
    Maybe,
    No,
}

/// A value, or its description if it is unknown.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Known {
    Value { value: Value },
    Unknown { unknown: Unknown },
}

/// The description of a value that is not known yet.
#[derive(Clone, Debug, Serialize)]
pub struct Unknown {
    /// The expression in the plan; absent for files other than the plan's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// The steps that the value waits for.
    pub after: Vec<Arc<str>>,
    /// Why the value will never be known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
}

/// A question to people.
#[derive(Clone, Debug, Serialize)]
pub struct Gate {
    pub text: Known,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Known>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<Known>,
}

/// The permission that a call requires.
#[derive(Clone, Debug, Serialize)]
pub struct Permission {
    /// The setting of `allow`.
    pub allow: &'static str,
    pub thing: String,
    pub granted: bool,
}

/// Forecasts a run of a plan with these inputs.
pub(crate) fn forecast(
    plan: &Arc<Plan>,
    inputs: &BTreeMap<Arc<str>, Value>,
    bounds: Bounds,
    context: &ForecastContext<'_>,
) -> Forecast {
    let mut forecast = walk::Walk::new(context).forecast(plan, inputs, bounds);
    for item in &mut forecast.steps {
        if item.confirm.is_none() && item.kind == "call" {
            let tool = item.tool.as_deref();
            item.confirm = tool.and_then(context.question_before).map(|text| Gate {
                text: Known::Value { value: text.into() },
                by: None,
                expires: None,
            });
        }
    }
    forecast
}
