//! The configuration of a run, beside its plan and its inputs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::sema::{BlockId, Call, Step, StepKind, Target};
use planrun_lang::types::Signature;
use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::order::Order;
use super::policy::Defaults;
use super::program::Program;
use super::until::Until;
use crate::journal::{Given, Grant, ReplayState};

/// What verifies effects.
pub enum Verifying {
    /// All that the plan says.
    Everything,
    /// What calls such tools only.
    With(Box<dyn Fn(&Signature) -> bool + Send + Sync>),
    Nothing,
}

/// The configuration of a run, beside its plan and its inputs.
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
    /// The journal of the run so far, where earlier processes have driven it.
    pub past: Option<ReplayState>,
    /// Results of an earlier run to take over.
    pub copies: Option<Copies>,
    /// What somebody has to agree to, or has agreed to, before the run does anything.
    pub approval: Option<Approval>,
    /// Whether steps that are paused after a failure are tried again.
    pub retries: bool,
    /// Replays the journal and calls nothing.
    pub replay_only: bool,
    /// Answers that were given before anything was asked.
    pub answers: Vec<Given>,
    /// Whether the driver has somebody to ask.
    pub asks: bool,
    /// Decides between what may be done in any order.
    pub order: Order,
    /// The step after which this process stops driving the run.
    pub until: Option<Until>,
    pub verifying: Verifying,
    /// Whether events are recorded, so that another process can resume the run.
    pub durable: bool,
    /// Whether the driver wants events.
    pub observed: bool,
    /// Whether the driver wants coverage.
    pub watched: bool,
}

/// What somebody has to agree to before a run does anything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// All that the run may do, in words.
    pub text: Arc<str>,
    /// How long the question is open.
    pub open_for: Duration,
    /// What is agreed to. One that has an end has been given before, and nobody is asked.
    pub grant: Grant,
    /// How long the grant is valid once somebody has agreed.
    pub valid_for: Duration,
}

impl Setup {
    /// Whether a step has a `verify` whose tools can be called.
    pub(super) fn verifies(&self, program: &Program, step: &Step) -> bool {
        step.verify()
            .is_some_and(|verify| self.can_look(program, verify.body))
    }

    /// Whether a block that verifies something can run.
    pub(super) fn can_look(&self, program: &Program, body: BlockId) -> bool {
        let can_call = match &self.verifying {
            Verifying::Everything => return true,
            Verifying::With(can_call) => can_call,
            Verifying::Nothing => return false,
        };
        let nodes = &program.plan.block(body).nodes;
        let mut steps = nodes.iter().filter_map(|node| node.step());
        steps.all(|step| match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => can_call(signature),
            _ => true,
        })
    }
}
