//! The inputs of a driver in addition to the plan and its inputs.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use planrun_core::journal::SubmittedAnswer;
use planrun_core::run::{Asking, Setup, Verifying};
use planrun_lang::permission::Permissions;
use planrun_tools::host::Host;
use planrun_tools::tools::{Catalog, StandIn};
use tokio_util::sync::CancellationToken;

use super::early::Early;
use super::observer::Observer;
use crate::journal::{Log, ResultCache};

/// Everything that a run needs in addition to its plan.
pub struct Context<'a> {
    /// The configuration of the run. The driver completes it with what follows from the other fields: whom the run can
    /// ask, which effects it verifies, and whether its events are recorded or observed.
    pub setup: Setup,
    pub host: Arc<dyn Host>,
    /// Every tool that the plan calls. The built-in ones get their permissions from the plan.
    pub tools: Arc<Catalog>,
    /// The project's limit on the permissions of plans; `None` if it sets none.
    pub limit: Option<Permissions>,
    /// Folder that relative paths in permissions are resolved against.
    pub root: PathBuf,
    pub observer: &'a mut dyn Observer,
    /// Cancelled when the process is to stop: a run with a journal can be resumed later, any other ends.
    pub cancel: CancellationToken,
    /// Where events are written; without a log the run ends with its process.
    pub log: Option<Box<dyn Log>>,
    /// Where results are cached; without a cache every call is made.
    pub cache: Option<Arc<dyn ResultCache>>,
    /// Answers, and who can be asked, while the process runs.
    pub answering: Answering,
    /// Answers in place of the tools.
    pub stand_in: Option<Arc<dyn StandIn>>,
    /// Reads that begin before their plan is complete.
    pub early: Option<Early>,
}

impl<'a> Context<'a> {
    /// Creates the minimal context: events are not recorded, nobody answers questions, and relative paths are resolved
    /// against the current folder.
    pub fn new(
        host: Arc<dyn Host>,
        tools: Arc<Catalog>,
        setup: Setup,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self {
            setup,
            host,
            tools,
            limit: None,
            root: PathBuf::from("."),
            observer,
            cancel: CancellationToken::new(),
            log: None,
            cache: None,
            answering: Answering::default(),
            stand_in: None,
            early: None,
        }
    }

    /// Completes the configuration of the run with what follows from the other fields.
    pub(super) fn complete_setup(&mut self) {
        let verifying = match (&self.early, self.stand_in.clone()) {
            // Until the whole plan has ended, the effects of the run that it is based on are not verified.
            (Some(Early::Start(..)), _) => Verifying::Nothing,
            (_, Some(stand_in)) => Verifying::With(Box::new(move |tool| stand_in.verifies(tool))),
            (_, None) => Verifying::Everything,
        };
        let setup = &mut self.setup;
        setup.answers.append(&mut self.answering.answers);
        setup.asks = self.answering.asker.is_some();
        setup.verifying = verifying;
        setup.durable = self.log.is_some();
        setup.observed = self.observer.observes();
        setup.watched = self.observer.watches();
    }
}

/// How the questions of a plan are answered while the process runs.
#[derive(Clone, Default)]
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
