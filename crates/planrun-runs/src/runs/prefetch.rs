//! Work for a run that begins before the run is recorded.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use planrun_tools::tools::Catalog;

use super::Workspace;
use crate::driver::EarlyReads;

/// Connections and reads that a run takes over.
#[derive(Clone, Default)]
pub(super) struct Prefetch {
    /// The tools that were called or asked for their contracts, whose connections stay open.
    tools: Arc<OnceLock<Arc<Catalog>>>,
    /// The servers that could not be used when their contracts were compared, with the reason in one sentence.
    pub(super) unavailable: Arc<OnceLock<BTreeMap<Arc<str>, String>>>,
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

    /// Returns the tools of a run.
    pub(super) fn tools(&self, workspace: &Workspace) -> &Arc<Catalog> {
        self.tools.get_or_init(|| workspace.catalog(None))
    }
}
