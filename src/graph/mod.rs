//! The checked plan as a DAG: what waits for what, and why.

mod build;
pub mod draw;
mod needed;
mod order;
mod picture;
mod slots;

use std::sync::Arc;

use petgraph::graph::{DiGraph, NodeIndex};

pub use build::build;
pub use needed::needed;
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
/// A statement that waits for everything above it would have an edge from each; it has a barrier instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vertex {
    Free,
    /// Every `ensure`, guarded `fail` and guarded `reply` above has been decided.
    Decisions,
    /// Everything above has settled.
    Everything,
    /// No statement: many edges joined into one, so that their number stays linear.
    Join,
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
    /// An earlier effect on the same state: an `after` that the language writes.
    Effect,
    /// An earlier read of the state that it changes: only settling is awaited.
    Settle,
    /// An event of it may start the other, which does not wait for that.
    Listener,
}

/// How many edges a vertex waits for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// Those that decide its guard: conditions and `after`.
    pub guard: u32,
    /// All others.
    pub rest: u32,
    /// Those of the others that keep an order.
    pub order: u32,
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
        matches!(self, Self::Data | Self::Guard | Self::After | Self::Effect)
    }

    /// Whether only an order is kept. A statement that is skipped keeps it for those behind it: what they wait for is
    /// everything above, and the edge from the last one stands for all.
    #[must_use]
    pub const fn keeps_order(self) -> bool {
        matches!(self, Self::Effect | Self::Settle)
    }

    /// The word for it in drawings.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Data => "data",
            Self::State => "state",
            Self::Guard => "guard",
            Self::After => "after",
            Self::Effect => "effect",
            Self::Settle => "order",
            Self::Listener => "listener",
        }
    }
}

impl BlockGraph {
    /// What a vertex waits for beside its edges.
    #[must_use]
    pub fn vertex(&self, vertex: u32) -> Vertex {
        self.dag.node_weight(NodeIndex::new(vertex as usize)).copied().unwrap_or(Vertex::Free)
    }

    /// The vertices that this one waits for, and why.
    pub fn wanted(&self, vertex: usize) -> impl Iterator<Item = (usize, Edge)> {
        use petgraph::visit::EdgeRef;
        let edges = self.dag.edges_directed(NodeIndex::new(vertex), petgraph::Direction::Incoming);
        edges.map(|edge| (edge.source().index(), *edge.weight()))
    }

    /// The vertices that wait for this one, in the order in which they were written.
    pub fn readers(&self, vertex: u32) -> impl Iterator<Item = (u32, Edge)> {
        use petgraph::visit::EdgeRef;
        let edges = self.dag.edges(NodeIndex::new(vertex as usize));
        edges.map(|edge| (edge.target().index(), *edge.weight())).map(|(target, edge)| (narrow(target), edge))
    }
}

fn narrow(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
