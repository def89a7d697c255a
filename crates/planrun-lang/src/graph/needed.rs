//! Computes what a statement needs, for running a plan up to it.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;

use super::{BlockGraph, Edge, Vertex};
use crate::sema::{Block, Node, NodeKind};

/// Returns the vertices that `target` needs, including itself: what it reads, its guard, its `after`, preceding
/// decisions, and what it waits for because of source order.
#[must_use]
pub fn needed(graph: &BlockGraph, block: &Block, target: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![target];
    while let Some(vertex) = open.pop() {
        if !found.insert(vertex) {
            continue;
        }
        for edge in graph
            .dag
            .edges_directed(NodeIndex::new(vertex as usize), Direction::Incoming)
        {
            match edge.weight() {
                Edge::Data | Edge::State | Edge::Guard | Edge::After | Edge::Place => {
                    open.push(super::narrow(edge.source().index()));
                }
                Edge::Listener => {}
            }
        }
        let decisions =
            (0..vertex).filter(|above| block.nodes.get(*above as usize).is_some_and(Node::decides));
        match graph.vertex(vertex) {
            Vertex::Free | Vertex::Join => {}
            Vertex::Decisions => open.extend(decisions),
            Vertex::Barriers(place) => {
                open.extend(decisions.chain((0..place).filter(|above| graph.is_barrier(*above))));
            }
            Vertex::Everything(place) => open.extend(0..place),
        }
        if (vertex as usize) < graph.nodes && block.nodes[vertex as usize].event().is_some() {
            // Edges do not show what causes an event, so every listener and `set` is included.
            open.extend((0..super::narrow(graph.nodes)).filter(|node| reacts(block, *node)));
        }
    }
    found
}

fn reacts(block: &Block, node: u32) -> bool {
    matches!(
        block.nodes[node as usize].kind,
        NodeKind::Listener(_) | NodeKind::Set(_)
    )
}
