//! The checked plan as a DAG of dependencies.

mod build;
mod contexts;
pub mod draw;
mod needed;
mod order;
mod picture;
mod slots;

use std::collections::BTreeSet;
use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::sema::expr::ReadKind;
use crate::words;

pub use build::build;
pub use needed::needed;
pub use order::awaited_by_place;
pub use picture::drawing;
pub use slots::{Slots, exclusive};

/// The graphs of a plan's blocks, by block number, and of the plans that it calls.
///
/// Inner blocks are in the same flat list, so that no code recurses over them.
#[derive(Debug)]
pub struct Graph {
    pub blocks: Vec<BlockGraph>,
    /// Indexed by the index of the called plan.
    pub plans: Vec<Arc<Graph>>,
}

/// The dependencies between the nodes of one block.
#[derive(Debug)]
pub struct BlockGraph {
    /// The first vertices are the block's nodes, with the same numbers; the rest are joins.
    pub dag: DiGraph<Vertex, Edge, u32>,
    /// Number of vertices that are nodes of the block.
    pub nodes: usize,
    /// Whether later reads wait for a node, by node number.
    pub barriers: Vec<bool>,
    /// The nodes that read a context which others may change at any time. They wait for the barriers above.
    pub shared_reads: BTreeSet<u32>,
    /// Number of edges that each vertex waits for initially.
    pub waits: Vec<Waits>,
    /// The nodes that give the value of each slot of the frame.
    pub slots: Slots,
    /// The reads of the block by the firings of its listeners.
    pub firing_reads: Vec<FiringRead>,
}

/// A name before a listener that its firings read, and so wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FiringRead {
    pub listener: u32,
    pub source: u32,
    /// Whether the value is read, and not only the state.
    pub needs_value: bool,
    /// Whether `when` reads it, so that the listener cannot fire before it is available.
    pub in_when: bool,
}

/// The dependencies of a vertex that are not edges.
///
/// Dependencies on all preceding statements need no edges: for each block, a run keeps the positions before which
/// everything has settled, every barrier has settled, and everything has been decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vertex {
    Free,
    /// Every preceding `ensure` and every preceding guarded `fail`, `reply`, `yield` and `next` has been decided.
    Decisions,
    /// The same, and every barrier before the node with this number has settled.
    Barriers(u32),
    /// Everything before the node with this number has settled.
    Everything(u32),
    /// Not a statement: joins many edges into one, so that their number stays linear.
    Join,
}

impl Vertex {
    /// Returns true if everything before some position has to settle first.
    #[must_use]
    pub const fn waits_for_everything(self) -> bool {
        matches!(self, Self::Everything(_))
    }
}

words! {
    /// The reason why one statement waits for another.
    #[derive(PartialOrd, Ord)]
    Edge {
        /// It reads the value.
        Data = "data",
        /// It reads the state.
        State = "state",
        /// It is guarded by the condition.
        Guard = "guard",
        /// It names the other in `after`.
        After = "after",
        /// It comes later in one branch of a `parallel`, and waits only until the other has settled.
        Place = "place",
        /// An event of the other may start it; it does not wait.
        Listener = "listener",
    }
}

impl From<ReadKind> for Edge {
    fn from(kind: ReadKind) -> Self {
        match kind {
            ReadKind::Value => Self::Data,
            ReadKind::State => Self::State,
        }
    }
}

/// The number of edges that a vertex waits for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// Edges that decide its guard: conditions and `after`.
    pub guard: u32,
    /// All other edges.
    pub rest: u32,
}

impl Edge {
    /// Returns true if the edge has to be settled before the guard is decided.
    #[must_use]
    pub const fn decides_guard(self) -> bool {
        matches!(self, Self::Guard | Self::After)
    }

    /// Returns true if the reader cannot run when the other statement has no value.
    #[must_use]
    pub const fn needs_success(self) -> bool {
        matches!(self, Self::Data | Self::Guard | Self::After)
    }
}

impl BlockGraph {
    /// Returns what a vertex waits for in addition to its edges.
    #[must_use]
    pub fn vertex(&self, vertex: u32) -> Vertex {
        self.dag
            .node_weight(NodeIndex::new(vertex as usize))
            .copied()
            .unwrap_or(Vertex::Free)
    }

    /// Returns the vertices that this one waits for, with the reasons.
    pub fn dependencies(&self, vertex: usize) -> impl Iterator<Item = (usize, Edge)> {
        use petgraph::visit::EdgeRef;
        let edges = self
            .dag
            .edges_directed(NodeIndex::new(vertex), petgraph::Direction::Incoming);
        edges.map(|edge| (edge.source().index(), *edge.weight()))
    }

    /// Returns the nodes that this one waits for, with the reasons: those that a join joins instead of the join.
    #[must_use]
    pub fn sources(&self, node: usize) -> Vec<(usize, Edge)> {
        let (mut found, mut open) = (Vec::new(), vec![node]);
        while let Some(vertex) = open.pop() {
            for (source, edge) in self.dependencies(vertex) {
                if source < self.nodes {
                    found.push((source, edge));
                } else {
                    open.push(source);
                }
            }
        }
        found
    }

    /// Returns true if later reads wait for this node.
    #[must_use]
    pub fn is_barrier(&self, node: u32) -> bool {
        self.barriers.get(node as usize).copied().unwrap_or(false)
    }

    /// Returns true if a node reads a context that others may change at any time.
    #[must_use]
    pub fn reads_shared(&self, node: usize) -> bool {
        self.shared_reads.contains(&narrow(node))
    }

    /// Returns the vertices that wait for this one, in source order.
    pub fn readers(&self, vertex: u32) -> impl Iterator<Item = (u32, Edge)> {
        use petgraph::visit::EdgeRef;
        let edges = self.dag.edges(NodeIndex::new(vertex as usize));
        edges
            .map(|edge| (edge.target().index(), *edge.weight()))
            .map(|(target, edge)| (narrow(target), edge))
    }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
