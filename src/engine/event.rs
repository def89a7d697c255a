//! What an engine tells while it runs: one event for every change of state.

use std::time::Duration;

use super::failure::StepError;
use crate::protocol::{RunState, StepState};
use crate::value::Value;

/// One change. Its number orders it; `at` is the wall clock in nanoseconds since 1970.
#[derive(Debug)]
pub struct Event<'a> {
    pub number: u64,
    pub at: i128,
    pub kind: EventKind<'a>,
}

#[derive(Debug)]
pub enum EventKind<'a> {
    RunStarted {
        run: &'a str,
        plan: &'a str,
        /// The steps that the plan itself holds.
        steps: usize,
    },
    StepQueued {
        path: &'a str,
    },
    /// An attempt begins; the tool is what is called, empty for steps that hold others.
    StepRunning {
        path: &'a str,
        tool: &'a str,
        attempt: u32,
    },
    /// It waits before the next attempt or poll.
    StepWaiting {
        path: &'a str,
        attempt: u32,
        wait: Duration,
        /// The failure that is behind the wait; a poll has none.
        error: Option<&'a StepError>,
    },
    StepSettled {
        path: &'a str,
        state: StepState,
        attempts: u32,
        duration: Duration,
        recovered: bool,
        /// Why it was skipped: `guard`, `upstream` or `replied`.
        reason: Option<&'static str>,
        error: Option<&'a StepError>,
    },
    RunSettled {
        state: RunState,
        reply: Option<&'a Value>,
        error: Option<&'a StepError>,
    },
}

/// Who listens. Called by the dispatcher between two changes, so it must not block.
pub trait Observer: Send {
    fn observe(&mut self, event: &Event<'_>);

    /// Nothing more happens until something outside does: the moment to pass on what was kept back.
    fn idle(&mut self) {}
}

/// Nobody listens.
pub struct Silence;

impl Observer for Silence {
    fn observe(&mut self, _event: &Event<'_>) {}
}

impl<F: FnMut(&Event<'_>) + Send> Observer for F {
    fn observe(&mut self, event: &Event<'_>) {
        self(event);
    }
}

impl Event<'_> {
    /// The stable name of the kind of event.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            EventKind::RunStarted { .. } => "run.started",
            EventKind::StepQueued { .. } => "step.queued",
            EventKind::StepRunning { .. } => "step.running",
            EventKind::StepWaiting { .. } => "step.waiting",
            EventKind::StepSettled { .. } => "step.settled",
            EventKind::RunSettled { .. } => "run.settled",
        }
    }
}

/// A length of time as a person would say it: `250ms`, `3s`, `2m`.
#[must_use]
pub fn short_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    match millis {
        0..1000 => format!("{millis}ms"),
        1000..60_000 if millis.is_multiple_of(1000) => format!("{}s", millis / 1000),
        1000..60_000 => format!("{:.1}s", duration.as_secs_f64()),
        _ if millis.is_multiple_of(60_000) => format!("{}m", millis / 60_000),
        _ => format!("{}m{}s", millis / 60_000, millis % 60_000 / 1000),
    }
}
