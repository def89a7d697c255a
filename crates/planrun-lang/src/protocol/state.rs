//! The states of steps and runs, by the words that users see.

use std::fmt;

/// Where a step stands.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, Debug, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// Something that it needs has not settled.
    #[default]
    Pending,
    /// It may run and waits for a slot.
    Queued,
    Running,
    /// For a time, a person, a signal, or the next attempt.
    Waiting,
    Completed,
    Failed,
    Skipped,
    Cancelled,
    /// It may or may not have happened.
    Unknown,
}

impl StepState {
    /// Every state, in the order in which a step passes them.
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

    /// The word for it.
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

    /// The state with this word.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether the step has ended.
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

/// Where a run stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    Running,
    /// Only people or signals can move it on.
    Paused,
    /// Nothing that the plan names could wake it.
    Stalled,
    Completed,
    Failed,
    Cancelled,
}

impl RunState {
    /// Every state.
    pub const ALL: [Self; 6] = [
        Self::Running,
        Self::Paused,
        Self::Stalled,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The state with this word.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether the run has ended for good.
    #[must_use]
    pub const fn is_ended(self) -> bool {
        matches!(
            self,
            Self::Stalled | Self::Completed | Self::Failed | Self::Cancelled
        )
    }

    /// The word for it.
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
