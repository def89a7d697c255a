//! Walks over a plan: its statements in the order of its blocks, who owns which block, and the plans that it calls.
//!
//! Blocks stand in one list, so a walk is an iterator and nothing recurses.

use std::sync::Arc;

use super::{Block, BlockId, Call, Node, NodeId, Plan, Step, StepKind, Target};
use crate::sema::Place;
use crate::types::Signature;

impl Plan {
    /// The blocks with their numbers; a block stands behind the one around it.
    pub fn numbered_blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        (0..).map(BlockId).zip(&self.blocks)
    }

    /// Every statement with its block and its number there.
    pub fn sites(&self) -> impl Iterator<Item = (BlockId, NodeId, &Node)> {
        self.numbered_blocks().flat_map(|(block, content)| {
            let nodes = (0..).map(NodeId).zip(&content.nodes);
            nodes.map(move |(id, node)| (block, id, node))
        })
    }

    /// Every statement.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.blocks.iter().flat_map(|block| &block.nodes)
    }

    /// Every step.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.nodes().filter_map(Node::step)
    }

    /// The contract behind each call of a tool, those of called plans left out.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.steps().filter_map(|step| match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => Some(signature),
            _ => None,
        })
    }

    /// The plan and those that it calls, directly or not, each once and before those that it calls.
    #[must_use]
    pub fn with_called(&self) -> Vec<&Self> {
        let (mut found, mut open) = (Vec::<&Self>::new(), vec![self]);
        while let Some(plan) = open.pop() {
            if !found.iter().any(|known| std::ptr::eq(*known, plan)) {
                found.push(plan);
                open.extend(plan.plans.iter().rev().map(|called| &**called));
            }
        }
        found
    }

    /// The statement that owns each block, by the number of the block; `None` for the body.
    #[must_use]
    pub fn owners(&self) -> Vec<Option<(BlockId, NodeId)>> {
        let mut owners = vec![None; self.blocks.len()];
        for (block, id, node) in self.sites() {
            node.inner(&mut |inner| {
                if let Some(owner) = owners.get_mut(inner.0 as usize) {
                    *owner = Some((block, id));
                }
            });
        }
        owners
    }
}

/// A plan with who owns which of its blocks.
#[derive(Clone, Debug)]
pub struct Nesting<'a> {
    plan: &'a Plan,
    owners: Vec<Option<(BlockId, NodeId)>>,
}

impl<'a> Nesting<'a> {
    #[must_use]
    pub fn of(plan: &'a Plan) -> Self {
        let owners = plan.owners();
        Self { plan, owners }
    }

    #[must_use]
    pub const fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// The node that owns a block, and the block that it stands in; `None` for the body.
    #[must_use]
    pub fn owner(&self, block: BlockId) -> Option<(BlockId, &'a Node)> {
        let (outer, id) = (*self.owners.get(block.0 as usize)?)?;
        Some((outer, self.plan.block(outer).node(id)))
    }

    /// The block whose frame a place is in, seen from a block.
    #[must_use]
    pub fn frame(&self, from: BlockId, place: Place) -> Option<BlockId> {
        (0..place.up).try_fold(from, |block, _| self.owner(block).map(|(outer, _)| outer))
    }
}
