//! Runs that this process drives, each in a task of its own, and how far they have come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use planrun_core::journal::{Event, EventKind};
use planrun_core::run::Outcome;
use planrun_runs::driver::Observer;
use planrun_runs::runs::{Error, Planrun, ResumeOptions, Run};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long calls in flight are awaited when the process ends.
const GRACE: Duration = Duration::from_secs(10);

/// The runs that are being driven. Clones share them.
#[derive(Clone)]
pub(super) struct Drives {
    planrun: Planrun,
    runs: Arc<Mutex<BTreeMap<String, watch::Receiver<Standing>>>>,
    /// Fires when the runs that go on have to let go of this process.
    cancel: Arc<Mutex<CancellationToken>>,
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
            cancel: Arc::default(),
        }
    }

    /// How a run stands, while it is driven here.
    pub(super) fn standing(&self, run: &str) -> Option<watch::Receiver<Standing>> {
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.get(run).cloned()
    }

    /// How runs are driven here.
    pub(super) fn options(&self) -> ResumeOptions {
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        ResumeOptions {
            cancel: cancel.clone(),
            ..ResumeOptions::default()
        }
    }

    /// Suspends all runs. What they have called and changes something is awaited, so that nobody has to find out whether it
    /// happened.
    pub(super) async fn close(&self) {
        let standings = self.let_go();
        let rest = async {
            for mut standing in standings {
                let is_rest = |standing: &Standing| matches!(standing, Standing::Rests(_));
                let _ = standing.wait_for(is_rest).await;
            }
        };
        // Whatever takes longer is as after a crash.
        let _ = timeout(GRACE, rest).await;
    }

    /// Tells all runs to let go of this process, and gives how they stand.
    fn let_go(&self) -> Vec<watch::Receiver<Standing>> {
        let mut cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *cancel).cancel();
        let runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.values().cloned().collect()
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
        let run = self.planrun.resume(run, self.options())?;
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
