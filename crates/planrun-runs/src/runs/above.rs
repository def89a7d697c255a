//! Finds statements that a patch may not insert above a step that has started: those that the step would have waited
//! for, and those that decide whether it runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::{Node, OrderClass, Plan};
use planrun_lang::source::SourceFile;

/// A plan with its text.
#[derive(Clone, Copy)]
pub struct PatchText<'a> {
    pub plan: &'a Arc<Plan>,
    pub source: &'a SourceFile,
}

/// Returns the first such statement of the new text that was not above the started step before, and the name of that
/// step.
pub fn inserted_statement(
    was: PatchText<'_>,
    is: PatchText<'_>,
    started: &BTreeSet<String>,
) -> Option<(String, String)> {
    let before: Vec<String> = was
        .plan
        .body()
        .nodes
        .iter()
        .map(|node| was.key(node))
        .collect();
    let nodes = &is.plan.body().nodes;
    let has_started = |node: &Node| {
        node.name
            .as_deref()
            .is_some_and(|name| started.contains(name))
    };
    nodes.iter().enumerate().find_map(|(index, node)| {
        let below = nodes
            .iter()
            .skip(index + 1)
            .find(|below| has_started(below))?;
        if has_started(node) || !(node.decides() || node.order() > OrderClass::Read) {
            return None;
        }
        let key = is.key(node);
        let name = below.name.as_deref().unwrap_or_default();
        let was_above = before
            .iter()
            .take_while(|known| *known != name)
            .any(|known| *known == key);
        (!was_above).then(|| {
            (
                visible_line(&key).into_owned(),
                visible_line(name).into_owned(),
            )
        })
    })
}

impl PatchText<'_> {
    /// Returns what identifies a statement: its name, or its text if it has none.
    fn key(&self, node: &Node) -> String {
        let text = || {
            self.source
                .slice(node.span)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        };
        node.name.as_deref().map_or_else(text, str::to_owned)
    }
}

/// Returns the names of the plan's own statements in these paths.
pub fn names<'a>(paths: impl Iterator<Item = &'a Arc<str>>) -> BTreeSet<String> {
    paths
        .map(|path| path.split(['.', '[']).next().unwrap_or_default().to_owned())
        .collect()
}
