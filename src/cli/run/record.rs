//! `run --record`: records the answers of the tools in a run, as a file for tests.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::secrets::Redactor;
use planrun_tools::host::Host;
use planrun_tools::tools::StandIn;

use crate::cli::{Failure, Result};
use planrun_core::run::Outcome;
use planrun_runs::journal::MemoryLog;
use planrun_test::plantest::recording::Recorder;
use planrun_test::plantest::world::World;

/// The recorded calls of a run.
pub struct Recording {
    path: PathBuf,
    recorder: Arc<Recorder>,
}

impl Recording {
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            recorder: Arc::default(),
        }
    }

    /// Returns a stand-in that answers no call itself: it records every call and forwards it to the real tool.
    pub fn stand_in(&self) -> Arc<dyn StandIn> {
        Arc::new(World::new(Vec::new(), MemoryLog::default()).recording(self.recorder.clone()))
    }

    /// Writes the recorded calls, with these secrets redacted. If the run continues one of earlier processes, their
    /// calls are missing. Returns an error if the file cannot be written.
    pub fn write(
        self,
        host: &dyn Host,
        secrets: &Redactor,
        (outcome, continues): (&Outcome, bool),
    ) -> Result<()> {
        let plan = &outcome.plan;
        let mut about = vec![format!(
            "To use it in a test of `{plan}`, save it next to the file with the test as recordings/FILE__TEST.yaml, such as \
             recordings/refund.plantest__it_is_refunded.yaml for the test \"it is refunded\" in refund.plantest, and run \
             `planrun test`. Leave out the ending of a FILE that is a .plan."
        )];
        about.push(format!(
            "Answers of the tools in the run {} of `{plan}`.",
            outcome.run
        ));
        if continues {
            about.push("Calls of earlier processes of the run are missing.".to_owned());
        }
        let text = self.recorder.recording(secrets).to_text(&about);
        let written = host.write_file(&self.path, text.as_bytes());
        written.map_err(|error| Failure::cannot_write(&self.path, &error))
    }
}
