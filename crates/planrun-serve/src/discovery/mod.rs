//! Describes tools and plans to models, as briefly as possible.
//!
//! The descriptions that servers provide are untrusted text. They are displayed as documentation, on lines that are
//! marked as such and without invisible characters. A description that addresses its reader instead of describing a
//! tool is withheld.

mod contract;
mod describe;
mod hit;
mod language;
mod search;
#[cfg(test)]
mod tests;
mod types;

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::lint::suspicions;
use planrun_lang::syntax::spelling::write_word;
use planrun_lang::types::Signature;
use planrun_tools::contract::ToolIndex;

pub use language::{language_page, language_topics};

/// An introduction to the language for models that write plans, of at most 550 tokens.
pub const CARD: &str = include_str!("card.txt");

/// The pseudo-namespace of all saved plans.
const PLANS: &str = "plans";

/// The tools and saved plans of a project, by their words and names. It is built once and immutable.
pub struct Index {
    words: ToolIndex,
    by_namespace: BTreeMap<Arc<str>, Vec<Arc<Signature>>>,
    by_path: BTreeMap<String, Arc<Signature>>,
    plans: BTreeMap<Arc<str>, Arc<Signature>>,
}

impl Index {
    /// Creates the index of these tools and saved plans. A plan is the signature that
    /// [`planrun_lang::sema::Plan::contract`] returns, and is identified by its name only.
    pub fn new(
        tools: impl IntoIterator<Item = Arc<Signature>>,
        plans: impl IntoIterator<Item = Arc<Signature>>,
    ) -> Self {
        let by_path: BTreeMap<String, Arc<Signature>> =
            tools.into_iter().map(|tool| (tool.path(), tool)).collect();
        let mut by_namespace: BTreeMap<Arc<str>, Vec<Arc<Signature>>> = BTreeMap::new();
        for tool in by_path.values() {
            let own = by_namespace.entry(tool.namespace.clone()).or_default();
            own.push(tool.clone());
        }
        let plans: BTreeMap<Arc<str>, Arc<Signature>> = plans
            .into_iter()
            .map(|plan| (plan.name.clone(), plan))
            .collect();
        let words = ToolIndex::new(by_path.values().chain(plans.values()).cloned());
        Self {
            words,
            by_namespace,
            by_path,
            plans,
        }
    }

    /// Returns true if the signature is one of the saved plans.
    fn is_plan(&self, tool: &Arc<Signature>) -> bool {
        let plan = self.plans.get(&tool.name);
        plan.is_some_and(|plan| Arc::ptr_eq(plan, tool))
    }

    /// Returns the tools of a namespace, or all saved plans for [`PLANS`] if no namespace has that name.
    fn members(&self, namespace: &str) -> Option<Vec<&Arc<Signature>>> {
        match self.by_namespace.get(namespace) {
            Some(tools) => Some(tools.iter().collect()),
            None => (namespace == PLANS).then(|| self.plans.values().collect()),
        }
    }
}

/// Returns a name as plans write it.
fn spelled(name: &str) -> String {
    let mut text = String::new();
    write_word(&mut text, name);
    text
}

/// Returns why an external text is withheld; `None` if it only describes. Several reasons are joined.
fn suspicion(text: &str) -> Option<String> {
    let found = suspicions(text);
    (!found.is_empty()).then(|| found.join(" and "))
}
