//! Work for a run that begins before the run is recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

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
    tools: Arc<Mutex<Option<Arc<Catalog>>>>,
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

    /// Returns the tools for the next run.
    pub(super) fn tools(&self, workspace: &Workspace) -> Arc<Catalog> {
        let mut tools = self.shared_tools();
        tools.get_or_insert_with(|| workspace.catalog(None)).clone()
    }

    /// Takes the tools for a run, which closes their connections at its end. Another run of the same plan gets others.
    pub(super) fn take_tools(&self, workspace: &Workspace) -> Arc<Catalog> {
        let taken = self.shared_tools().take();
        taken.unwrap_or_else(|| workspace.catalog(None))
    }

    fn shared_tools(&self) -> MutexGuard<'_, Option<Arc<Catalog>>> {
        self.tools.lock()
    }
}
