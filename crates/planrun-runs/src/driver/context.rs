//! What a driver needs beside the plan and its inputs.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use planrun_core::journal::{Given, ReplayState};
use planrun_core::run::{Approval, Asking, Copies, Defaults, Order, Setup, Until, Verifying};
use planrun_lang::permission::Permissions;
use planrun_tools::host::Host;
use planrun_tools::tools::{Catalog, StandIn};
use tokio_util::sync::CancellationToken;

use super::early::Early;
use super::observer::Observer;
use crate::journal::{Log, ResultCache};

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
    /// Where results are kept that may be used again; without one every call is made.
    pub cache: Option<Arc<dyn ResultCache>>,
    /// What each statement of the plan means, by its name: what approvals are bound to. Without it they are bound to the
    /// text of the whole plan.
    pub definitions: BTreeMap<String, String>,
    /// What somebody has to agree to before the run does anything.
    pub approval: Option<Approval>,
    /// What earlier processes of the run have written there.
    pub past: Option<ReplayState>,
    /// What another run has to give, so that it need not be done again.
    pub copies: Option<Copies>,
    /// Somebody wants the run to go on, so what has failed is done again where the plan pauses for that.
    pub retries: bool,
    /// Replays the recorded events and calls nothing.
    pub replay_only: bool,
    /// Who answers what the plan asks people, while the process lives.
    pub answering: Answering,
    /// In what order it takes what it may take in any.
    pub order: Order,
    /// Who answers in place of the tools.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// Reads that begin before their plan is whole.
    pub early: Option<Early>,
    /// The step after which the process suspends the run; what that step does not need is not run.
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
            cache: None,
            definitions: BTreeMap::new(),
            approval: None,
            past: None,
            copies: None,
            retries: false,
            replay_only: false,
            answering: Answering::default(),
            order: Order::Source,
            stand_in: None,
            early: None,
            until: None,
        }
    }

    /// Takes out what decides how the run goes.
    pub(super) fn take_setup(&mut self) -> Setup {
        let verifying = match (&self.early, self.stand_in.clone()) {
            // Until the whole plan has ended, effects of another run that it goes on from are not verified.
            (Some(Early::Begins(..)), _) => Verifying::Nothing,
            (_, Some(stand_in)) => Verifying::With(Box::new(move |tool| stand_in.verifies(tool))),
            (_, None) => Verifying::Everything,
        };
        Setup {
            run_id: self.run_id.as_str().into(),
            defaults: self.defaults.clone(),
            definitions: std::mem::take(&mut self.definitions),
            approval: self.approval.take(),
            past: self.past.take(),
            copies: self.copies.take(),
            retries: self.retries,
            replay_only: self.replay_only,
            answers: std::mem::take(&mut self.answering.answers),
            asks: self.answering.asker.is_some(),
            order: self.order,
            until: self.until.take(),
            verifying,
            durable: self.log.is_some(),
            observed: self.observer.observes(),
            watched: self.observer.watches(),
        }
    }
}

/// Who answers what a plan asks, while the process lives.
#[derive(Default)]
pub struct Answering {
    /// Answers that were given before anything was asked.
    pub answers: Vec<Given>,
    /// Somebody who can be asked.
    pub asker: Option<Arc<dyn Asker>>,
}

/// Somebody who can be asked while the process lives.
pub trait Asker: Send + Sync {
    /// Asks. Without an answer this is not asked again in this process.
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<Given>> + Send>>;
}
