//! The states of steps and runs, with the names that users see.

use crate::words;

words! {
    /// The state of a step.
    #[derive(Default)]
    StepState {
        /// A dependency has not settled.
        #[default]
        Pending = "pending",
        /// It is ready and waits for a slot.
        Queued = "queued",
        Running = "running",
        /// It waits for a point in time, a person, a signal, or the next attempt.
        Waiting = "waiting",
        Completed = "completed",
        Failed = "failed",
        Skipped = "skipped",
        Cancelled = "cancelled",
        /// It is unknown whether its effect has happened.
        Unknown = "unknown",
    }
}

impl StepState {
    /// Returns true if the step has ended.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Skipped | Self::Cancelled | Self::Unknown
        )
    }
}

words! {
    /// The state of a run.
    RunState {
        Running = "running",
        /// It can be resumed only by a person or a signal.
        Paused = "paused",
        /// Nothing that the plan names can resume it.
        Stalled = "stalled",
        Completed = "completed",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

impl RunState {
    /// Returns true if the run has ended permanently.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(
            self,
            Self::Stalled | Self::Completed | Self::Failed | Self::Cancelled
        )
    }
}
