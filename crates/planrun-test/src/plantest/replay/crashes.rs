//! The crashes of processes that a recorded run had, so that its replay dies in the same places.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use planrun_tools::host::runtime_now;
use tokio::time::Instant;

use planrun_core::journal::{Event, EventKind};
use planrun_runs::journal::MemoryLog;

/// What an event is about: its name, its path, the number of its attempt.
type Mark = (&'static str, Arc<str>, u32);

/// The end of a process in the middle of its work.
#[derive(Clone, Debug, Default)]
pub struct Crash {
    /// How often each event was written by the process.
    events: BTreeMap<Mark, u32>,
    /// When another process went on, since the beginning of the run; absent where none has.
    next_at: Option<Duration>,
}

impl Crash {
    /// One more event of the process that is going to die.
    pub(super) fn write(&mut self, event: &EventKind) {
        if let Some(mark) = mark(event) {
            *self.events.entry(mark).or_default() += 1;
        }
    }

    /// The crash of a process after which another one went on at this time.
    pub(super) fn until(self, next_at: Option<Duration>) -> Self {
        Self { next_at, ..self }
    }

    /// One event less to wait for; true where it was the last.
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

/// Events that say how far a run has come. Others may be left out or added without any difference to what it does.
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
        | EventKind::TimerFired { .. }
        | EventKind::ListenerFired { .. } => 0,
        EventKind::RunStarted { .. }
        | EventKind::RunResumed
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

/// The crashes that a replay still has to repeat, and the clock since its beginning.
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

    /// The run begins now.
    pub fn begin(&self) {
        let _ = self.begun.set(runtime_now());
    }

    /// How long the run has been going on.
    pub fn elapsed(&self) -> Duration {
        self.begun.get().map(Instant::elapsed).unwrap_or_default()
    }

    /// Has the log of the next process end where that of the run ended, if that process died.
    pub fn arm(&self, log: &MemoryLog) {
        let Some(mut crash) = self.crashes().front().cloned() else {
            return;
        };
        log.dies_at(move |line| Event::peek(line).is_ok_and(|event| crash.reached(&event.kind)));
    }

    /// Returns when another process went on, which is late for the one before it: with another plan it may never have
    /// come to where it died.
    pub async fn overdue(&self) {
        match self.next_at() {
            Some(next) => self.sleep_until(next).await,
            None => std::future::pending().await,
        }
    }

    /// After a crash: waits until another process goes on. False where none has.
    pub async fn next(&self) -> bool {
        let Some(crash) = self.crashes().pop_front() else {
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
        self.crashes().front().and_then(|crash| crash.next_at)
    }

    async fn sleep_until(&self, moment: Duration) {
        tokio::time::sleep(moment.saturating_sub(self.elapsed())).await;
    }

    fn crashes(&self) -> MutexGuard<'_, VecDeque<Crash>> {
        // Nothing panics while it holds the lock, so what is behind a poisoned one is whole.
        self.crashes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
