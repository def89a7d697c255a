//! The order of the page: what a statement waits for because of its place.

use petgraph::graph::{DiGraph, NodeIndex};

use super::{Edge, Vertex, narrow};
use crate::sema::{Block, Node, NodeKind, OrderClass, Parallel};

type Dag = DiGraph<Vertex, Edge, u32>;

/// The part of a node in the order of its block, `parallel` blocks taken as a whole.
#[derive(Clone, Copy)]
pub(super) struct Standing<'a> {
    index: u32,
    node: &'a Node,
    parallel: Option<&'a Parallel>,
}

/// The nodes of a block in order, each with its standing.
pub(super) fn standings(block: &Block) -> impl Iterator<Item = Standing<'_>> {
    let mut parallels = block.parallels.iter().peekable();
    block.nodes.iter().enumerate().map(move |(index, node)| {
        let index = narrow(index);
        while parallels.next_if(|parallel| parallel.nodes.end <= index).is_some() {}
        let parallel = parallels.peek().copied().filter(|parallel| parallel.nodes.contains(&index));
        Standing { index, node, parallel }
    })
}

impl Standing<'_> {
    /// What the node waits for beside its edges.
    pub(super) fn vertex(self) -> Vertex {
        match &self.node.kind {
            NodeKind::Listener(_) | NodeKind::Task(_) => Vertex::Free,
            NodeKind::Condition(_) | NodeKind::Let(_) | NodeKind::Ensure { .. } => Vertex::Decisions,
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => {
                Vertex::Everything(self.index)
            }
            NodeKind::Step(_) | NodeKind::Set(_) if !self.node.after.is_empty() => Vertex::Decisions,
            NodeKind::Step(_) | NodeKind::Set(_) => {
                let place = self.parallel.map_or(self.index, |parallel| parallel.nodes.start);
                match self.order() {
                    OrderClass::Pure => Vertex::Decisions,
                    OrderClass::Read => Vertex::Barriers(place),
                    OrderClass::Clock | OrderClass::Barrier => Vertex::Everything(place),
                }
            }
        }
    }

    /// Whether reads below wait for it.
    pub(super) fn is_barrier(self) -> bool {
        matches!(self.node.kind, NodeKind::Step(_) | NodeKind::Set(_)) && self.order() == OrderClass::Barrier
    }

    fn order(self) -> OrderClass {
        self.parallel.map_or_else(|| self.node.order(), |parallel| parallel.order)
    }
}

/// Adds the edges that keep the order of the page within each `if` of a `parallel`. What stands above is joined, one vertex
/// after the other, so that their number stays linear.
pub(super) fn add_sequences(dag: &mut Dag, block: &Block) {
    for sequence in block.parallels.iter().flat_map(|parallel| &parallel.sequences) {
        let (mut everything, mut barriers) = (None, None);
        for index in sequence.clone() {
            let Some(node) = block.nodes.get(index as usize) else { continue };
            if !matches!(node.kind, NodeKind::Step(_) | NodeKind::Set(_)) {
                continue;
            }
            let (order, own) = (node.order(), NodeIndex::new(index as usize));
            let above = match order {
                OrderClass::Pure => None,
                OrderClass::Read => barriers,
                OrderClass::Clock | OrderClass::Barrier => everything,
            };
            if let Some(above) = above.filter(|_| node.after.is_empty()) {
                dag.add_edge(above, own, Edge::Place);
            }
            everything = Some(joined(dag, everything, own));
            if order == OrderClass::Barrier {
                barriers = Some(joined(dag, barriers, own));
            }
        }
    }
}

/// A vertex that settles when both have.
fn joined(dag: &mut Dag, above: Option<NodeIndex>, own: NodeIndex) -> NodeIndex {
    let Some(above) = above else { return own };
    let join = dag.add_node(Vertex::Join);
    dag.add_edge(above, join, Edge::Place);
    dag.add_edge(own, join, Edge::Place);
    join
}
