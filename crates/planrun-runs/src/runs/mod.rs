//! The service that checks plans, starts runs of them, and acts on runs. Everything else is a client of it.
//!
//! [`Planrun`] is one project with the journal of its runs. It never prints, never reads from a terminal and never ends
//! the process: questions go to a [`driver::Asker`](crate::driver::Asker), events to a
//! [`driver::Observer`](crate::driver::Observer), and errors are [`Error`]s with an [`ErrorKind`].
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! use planrun_core::journal::SubmittedAnswer;
//! use planrun_lang::protocol::RunState;
//! use planrun_runs::driver::Silence;
//! use planrun_runs::runs::{Addressee, EventOptions, PlanText, Planrun, ResumeOptions, RunOptions};
//! use serde_json::{Map, json};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let planrun = Planrun::open(folder)?;
//! let text = r#"
//!     plan order(item: string) -> string {
//!         step form = input "How many?" -> { count: int }
//!         reply "${form.count} ${item}"
//!     }"#;
//! let plan = planrun.check(PlanText::new("order.plan", text))?.plan(None)?;
//! let inputs = plan.inputs(Map::from_iter([("item".to_owned(), json!("cups"))]))?;
//!
//! let run = planrun.start(&plan, inputs, RunOptions::default())?;
//! let id = run.id().to_owned();
//! assert_eq!(run.drive(&mut Silence).await?.outcome.state, RunState::Paused);
//!
//! let asked = planrun.inbox(None)?;
//! let (path, _) = asked.runs[0].questions().remove(0);
//! let answer = SubmittedAnswer { path, value: json!({ "count": 3 }), by: None, note: None };
//! planrun.answer(Addressee::Run(&id), &[answer])?;
//!
//! let done = planrun.resume(&id, ResumeOptions::default())?.drive(&mut Silence).await?;
//! assert_eq!(done.outcome.reply, Some("3 cups".into()));
//! for event in planrun.events(&id, EventOptions::default())? {
//!     println!("{}", event?.line);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! ```

mod above;
mod answer;
mod answer_path;
mod base;
mod calls;
mod confined;
mod contracts;
mod delivery;
mod draft;
mod error;
mod events;
mod export;
mod forecast;
mod grant;
mod inbox;
mod inputs;
mod job;
mod learned;
mod list;
mod mock;
mod next_calls;
mod obstacle;
mod patch;
mod pinned;
mod plan_text;
mod prefetch;
mod prune;
mod recorded;
mod redaction;
mod repeated;
mod replay;
mod result_file;
mod run;
mod run_id;
mod signal;
mod used_plans;
mod workspace;

use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

pub use above::PatchText;
pub use answer::{Addressee, Answered};
pub use answer_path::split as split_answer;
pub use base::Base;
pub use calls::CallSummary;
pub use delivery::{Delivery, delivery};
pub use draft::Draft;
pub use error::{Error, ErrorKind, MissingInput};
pub use events::{EventOptions, FollowedEvents, RunEvent, RunEvents};
pub use export::{ExportFault, Exported, verify_export};
pub use grant::required_grant;
pub use inbox::{Inbox, OpenRun};
pub use inputs::{InputReader, Inputs, parse_input};
pub use list::{RunFilter, RunInfo, RunSummary, Wake};
pub use patch::{Patched, accepts_patch};
pub use plan_text::{CALL, PlanText, beside, file_name, tidy};
pub use prune::{Prunable, Prune, Pruned, Pruning};
pub use recorded::{Loaded, RecordedRun};
pub use repeated::Repeated;
pub use result_file::{ResultFile, call_status};
pub use run::{Driven, ResumeOptions, Run, RunOptions, until_step};
pub use run_id::new_run_id;
pub use signal::{CancelOptions, Receiver, signal_commands};
pub use workspace::{Checked, CheckedPlan, Choice, Workspace, real_host};

use planrun_lang::permission::Confinement;
use planrun_tools::host::Host;
use planrun_tools::project::{Location, check_own_folder, journal_file, make_own_folder};
use planrun_tools::tools::{ServerPool, Tool};

use crate::journal::store::{Journal as JournalFile, JournalError, MemoryStore, Settings, Store};

/// A project, and the journal of its runs. Clones share both, and any number of runs can be driven at once.
#[derive(Clone)]
pub struct Planrun {
    shared: Arc<Shared>,
    own_tools: Arc<[Tool]>,
    /// Grants that restrict its plans in addition to the project's `allow`, if a model writes them.
    confined: Option<Arc<[Confinement]>>,
    /// Keeps servers connected from one run to the next.
    pool: Option<Arc<ServerPool>>,
}

struct Shared {
    host: Arc<dyn Host>,
    location: Location,
    /// Opened when it is first needed.
    journal: Mutex<Option<Open>>,
}

/// The store of a project's runs.
type Journal = Arc<dyn Store>;

struct Open {
    journal: Journal,
    /// Whether new runs can be written there.
    takes_runs: bool,
}

/// Returns the project at a folder of this machine.
fn located(folder: &Path) -> Result<(Arc<dyn Host>, Location), Error> {
    let host = real_host();
    // `locate` takes the path of a plan; any file directly in the folder will do.
    let location = Workspace::locate(&*host, &folder.join(Location::FILE), None)?;
    Ok((host, location))
}

fn service(host: Arc<dyn Host>, location: Location, journal: Option<Open>) -> Planrun {
    Planrun {
        shared: Arc::new(Shared {
            host,
            location,
            journal: Mutex::new(journal),
        }),
        own_tools: Arc::default(),
        confined: None,
        pool: None,
    }
}

impl Planrun {
    /// Opens the project at a folder, or the nearest one above it; without a `planrun.yaml`, the folder itself.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (host, location) = located(folder)?;
        Ok(Self::at(host, location))
    }

    /// As [`Self::open`], with runs that end with this process: nothing is written to the project's folder.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be used.
    pub fn in_memory(folder: &Path) -> Result<Self, Error> {
        let (host, location) = located(folder)?;
        let store = Arc::new(MemoryStore::new(host.clone()));
        Ok(Self::with_store(host, location, store))
    }

    /// Opens the project at a location.
    #[must_use]
    pub fn at(host: Arc<dyn Host>, location: Location) -> Self {
        service(host, location, None)
    }

    /// Adds tools that are written in Rust. A tool replaces one of the same name in the project. Plans are checked
    /// against their contracts, and runs that this value starts or resumes call them.
    ///
    /// A run is not bound to the implementation of these tools, but to the contracts of those that its plan calls. To
    /// resume it, tools with the same contracts must be added again.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = Tool>) -> Self {
        self.own_tools = self.own_tools.iter().cloned().chain(tools).collect();
        self
    }

    /// Keeps servers connected from one run to the next, until the pool is closed.
    #[must_use]
    pub fn pooled(mut self, pool: Arc<ServerPool>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Restricts the project for plans that a model writes: they only reach files, hosts and programs that the
    /// project's `allow`, each of these grants and each grant of earlier calls of this method permit. If the project
    /// sets no `limits`, a run makes at most 200 calls and takes at most ten minutes. Runs that are started with these
    /// restrictions keep them when they are resumed.
    #[must_use]
    pub fn confined(mut self, within: impl IntoIterator<Item = Confinement>) -> Self {
        let known = self.confined.iter().flat_map(|known| known.iter().cloned());
        self.confined = Some(known.chain(within).collect());
        self
    }

    /// Opens a project with another store for its runs, such as one in memory.
    #[must_use]
    pub fn with_store(host: Arc<dyn Host>, location: Location, store: Arc<dyn Store>) -> Self {
        let journal = Open {
            journal: store,
            takes_runs: true,
        };
        service(host, location, Some(journal))
    }

    /// Opens a project whose runs are already recorded in a journal.
    ///
    /// # Errors
    /// Returns an error if there is no journal, or if it cannot be used.
    pub fn with_journal(host: Arc<dyn Host>, location: Location) -> Result<Self, Error> {
        let planrun = Self::at(host, location);
        planrun.shared.journal()?;
        Ok(planrun)
    }

    #[must_use]
    pub fn location(&self) -> &Location {
        &self.shared.location
    }

    #[must_use]
    pub fn host(&self) -> &Arc<dyn Host> {
        &self.shared.host
    }

    /// Reads the project from its files as they are now.
    ///
    /// # Errors
    /// Returns an error if the project's file cannot be used.
    pub fn workspace(&self) -> Result<Workspace, Error> {
        let Shared { host, location, .. } = &*self.shared;
        let mut workspace = Workspace::with_tools(host.clone(), location, &self.own_tools)?;
        workspace.project.pool.clone_from(&self.pool);
        match &self.confined {
            Some(within) => workspace.confined(within),
            None => Ok(workspace),
        }
    }

    /// Checks a plan text. Files that it uses are resolved relative to its name.
    ///
    /// # Errors
    /// Returns an error if the project cannot be used; [`Error::Findings`] if the bytes are not text.
    pub fn check(&self, text: PlanText) -> Result<Checked, Error> {
        match text {
            PlanText::Text(source) => Ok(Arc::new(self.workspace()?).checked(source)),
            PlanText::Broken(report) => Err(Error::Findings(vec![report])),
        }
    }
}

impl Shared {
    /// Returns the existing journal; if it cannot be written, for reading only.
    fn journal(&self) -> Result<Journal, Error> {
        let mut open = self.journal.lock();
        if let Some(open) = &*open {
            return Ok(open.journal.clone());
        }
        let path = journal_file(&self.location.folder);
        self.check_own_folder()?;
        let journal: Journal = Arc::new(JournalFile::open_there(
            &path,
            Settings::default(),
            self.host.clone(),
        )?);
        *open = Some(Open {
            journal: journal.clone(),
            takes_runs: false,
        });
        Ok(journal)
    }

    /// As [`Self::journal`]; `None` if no plan was run here yet.
    fn existing_journal(&self) -> Result<Option<Journal>, Error> {
        match self.journal() {
            Err(Error::Journal(JournalError::Absent { .. })) => Ok(None),
            journal => journal.map(Some),
        }
    }

    /// Returns the journal of a run, given by its id or a prefix of it. Without a journal, there is no such run.
    fn journal_of(&self, run: &str) -> Result<Journal, Error> {
        let missing = || JournalError::NotFound { run: run.into() }.into();
        self.existing_journal()?.ok_or_else(missing)
    }

    fn check_own_folder(&self) -> Result<(), Error> {
        let checked = check_own_folder(&*self.host, &self.location.folder);
        checked.map_err(|problem| Error::Unusable(problem.to_string()))
    }

    /// Returns the journal for a new run, which is created if there is none.
    fn journal_for_new_runs(&self) -> Result<Journal, Error> {
        let mut open = self.journal.lock();
        if let Some(open) = open.as_ref().filter(|open| open.takes_runs) {
            return Ok(open.journal.clone());
        }
        let Self { host, location, .. } = self;
        let path = journal_file(&location.folder);
        self.check_own_folder()?;
        let journal: Journal =
            Arc::new(JournalFile::open(&path, Settings::default(), host.clone())?);
        // After the journal, which creates the folder for its user only. A failure is harmless: the files that this adds
        // are needed only with git.
        let _ = make_own_folder(&**host, &location.folder);
        *open = Some(Open {
            journal: journal.clone(),
            takes_runs: true,
        });
        Ok(journal)
    }
}
