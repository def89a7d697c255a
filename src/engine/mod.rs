//! Runs the graph: one dispatcher owns the state, attempts run beside it and answer by message.

mod abort;
mod arguments;
mod attempt;
mod compound;
mod dispatcher;
mod event;
mod failure;
mod frame;
mod outcome;
mod policy;
mod settle;
mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use event::{Event, EventKind, Observer, Silence, short_duration};
pub use failure::StepError;
pub use outcome::{Outcome, StepReport, Usage};
pub use policy::Defaults;

use crate::graph::{self, Graph};
use crate::host::Host;
use crate::sema::Plan;
use crate::tools::Transport;
use crate::value::Value;

/// A checked plan with its graph, and those that it calls.
#[derive(Debug)]
pub struct Program {
    pub plan: Arc<Plan>,
    pub graph: Arc<Graph>,
    plans: Vec<Arc<Program>>,
}

impl Program {
    /// Orders a plan and those that it calls.
    #[must_use]
    pub fn new(plan: Arc<Plan>) -> Self {
        let graph = Arc::new(graph::build(&plan));
        Self::with_graph(plan, graph)
    }

    fn with_graph(plan: Arc<Plan>, graph: Arc<Graph>) -> Self {
        let called = plan.plans.iter().zip(&graph.plans);
        let plans = called.map(|(plan, graph)| Arc::new(Self::with_graph(plan.clone(), graph.clone()))).collect();
        Self { plan, graph, plans }
    }
}

/// Where calls go.
pub trait Toolbox: Send + Sync {
    /// The transport of a tool.
    fn transport(&self, namespace: &str, name: &str) -> Option<&dyn Transport>;
}

/// What a run needs beside its plan.
pub struct Context<'a> {
    pub host: &'a dyn Host,
    pub tools: &'a dyn Toolbox,
    /// Decides idempotency keys and jitter.
    pub run_id: String,
    pub defaults: Defaults,
    pub observer: &'a mut dyn Observer,
    /// Fires when somebody stops the run.
    pub cancel: CancellationToken,
}

/// Runs a plan to its end. The inputs have been checked against its parameters.
pub async fn run(program: &Arc<Program>, inputs: &BTreeMap<Arc<str>, Value>, context: Context<'_>) -> Outcome {
    dispatcher::Dispatcher::new(program, context).run(inputs).await
}
