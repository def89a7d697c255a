//! Work for a run that begins before the run is recorded.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use planrun_tools::tools::Catalog;

use super::Workspace;
use crate::driver::EarlyReads;

/// Servers that cannot be used, with the reason in one sentence.
type Unavailable = BTreeMap<Arc<str>, String>;

/// Connections and reads that a run takes over.
#[derive(Clone, Default)]
pub(super) struct Prefetch {
    /// The tools that were called or asked for their contracts, whose connections stay open.
    tools: Arc<OnceLock<Arc<Catalog>>>,
    /// The servers that could not be used when contracts were last compared.
    unavailable: Arc<Mutex<Unavailable>>,
    /// Reads that began while the plan was being written.
    pub(super) reads: Option<Arc<EarlyReads>>,
}

impl Prefetch {
    /// Creates a value that only has these reads.
    pub(super) fn with(reads: Arc<EarlyReads>) -> Self {
        Self {
            tools: Arc::default(),
            unavailable: Arc::default(),
            reads: Some(reads),
        }
    }

    /// Records which servers could not be used, in place of what is known from an earlier comparison.
    pub(super) fn compared(&self, unavailable: Unavailable) {
        *self.unavailable() = unavailable;
    }

    /// Returns the servers that could not be used.
    pub(super) fn unavailable(&self) -> MutexGuard<'_, Unavailable> {
        self.unavailable.lock()
    }

    /// Returns the tools of a run.
    pub(super) fn tools(&self, workspace: &Workspace) -> &Arc<Catalog> {
        self.tools.get_or_init(|| workspace.catalog(None))
    }
}
