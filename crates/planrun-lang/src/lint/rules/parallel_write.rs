//! `parallel-write`: two unordered calls change the same resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Subject;
use crate::diag::{Diagnostic, Severity, codes};
use crate::graph::BlockGraph;
use crate::lint::flow::is_before;
use crate::sema::{Block, Each, Event, EventKind, Node, NodeKind, PlanTest, Step, StepKind, Touch};
use crate::source::Span;
use crate::value::Value;

/// A statement of a block that changes a resource.
struct Writer<'a> {
    index: usize,
    node: &'a Node,
    span: Span,
    /// For a listener, the steps whose events trigger it; empty if something else does. Its firings run concurrently
    /// with everything that does not come before these steps.
    fired_by: Option<Vec<usize>>,
}

/// Maximum number of a resource's writers to compare.
const MAX_WRITERS: usize = 50;

pub(super) fn check(subject: &Subject<'_>, found: &mut Vec<Diagnostic>) {
    if !subject.sound {
        return;
    }
    for (index, block) in subject.plan.blocks.iter().enumerate() {
        found.extend(
            block
                .nodes
                .iter()
                .filter_map(|node| elements(subject, node)),
        );
        for ((_, resource), writers) in writers(subject, block) {
            if writers.len() < 2 {
                continue;
            }
            let Some(graph) = subject.graph().blocks.get(index) else {
                continue;
            };
            let pairs = writers.iter().enumerate().flat_map(|(place, later)| {
                writers
                    .iter()
                    .take(place)
                    .map(move |earlier| (earlier, later))
            });
            let unordered = |(earlier, later): &(&Writer<'_>, &Writer<'_>)| {
                !excluded(earlier.node, later.node) && runs_beside(graph, earlier, later)
            };
            if let Some((earlier, later)) =
                pairs.filter(unordered).min_by_key(|(_, later)| later.index)
            {
                found.push(report(&resource, earlier, later));
            }
        }
    }
}

/// Returns true if neither of two writers waits for the other.
fn runs_beside(graph: &BlockGraph, earlier: &Writer<'_>, later: &Writer<'_>) -> bool {
    let apart = |one: usize, other: usize| is_before(graph, one, other) == Some(false);
    match (&earlier.fired_by, &later.fired_by) {
        (None, None) => apart(earlier.index, later.index),
        (Some(_), Some(_)) => true,
        (Some(triggers), None) => {
            triggers.is_empty() || triggers.iter().any(|trigger| apart(later.index, *trigger))
        }
        (None, Some(triggers)) => {
            triggers.is_empty()
                || triggers
                    .iter()
                    .any(|trigger| apart(earlier.index, *trigger))
        }
    }
}

/// Returns the statements of a block that change a resource with a known name, by namespace and resource.
fn writers<'a>(
    subject: &Subject<'a>,
    block: &'a Block,
) -> BTreeMap<(Arc<str>, Arc<str>), Vec<Writer<'a>>> {
    let mut writers: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (index, node) in block.nodes.iter().enumerate() {
        let (touches, span, fired_by): (Vec<&Touch>, Span, Option<Vec<usize>>) = match &node.kind {
            NodeKind::Step(step) => (step.touches.iter().collect(), step.span, None),
            NodeKind::Listener(listener) => {
                let Some(triggers) = triggers(block, &listener.on) else {
                    continue;
                };
                let body = subject
                    .plan
                    .block(listener.body)
                    .nodes
                    .iter()
                    .filter_map(Node::step);
                (
                    body.flat_map(|step| &step.touches).collect(),
                    listener.span,
                    Some(triggers),
                )
            }
            _ => continue,
        };
        for touch in touches
            .into_iter()
            .filter(|touch| !touch.effect.is_read_only())
        {
            let Some(resource) = &touch.resource else {
                continue;
            };
            let known = writers
                .entry((touch.namespace.clone(), resource.clone()))
                .or_default();
            if known.len() < MAX_WRITERS
                && known
                    .last()
                    .is_none_or(|last: &Writer<'_>| last.index != index)
            {
                known.push(Writer {
                    index,
                    node,
                    span,
                    fired_by: fired_by.clone(),
                });
            }
        }
    }
    writers
}

/// Returns the steps of a block whose events trigger a listener; empty if something else may, `None` if only the end of
/// the plan does, which comes after everything.
fn triggers(block: &Block, on: &Event) -> Option<Vec<usize>> {
    let (mut steps, mut ends, mut others) = (Vec::new(), false, false);
    on.leaves(&mut |leaf| match &leaf.kind {
        EventKind::Step { place, .. } if place.up == 0 => {
            let own = |node: &Node| node.slot == Some(place.slot) && node.step().is_some();
            steps.extend(
                block
                    .nodes
                    .iter()
                    .enumerate()
                    .filter(|(_, node)| own(node))
                    .map(|(index, _)| index),
            );
        }
        EventKind::Plan(test) if *test != PlanTest::Any => ends = true,
        EventKind::Step { .. }
        | EventKind::Task { .. }
        | EventKind::Signal(_)
        | EventKind::Plan(_)
        | EventKind::Not(_)
        | EventKind::All(_)
        | EventKind::Any(_)
        | EventKind::Damaged => others = true,
    });
    if others {
        return Some(Vec::new());
    }
    (!steps.is_empty() || !ends).then_some(steps)
}

/// Reports an `each` whose elements change the same resource concurrently.
fn elements(subject: &Subject<'_>, node: &Node) -> Option<Diagnostic> {
    let step = node.step()?;
    let StepKind::Each(each) = &step.kind else {
        return None;
    };
    let width = wide(each)?;
    let body = subject
        .plan
        .block(each.body)
        .nodes
        .iter()
        .filter_map(Node::step);
    let mut touches = body.flat_map(|inner| inner.touches.iter().map(move |touch| (inner, touch)));
    let changed =
        |(_, touch): &(&Step, &Touch)| !touch.effect.is_read_only() && touch.resource.is_some();
    let (inner, touch) = touches.find(changed)?;
    let resource = touch.resource.as_deref().unwrap_or_default();
    let message = format!("the elements change `{resource}` at the same time");
    let mut diagnostic = codes::order::PARALLEL_WRITE
        .at(inner.span, message)
        .note("any element may come first or last")
        .label(width, "this many at the same time")
        .help("remove `parallel`, so that elements run one after the other");
    // The list may have only one element.
    diagnostic.severity = Severity::Warning;
    Some(diagnostic)
}

/// Returns the span of `parallel` if an `each` may process several elements at a time.
fn wide(each: &Each) -> Option<Span> {
    let parallel = each.parallel.as_ref()?;
    (!matches!(parallel.constant(), Some(Value::Int(..=1)))).then_some(parallel.span)
}

/// Returns true if the guards of two statements are mutually exclusive.
fn excluded(one: &Node, other: &Node) -> bool {
    one.guard.iter().any(|atom| {
        other
            .guard
            .iter()
            .any(|known| known.condition == atom.condition && known.negated != atom.negated)
    })
}

fn report(resource: &str, earlier: &Writer<'_>, later: &Writer<'_>) -> Diagnostic {
    let name = |writer: &Writer<'_>| writer.node.name.as_deref().unwrap_or("a step").to_owned();
    let (first, second) = (name(earlier), name(later));
    let fires = earlier.fired_by.is_some() || later.fired_by.is_some();
    let message = format!("`{first}` and `{second}` may change `{resource}` at the same time");
    let help = if fires {
        "make both changes in one of the two, or keep the change in a task: no step waits for a listener".to_owned()
    } else {
        format!("move them out of `parallel`, one below the other, or write `after {first}`")
    };
    let mut diagnostic = codes::order::PARALLEL_WRITE
        .at(later.span, message)
        .note("may come first or last")
        .label(earlier.span, "may also come first or last")
        .help(help);
    if fires || !earlier.node.guard.is_empty() || !later.node.guard.is_empty() {
        diagnostic.severity = Severity::Warning;
    }
    diagnostic
}
