//! `parallel-write`: two steps change one resource, and nothing says which comes first.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, Severity, codes};
use crate::lint::flow::is_before;
use crate::sema::{Node, Step};

/// A step of a block that changes a resource.
struct Writer<'a> {
    index: usize,
    node: &'a Node,
    step: &'a Step,
}

/// Beyond this number the rest of one resource's steps is not compared.
const MOST_WRITERS: usize = 50;

pub(super) fn look(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    // The language orders effects on one state itself, until `after none` says that it should not.
    if !subject.sound || !subject.steps().any(|site| site.step.unordered) {
        return;
    }
    for (block, graph) in subject.plan.blocks.iter().zip(&subject.graph().blocks) {
        for ((_, resource), writers) in writers(&block.nodes) {
            let pairs = writers
                .iter()
                .enumerate()
                .flat_map(|(place, later)| writers.iter().take(place).map(move |earlier| (earlier, later)));
            let unordered = |(earlier, later): &(&Writer<'_>, &Writer<'_>)| {
                (earlier.step.unordered || later.step.unordered)
                    && !excluded(earlier.node, later.node)
                    && is_before(graph, earlier.index, later.index) == Some(false)
            };
            if let Some((earlier, later)) = pairs.filter(unordered).min_by_key(|(_, later)| later.index) {
                found.push(report(&resource, earlier, later));
            }
        }
    }
}

fn writers(nodes: &[Node]) -> BTreeMap<(Arc<str>, Arc<str>), Vec<Writer<'_>>> {
    let mut writers: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate() {
        let Some(step) = node.step() else { continue };
        for touch in step.touches.iter().filter(|touch| !touch.effect.floats()) {
            let Some(resource) = &touch.resource else { continue };
            let known = writers.entry((touch.namespace.clone(), resource.clone())).or_default();
            if known.len() < MOST_WRITERS {
                known.push(Writer { index, node, step });
            }
        }
    }
    writers
}

/// Whether the guards of two statements never hold both.
fn excluded(one: &Node, other: &Node) -> bool {
    one.guard
        .iter()
        .any(|atom| other.guard.iter().any(|known| known.condition == atom.condition && known.negated != atom.negated))
}

fn report(resource: &str, earlier: &Writer<'_>, later: &Writer<'_>) -> Diagnostic {
    let name = |writer: &Writer<'_>| writer.node.name.as_deref().unwrap_or("a step").to_owned();
    let (first, second) = (name(earlier), name(later));
    let message = format!("`{first}` and `{second}` change `{resource}` at the same time");
    let mut diagnostic = Diagnostic::new(&codes::order::PARALLEL_WRITE, later.step.span, message)
        .note("may come first or last")
        .label(earlier.step.span, "and so may this")
        .help(format!(
            "`after none` frees a step of the order on its system; write `after {first}` instead, or leave it out"
        ));
    if !earlier.node.guard.is_empty() || !later.node.guard.is_empty() {
        diagnostic.severity = Severity::Warning;
    }
    diagnostic
}
