//! Determines whether one statement of a block certainly comes before another.

use std::collections::BTreeSet;

use petgraph::Direction;
use petgraph::graph::NodeIndex;
use petgraph::visit::EdgeRef;

use crate::graph::{BlockGraph, Edge, Vertex};

/// Maximum number of vertices to visit, after which the answer is unknown.
const MAX_VERTICES: usize = 20_000;

/// Returns whether `later` waits for `earlier`, directly or transitively; `None` if the search exceeds its limit.
pub(in crate::lint) fn is_before(graph: &BlockGraph, earlier: usize, later: usize) -> Option<bool> {
    if earlier >= later {
        return Some(earlier == later);
    }
    let (mut open, mut seen) = (vec![later], BTreeSet::new());
    while let Some(vertex) = open.pop() {
        match graph.vertex(u32::try_from(vertex).unwrap_or(u32::MAX)) {
            Vertex::Everything(place) if earlier < place as usize => return Some(true),
            Vertex::Barriers(place) => {
                let barriers = (earlier..place as usize)
                    .filter(|above| graph.barriers.get(*above) == Some(&true));
                open.extend(barriers.filter(|above| seen.insert(*above)));
            }
            Vertex::Free | Vertex::Decisions | Vertex::Everything(_) | Vertex::Join => {}
        }
        if seen.contains(&earlier) {
            return Some(true);
        }
        for edge in graph
            .dag
            .edges_directed(NodeIndex::new(vertex), Direction::Incoming)
        {
            let source = edge.source().index();
            if source == earlier && *edge.weight() != Edge::Listener {
                return Some(true);
            }
            if *edge.weight() != Edge::Listener && seen.insert(source) {
                open.push(source);
            }
        }
        if seen.len() > MAX_VERTICES {
            return None;
        }
    }
    Some(false)
}
