//! The configuration of a run, in addition to its plan and its inputs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::sema::{BlockId, Step};
use planrun_lang::types::Signature;
use serde::{Deserialize, Serialize};

use super::copies::Copies;
use super::order::Order;
use super::policy::Defaults;
use super::program::Program;
use super::until::Until;
use crate::journal::{Grant, ReplayState, SubmittedAnswer};

/// Which effects are verified.
pub enum Verifying {
    /// Everything that the plan verifies.
    Everything,
    /// Only what can be verified with such tools.
    With(Box<dyn Fn(&Signature) -> bool + Send + Sync>),
    Nothing,
}

/// The configuration of a run, in addition to its plan and its inputs.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact of the run"
)]
pub struct Setup {
    /// Seed of idempotency keys and jitter.
    pub run_id: Arc<str>,
    pub defaults: Defaults,
    /// The definitions of the plan's own named statements, to which approvals are bound. Approvals in a statement
    /// without one are bound to the text of the whole plan.
    pub definitions: BTreeMap<String, String>,
    /// The replay state of the run, if earlier processes have driven it.
    pub replay: Option<ReplayState>,
    /// Results of an earlier run to copy.
    pub copies: Option<Copies>,
    /// The approval that a person has to give, or has given, before the run does anything.
    pub approval: Option<Approval>,
    /// Whether steps that are parked after a failure are retried.
    pub retries: bool,
    /// Whether the journal is only replayed, without any calls.
    pub replay_only: bool,
    /// Answers that were given in advance.
    pub answers: Vec<SubmittedAnswer>,
    /// Whether the driver can ask people.
    pub asks: bool,
    /// Decides among what may be done in any order.
    pub order: Order,
    /// The step up to which this process drives the run.
    pub until: Option<Box<Until>>,
    pub verifying: Verifying,
    /// Whether events are recorded, so that another process can resume the run.
    pub durable: bool,
    /// Whether the driver wants events.
    pub observed: bool,
    /// Whether the driver wants coverage points.
    pub watched: bool,
}

/// The actions that a person has to approve before a run does anything.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Approval {
    /// Description of everything that the run may do.
    pub text: Arc<str>,
    /// How long the question is open.
    pub open_for: Duration,
    /// The grant to approve. If it has an expiry, it has been given before, and nobody is asked.
    pub grant: Grant,
    /// How long the grant is valid after its approval.
    pub valid_for: Duration,
}

impl Setup {
    /// Creates the configuration of a run that begins in source order, is not recorded, and cannot ask anybody.
    #[must_use]
    pub fn new(run_id: &str) -> Self {
        Self {
            run_id: run_id.into(),
            defaults: Defaults::default(),
            definitions: BTreeMap::new(),
            replay: None,
            copies: None,
            approval: None,
            retries: false,
            replay_only: false,
            answers: Vec::new(),
            asks: false,
            order: Order::Source,
            until: None,
            verifying: Verifying::Everything,
            durable: false,
            observed: false,
            watched: false,
        }
    }

    /// Returns true if a step has a `verify` whose tools can be called.
    pub(super) fn verifies(&self, program: &Program, step: &Step) -> bool {
        step.verify()
            .is_some_and(|verify| self.can_run_verification(program, verify.body))
    }

    /// Returns true if the tools of a `verify` block can be called.
    pub(super) fn can_run_verification(&self, program: &Program, body: BlockId) -> bool {
        let can_call = match &self.verifying {
            Verifying::Everything => return true,
            Verifying::With(can_call) => can_call,
            Verifying::Nothing => return false,
        };
        let nodes = &program.plan.block(body).nodes;
        let mut steps = nodes.iter().filter_map(|node| node.step());
        steps.all(|step| step.tool().is_none_or(|tool| can_call(tool)))
    }
}
