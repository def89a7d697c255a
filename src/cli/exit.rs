//! How a command ends: its exit code, and what kept it from its work.

use std::process::ExitCode;

use crate::journal::store::JournalError;
use crate::plantest::snapshot::SnapshotError;

/// The ends that scripts can tell apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Everything is as it should be.
    Fine,
    /// Findings, a failed run, a failed test.
    Findings,
    /// The command line asks for what does not exist.
    Usage,
    /// The machine or the configuration does not allow it.
    Environment,
    /// The run waits for somebody.
    Paused,
    /// Ctrl-C.
    Interrupted,
}

/// Why a command could not do its work, in one sentence for the user.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// Something on the command line is wrong.
    #[error("{0}")]
    Usage(String),
    /// A file, a folder, the network or the configuration is not as it must be.
    #[error("{0}")]
    Environment(String),
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl Exit {
    /// The number that the shell sees.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Environment => 3,
            Self::Paused => 4,
            Self::Interrupted => 130,
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::NotFound { .. } | JournalError::Ambiguous { .. } | JournalError::OtherInput { .. } => {
                Self::Usage(error.to_string())
            }
            JournalError::Absent { .. }
            | JournalError::NoValue { .. }
            | JournalError::Driven { .. }
            | JournalError::Fenced { .. }
            | JournalError::NewerFormat { .. }
            | JournalError::OlderFormat { .. }
            | JournalError::NoJournal { .. }
            | JournalError::Damaged { .. }
            | JournalError::NoSpace { .. }
            | JournalError::ReadOnly { .. }
            | JournalError::Busy { .. }
            | JournalError::Misused(_)
            | JournalError::Output(_)
            | JournalError::Io { .. } => Self::Environment(error.to_string()),
        }
    }
}

impl From<SnapshotError> for Failure {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::Setting(_) => Self::Usage(error.to_string()),
            SnapshotError::Clash { .. }
            | SnapshotError::Outside { .. }
            | SnapshotError::Unreadable { .. }
            | SnapshotError::Files { .. } => Self::Environment(error.to_string()),
        }
    }
}

impl From<&Failure> for Exit {
    fn from(failure: &Failure) -> Self {
        match failure {
            Failure::Usage(_) => Self::Usage,
            Failure::Environment(_) => Self::Environment,
            Failure::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
