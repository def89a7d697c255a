//! The checked plan as a DAG: what waits for what, and why.

mod build;
pub mod draw;
mod needed;
mod order;
mod picture;
mod slots;

use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};

use crate::sema::expr::ReadKind;

pub use build::build;
pub use needed::needed;
pub use order::awaited_by_place;
pub use picture::drawing;
pub use slots::{Slots, exclusive};

/// The graphs of a plan's blocks, by the number of the block, and those of the plans that it calls.
///
/// Inner blocks are in the same flat list, so nothing recurses over them.
#[derive(Debug)]
pub struct Graph {
    pub blocks: Vec<BlockGraph>,
    /// By the index of the called plan.
    pub plans: Vec<Arc<Graph>>,
}

/// What the nodes of one block wait for.
#[derive(Debug)]
pub struct BlockGraph {
    /// The first vertices are the block's nodes, under the same numbers; the rest are joins.
    pub dag: DiGraph<Vertex, Edge, u32>,
    /// How many vertices are nodes of the block.
    pub nodes: usize,
    /// Whether reads below a node wait for it, by the number of the node.
    pub barriers: Vec<bool>,
    /// What each vertex waits for at the start.
    pub waits: Vec<Waits>,
    /// The nodes whose value each slot of the frame holds.
    pub slots: Slots,
    /// What the firings of its listeners read of the block.
    pub firing_reads: Vec<FiringRead>,
}

/// A name above a listener that its firings read, and so wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FiringRead {
    pub listener: u32,
    pub source: u32,
    /// Not only its state.
    pub needs_value: bool,
    /// `when` reads it, so the listener cannot fire before it is there.
    pub in_when: bool,
}

/// What a vertex waits for beside its edges.
///
/// What stands above a statement needs no edges: a run keeps, for each block, the mark above which everything has settled,
/// the mark above which every barrier has, and the mark above which everything has been decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vertex {
    Free,
    /// Every `ensure` and every guarded `fail`, `reply`, `yield` and `next` above has been decided.
    Decisions,
    /// The same, and every barrier above the node with this number has settled.
    Barriers(u32),
    /// Everything above the node with this number has settled.
    Everything(u32),
    /// No statement: many edges joined into one, so that their number stays linear.
    Join,
}

impl Vertex {
    /// Whether everything above some place has to settle first.
    #[must_use]
    pub const fn waits_for_everything(self) -> bool {
        matches!(self, Self::Everything(_))
    }
}

/// Why one statement waits for another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Edge {
    /// It reads the value.
    Data,
    /// It asks for the state.
    State,
    /// The condition of its guard.
    Guard,
    /// Named in `after`.
    After,
    /// It stands above in one branch of a `parallel`: only settling is awaited.
    Place,
    /// An event of it may start the other, which does not wait for that.
    Listener,
}

impl From<ReadKind> for Edge {
    fn from(kind: ReadKind) -> Self {
        match kind {
            ReadKind::Value => Self::Data,
            ReadKind::State => Self::State,
        }
    }
}

/// How many edges a vertex waits for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// Those that decide its guard: conditions and `after`.
    pub guard: u32,
    /// All others.
    pub rest: u32,
}

impl Edge {
    /// Whether the edge has to be settled before the guard is decided.
    #[must_use]
    pub const fn decides_guard(self) -> bool {
        matches!(self, Self::Guard | Self::After)
    }

    /// Whether a reader cannot run where the statement before it gave nothing.
    #[must_use]
    pub const fn needs_success(self) -> bool {
        matches!(self, Self::Data | Self::Guard | Self::After)
    }

    /// The word for it in drawings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::State => "state",
            Self::Guard => "guard",
            Self::After => "after",
            Self::Place => "place",
            Self::Listener => "listener",
        }
    }
}

impl BlockGraph {
    /// What a vertex waits for beside its edges.
    #[must_use]
    pub fn vertex(&self, vertex: u32) -> Vertex {
        self.dag
            .node_weight(NodeIndex::new(vertex as usize))
            .copied()
            .unwrap_or(Vertex::Free)
    }

    /// The vertices that this one waits for, and why.
    pub fn wanted(&self, vertex: usize) -> impl Iterator<Item = (usize, Edge)> {
        use petgraph::visit::EdgeRef;
        let edges = self
            .dag
            .edges_directed(NodeIndex::new(vertex), petgraph::Direction::Incoming);
        edges.map(|edge| (edge.source().index(), *edge.weight()))
    }

    /// Whether reads below a node wait for it.
    #[must_use]
    pub fn is_barrier(&self, node: u32) -> bool {
        self.barriers.get(node as usize).copied().unwrap_or(false)
    }

    /// The vertices that wait for this one, in the order in which they were written.
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
