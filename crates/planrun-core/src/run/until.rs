//! `--until STEP`: runs only what a step needs, and leaves everything else to a later process.

use std::collections::BTreeSet;
use std::sync::Arc;

use planrun_lang::graph;
use planrun_lang::sema::Node;

use super::frame::Frame;
use super::program::Program;

/// The step up to which a process drives a run.
#[derive(Clone, Debug)]
pub struct Until {
    pub step: Arc<str>,
    /// Numbers of the plan's own statements that the step needs, including itself.
    pub needed: BTreeSet<u32>,
    node: u32,
}

impl Until {
    /// Returns the target for a step of the plan itself; `None` if it has no step of this name.
    #[must_use]
    pub fn new(program: &Program, step: &str) -> Option<Self> {
        let (block, graph) = (program.plan.body(), &program.graph.blocks[0]);
        let own = |node: &Node| node.step().is_some() && node.name.as_deref() == Some(step);
        let node = u32::try_from(block.nodes.iter().position(own)?).ok()?;
        Some(Self {
            step: step.into(),
            needed: graph::needed(graph, block, node),
            node,
        })
    }

    /// Returns the names of the plan's own steps.
    pub fn steps(program: &Program) -> impl Iterator<Item = &str> {
        let steps = program
            .plan
            .body()
            .nodes
            .iter()
            .filter(|node| node.step().is_some());
        steps.filter_map(|node| node.name.as_deref())
    }

    /// Returns true if the step has settled. A plan that ends above the step has not reached it. `leaves_out`: whether a
    /// statement is left to a later process.
    pub(super) fn is_reached(&self, root: &Frame, leaves_out: impl Fn(u32) -> bool) -> bool {
        let taken = root.taken.as_ref();
        let ends = taken.is_some_and(|taken| !leaves_out(taken.node)) || root.ending.is_some();
        let node = root.nodes.get(self.node as usize);
        !ends && node.is_some_and(|node| node.state.is_settled())
    }
}
