//! Finds statements that a patch may not insert above a step that has started: those that the step would have waited
//! for, and those that decide whether it runs.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::diag::render::visible_line;
use planrun_lang::sema::{Node, NodeKind, OrderClass, Plan};
use planrun_lang::source::SourceFile;

/// A plan with its text.
#[derive(Clone, Copy)]
pub struct PatchText<'a> {
    pub plan: &'a Arc<Plan>,
    pub source: &'a SourceFile,
}

/// The statements of a plan that a run has started.
#[derive(Debug)]
pub struct Started {
    /// The names of those that have one.
    pub names: BTreeSet<String>,
    /// The texts of each `set` that has changed its task, in source order.
    pub sets: Vec<String>,
}

impl Started {
    /// Returns true if a statement of one of the texts is among them.
    pub fn contains(&self, plan: PatchText<'_>, node: &Node) -> bool {
        if matches!(node.kind, NodeKind::Set(_)) {
            return self.sets.contains(&plan.key(node));
        }
        let name = node.name.as_deref();
        name.is_some_and(|name| self.names.contains(name))
    }

    /// Returns the first `set` that the text lacks, or has in another order.
    pub fn missing_set(&self, is: PatchText<'_>) -> Option<&str> {
        let mut nodes = is.plan.body().nodes.iter();
        let mut lacks = |set: &&String| {
            let is_set = |node: &Node| matches!(node.kind, NodeKind::Set(_));
            !nodes.any(|node| is_set(node) && is.key(node) == **set)
        };
        self.sets.iter().find(|set| lacks(set)).map(String::as_str)
    }
}

/// Returns the first such statement of the new text that was not above the started statement before, and the name or
/// text of that statement. New reads are refused only above a `set`: it may have fired listeners, and would now fire
/// them after others.
pub fn inserted_statement(
    was: PatchText<'_>,
    is: PatchText<'_>,
    started: &Started,
) -> Option<(String, String)> {
    let before = was.plan.body().nodes.iter().map(|node| was.key(node));
    let before: Vec<String> = before.collect();
    let nodes = &is.plan.body().nodes;
    nodes.iter().enumerate().find_map(|(index, node)| {
        let highest = if node.decides() {
            OrderClass::Barrier
        } else {
            node.order()
        };
        let waited_for = node.step().is_some() || highest > OrderClass::Pure;
        if started.contains(is, node) || !waited_for {
            return None;
        }
        let waits = |below: &&Node| {
            // A pure step does not wait for a barrier, but its failure does.
            let is_held_back = highest > OrderClass::Read || matches!(below.kind, NodeKind::Set(_));
            is_held_back && started.contains(is, below)
        };
        let below = nodes.iter().skip(index + 1).find(waits)?;
        let (key, below) = (is.key(node), is.key(below));
        let mut above = before.iter().take_while(|known| **known != below);
        let was_above = above.any(|known| *known == key);
        let visible = |text: &str| visible_line(text).into_owned();
        (!was_above).then(|| (visible(&key), visible(&below)))
    })
}

impl PatchText<'_> {
    /// Returns what identifies a statement: its name, or its text if it has none.
    pub fn key(&self, node: &Node) -> String {
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
