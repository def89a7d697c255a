//! The inputs of a driver in addition to the plan and its inputs.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use planrun_core::journal::{ReplayState, SubmittedAnswer};
use planrun_core::run::{Approval, Asking, Copies, Defaults, Order, Setup, Until, Verifying};
use planrun_lang::permission::Permissions;
use planrun_tools::host::Host;
use planrun_tools::tools::{Catalog, StandIn};
use tokio_util::sync::CancellationToken;

use super::early::Early;
use super::observer::Observer;
use crate::journal::{Log, ResultCache};

/// Everything that a run needs in addition to its plan.
pub struct Context<'a> {
    pub host: Arc<dyn Host>,
    /// Every tool that the plan calls. The built-in ones get their permissions from the plan.
    pub tools: Arc<Catalog>,
    /// The project's limit on the permissions of plans; `None` if it sets none.
    pub limit: Option<Permissions>,
    /// Folder that relative paths in permissions are resolved against.
    pub root: PathBuf,
    /// Seed of idempotency keys and jitter.
    pub run_id: String,
    pub defaults: Defaults,
    pub observer: &'a mut dyn Observer,
    /// Cancelled when the process is to stop: a run with a journal can be resumed later, any other ends.
    pub cancel: CancellationToken,
    /// Where events are written; without a log the run ends with its process.
    pub log: Option<Box<dyn Log>>,
    /// Where results are cached; without a cache every call is made.
    pub cache: Option<Arc<dyn ResultCache>>,
    /// The definitions of the plan's own named statements, to which approvals are bound. Approvals in a statement
    /// without one are bound to the text of the whole plan.
    pub definitions: BTreeMap<String, String>,
    /// The approval that a person has to give before the run does anything.
    pub approval: Option<Approval>,
    /// The replay state, if earlier processes have driven the run.
    pub replay: Option<ReplayState>,
    /// Results of another run to copy.
    pub copies: Option<Copies>,
    /// Whether steps that are parked after a failure are retried.
    pub retries: bool,
    /// Whether the recorded events are only replayed, without any calls.
    pub replay_only: bool,
    /// Answers, and who can be asked, while the process runs.
    pub answering: Answering,
    /// The order in which the run takes what may be taken in any order.
    pub order: Order,
    /// Answers in place of the tools.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// Reads that begin before their plan is complete.
    pub early: Option<Early>,
    /// The step after which the process suspends the run. Steps that it does not need are not run.
    pub until: Option<Box<Until>>,
}

impl<'a> Context<'a> {
    /// Creates the minimal context: events are not recorded, nobody answers questions, and relative paths are resolved
    /// against the current folder.
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
            replay: None,
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

    /// Takes the parts that configure the run itself.
    pub(super) fn take_setup(&mut self) -> Setup {
        let verifying = match (&self.early, self.stand_in.clone()) {
            // Until the whole plan has ended, the effects of the run that it is based on are not verified.
            (Some(Early::Start(..)), _) => Verifying::Nothing,
            (_, Some(stand_in)) => Verifying::With(Box::new(move |tool| stand_in.verifies(tool))),
            (_, None) => Verifying::Everything,
        };
        Setup {
            run_id: self.run_id.as_str().into(),
            defaults: self.defaults.clone(),
            definitions: std::mem::take(&mut self.definitions),
            approval: self.approval.take(),
            replay: self.replay.take(),
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

/// How the questions of a plan are answered while the process runs.
#[derive(Default)]
pub struct Answering {
    /// Answers that were given in advance.
    pub answers: Vec<SubmittedAnswer>,
    /// Passes questions to a person.
    pub asker: Option<Arc<dyn Asker>>,
}

/// Passes questions to a person while the process runs.
pub trait Asker: Send + Sync {
    /// Asks a question. If there is no answer, it is not asked again in this process.
    ///
    /// The future is dropped when the question is closed otherwise, such as by its expiry or by an answer from another
    /// process, and when the run ends or this process stops driving it. A panic counts as no answer.
    fn ask(&self, asking: Asking) -> Pin<Box<dyn Future<Output = Option<SubmittedAnswer>> + Send>>;
}
