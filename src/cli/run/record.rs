//! `run --record`: what the tools answered in a run, as a file from which tests can answer.

use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::Failure;
use crate::engine::Outcome;
use crate::host::Host;
use crate::journal::MemoryLog;
use crate::plantest::recording::Recorder;
use crate::plantest::world::World;
use crate::secrets::Redactor;
use crate::tools::{Catalog, StandIn};

/// What is written down of the calls of a run.
pub(super) struct Tape {
    path: PathBuf,
    recorder: Arc<Recorder>,
    /// What the tools send, and must not be shown.
    secrets: Redactor,
    /// Whether earlier processes of the run made calls that this one does not see.
    later: bool,
}

impl Tape {
    pub fn new(path: PathBuf, later: bool, tools: &Catalog) -> Self {
        Self { path, recorder: Arc::default(), secrets: tools.secrets(), later }
    }

    /// Nobody: every call goes on to the real tool.
    pub fn stand_in(&self) -> Arc<dyn StandIn> {
        Arc::new(World::new(Vec::new(), MemoryLog::default()).recording(self.recorder.clone()))
    }

    /// Writes what was called.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(mut self, host: &dyn Host, outcome: &Outcome) -> Result<(), Failure> {
        self.secrets.join(outcome.secrets());
        let plan = &outcome.plan;
        let mut about = vec![format!(
            "To use it in a test of `{plan}`, put it beside the plan as recordings/PLAN__TEST.yaml, such as \
             recordings/refund__it_is_refunded.yaml for the test \"it is refunded\" of refund.plan, and run `planrun test`."
        )];
        about.push(format!("What the tools answered in the run {} of `{plan}`.", outcome.run));
        if self.later {
            about.push("Calls of earlier processes of the run are missing.".to_owned());
        }
        let text = self.recorder.recording(&self.secrets).to_text(&about);
        let written = host.write_file(&self.path, text.as_bytes());
        written.map_err(|error| Failure::Environment(format!("cannot write `{}`: {error}", self.path.display())))
    }
}
