//! Running up to a step: what it does not need is left for a later process of the run.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::graph;

use super::Program;
use super::machine::{NodeRef, Run};

/// The step that a process of a run goes up to.
#[derive(Clone, Debug)]
pub struct Until {
    pub step: Arc<str>,
    /// What it needs, itself included: numbers of statements of the plan itself.
    pub needed: BTreeSet<u32>,
    node: u32,
}

impl Until {
    /// A step of the plan itself; nothing where there is none of this name.
    #[must_use]
    pub fn new(program: &Program, step: &str) -> Option<Self> {
        let (block, graph) = (program.plan.body(), &program.graph.blocks[0]);
        let own = |node: &planrun_lang::sema::Node| {
            node.step().is_some() && node.name.as_deref() == Some(step)
        };
        let node = u32::try_from(block.nodes.iter().position(own)?).ok()?;
        Some(Self {
            step: step.into(),
            needed: graph::needed(graph, block, node),
            node,
        })
    }

    /// The steps of the plan itself.
    pub fn steps(program: &Program) -> impl Iterator<Item = &str> {
        let steps = program
            .plan
            .body()
            .nodes
            .iter()
            .filter(|node| node.step().is_some());
        steps.filter_map(|node| node.name.as_deref())
    }

    /// Whether a statement is left for a later process.
    pub(super) fn leaves(&self, (frame, node): NodeRef) -> bool {
        frame == 0 && !self.needed.contains(&node)
    }
}

impl Run {
    /// Whether a statement is left for a later process.
    pub(super) fn is_left(&self, at: NodeRef) -> bool {
        self.setup
            .until
            .as_ref()
            .is_some_and(|until| until.leaves(at))
    }

    /// Whether there was a step to go up to, and it has settled. A plan that ends above it has ended.
    pub(super) fn until_is_reached(&self) -> bool {
        let ends = self.frames[0].taken.is_some() || self.frames[0].ending.is_some();
        self.setup
            .until
            .as_ref()
            .is_some_and(|until| !ends && self.state_of((0, until.node)).is_settled())
    }
}
