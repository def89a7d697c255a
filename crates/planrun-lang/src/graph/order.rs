//! Dependencies that follow from source order.

use std::collections::BTreeSet;

use petgraph::graph::{DiGraph, NodeIndex};

use super::{BlockGraph, Edge, Vertex, narrow};
use crate::sema::{Block, Node, NodeKind, OrderClass, Parallel};

pub(super) type Dag = DiGraph<Vertex, Edge, u32>;

/// The position of a node in the order of its block, where a `parallel` block counts as one statement.
#[derive(Clone, Copy)]
pub(super) struct Placement<'a> {
    index: u32,
    node: &'a Node,
    parallel: Option<&'a Parallel>,
    /// Whether it reads a context that others may change, so that it has the place of a read at least.
    reads_shared: bool,
}

/// Returns the position of each node of a block, in order, before it is known which of them read shared contexts.
pub(super) fn placements(block: &Block) -> impl Iterator<Item = Placement<'_>> {
    let nodes = block.nodes.iter().enumerate();
    nodes.map(|(index, node)| Placement::new(block, narrow(index), node, false))
}

impl<'a> Placement<'a> {
    fn new(block: &'a Block, index: u32, node: &'a Node, reads_shared: bool) -> Self {
        Self {
            index,
            node,
            parallel: block.parallel_around(index),
            reads_shared,
        }
    }

    /// Returns what the node waits for in addition to its edges.
    pub(super) fn vertex(self) -> Vertex {
        if self.node.after.is_empty() {
            self.place()
        } else {
            Vertex::Decisions
        }
    }

    /// Returns what it waits for if it has no `after`.
    fn place(self) -> Vertex {
        match &self.node.kind {
            NodeKind::Listener(_) | NodeKind::Task(_) => Vertex::Free,
            NodeKind::Fail(_) | NodeKind::Reply(_) | NodeKind::Yield(_) | NodeKind::Next(_) => {
                Vertex::Everything(self.index)
            }
            NodeKind::Condition(_)
            | NodeKind::Let(_)
            | NodeKind::Ensure { .. }
            | NodeKind::Step(_)
            | NodeKind::Set(_) => {
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

    /// Returns true if later reads wait for it.
    pub(super) fn is_barrier(self) -> bool {
        acts(self.node) && self.order() == OrderClass::Barrier
    }

    fn order(self) -> OrderClass {
        match self.parallel.filter(|_| acts(self.node)) {
            Some(parallel) if self.reads_shared => parallel.order.max(OrderClass::Read),
            Some(parallel) => parallel.order,
            None => own_order(self.node, self.reads_shared),
        }
    }
}

/// Returns true if later statements may wait for a node because of its place.
fn acts(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Step(_) | NodeKind::Set(_))
}

/// Returns the order class of a node, regardless of a `parallel` around it.
fn own_order(node: &Node, reads_shared: bool) -> OrderClass {
    let order = node.order();
    if reads_shared {
        order.max(OrderClass::Read)
    } else {
        order
    }
}

/// Gives the nodes that read a shared context their place, and orders the statements of each `if` in a `parallel`.
pub(super) fn add_places(dag: &mut Dag, block: &Block, shared_reads: &BTreeSet<u32>) {
    for index in shared_reads {
        if let Some(node) = block.nodes.get(*index as usize) {
            let placement = Placement::new(block, *index, node, true);
            dag[NodeIndex::new(*index as usize)] = placement.vertex();
        }
    }
    add_sequences(dag, block, shared_reads);
}

/// Adds the edges that keep the source order within each `if` of a `parallel`. Preceding statements are joined pairwise
/// into chains, so that the number of edges stays linear.
fn add_sequences(dag: &mut Dag, block: &Block, shared_reads: &BTreeSet<u32>) {
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
            let order = own_order(node, shared_reads.contains(&index));
            let own = NodeIndex::new(index as usize);
            let above = match order {
                OrderClass::Pure => None,
                OrderClass::Read => barriers,
                OrderClass::Clock | OrderClass::Barrier => everything,
            };
            if let Some(above) = above.filter(|_| node.after.is_empty()) {
                dag.add_edge(above, own, Edge::Place);
            }
            if !acts(node) {
                continue;
            }
            everything = Some(joined(dag, everything, own, Edge::Place));
            if order == OrderClass::Barrier {
                barriers = Some(joined(dag, barriers, own, Edge::Place));
            }
        }
    }
}

/// Adds a vertex that settles when both have settled.
pub(super) fn joined(
    dag: &mut Dag,
    above: Option<NodeIndex>,
    own: NodeIndex,
    edge: Edge,
) -> NodeIndex {
    let Some(above) = above else { return own };
    let join = dag.add_node(Vertex::Join);
    dag.add_edge(above, join, edge);
    dag.add_edge(own, join, edge);
    join
}

/// Returns the nearest statements that a node waits for because of source order, ignoring its `after`. Omitted
/// statements precede one of those returned, which waits for them.
#[must_use]
pub fn awaited_by_place(block: &Block, graph: &BlockGraph, target: usize) -> Vec<usize> {
    let Some(node) = block.nodes.get(target) else {
        return Vec::new();
    };
    let reads_shared = graph.reads_shared(target);
    let placement = Placement::new(block, narrow(target), node, reads_shared);
    let (place, only_barriers) = match placement.place() {
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
    // The last barrier that certainly runs; statements in the same `parallel` are waited for, too.
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
