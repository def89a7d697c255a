//! `redundant-after`: a step names in `after` what it waits for anyway.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::graph::{BlockGraph, Edge};
use crate::sema::{After, Block, NodeKind, OnFailure};
use crate::source::{SourceFile, Span};

/// How far above a step is looked.
const MOST_VERTICES: usize = 5_000;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let named = subject.plan.blocks.iter().any(|block| block.nodes.iter().any(|node| !node.after.is_empty()));
    if !named || !subject.sound {
        return;
    }
    for (block, graph) in subject.plan.blocks.iter().zip(&subject.graph().blocks) {
        for (index, node) in block.nodes.iter().enumerate() {
            for (place, after) in node.after.iter().enumerate() {
                let twice = node.after.iter().take(place).any(|earlier| earlier.node == after.node);
                if !twice && !waits_anyway(subject, block, graph, index, after) {
                    continue;
                }
                let name = subject.source.slice(after.span);
                let message = format!("`{name}` is waited for anyway");
                let why = if twice { "it is named twice" } else { "the step reads it, or something that reads it" };
                let edit = Edit { span: removal(subject.source, after.span), text: String::new() };
                let diagnostic = Diagnostic::new(&codes::order::REDUNDANT_AFTER, after.span, message)
                    .note("says nothing new")
                    .help(format!("{why}; data decides order, so leave it out"))
                    .unsafe_fix(format!("remove `{name}`"), vec![edit]);
                found.push(diagnostic);
            }
        }
    }
}

/// Whether a step would not run either if what it names had failed, because of the values that it reads.
fn waits_anyway(subject: &Subject<'_>, block: &Block, graph: &BlockGraph, index: usize, after: &After) -> bool {
    let wanted = after.node.0 as usize;
    let on_failure = subject.plan.policy.on_failure.or(subject.project.policy.on_failure).unwrap_or_default();
    // What goes on after a failure goes on in ways that only the text settles.
    let passes = |vertex: usize| match block.nodes.get(vertex).map(|node| &node.kind) {
        Some(NodeKind::Step(step)) => step.recover.is_empty() && on_failure != OnFailure::Settle,
        Some(NodeKind::Let(_) | NodeKind::Condition(_)) => true,
        Some(_) | None => false,
    };
    let (mut open, mut seen) = (vec![index], BTreeSet::new());
    while let Some(vertex) = open.pop() {
        for edge in graph.dag.edges_directed(NodeIndex::new(vertex), Direction::Incoming) {
            let source = edge.source().index();
            let carries =
                matches!(edge.weight(), Edge::Data | Edge::Guard) || vertex != index && *edge.weight() == Edge::After;
            if !carries {
                continue;
            }
            if source == wanted {
                return true;
            }
            if passes(source) && seen.insert(source) {
                open.push(source);
            }
        }
        if seen.len() > MOST_VERTICES {
            return false;
        }
    }
    false
}

/// The text that goes with a name behind `after`: the whole clause where it is the only one.
fn removal(source: &SourceFile, name: Span) -> Span {
    let text = source.text();
    let (start, end) = (name.start as usize, name.end as usize);
    let (before, behind) = (text.get(..start).unwrap_or(""), text.get(end..).unwrap_or(""));
    let gap = behind.len() - behind.trim_start().len();
    if let Some(rest) = behind.trim_start().strip_prefix(',') {
        return Span::new(start, end + gap + 1 + (rest.len() - rest.trim_start().len()));
    }
    let before = before.trim_end();
    match before.strip_suffix(',').or_else(|| before.strip_suffix("after")) {
        Some(kept) => Span::new(kept.len(), end),
        None => name,
    }
}
