//! The process crashes of a recorded run, which its replay repeats at the same events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use planrun_tools::host::runtime_now;
use tokio::time::Instant;

use planrun_core::journal::{Event, EventKind};
use planrun_runs::journal::MemoryLog;

/// Identifies an event: its name, its path, the number of its attempt.
type Mark = (&'static str, Arc<str>, u32);

/// The crash of a process during a run.
#[derive(Clone, Debug, Default)]
pub struct Crash {
    /// How often the process wrote each event.
    events: BTreeMap<Mark, u32>,
    /// When the next process resumed the run, since the start of the run; `None` if none did.
    next_at: Option<Duration>,
}

impl Crash {
    /// Adds an event of the process that is going to die.
    pub(super) fn write(&mut self, event: &EventKind) {
        if let Some(mark) = mark(event) {
            *self.events.entry(mark).or_default() += 1;
        }
    }

    /// Sets when the next process resumed the run.
    pub(super) fn until(self, next_at: Option<Duration>) -> Self {
        Self { next_at, ..self }
    }

    /// Removes an event from those to wait for. Returns true if it was the last.
    fn reached(&mut self, event: &EventKind) -> bool {
        let Some(mark) = mark(event) else {
            return false;
        };
        if let Some(left) = self.events.get_mut(&mark) {
            *left -= 1;
            if *left == 0 {
                self.events.remove(&mark);
            }
        }
        self.events.is_empty()
    }
}

/// Returns the mark of an event that measures the progress of a run; `None` for events that may be missing or
/// additional without changing what the run does.
fn mark(event: &EventKind) -> Option<Mark> {
    let attempt = match event {
        EventKind::StepRunning { attempt, .. }
        | EventKind::StepWaiting { attempt, .. }
        | EventKind::StepSettled {
            attempts: attempt, ..
        } => *attempt,
        EventKind::StepAsks { .. }
        | EventKind::StepSleeps { .. }
        | EventKind::StepRecovering { .. }
        | EventKind::StepCopied { .. }
        | EventKind::AnswerGiven { .. }
        | EventKind::SignalReceived { .. }
        | EventKind::TaskSet { .. }
        | EventKind::TaskMoved { .. }
        | EventKind::LimitReached { .. }
        | EventKind::TimerFired { .. }
        | EventKind::ListenerFired { .. } => 0,
        EventKind::RunStarted { .. }
        | EventKind::RunResumed { .. }
        | EventKind::RunCancelling { .. }
        | EventKind::RunPaused { .. }
        | EventKind::RunPatched { .. }
        | EventKind::RunGranted { .. }
        | EventKind::RunSettled { .. }
        | EventKind::StepQueued { .. }
        | EventKind::StepRetried { .. }
        | EventKind::HandleGiven { .. }
        | EventKind::UsageReported { .. }
        | EventKind::ResultNoted { .. }
        | EventKind::BudgetLow { .. } => return None,
    };
    Some((event.name().name(), event.path().into(), attempt))
}

/// The crashes that a replay still has to repeat, and the time since its start.
#[derive(Debug, Default)]
pub struct Crashes {
    crashes: Mutex<VecDeque<Crash>>,
    begun: OnceLock<Instant>,
}

impl Crashes {
    #[must_use]
    pub fn new(crashes: &[Crash]) -> Self {
        Self {
            crashes: Mutex::new(crashes.iter().cloned().collect()),
            begun: OnceLock::new(),
        }
    }

    /// Starts the clock.
    pub fn begin(&self) {
        let _ = self.begun.set(runtime_now());
    }

    /// Returns how long the run has taken so far.
    pub fn elapsed(&self) -> Duration {
        self.begun.get().map(Instant::elapsed).unwrap_or_default()
    }

    /// Makes the log of the next process end where the recorded process died, if it died.
    pub fn arm(&self, log: &MemoryLog) {
        let Some(mut crash) = self.crashes.lock().front().cloned() else {
            return;
        };
        log.dies_at(move |line| Event::peek(line).is_ok_and(|event| crash.reached(&event.kind)));
    }

    /// Waits until the time at which the next process resumed the recorded run; forever if none did. The current
    /// process is then overdue: with a changed plan it may never reach the event at which it died.
    pub async fn overdue(&self) {
        match self.next_at() {
            Some(next) => self.sleep_until(next).await,
            None => std::future::pending().await,
        }
    }

    /// Waits after a crash until the next process resumes the run. Returns false if none did.
    pub async fn next(&self) -> bool {
        let Some(crash) = self.crashes.lock().pop_front() else {
            return false;
        };
        match crash.next_at {
            Some(next) => {
                self.sleep_until(next).await;
                true
            }
            None => false,
        }
    }

    fn next_at(&self) -> Option<Duration> {
        self.crashes.lock().front().and_then(|crash| crash.next_at)
    }

    async fn sleep_until(&self, moment: Duration) {
        tokio::time::sleep(moment.saturating_sub(self.elapsed())).await;
    }
}
