//! What a statement needs to have happened: for running a plan up to it.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef as _;

use super::{BlockGraph, Edge, Vertex};
use crate::sema::{Block, NodeKind};

/// The vertices that this one needs, itself included: what it reads, its guard, what stands in its `after`, earlier calls
/// on the same state, and the decisions above it. A read that it must not overtake counts: later it would see what the
/// effect has changed.
#[must_use]
pub fn needed(graph: &BlockGraph, block: &Block, target: u32) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let mut open = vec![target];
    while let Some(vertex) = open.pop() {
        if !found.insert(vertex) {
            continue;
        }
        for edge in graph.dag.edges_directed(NodeIndex::new(vertex as usize), Direction::Incoming) {
            match edge.weight() {
                Edge::Data | Edge::State | Edge::Guard | Edge::After | Edge::Effect | Edge::Settle => {
                    open.push(super::narrow(edge.source().index()));
                }
                Edge::Listener => {}
            }
        }
        let above = || (0..vertex).filter(|above| (*above as usize) < graph.nodes);
        match graph.vertex(vertex) {
            Vertex::Free | Vertex::Join => {}
            Vertex::Decisions => open.extend(above().filter(|above| block.nodes[*above as usize].decides())),
            Vertex::Everything => open.extend(above()),
        }
        if (vertex as usize) < graph.nodes && block.nodes[vertex as usize].event().is_some() {
            // Who brings the event about is not told by edges.
            open.extend((0..super::narrow(graph.nodes)).filter(|node| reacts(block, *node)));
        }
    }
    found
}

fn reacts(block: &Block, node: u32) -> bool {
    matches!(block.nodes[node as usize].kind, NodeKind::Listener(_) | NodeKind::Set(_))
}
