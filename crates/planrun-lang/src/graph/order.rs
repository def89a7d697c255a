//! The order of the page: what a statement waits for because of its place.

use petgraph::graph::{DiGraph, NodeIndex};

use super::{BlockGraph, Edge, Vertex, narrow};
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
    block
        .nodes
        .iter()
        .enumerate()
        .map(|(index, node)| Standing::new(block, narrow(index), node))
}

impl<'a> Standing<'a> {
    fn new(block: &'a Block, index: u32, node: &'a Node) -> Self {
        Self {
            index,
            node,
            parallel: block.parallel_around(index),
        }
    }

    /// What the node waits for beside its edges.
    pub(super) fn vertex(self) -> Vertex {
        if self.node.after.is_empty() {
            self.place()
        } else {
            Vertex::Decisions
        }
    }

    /// What it waits for where it names nothing in `after`.
    fn place(self) -> Vertex {
        match &self.node.kind {
            NodeKind::Listener(_) | NodeKind::Task(_) => Vertex::Free,
            NodeKind::Condition(_) | NodeKind::Let(_) | NodeKind::Ensure { .. } => {
                Vertex::Decisions
            }
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => {
                Vertex::Everything(self.index)
            }
            NodeKind::Step(_) | NodeKind::Set(_) => {
                let place = self
                    .parallel
                    .map_or(self.index, |parallel| parallel.nodes.start);
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
        matches!(self.node.kind, NodeKind::Step(_) | NodeKind::Set(_))
            && self.order() == OrderClass::Barrier
    }

    fn order(self) -> OrderClass {
        self.parallel
            .map_or_else(|| self.node.order(), |parallel| parallel.order)
    }
}

/// Adds the edges that keep the order of the page within each `if` of a `parallel`. What stands above is joined, one vertex
/// after the other, so that their number stays linear.
pub(super) fn add_sequences(dag: &mut Dag, block: &Block) {
    for sequence in block
        .parallels
        .iter()
        .flat_map(|parallel| &parallel.sequences)
    {
        let (mut everything, mut barriers) = (None, None);
        for index in sequence.clone() {
            let Some(node) = block.nodes.get(index as usize) else {
                continue;
            };
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

/// The nearest statements that a node waits for because of its place, its `after` left aside. Those left out stand above one
/// of them that waits for them.
#[must_use]
pub fn awaited_by_place(block: &Block, graph: &BlockGraph, target: usize) -> Vec<usize> {
    let Some(node) = block.nodes.get(target) else {
        return Vec::new();
    };
    let (place, only_barriers) = match Standing::new(block, narrow(target), node).place() {
        Vertex::Everything(place) => (place as usize, false),
        Vertex::Barriers(place) => (place as usize, true),
        Vertex::Free | Vertex::Decisions | Vertex::Join => return Vec::new(),
    };
    let parallel = |index: usize| {
        block
            .parallel_around(narrow(index))
            .map(|parallel| parallel.nodes.start)
    };
    let mut awaited = Vec::new();
    // The last barrier that surely runs; what stands beside it in a `parallel` is awaited too.
    let mut last: Option<usize> = None;
    for (index, node) in block.nodes.iter().enumerate().take(place).rev() {
        if last.is_some_and(|last| parallel(last).is_none() || parallel(last) != parallel(index)) {
            break;
        }
        let is_barrier = graph.is_barrier(narrow(index));
        if is_barrier || !only_barriers && matches!(node.kind, NodeKind::Step(_) | NodeKind::Set(_))
        {
            awaited.push(index);
        }
        if is_barrier && node.guard.is_empty() && node.after.is_empty() {
            last = Some(index);
        }
    }
    awaited
}
