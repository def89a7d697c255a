//! What a run would do, as far as that is known before it does anything.

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

/// What a forecast knows beside the plan.
pub(crate) struct Surroundings<'a> {
    pub host: &'a dyn Host,
    /// Where relative paths begin.
    pub root: &'a Path,
    /// What the project lets plans reach; `None` where it sets no limit.
    pub limit: Option<&'a Permissions>,
    /// The text of the plan's own file.
    pub source: &'a SourceFile,
    /// The statements of the plan itself that are wanted; all where it says nothing.
    pub wanted: Option<&'a BTreeSet<u32>>,
    /// What the project asks people before a call of this tool.
    pub question_before: &'a dyn Fn(&str) -> Option<String>,
}

/// What a run would do.
#[derive(Debug, Serialize)]
pub struct Forecast {
    pub version: u32,
    pub plan: Arc<str>,
    pub dry_run: bool,
    pub steps: Vec<Item>,
    /// How many of the steps that would run, or perhaps do, are calls of each class. How often each is made: `bounds`.
    pub calls: BTreeMap<&'static str, usize>,
    /// What the run does at most, whatever its inputs are.
    pub bounds: Bounds,
    /// Why the run would fail, where that is known already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fails: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply: Option<Known>,
    /// There are more steps than are listed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// One step.
#[derive(Debug, Serialize)]
pub struct Item {
    /// `[*]` stands for elements, rounds and firings that are not known yet.
    pub path: String,
    /// `call`, `plan`, or the word that the step begins with.
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<&'static str>,
    pub runs: Runs,
    /// Why it does not run: `guard`, `replied`, or `not needed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    pub arguments: Map<String, Json>,
    /// Arguments that are not known yet.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown: BTreeMap<String, Unknown>,
    /// Somebody is asked before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confirm: Option<Gate>,
    /// What it needs to be allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
}

/// Whether something happens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Runs {
    Yes,
    /// Something that is not known yet decides it.
    Maybe,
    No,
}

/// A value, or what stands for it.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Known {
    Value { value: Value },
    Unknown { unknown: Unknown },
}

/// Something that is not known yet.
#[derive(Clone, Debug, Serialize)]
pub struct Unknown {
    /// As the plan says it; absent in other files than the plan's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expression: Option<String>,
    /// What it waits for.
    pub after: Vec<Arc<str>>,
    /// Why it will never be known.
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

/// What a call needs to be allowed.
#[derive(Clone, Debug, Serialize)]
pub struct Permission {
    /// The setting of `allow`.
    pub allow: &'static str,
    pub thing: String,
    pub granted: bool,
}

/// What a run of a plan with these inputs would do.
pub(crate) fn forecast(
    plan: &Arc<Plan>,
    inputs: &BTreeMap<Arc<str>, Value>,
    bounds: Bounds,
    around: &Surroundings<'_>,
) -> Forecast {
    let mut forecast = walk::Walk::new(around).whole(plan, inputs, bounds);
    for item in &mut forecast.steps {
        if item.confirm.is_none() && item.kind == "call" {
            let tool = item.tool.as_deref();
            item.confirm = tool.and_then(around.question_before).map(|text| Gate {
                text: Known::Value { value: text.into() },
                by: None,
                expires: None,
            });
        }
    }
    forecast
}
