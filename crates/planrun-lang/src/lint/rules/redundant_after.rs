//! `redundant-after`: a step names in `after` what it waits for anyway.

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

/// How far above a step is looked.
const MAX_VERTICES: usize = 5_000;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
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
            if stands_there_anyway(subject, block, graph, index) {
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
                // The last name frees the statement of its place, so it says something even where data say the same.
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
        "the step reads it, or something that reads it"
    };
    let edit = Edit::removal(removal(subject.source, after.span));
    Diagnostic::new(
        &codes::order::REDUNDANT_AFTER,
        after.span,
        format!("`{name}` is waited for anyway"),
    )
    .note("says nothing new")
    .help(format!("{why}, so leave it out"))
    .unsafe_fix(format!("remove `{name}`"), vec![edit])
}

fn whole_clause(subject: &Subject<'_>, node: &Node) -> Diagnostic {
    let spans = || node.after.iter().map(|after| after.span);
    let whole = spans().reduce(Span::to).unwrap_or(node.span);
    let edit = Edit::removal(removal(subject.source, whole));
    Diagnostic::new(
        &codes::order::REDUNDANT_AFTER,
        whole,
        "this `after` says what the order of the page says already",
    )
    .note("says nothing new")
    .help(format!("{}; leave the clause out", waits_for(node.order())))
    .unsafe_fix("remove the clause", vec![edit])
}

/// The rule of the page for a statement.
fn waits_for(order: OrderClass) -> &'static str {
    match order {
        OrderClass::Pure | OrderClass::Read => {
            "a read waits for everything above it that changes something"
        }
        OrderClass::Clock => "a wait begins when everything above it has ended",
        OrderClass::Barrier => "a statement that changes something waits for everything above it",
    }
}

/// Whether a statement would wait for exactly the same where it stands, without its `after`.
fn stands_there_anyway(
    subject: &Subject<'_>,
    block: &Block,
    graph: &BlockGraph,
    index: usize,
) -> bool {
    let on_failure = subject
        .plan
        .policy
        .on_failure
        .or(subject.project.policy.on_failure)
        .unwrap_or_default();
    // After a failure an `after` holds its statement back, and a place does not.
    if on_failure == OnFailure::Settle {
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
    // By what it names, or by data, which it waits for in any case.
    let covered = |above: usize| is_before(graph, above, index) == Some(true);
    all_awaited && awaited.into_iter().all(covered)
}

/// Whether a step would not run either if what it names had failed, because of the values that it reads.
fn waits_anyway(
    subject: &Subject<'_>,
    block: &Block,
    graph: &BlockGraph,
    index: usize,
    after: &After,
) -> bool {
    let wanted = after.node.0 as usize;
    let on_failure = subject
        .plan
        .policy
        .on_failure
        .or(subject.project.policy.on_failure)
        .unwrap_or_default();
    // What goes on after a failure goes on in ways that only the text settles.
    let passes = |vertex: usize| match block.nodes.get(vertex).map(|node| &node.kind) {
        Some(NodeKind::Step(step)) => step.recover.is_empty() && on_failure != OnFailure::Settle,
        Some(NodeKind::Let(_) | NodeKind::Condition(_)) => true,
        Some(_) | None => false,
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
            if source == wanted {
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

/// The text that goes with a name behind `after`: the whole clause where it is the only one.
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
