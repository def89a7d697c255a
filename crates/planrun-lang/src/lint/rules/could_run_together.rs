//! `could-run-together`: consecutive steps that are independent run in sequence, since one of them is a barrier.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;

use super::Subject;
use crate::diag::{Diagnostic, Edit, codes};
use crate::graph::BlockGraph;
use crate::sema::{Block, NodeKind, OrderClass, Step, StepKind};
use crate::source::{SourceFile, Span};

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.sound {
        return;
    }
    for (block, graph) in subject.plan.blocks.iter().zip(&subject.graph().blocks) {
        let mut index = 0;
        while index < block.nodes.len() {
            let run = neighbours(block, graph, index);
            if run.len() > 1 {
                found.push(report(subject, block, &run));
            }
            index += run.len().max(1);
        }
        found.extend(
            block
                .nodes
                .iter()
                .filter_map(|node| elements(subject, node.step()?)),
        );
    }
}

/// Returns the longest run of independent steps from here on, if at least one of them is a barrier. A step that asks a
/// person, or waits, ends the run: its position is intentional.
fn neighbours(block: &Block, graph: &BlockGraph, first: usize) -> Vec<usize> {
    let together = |index: usize| {
        u32::try_from(index).is_ok_and(|index| block.parallel_around(index).is_some())
    };
    let mut row: Vec<usize> = Vec::new();
    let mut barrier = false;
    for (index, node) in block.nodes.iter().enumerate().skip(first) {
        let NodeKind::Step(step) = &node.kind else {
            break;
        };
        let movable = node.guard.is_empty() && node.after.is_empty() && !together(index);
        if !movable
            || has_fixed_position(step)
            || row.iter().any(|above| needs(graph, index, *above))
        {
            break;
        }
        barrier |= step.order == OrderClass::Barrier;
        row.push(index);
    }
    if barrier { row } else { Vec::new() }
}

fn has_fixed_position(step: &Step) -> bool {
    let asks = step.confirm().is_some() || step.until().is_some();
    asks || step.order == OrderClass::Clock
        || matches!(step.kind, StepKind::Input(_) | StepKind::Wait(_))
}

/// Returns true if a statement depends on another, directly or transitively.
fn needs(graph: &BlockGraph, later: usize, earlier: usize) -> bool {
    let (mut open, mut seen) = (vec![later], BTreeSet::new());
    while let Some(vertex) = open.pop() {
        for edge in graph
            .dag
            .edges_directed(NodeIndex::new(vertex), Direction::Incoming)
        {
            let source = edge.source().index();
            if source == earlier {
                return true;
            }
            // Edges lead from earlier to later statements only.
            if source > earlier && seen.insert(source) {
                open.push(source);
            }
        }
    }
    false
}

/// Reports an `each` that processes one element at a time although its body begins with reads.
fn elements(subject: &Subject<'_>, step: &Step) -> Option<Diagnostic> {
    let StepKind::Each(each) = &step.kind else {
        return None;
    };
    let mut body = subject
        .plan
        .block(each.body)
        .nodes
        .iter()
        .filter_map(|node| node.step());
    let reads_first = body
        .find(|inner| inner.order > OrderClass::Pure)
        .is_some_and(|first| first.order == OrderClass::Read);
    if each.parallel.is_some() || !each.in_turn || !reads_first {
        return None;
    }
    let message = "elements run one after the other, since the body changes something";
    let diagnostic = codes::order::COULD_RUN_TOGETHER
        .at(step.span, message)
        .note("one at a time")
        .help("write `parallel 4` after `max` if elements need not wait for each other");
    Some(diagnostic)
}

fn report(subject: &Subject<'_>, block: &Block, row: &[usize]) -> Diagnostic {
    let nodes = row
        .iter()
        .filter_map(|index| block.nodes.get(*index))
        .collect::<Vec<_>>();
    let names = nodes
        .iter()
        .filter_map(|node| node.name.as_deref())
        .map(|name| format!("`{name}`"));
    let message = format!(
        "{} do not depend on each other, but run one after the other",
        names.collect::<Vec<_>>().join(", ")
    );
    let spans = nodes.iter().map(|node| node.span).collect::<Vec<_>>();
    let whole = match (spans.first(), spans.last()) {
        (Some(first), Some(last)) => first.to(*last),
        _ => subject.plan.span,
    };
    let place = nodes
        .first()
        .and_then(|node| node.step())
        .map_or(whole, |step| step.span);
    let mut diagnostic = codes::order::COULD_RUN_TOGETHER
        .at(place, message)
        .note("the first of them")
        .help("if the order does not matter, put them into a `parallel { … }`");
    // The lines of a multi-line text would be indented with the rest.
    if subject.is_text()
        && !["\"\"\"", "'''"]
            .iter()
            .any(|quotes| subject.source.slice(whole).contains(quotes))
    {
        diagnostic =
            diagnostic.unsafe_fix("wrap them in `parallel`", wrapped(subject.source, whole));
    }
    diagnostic
}

/// Returns the edits that wrap statements in a block, indenting each line by one level.
fn wrapped(source: &SourceFile, whole: Span) -> Vec<Edit> {
    let text = source.text();
    let (start, end) = (whole.start as usize, whole.end as usize);
    let line = text
        .get(..start)
        .and_then(|before| before.rfind('\n'))
        .map_or(0, |at| at + 1);
    let margin = text
        .get(line..start)
        .filter(|margin| margin.trim().is_empty())
        .unwrap_or("");
    let body = text.get(start..end).unwrap_or("").replace('\n', "\n    ");
    let text = format!("parallel {{\n{margin}    {body}\n{margin}}}");
    vec![Edit::new(whole, text)]
}
