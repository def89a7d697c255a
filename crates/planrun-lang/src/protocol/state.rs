//! The states of steps and runs, with the names that users see.

use std::fmt;

/// The state of a step.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// A dependency has not settled.
    #[default]
    Pending,
    /// It is ready and waits for a slot.
    Queued,
    Running,
    /// It waits for a point in time, a person, a signal, or the next attempt.
    Waiting,
    Completed,
    Failed,
    Skipped,
    Cancelled,
    /// It is unknown whether its effect has happened.
    Unknown,
}

impl StepState {
    /// All states: first those that a step passes through, then those in which it ends.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Queued,
        Self::Running,
        Self::Waiting,
        Self::Completed,
        Self::Failed,
        Self::Skipped,
        Self::Cancelled,
        Self::Unknown,
    ];

    /// Returns the name of the state.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the state with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Returns true if the step has ended.
    #[must_use]
    pub const fn is_settled(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::Failed | Self::Skipped | Self::Cancelled | Self::Unknown
        )
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The state of a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Running,
    /// It can be resumed only by a person or a signal.
    Paused,
    /// Nothing that the plan names can resume it.
    Stalled,
    Completed,
    Failed,
    Cancelled,
}

impl RunState {
    /// All states.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Paused,
        Self::Stalled,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Returns the state with this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Returns true if the run has ended permanently.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(
            self,
            Self::Stalled | Self::Completed | Self::Failed | Self::Cancelled
        )
    }

    /// Returns the name of the state.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Stalled => "stalled",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
