//! What a statement needs to have happened: for running a plan up to it.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;

use super::{BlockGraph, Edge, Vertex};
use crate::sema::{Block, Node, NodeKind};

/// The vertices that this one needs, itself included: what it reads, its guard, what stands in its `after`, the decisions
/// above it, and what it waits for because of its place.
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
            // Who brings the event about is not told by edges.
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
