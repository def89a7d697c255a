//! What of a run has begun before it is written down.

use std::sync::{Arc, OnceLock};

use planrun_tools::tools::Catalog;

use super::Workspace;
use crate::driver::EarlyReads;

/// What a run goes on with that has begun before it.
#[derive(Clone, Default)]
pub(super) struct Begun {
    /// The tools that were called or asked for their contracts: their connections stay.
    tools: Arc<OnceLock<Arc<Catalog>>>,
    /// Reads that have begun while the plan was written.
    pub(super) reads: Option<Arc<EarlyReads>>,
}

impl Begun {
    /// Nothing but these reads.
    pub(super) fn with(reads: Arc<EarlyReads>) -> Self {
        Self {
            tools: Arc::default(),
            reads: Some(reads),
        }
    }

    /// The tools of a run.
    pub(super) fn tools(&self, workspace: &Workspace) -> &Arc<Catalog> {
        self.tools.get_or_init(|| workspace.catalog(None))
    }
}
