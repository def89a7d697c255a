//! `redundant-after`: a step names a statement in `after` that it waits for anyway.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::graph::{self, BlockGraph, Edge};
use crate::lint::flow::is_before;
use crate::sema::{After, Block, Node, NodeKind, OnFailure, OrderClass};
use crate::source::{SourceFile, Span};

/// Maximum number of vertices above a step to visit.
const MAX_VERTICES: usize = 5_000;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    let named = subject.plan.nodes().any(|node| !node.after.is_empty());
    if !named || !subject.sound {
        return;
    }
    for (block, graph) in subject.plan.blocks.iter().zip(&subject.graph().blocks) {
        for (index, node) in block
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| !node.after.is_empty())
        {
            if ordered_anyway(subject, block, graph, index) {
                found.push(whole_clause(subject, node));
                continue;
            }
            let mut left = node.after.len();
            for (place, after) in node.after.iter().enumerate() {
                let twice = node
                    .after
                    .iter()
                    .take(place)
                    .any(|earlier| earlier.node == after.node);
                // The last name cancels the statement's default order, so it matters even if data dependencies imply
                // it.
                if left > 1 && (twice || waits_anyway(subject, block, graph, index, after)) {
                    left -= 1;
                    found.push(one_name(subject, after, twice));
                }
            }
        }
    }
}

fn one_name(subject: &Subject<'_>, after: &After, twice: bool) -> Diagnostic {
    let name = subject.source.slice(after.span);
    let why = if twice {
        "it is named twice"
    } else {
        "the step already reads it, directly or indirectly"
    };
    let edit = Edit::removal(removal(subject.source, after.span));
    codes::order::REDUNDANT_AFTER
        .at(after.span, format!("this step waits for `{name}` anyway"))
        .note("redundant")
        .help(format!("remove it: {why}"))
        .unsafe_fix(format!("remove `{name}`"), vec![edit])
}

fn whole_clause(subject: &Subject<'_>, node: &Node) -> Diagnostic {
    let spans = || node.after.iter().map(|after| after.span);
    let whole = spans().reduce(Span::to).unwrap_or(node.span);
    let edit = Edit::removal(removal(subject.source, whole));
    codes::order::REDUNDANT_AFTER
        .at(whole, "this `after` repeats the order of the statements")
        .note("redundant")
        .help(format!("remove the clause: {}", waits_for(node.order())))
        .unsafe_fix("remove the clause", vec![edit])
}

/// Returns the rule of the default order for a statement, for messages.
fn waits_for(order: OrderClass) -> &'static str {
    match order {
        OrderClass::Pure | OrderClass::Read => {
            "a read waits for everything above it that changes something"
        }
        OrderClass::Clock => "a wait begins when everything above it has ended",
        OrderClass::Barrier => "a statement that changes something waits for everything above it",
    }
}

/// Returns true if a statement would wait for exactly the same statements without its `after`.
fn ordered_anyway(subject: &Subject<'_>, block: &Block, graph: &BlockGraph, index: usize) -> bool {
    // After a failure, an `after` holds back its statement, but the default order does not.
    if subject.on_failure() == OnFailure::Settle {
        return false;
    }
    let awaited = graph::awaited_by_place(block, graph, index);
    let after = &block.nodes[index].after;
    let all_awaited = after.iter().all(|after| {
        let named = after.node.0 as usize;
        awaited
            .iter()
            .any(|above| is_before(graph, named, *above) == Some(true))
    });
    // Through the names in `after`, or through data, which it waits for in any case.
    let covered = |above: usize| is_before(graph, above, index) == Some(true);
    all_awaited && awaited.into_iter().all(covered)
}

/// Returns true if the values that a step reads already make it wait for the named statement, and keep it from running
/// if that fails.
fn waits_anyway(
    subject: &Subject<'_>,
    block: &Block,
    graph: &BlockGraph,
    index: usize,
    after: &After,
) -> bool {
    let target = after.node.0 as usize;
    let settles = subject.on_failure() == OnFailure::Settle;
    // A step that continues after a failure does not pass the failure on.
    let passes = |vertex: usize| match block.nodes.get(vertex).map(|node| &node.kind) {
        Some(NodeKind::Step(step)) => step.recover.is_empty() && !settles,
        // `None` is a join.
        Some(NodeKind::Let(_) | NodeKind::Condition(_)) | None => true,
        Some(_) => false,
    };
    let (mut open, mut seen) = (vec![index], BTreeSet::new());
    while let Some(vertex) = open.pop() {
        for edge in graph
            .dag
            .edges_directed(NodeIndex::new(vertex), Direction::Incoming)
        {
            let source = edge.source().index();
            let carries = matches!(edge.weight(), Edge::Data | Edge::Guard)
                || vertex != index && *edge.weight() == Edge::After;
            if !carries {
                continue;
            }
            if source == target {
                return true;
            }
            if passes(source) && seen.insert(source) {
                open.push(source);
            }
        }
        if seen.len() > MAX_VERTICES {
            return false;
        }
    }
    false
}

/// Returns the span to remove with a name after `after`; the whole clause if it is the only name.
fn removal(source: &SourceFile, name: Span) -> Span {
    let text = source.text();
    let (start, end) = (name.start as usize, name.end as usize);
    let (before, behind) = (
        text.get(..start).unwrap_or(""),
        text.get(end..).unwrap_or(""),
    );
    let gap = behind.len() - behind.trim_start().len();
    if let Some(rest) = behind.trim_start().strip_prefix(',') {
        return Span::new(
            start,
            end + gap + 1 + (rest.len() - rest.trim_start().len()),
        );
    }
    let before = before.trim_end();
    match before
        .strip_suffix(',')
        .or_else(|| before.strip_suffix("after"))
    {
        Some(kept) => Span::new(kept.len(), end),
        None => name,
    }
}
