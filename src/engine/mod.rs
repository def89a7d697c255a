//! Runs the graph: one dispatcher owns the state, attempts run beside it and answer by message.

mod abort;
mod aftermath;
mod arguments;
mod asked;
mod attempt;
mod budget;
pub mod clock;
mod compound;
mod conversation;
mod copies;
mod dispatcher;
mod doubt;
mod ending;
mod event;
mod execution;
mod failure;
mod frame;
mod gate;
mod input;
mod leaf;
mod listener;
mod observer;
mod order;
mod outcome;
mod park;
mod people;
mod policy;
mod poll;
mod recording;
mod rest;
mod scope;
mod sensitive;
mod settle;
mod signal;
mod slots;
mod standstill;
mod step;
mod task;
mod timer;
mod undo;
mod until;
mod work;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use asked::{QuestionReport, QuestionStatus};
pub use copies::{Again, Copied, Copies};
pub use listener::ListenerReport;
pub use observer::{Observer, Reached, Silence, short_duration};
pub use order::Order;
pub use outcome::{
    CheckReport, CheckStatus, Interruption, Outcome, StepReport, Usage, Verification,
};
pub use people::{Answering, Asker, Asking};
pub use policy::{Defaults, ToolNames, ToolRetry};
pub use signal::{accepts_move, accepts_signal};
pub use task::{TaskMove, TaskReport};
pub use until::Until;

use crate::graph::{self, Graph};
use crate::host::Host;
use crate::journal::{Log, Past};
use crate::sema::Plan;
use crate::tools::{Catalog, Permissions, StandIn};
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
        let plans = called
            .map(|(plan, graph)| Arc::new(Self::with_graph(plan.clone(), graph.clone())))
            .collect();
        Self { plan, graph, plans }
    }
}

/// What a run needs beside its plan.
pub struct Context<'a> {
    pub host: Arc<dyn Host>,
    /// Every tool that the plan calls; the built-in ones get their permissions from the plan.
    pub tools: Arc<Catalog>,
    /// The limit of what plans may reach: the project's; `None` where it sets none.
    pub limit: Option<Permissions>,
    /// Where relative paths in permissions begin.
    pub root: PathBuf,
    /// Decides idempotency keys and jitter.
    pub run_id: String,
    pub defaults: Defaults,
    pub observer: &'a mut dyn Observer,
    /// Fires when somebody stops the process: a run with a journal can go on later, any other ends.
    pub cancel: CancellationToken,
    /// Where its events go; without one the run ends with its process.
    pub log: Option<Box<dyn Log>>,
    /// What each statement of the plan means, by its name: what approvals are bound to. Without it they are bound to the
    /// text of the whole plan.
    pub definitions: BTreeMap<String, String>,
    /// What earlier processes of the run have written there.
    pub past: Option<Past>,
    /// What another run has to give, so that it need not be done again.
    pub copies: Option<Copies>,
    /// Somebody wants the run to go on, so what has failed is done again where the plan pauses for that.
    pub retries: bool,
    /// Only lives through what was written: nothing is called.
    pub only_looks: bool,
    /// Who answers what the plan asks people, while the process lives.
    pub answering: Answering,
    /// In what order it takes what it may take in any.
    pub order: Order,
    /// Who answers in place of the tools.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// The step after which the process lets go of the run; what it does not need is left.
    pub until: Option<Until>,
}

impl<'a> Context<'a> {
    /// What a run needs at least: it is not written down, nobody answers it, and relative paths begin in the current
    /// folder.
    pub fn new(
        host: Arc<dyn Host>,
        tools: Arc<Catalog>,
        run_id: &str,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            host,
            tools,
            limit: None,
            root: PathBuf::from("."),
            run_id: run_id.to_owned(),
            defaults: Defaults::default(),
            observer,
            cancel: CancellationToken::new(),
            log: None,
            definitions: BTreeMap::new(),
            past: None,
            copies: None,
            retries: false,
            only_looks: false,
            answering: Answering::default(),
            order: Order::Source,
            stand_in: None,
            until: None,
        }
    }
}

/// Runs a plan to its end. The inputs have been checked against its parameters.
pub async fn run(
    program: &Arc<Program>,
    inputs: &BTreeMap<Arc<str>, Value>,
    context: Context<'_>,
) -> Outcome {
    // The state of a run is large, and callers hold it within futures of their own.
    Box::pin(dispatcher::Dispatcher::new(context).run(program, inputs)).await
}
