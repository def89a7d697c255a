//! Runs that this process drives, each in a task of its own, and how far they have come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use planrun_core::journal::{Event, EventKind};
use planrun_core::run::Outcome;
use planrun_runs::driver::Observer;
use planrun_runs::runs::{Error, Planrun, ResumeOptions, Run};
use tokio::sync::watch;

/// The runs that are being driven. Clones share them.
#[derive(Clone)]
pub(super) struct Drives {
    planrun: Planrun,
    runs: Arc<Mutex<BTreeMap<String, watch::Receiver<Standing>>>>,
}

/// How a run stands that is, or was, driven here.
#[derive(Clone)]
pub(super) enum Standing {
    Goes {
        /// The events so far.
        steps: u64,
        /// The step that began last.
        path: Arc<str>,
    },
    /// It has ended, or waits for something; else why it could not be driven.
    Rests(Arc<Result<Outcome, String>>),
}

impl Drives {
    pub(super) fn new(planrun: Planrun) -> Self {
        Self {
            planrun,
            runs: Arc::default(),
        }
    }

    /// How a run stands, while it is driven here.
    pub(super) fn standing(&self, run: &str) -> Option<watch::Receiver<Standing>> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(run).cloned()
    }

    /// Drives a run until it rests.
    pub(super) fn begin(&self, run: Run) -> watch::Receiver<Standing> {
        let id = run.id().to_owned();
        let (sender, receiver) = watch::channel(Standing::Goes {
            steps: 0,
            path: Arc::default(),
        });
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert(id.clone(), receiver.clone());
        drop(runs);
        let drives = self.clone();
        tokio::spawn(async move {
            let mut watcher = Watcher { sender };
            let rest = run.drive(&mut watcher).await;
            let rest = rest
                .map(|driven| driven.outcome)
                .map_err(|error| error.to_string());
            // Who asks from now on reads the journal.
            let mut runs = drives.runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.remove(&id);
            drop(runs);
            watcher.sender.send_replace(Standing::Rests(Arc::new(rest)));
        });
        receiver
    }

    /// Goes on with a run, unless it is driven here already.
    ///
    /// # Errors
    /// When it cannot be, such as when another process drives it.
    pub(super) fn resume(&self, run: &str) -> Result<watch::Receiver<Standing>, Error> {
        if let Some(standing) = self.standing(run) {
            return Ok(standing);
        }
        let run = self.planrun.resume(run, ResumeOptions::default())?;
        Ok(self.begin(run))
    }
}

/// Passes on how far a run has come.
struct Watcher {
    sender: watch::Sender<Standing>,
}

impl Observer for Watcher {
    fn observe(&mut self, event: &Event) {
        let EventKind::StepRunning { path, .. } = &event.kind else {
            return;
        };
        self.sender.send_replace(Standing::Goes {
            steps: event.number,
            path: path.clone(),
        });
    }
}
