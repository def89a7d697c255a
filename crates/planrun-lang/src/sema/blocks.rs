//! The blocks of a plan: those whose statements are being checked, and those that are complete.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::expr::Code;
use super::names::Mark;
use super::plan::{After, Block, BlockId, Footprint, GuardAtom, Node, NodeId, NodeKind, Parallel};
use crate::source::Span;
use crate::types::{Type, fit};

/// What kind of block statements stand in; it decides what may end them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BlockKind {
    Plan,
    /// `do` and the arms that hold statements.
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
    /// Steps by name, for `after`: several where branches of one `if` give it.
    pub steps: BTreeMap<Arc<str>, Vec<NodeId>>,
    pub label: Option<Arc<str>>,
    pub yields: Vec<Type>,
    /// The type of the value that the block stands in for: what fits there becomes one of it.
    pub stands_for: Option<Type>,
    /// What its statements do.
    pub does: Footprint,
    /// Its `parallel` blocks that have ended.
    pub parallels: Vec<Parallel>,
    /// What was known where it begins.
    pub known: Mark,
}

/// What to go back to when a guard ends.
#[derive(Clone, Copy)]
pub(super) struct GuardMark {
    pub atoms: usize,
    pub facts: Mark,
}

/// The blocks of one plan, by number; the open ones from the outermost to the innermost.
#[derive(Default)]
pub(super) struct Blocks {
    /// How many conditions stand around its statements, counted for each.
    pub conditions: usize,
    open: Vec<OpenBlock>,
    pub all: Vec<Block>,
}

impl Blocks {
    /// Opens a block inside of the innermost one. `known` is what holds where it begins.
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
            stands_for: None,
            does: Footprint::none(),
            parallels: Vec::new(),
            known,
        });
        id
    }

    /// Takes the innermost block out of the open ones. Its nodes are still its own.
    pub fn leave(&mut self) -> Option<OpenBlock> {
        self.open.pop()
    }

    /// Completes a block that was left, with the slots of its names.
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

    /// The open blocks from the innermost outwards.
    pub fn outwards(&self) -> impl Iterator<Item = &OpenBlock> {
        self.open.iter().rev()
    }

    /// A value that the innermost block yields, and its type.
    pub fn yielded(&mut self, code: Code) -> Code {
        let Some(block) = self.innermost_mut() else {
            return code;
        };
        let code = match &block.stands_for {
            Some(ty) if fit(&code.ty, ty).fits() => code.placed(ty),
            Some(_) | None => code,
        };
        block.yields.push(code.ty.clone());
        code
    }

    /// The number of the innermost block.
    pub fn block(&self) -> BlockId {
        self.innermost().map_or(BlockId(0), |block| block.id)
    }

    /// Adds a node to the innermost block, under the guard that holds now.
    pub fn push(&mut self, span: Span, kind: NodeKind) -> NodeId {
        self.push_node(span, None, Vec::new(), kind)
    }

    /// Adds a node with a name or an order.
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

    /// The node of the innermost condition of a guard.
    pub fn condition_of(&self, mark: GuardMark) -> Option<NodeId> {
        let guard = &self.innermost()?.guard;
        guard.get(mark.atoms).map(|atom| atom.condition)
    }

    /// Adds what a statement does to what its block does.
    pub fn note_does(&mut self, does: &Footprint) {
        if let Some(block) = self.innermost_mut() {
            block.does.merge(does);
        }
    }
}

/// The nodes of each slot that more than one gives.
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
