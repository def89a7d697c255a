//! `run --record`: records the answers of the tools in a run, as a file for tests.

use std::path::PathBuf;
use std::sync::Arc;

use planrun_lang::secrets::Redactor;
use planrun_tools::host::{FileKind, Host};
use planrun_tools::tools::StandIn;

use crate::cli::{Failure, Result};
use planrun_core::run::Outcome;
use planrun_runs::journal::MemoryLog;
use planrun_test::plantest::recording::{Recorder, Recording as Tests};
use planrun_test::plantest::world::World;

/// The recorded calls of a run.
pub struct Recording {
    path: PathBuf,
    recorder: Arc<Recorder>,
}

impl Recording {
    /// Prepares a recording to this file. Its answers can be had only once, so the file is tried before the run. Returns
    /// an error if it cannot be written, or holds something else than a recording.
    pub fn to(path: PathBuf, host: &dyn Host) -> Result<Self> {
        let cannot_write = |error| Failure::cannot_write(&path, &error);
        match host.kind(&path) {
            Ok(FileKind::File) => {
                let text = host.read_file(&path).unwrap_or_else(|_| "?".to_owned());
                if !text.trim().is_empty() && Tests::read(&path, &text).is_err() {
                    return Err(Failure::Usage(format!(
                        "`{}` exists and is not a recording; name another file",
                        path.display()
                    )));
                }
                host.append_file(&path, b"").map_err(cannot_write)?;
            }
            Ok(FileKind::Folder) => {
                return Err(Failure::Usage(format!(
                    "`{}` is a folder; name a file",
                    path.display()
                )));
            }
            Err(_) => {
                host.write_file(&path, b"").map_err(cannot_write)?;
                host.remove_file(&path).map_err(cannot_write)?;
            }
        }
        Ok(Self {
            path,
            recorder: Arc::default(),
        })
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
