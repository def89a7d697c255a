//! The runs that this process drives, each in its own task, and their progress.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use planrun_core::journal::{Event, EventKind};
use planrun_core::run::Outcome;
use planrun_runs::driver::Observer;
use planrun_runs::runs::{Error, Planrun, ResumeOptions, Run};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long calls in flight are awaited when the process exits.
const GRACE: Duration = Duration::from_secs(10);
/// Why a run is not driven any more if nothing else is known.
const PANICKED: &str = "what drove it has panicked, which is a defect of planrun or of a tool that is written in Rust; the run can be \
                        resumed";

/// The runs that are being driven. Clones share them.
#[derive(Clone)]
pub(super) struct DrivenRuns {
    planrun: Planrun,
    runs: Arc<Mutex<BTreeMap<String, watch::Receiver<RunStatus>>>>,
    /// Cancelled when the runs have to be suspended.
    cancel: Arc<Mutex<CancellationToken>>,
}

/// The status of a run that is, or was, driven here.
#[derive(Clone)]
pub(super) enum RunStatus {
    Running {
        /// Number of events so far.
        steps: u64,
        /// The step that started last.
        path: Arc<str>,
        /// The number of the event of the last question; 0 if nothing was asked.
        asked: u64,
    },
    /// The run has ended or waits for something, or the reason why it cannot be driven.
    Stopped(Arc<Result<Outcome, String>>),
}

impl DrivenRuns {
    pub(super) fn new(planrun: Planrun) -> Self {
        Self {
            planrun,
            runs: Arc::default(),
            cancel: Arc::default(),
        }
    }

    /// Returns the status of a run; `None` if it is not driven here.
    pub(super) fn status(&self, run: &str) -> Option<watch::Receiver<RunStatus>> {
        let runs = self.runs.lock();
        runs.get(run).cloned()
    }

    /// Returns the options for driving runs here.
    pub(super) fn options(&self) -> ResumeOptions {
        let cancel = self.cancel.lock();
        ResumeOptions {
            cancel: cancel.clone(),
            ..ResumeOptions::default()
        }
    }

    /// Suspends all runs. Calls in flight that change something are awaited, so that their outcome is known.
    pub(super) async fn close(&self) {
        let statuses = self.suspend_all();
        let stopped = async {
            for mut status in statuses {
                let is_stopped = |status: &RunStatus| matches!(status, RunStatus::Stopped(_));
                let _ = status.wait_for(is_stopped).await;
            }
        };
        // Calls that take longer are treated as after a crash.
        let _ = timeout(GRACE, stopped).await;
    }

    /// Suspends all runs and returns their statuses.
    fn suspend_all(&self) -> Vec<watch::Receiver<RunStatus>> {
        let mut cancel = self.cancel.lock();
        std::mem::take(&mut *cancel).cancel();
        let runs = self.runs.lock();
        runs.values().cloned().collect()
    }

    /// Drives a run until it stops.
    pub(super) fn begin(&self, run: Run) -> watch::Receiver<RunStatus> {
        let id = run.id().to_owned();
        let (sender, receiver) = watch::channel(RunStatus::Running {
            steps: 0,
            path: Arc::default(),
            asked: 0,
        });
        let mut runs = self.runs.lock();
        runs.insert(id.clone(), receiver.clone());
        drop(runs);
        let mut watcher = Watcher {
            driven: self.clone(),
            run: id,
            sender,
            result: Err(PANICKED.to_owned()),
        };
        tokio::spawn(async move {
            let result = run.drive(&mut watcher).await;
            watcher.result = result
                .map(|driven| driven.outcome)
                .map_err(|error| error.to_string());
            drop(watcher);
        });
        receiver
    }

    /// Resumes a run, unless it is driven here already. Returns an error if the run cannot be resumed, for instance
    /// because another process drives it.
    pub(super) fn resume(&self, run: &str) -> Result<watch::Receiver<RunStatus>, Error> {
        if let Some(status) = self.status(run) {
            return Ok(status);
        }
        let run = self.planrun.resume(run, self.options())?;
        Ok(self.begin(run))
    }
}

/// Publishes the progress of a run, and when it is dropped, that the run has stopped: also after a panic.
struct Watcher {
    driven: DrivenRuns,
    run: String,
    sender: watch::Sender<RunStatus>,
    result: Result<Outcome, String>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // From now on, the status is read from the journal.
        let mut runs = self.driven.runs.lock();
        runs.remove(&self.run);
        drop(runs);
        let result = std::mem::replace(&mut self.result, Err(String::new()));
        self.sender
            .send_replace(RunStatus::Stopped(Arc::new(result)));
    }
}

impl Observer for Watcher {
    fn observe(&mut self, event: &Event) {
        let asks = matches!(event.kind, EventKind::StepAsks { .. });
        let started = if let EventKind::StepRunning { path, .. } = &event.kind {
            Some(path)
        } else {
            None
        };
        if !asks && started.is_none() {
            return;
        }
        self.sender.send_modify(|status| {
            let RunStatus::Running { steps, path, asked } = status else {
                return;
            };
            *steps = event.number;
            if let Some(started) = started {
                path.clone_from(started);
            }
            if asks {
                *asked = event.number;
            }
        });
    }
}
