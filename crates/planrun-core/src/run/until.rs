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
    /// Those of them that are steps above it.
    above: Vec<u32>,
    node: u32,
}

impl Until {
    /// Returns the target for a step of the plan itself; `None` if it has no step of this name.
    #[must_use]
    pub fn new(program: &Program, step: &str) -> Option<Self> {
        let (block, graph) = (program.plan.body(), &program.graph.blocks[0]);
        let own = |node: &Node| node.step().is_some() && node.name.as_deref() == Some(step);
        let node = u32::try_from(block.nodes.iter().position(own)?).ok()?;
        let needed = graph::needed(graph, block, node);
        let is_step = |node: &u32| block.nodes[*node as usize].step().is_some();
        let above = needed.range(..node).copied().filter(is_step).collect();
        Some(Self {
            step: step.into(),
            needed,
            above,
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

    /// Returns true if the step has settled, and every step above it that it needs: a decision may need more than has
    /// settled when it is made, and what a process does must not depend on how fast it is. A plan that ends above the
    /// step has not reached it. `leaves_out`: whether a statement is left to a later process.
    pub(super) fn is_reached(&self, root: &Frame, leaves_out: impl Fn(u32) -> bool) -> bool {
        let taken = root.taken.as_ref();
        let ends = taken.is_some_and(|taken| !leaves_out(taken.node)) || root.ending.is_some();
        let is_settled = |node: &u32| {
            let node = root.nodes.get(*node as usize);
            node.is_some_and(|node| node.state.is_settled())
        };
        !ends && is_settled(&self.node) && self.above.iter().all(is_settled)
    }
}
