//! `run --record`: what the tools answered in a run, as a file from which tests can answer.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::secrets::Redactor;
use planrun_tools::host::Host;
use planrun_tools::tools::StandIn;

use crate::cli::Failure;
use planrun_core::run::Outcome;
use planrun_runs::journal::MemoryLog;
use planrun_test::plantest::recording::Recorder;
use planrun_test::plantest::world::World;

/// What is written down of the calls of a run.
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

    /// Nobody: every call goes on to the real tool.
    pub fn stand_in(&self) -> Arc<dyn StandIn> {
        Arc::new(World::new(Vec::new(), MemoryLog::default()).recording(self.recorder.clone()))
    }

    /// Writes what was called, with marks for these secrets. Where the run goes on from what other processes did, their
    /// calls are missing.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(
        self,
        host: &dyn Host,
        secrets: &Redactor,
        (outcome, continues): (&Outcome, bool),
    ) -> Result<(), Failure> {
        let plan = &outcome.plan;
        let mut about = vec![format!(
            "To use it in a test of `{plan}`, put it beside the plan as recordings/PLAN__TEST.yaml, such as \
             recordings/refund__it_is_refunded.yaml for the test \"it is refunded\" of refund.plan, and run `planrun test`."
        )];
        about.push(format!(
            "What the tools answered in the run {} of `{plan}`.",
            outcome.run
        ));
        if continues {
            about.push("Calls of earlier processes of the run are missing.".to_owned());
        }
        let text = self.recorder.recording(secrets).to_text(&about);
        let written = host.write_file(&self.path, text.as_bytes());
        written.map_err(|error| {
            Failure::Environment(format!("cannot write `{}`: {error}", self.path.display()))
        })
    }
}
