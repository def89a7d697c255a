//! A run as a state machine: [`Run`] takes [`Input`]s with the time and gives [`Command`]s.

mod abort;
mod aftermath;
mod arguments;
mod asked;
mod attempt;
mod budget;
mod clock;
mod command;
mod compound;
mod conclusion;
mod copies;
mod doubt;
mod duration_text;
mod ending;
mod event;
mod execution;
mod failure;
mod frame;
mod gate;
mod input;
mod leaf;
mod listener;
mod machine;
mod order;
mod outcome;
mod park;
mod peer;
mod people;
mod policy;
mod poll;
mod reached;
mod reattach;
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
use std::sync::Arc;

pub use asked::{QuestionReport, QuestionStatus};
pub use clock::Moment;
pub use command::{CallId, CallRequest, Command, Input, PeerReply, ScopeId};
pub use copies::{Again, Copied, Copies};
pub use duration_text::short_duration;
pub use listener::ListenerReport;
pub use machine::Run;
pub use order::Order;
pub use outcome::{
    CheckReport, CheckStatus, Interruption, Outcome, StepReport, Usage, Verification,
};
pub use people::Asking;
pub use policy::{Defaults, ToolNames, ToolRetry};
pub use reached::Reached;
pub use signal::{accepts_move, accepts_signal};
pub use task::{TaskMove, TaskReport};
pub use until::Until;

use planrun_lang::graph::{self, Graph};
use planrun_lang::sema::Plan;
use planrun_lang::types::Signature;

use crate::journal::{Given, Past};

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

/// Whether a call that looks if a step happened can be made at all.
pub type CanVerify = Box<dyn Fn(&Signature) -> bool + Send + Sync>;

/// What decides how a run goes, beside its plan and its inputs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub struct Setup {
    /// Decides idempotency keys and jitter.
    pub run_id: Arc<str>,
    pub defaults: Defaults,
    /// What each statement of the plan means, by its name: what approvals are bound to. Without it they are bound to the
    /// text of the whole plan.
    pub definitions: BTreeMap<String, String>,
    /// What earlier processes of the run have written down.
    pub past: Option<Past>,
    /// What another run has to give, so that it need not be done again.
    pub copies: Option<Copies>,
    /// What has failed is done again where the plan pauses for that.
    pub retries: bool,
    /// Only lives through what was written: nothing is called.
    pub only_looks: bool,
    /// Answers that were given before anything was asked.
    pub answers: Vec<Given>,
    /// Whether the driver has somebody to ask.
    pub asks: bool,
    /// In what order the run takes what it may take in any.
    pub order: Order,
    /// The step after which the process lets go of the run.
    pub until: Option<Until>,
    /// Where not every tool can be asked; `None` where each can.
    pub can_verify: Option<CanVerify>,
    /// Whether events are written down, so that another process can go on with the run.
    pub durable: bool,
    /// Whether anybody wants events.
    pub observed: bool,
    /// Whether anybody wants to know what of the plan is reached.
    pub watched: bool,
}
