//! The project's tools and plans as models are shown them, read again whenever the project's files change.

use std::sync::Arc;

use parking_lot::Mutex;
use planrun_runs::runs::{Error, Planrun};
use tokio::sync::watch;

use super::definitions::{self, Definition, definitions};
use super::saved::is_tool_name;
use super::snapshot::Snapshot;

/// Maximum number of saved plans that are tools. The others are found by `search` and run by their names.
const MAX_PLAN_TOOLS: usize = 40;

/// What models can call in one project.
pub struct Listing {
    planrun: Planrun,
    /// The project's tools and plans as they were last read.
    snapshot: Mutex<Option<Arc<Snapshot>>>,
    /// The list of tools as it was last checked, and the sender that signals changes of it.
    listed: Mutex<Option<Vec<Definition>>>,
    changed: watch::Sender<()>,
}

impl Listing {
    pub(super) fn new(planrun: Planrun) -> Self {
        Self {
            planrun,
            snapshot: Mutex::default(),
            listed: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    /// Returns a receiver that signals each change of the list of tools.
    pub fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// Checks whether the list of tools has changed, for instance because a plan file was written or deleted.
    pub fn check_for_changes(&self) {
        let mut listed = self.listed.lock();
        let before = listed.replace(self.tools());
        if before.is_some() && before != *listed {
            self.changed.send_replace(());
        }
    }

    /// Returns the tools for a model: the six fixed ones, followed by the saved plans by name.
    pub fn tools(&self) -> Vec<Definition> {
        let own = definitions();
        let is_own = |name: &str| own.iter().any(|one| one.name == name);
        let Ok(snapshot) = self.snapshot() else {
            return own.into();
        };
        let plans = snapshot.saved.contracts();
        let plans: Vec<Definition> = plans
            .filter(|plan| is_tool_name(&plan.name) && !is_own(&plan.name))
            .take(MAX_PLAN_TOOLS)
            .map(|plan| definitions::of_plan(plan))
            .collect();
        own.into_iter().chain(plans).collect()
    }

    /// Returns the project's tools and plans according to its current files.
    pub(super) fn snapshot(&self) -> Result<Arc<Snapshot>, Error> {
        let mut known = self.snapshot.lock();
        let is_current = |known: &&Arc<Snapshot>| known.is_current(&self.planrun);
        if let Some(current) = known.as_ref().filter(is_current) {
            return Ok(current.clone());
        }
        let snapshot = Arc::new(Snapshot::of(&self.planrun)?);
        *known = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Discards the snapshot, so that the project is read again on the next use.
    pub(super) fn forget(&self) {
        *self.snapshot.lock() = None;
    }
}
