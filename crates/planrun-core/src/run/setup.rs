//! What decides how a run goes, beside its plan and its inputs.

use std::collections::BTreeMap;
use std::sync::Arc;

use planrun_lang::sema::{Call, Step, StepKind, Target};
use planrun_lang::types::Signature;

use super::copies::Copies;
use super::order::Order;
use super::policy::Defaults;
use super::program::Program;
use super::until::Until;
use crate::journal::{Given, Past};

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
    /// Only replays what was written: nothing is called.
    pub replay_only: bool,
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

impl Setup {
    /// Whether a step says how to verify it, and whoever stands in for the tools can do that.
    pub(super) fn verifies(&self, program: &Program, step: &Step) -> bool {
        let Some(verify) = step.verify() else {
            return false;
        };
        let Some(can_verify) = &self.can_verify else {
            return true;
        };
        let nodes = &program.plan.block(verify.body).nodes;
        let mut steps = nodes.iter().filter_map(|node| node.step());
        steps.all(|step| match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => can_verify(signature),
            _ => true,
        })
    }
}
