//! Finds the steps for which a plan handles failures that no contract names; only those need a test of such failures.

use std::collections::BTreeSet;

use planrun_lang::protocol::StepState;
use planrun_lang::sema::expr::{CheckedExpr, ReadKind, StateTest};
use planrun_lang::sema::{BlockId, EventKind, Node, NodeId, NodeKind, Place, Plan, Step};
use planrun_lang::types::{ErrorClass, ErrorPattern};

/// The block and the index of a statement.
pub(super) type Spot = (BlockId, NodeId);

/// The steps whose state other statements read, other than to test whether they have completed.
pub(super) struct ObservedSteps {
    spots: BTreeSet<Spot>,
}

impl ObservedSteps {
    pub fn of(plan: &Plan, outer: &[Option<BlockId>]) -> Self {
        let mut observed = Self {
            spots: BTreeSet::new(),
        };
        for (index, block) in plan.blocks.iter().enumerate() {
            let Ok(index) = u32::try_from(index) else {
                continue;
            };
            for node in &block.nodes {
                observed.node(plan, outer, BlockId(index), node);
            }
        }
        observed
    }

    /// Returns true if the plan handles a failure of the step with one of these classes: the step retries it, an arm
    /// catches it, or another statement reads how the step ended.
    pub fn expects(&self, spot: Spot, step: &Step, classes: &[ErrorClass]) -> bool {
        let meant = |pattern: &ErrorPattern| classes.iter().any(|class| pattern.matches(class));
        // A `retry` without classes applies to transient errors.
        let unnamed = classes.iter().all(|class| class.family() == "transient");
        let retried = step
            .retry()
            .is_some_and(|retry| retry.on.as_ref().map_or(unnamed, |on| on.iter().any(meant)));
        let caught = step
            .recover
            .iter()
            .any(|arm| classes.iter().any(|class| arm.catches(class)));
        retried || caught || self.spots.contains(&spot)
    }

    fn node(&mut self, plan: &Plan, outer: &[Option<BlockId>], block: BlockId, node: &Node) {
        node.codes(&mut |code| self.code(plan, outer, block, code));
        let mut inner = None;
        node.inner(&mut |body| inner = inner.or(Some(body)));
        if let Some(inner) = inner {
            node.inner_codes(&mut |code| self.code(plan, outer, inner, code));
        }
        let Some(event) = node.event() else { return };
        event.leaves(&mut |leaf| {
            let EventKind::Step { place, test, .. } = &leaf.kind else {
                return;
            };
            let asks = match test {
                Some(StateTest::State(state)) => *state != StepState::Completed,
                Some(StateTest::Settled) => true,
                None => false,
            };
            if asks {
                self.place(plan, outer, block, *place);
            }
        });
    }

    fn code(&mut self, plan: &Plan, outer: &[Option<BlockId>], block: BlockId, code: &CheckedExpr) {
        for read in code
            .reads
            .iter()
            .filter(|read| read.kind == ReadKind::State)
        {
            self.place(plan, outer, block, read.place);
        }
    }

    fn place(&mut self, plan: &Plan, outer: &[Option<BlockId>], block: BlockId, place: Place) {
        let climbed = (0..place.up).try_fold(block, |block, _| {
            outer.get(block.0 as usize).copied().flatten()
        });
        let Some(block) = climbed else { return };
        let holds =
            |node: &Node| node.slot == Some(place.slot) && matches!(node.kind, NodeKind::Step(_));
        let found = (0..)
            .zip(&plan.block(block).nodes)
            .filter(|(_, node)| holds(node));
        self.spots
            .extend(found.map(|(index, _)| (block, NodeId(index))));
    }
}
