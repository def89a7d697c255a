//! Determines whether a person approves a call before it is sent.

use crate::sema::expr::CheckedExpr;
use crate::sema::{Block, BlockId, Nesting, Node, NodeKind, StepKind};

/// Maximum number of `let`s to follow from a condition to an answer.
const MAX_LETS: usize = 8;

/// Returns true if a person decides about a step: it has a `confirm`, on itself or around it, or a condition that reads
/// a person's answer.
pub(super) fn is_gated<'a>(nesting: &Nesting<'a>, block: BlockId, node: &'a Node) -> bool {
    nesting.outwards(block, node).any(|(block, node)| {
        let confirmed = node.step().is_some_and(|step| step.confirm().is_some());
        confirmed
            || conditions(nesting, block, node)
                .any(|code| asks_people(nesting, block, code, MAX_LETS))
    })
}

/// Returns the conditions evaluated before a node runs: its own guard, and the `ensure`s and early ends above it.
pub(super) fn conditions<'a>(
    nesting: &Nesting<'a>,
    block: BlockId,
    node: &'a Node,
) -> impl Iterator<Item = &'a CheckedExpr> {
    let content = nesting.plan().block(block);
    let above = content
        .nodes
        .iter()
        .take_while(move |other| !std::ptr::eq(*other, node));
    let deciding = above
        .filter(|other| other.decides())
        .flat_map(move |other| {
            let promise = if let NodeKind::Ensure { condition, .. } = &other.kind {
                Some(condition)
            } else {
                None
            };
            promise.into_iter().chain(guards(content, other))
        });
    guards(content, node).chain(deciding)
}

fn guards<'a>(content: &'a Block, node: &'a Node) -> impl Iterator<Item = &'a CheckedExpr> {
    node.guard.iter().filter_map(|atom| {
        if let NodeKind::Condition(code) = &content.node(atom.condition).kind {
            Some(code)
        } else {
            None
        }
    })
}

fn asks_people(nesting: &Nesting<'_>, block: BlockId, code: &CheckedExpr, lets: usize) -> bool {
    code.reads.iter().any(|read| {
        let Some(frame) = nesting.frame(block, read.place) else {
            return false;
        };
        nesting
            .plan()
            .block(frame)
            .producers(read.place.slot)
            .any(|node| match &node.kind {
                NodeKind::Step(step) => matches!(step.kind, StepKind::Input(_)),
                NodeKind::Let(code) => lets > 0 && asks_people(nesting, frame, code, lets - 1),
                _ => false,
            })
    })
}
