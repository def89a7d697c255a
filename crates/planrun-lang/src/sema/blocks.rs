//! The blocks of a plan: those whose statements are being checked, and the complete ones.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::expr::CheckedExpr;
use super::knowledge::Mark;
use super::plan::{After, Block, BlockId, Footprint, GuardAtom, Node, NodeId, NodeKind, Parallel};
use crate::source::Span;
use crate::types::{Type, fit};

/// Kind of the block around statements; it decides which statements may end it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockKind {
    Plan,
    /// A `do`, an arm, or a block outside the flow of the plan, such as an `undo`.
    Do,
    Each,
    Repeat,
    Listener,
}

/// A block whose statements are being checked.
pub(super) struct OpenBlock {
    pub id: BlockId,
    pub kind: BlockKind,
    pub nodes: Vec<Node>,
    /// The conditions around the current statement, within this block.
    pub guard: Vec<GuardAtom>,
    /// Steps by name, for `after`; there may be one in each branch of an `if`.
    pub steps: BTreeMap<Arc<str>, Vec<NodeId>>,
    pub label: Option<Arc<str>>,
    pub yields: Vec<Type>,
    /// Type of the result that the block replaces; values that fit are converted to it.
    pub result_type: Option<Type>,
    /// Footprint of its statements.
    pub does: Footprint,
    /// Its complete `parallel` blocks.
    pub parallels: Vec<Parallel>,
    /// The facts that held at its start.
    pub known: Mark,
}

/// State to restore when a guard ends.
#[derive(Clone, Copy)]
pub(super) struct GuardMark {
    pub atoms: usize,
    pub facts: Mark,
}

/// The blocks of one plan by number, and the open ones from outermost to innermost.
#[derive(Default)]
pub(super) struct Blocks {
    /// Total number of conditions around statements, counted for each statement.
    pub conditions: usize,
    open: Vec<OpenBlock>,
    pub all: Vec<Block>,
}

impl Blocks {
    /// Opens a block inside the innermost one. `known` is what holds at its start.
    pub fn open(&mut self, kind: BlockKind, label: Option<Arc<str>>, known: Mark) -> BlockId {
        let id = BlockId(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
        self.all.push(Block::default());
        self.open.push(OpenBlock {
            id,
            kind,
            nodes: Vec::new(),
            guard: Vec::new(),
            steps: BTreeMap::new(),
            label,
            yields: Vec::new(),
            result_type: None,
            does: Footprint::none(),
            parallels: Vec::new(),
            known,
        });
        id
    }

    /// Removes the innermost block from the open ones. It keeps its nodes.
    pub fn leave(&mut self) -> Option<OpenBlock> {
        self.open.pop()
    }

    /// Completes a closed block, with the number of slots of its frame.
    pub fn complete(&mut self, open: &mut OpenBlock, slots: u32) {
        let (nodes, parallels) = (
            std::mem::take(&mut open.nodes),
            std::mem::take(&mut open.parallels),
        );
        let block = Block {
            label: open.label.take(),
            slots,
            shared: shared(&nodes, slots),
            nodes,
            parallels,
        };
        if let Some(place) = self.all.get_mut(open.id.0 as usize) {
            *place = block;
        }
    }

    pub fn innermost(&self) -> Option<&OpenBlock> {
        self.open.last()
    }

    pub fn innermost_mut(&mut self) -> Option<&mut OpenBlock> {
        self.open.last_mut()
    }

    /// Returns the open blocks from innermost to outermost.
    pub fn outwards(&self) -> impl Iterator<Item = &OpenBlock> {
        self.open.iter().rev()
    }

    /// Records a value that the innermost block yields, converted to the block's result type if it fits.
    pub fn yielded(&mut self, code: CheckedExpr) -> CheckedExpr {
        let Some(block) = self.innermost_mut() else {
            return code;
        };
        let code = match &block.result_type {
            Some(ty) if fit(&code.ty, ty).fits() => code.placed(ty),
            Some(_) | None => code,
        };
        block.yields.push(code.ty.clone());
        code
    }

    /// Returns the number of the innermost block.
    pub fn block(&self) -> BlockId {
        self.innermost().map_or(BlockId(0), |block| block.id)
    }

    /// Adds a node to the innermost block, under the current guard.
    pub fn push(&mut self, span: Span, kind: NodeKind) -> NodeId {
        self.push_node(span, None, Vec::new(), kind)
    }

    /// Adds a node with its name and slot, and the steps that it waits for.
    pub fn push_node(
        &mut self,
        span: Span,
        named: Option<(Arc<str>, u32)>,
        after: Vec<After>,
        kind: NodeKind,
    ) -> NodeId {
        let Some(block) = self.innermost_mut() else {
            return NodeId(0);
        };
        let id = NodeId(u32::try_from(block.nodes.len()).unwrap_or(u32::MAX));
        let (guard, around) = (block.guard.clone(), block.guard.len());
        let (name, slot) = named.map_or((None, None), |(name, slot)| (Some(name), Some(slot)));
        block.nodes.push(Node {
            span,
            name,
            slot,
            guard,
            after,
            kind,
        });
        self.conditions += around;
        id
    }

    /// Adds the footprint of a statement to its block.
    pub fn add_footprint(&mut self, does: &Footprint) {
        if let Some(block) = self.innermost_mut() {
            block.does.merge(does);
        }
    }
}

/// Returns the nodes of each slot that several nodes define.
fn shared(nodes: &[Node], slots: u32) -> BTreeMap<u32, Vec<u32>> {
    let mut first: Vec<Option<u32>> = vec![None; slots as usize];
    let mut shared: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (index, node) in (0..).zip(nodes) {
        let Some((slot, place)) = node
            .slot
            .and_then(|slot| Some((slot, first.get_mut(slot as usize)?)))
        else {
            continue;
        };
        match *place {
            None => *place = Some(index),
            Some(first) => shared
                .entry(slot)
                .or_insert_with(|| vec![first])
                .push(index),
        }
    }
    shared
}
