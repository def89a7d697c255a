//! A checked plan that is ready to run: with its graph, and with the plans that it calls.

use std::sync::Arc;

use planrun_lang::graph::{self, Graph};
use planrun_lang::sema::{Plan, Step, Target};

/// A checked plan with its graph and the programs of the plans that it calls.
#[derive(Debug)]
pub struct Program {
    pub plan: Arc<Plan>,
    pub graph: Arc<Graph>,
    pub(super) plans: Vec<Arc<Program>>,
}

impl Program {
    /// Returns true if something in a plan, or in one that it calls, reacts to events.
    pub(super) fn reacts(&self) -> bool {
        let blocks = &self.plan.blocks;
        let mut nodes = blocks.iter().flat_map(|block| &block.nodes);
        nodes.any(|node| node.event().is_some()) || self.plans.iter().any(|called| called.reacts())
    }

    /// Builds the graphs of a plan and of those that it calls.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        let graph = Arc::new(graph::build(&plan));
        Self::with_graph(plan, graph)
    }

    /// Returns the program of the plan that a step calls; `None` if it calls none.
    #[must_use]
    pub fn called_by(&self, step: &Step) -> Option<&Self> {
        match step.call()?.target {
            Target::Plan(index, _) => self.plans.get(index).map(Arc::as_ref),
            Target::Tool(_) => None,
        }
    }

    fn with_graph(plan: Arc<Plan>, graph: Arc<Graph>) -> Self {
        let called = plan.plans.iter().zip(&graph.plans);
        let plans = called
            .map(|(plan, graph)| Arc::new(Self::with_graph(plan.clone(), graph.clone())))
            .collect();
        Self { plan, graph, plans }
    }
}
