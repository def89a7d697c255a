//! Walks over a plan: its statements in block order, the owners of its blocks, and the plans that it calls.
//!
//! Blocks are stored in one list, so a walk is an iterator and not recursive.

use std::sync::Arc;

use super::{Block, BlockId, Node, NodeId, Plan, Step};
use crate::sema::Place;
use crate::types::Signature;

impl Plan {
    /// Returns the blocks with their numbers; a block comes after the one around it.
    pub fn numbered_blocks(&self) -> impl Iterator<Item = (BlockId, &Block)> {
        (0..).map(BlockId).zip(&self.blocks)
    }

    /// Returns every statement with its block and its number there.
    pub fn sites(&self) -> impl Iterator<Item = (BlockId, NodeId, &Node)> {
        self.numbered_blocks().flat_map(|(block, content)| {
            let nodes = (0..).map(NodeId).zip(&content.nodes);
            nodes.map(move |(id, node)| (block, id, node))
        })
    }

    /// Returns every statement.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.blocks.iter().flat_map(|block| &block.nodes)
    }

    /// Returns the statements of a block and of all blocks inside it.
    #[must_use]
    pub fn nodes_inside(&self, block: BlockId) -> Vec<&Node> {
        let (mut found, mut open) = (Vec::new(), vec![block]);
        while let Some(block) = open.pop() {
            for node in &self.block(block).nodes {
                found.push(node);
                node.inner(&mut |inner| open.push(inner));
            }
        }
        found
    }

    /// Returns every step.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        self.nodes().filter_map(Node::step)
    }

    /// Returns the contract of each tool call, excluding those of called plans.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<Signature>> {
        self.steps().filter_map(Step::tool)
    }

    /// Returns the plan and those that it calls, directly or indirectly, each once and in depth-first order.
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

    /// Returns the statement that owns each block, by the number of the block; `None` for the body.
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

/// A plan with the owners of its blocks.
#[derive(Clone, Debug)]
pub struct Nesting<'a> {
    plan: &'a Plan,
    owners: Arc<[Option<(BlockId, NodeId)>]>,
}

impl<'a> Nesting<'a> {
    #[must_use]
    pub fn of(plan: &'a Plan) -> Self {
        let owners = plan.owners().into();
        Self { plan, owners }
    }

    #[must_use]
    pub const fn plan(&self) -> &'a Plan {
        self.plan
    }

    /// Returns the node that owns a block, and the block that contains the node; `None` for the body.
    #[must_use]
    pub fn owner(&self, block: BlockId) -> Option<(BlockId, &'a Node)> {
        let (outer, id) = (*self.owners.get(block.0 as usize)?)?;
        Some((outer, self.plan.block(outer).node(id)))
    }

    /// Returns a node and the owners of the blocks around it, from the inside out, each with its block.
    pub fn outwards(
        &self,
        block: BlockId,
        node: &'a Node,
    ) -> impl Iterator<Item = (BlockId, &'a Node)> {
        std::iter::successors(Some((block, node)), |(block, _)| self.owner(*block))
    }

    /// Returns the block whose frame contains a place, as seen from the block `from`.
    #[must_use]
    pub fn frame(&self, from: BlockId, place: Place) -> Option<BlockId> {
        (0..place.up).try_fold(from, |block, _| self.owner(block).map(|(outer, _)| outer))
    }
}
