//! The processes that have driven a run.

use std::sync::Arc;

/// The processes that have driven a run, in order.
#[derive(Debug, Default)]
pub struct RecordedProcesses(Vec<RecordedProcess>);

/// A process that has driven a run.
#[derive(Debug)]
pub struct RecordedProcess {
    /// Number of its first event.
    pub first: u64,
    /// Wall-clock time of that event, in nanoseconds since the Unix epoch.
    pub at: i128,
    /// The step up to which it was to drive the run; `None` if to its end.
    pub until: Option<Arc<str>>,
}

impl RecordedProcesses {
    /// Adds a process, of which this is the first event.
    pub(super) fn begin(&mut self, first: u64, at: i128, until: Option<Arc<str>>) {
        self.0.push(RecordedProcess { first, at, until });
    }

    /// Returns the number of the last process, from 1; 0 if there is none.
    #[must_use]
    pub fn number(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    /// Returns the processes, the first one first.
    #[must_use]
    pub fn as_slice(&self) -> &[RecordedProcess] {
        &self.0
    }
}
