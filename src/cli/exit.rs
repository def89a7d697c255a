//! Exit codes of commands, and the failures they report.

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use planrun_core::journal::AnswerError;
use planrun_lang::diag::render::{Problem, command, quoted, visible_line};
use planrun_runs::runs::{Error, ErrorKind};
use planrun_test::plantest::snapshot::SnapshotError;

/// The outcomes that scripts can distinguish.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// Success.
    Fine,
    /// Diagnostics were reported, or a run or a test failed.
    Findings,
    /// The command line is invalid.
    Usage,
    /// The environment or the configuration is unsuitable.
    Environment,
    /// The run is paused: it waits for an answer, an event or a time, or for a decision after a failure.
    Paused,
    /// Interrupted by Ctrl-C.
    Interrupted,
}

/// The result of a command or of a part of it.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a command failed, as one sentence for the user.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    /// The command line is invalid.
    #[error("{0}")]
    Usage(String),
    /// A file, a folder, the network or the configuration is unsuitable.
    #[error("{0}")]
    Environment(String),
    /// The plan has errors, so it cannot be run.
    #[error("{0}")]
    Findings(String),
    /// The run is paused.
    #[error("{0}")]
    Paused(String),
    /// The user interrupted the command.
    #[error("interrupted")]
    Interrupted,
}

impl Exit {
    pub const fn fine_if(is_fine: bool) -> Self {
        if is_fine { Self::Fine } else { Self::Findings }
    }

    /// Returns the more serious of two outcomes, for a command that does several things.
    #[must_use]
    pub fn or_worse(self, other: Self) -> Self {
        let rank = |exit| match exit {
            Self::Fine => 0,
            Self::Paused => 1,
            Self::Findings => 2,
            Self::Usage => 3,
            Self::Environment => 4,
            Self::Interrupted => 5,
        };
        if rank(other) > rank(self) {
            other
        } else {
            self
        }
    }

    /// Returns the exit code of the process.
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

impl Failure {
    pub(super) fn cannot_read(path: &Path, why: &dyn Display) -> Self {
        Self::Environment(format!("cannot read `{}`: {why}", path.display()))
    }

    pub(super) fn cannot_write(path: &Path, why: &dyn Display) -> Self {
        Self::Environment(format!("cannot write `{}`: {why}", path.display()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let text = match &error {
            Error::MissingInputs { plan, missing } => {
                let missing = missing.iter().map(|input| {
                    let value = format!("{}={}", input.name, input.example);
                    format!("-i {}", quoted(&visible_line(&value)))
                });
                format!(
                    "`{plan}` needs more inputs; add {}",
                    missing.collect::<Vec<_>>().join(" ")
                )
            }
            Error::RepeatsEffects { .. } => format!("{error}; add `--yes` to repeat it"),
            Error::Ended { run, .. } => format!(
                "{error}; start a new run from it with `{}`",
                command(&format!("run <PLAN> --base {run}"))
            ),
            Error::NotEnded { run, .. } => format!(
                "{error}; change it with `{}`, or end it with `{}`",
                command(&format!("runs patch {run} <PLAN>")),
                command(&format!("runs cancel {run}"))
            ),
            Error::Changed { run } => format!(
                "{error}; look at it with `{}`, then try again",
                command(&format!("runs show {run}"))
            ),
            Error::NotDamaged { run, ended: false } => {
                let cancel = command(&format!("runs cancel {run}"));
                format!("{error}; `{cancel}` ends it")
            }
            Error::NotDamaged { ended: true, .. } => format!(
                "{error}; `{}` deletes runs that have ended",
                command("runs prune")
            ),
            Error::Journal(_) if error.kind() == ErrorKind::NotFound => {
                format!("{error}; `{}` lists the runs", command("runs list"))
            }
            Error::Answer { error, .. } => refusal(error),
            Error::Journal(_)
            | Error::Unusable(_)
            | Error::Event { .. }
            | Error::Invalid(_)
            | Error::Findings(_)
            | Error::Obstacles(_)
            | Error::BeganDifferently { .. }
            | Error::PlanChoice { .. }
            | Error::UnknownStep { .. }
            | Error::Stuck { .. }
            | Error::NothingAsked { .. } => error.to_string(),
        };
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::Invalid | ErrorKind::Conflict => Self::Usage(text),
            ErrorKind::Findings => Self::Findings(text),
            ErrorKind::Paused => Self::Paused(text),
            ErrorKind::Busy | ErrorKind::Environment => Self::Environment(text),
        }
    }
}

/// Describes why an answer is refused, and what to write instead.
pub(super) fn refusal(error: &AnswerError) -> String {
    match error {
        AnswerError::Role { role, .. } => {
            format!("{error}: add `--by {}`", quoted(&visible_line(role)))
        }
        AnswerError::Unknown { .. }
        | AnswerError::Twice { .. }
        | AnswerError::Late { .. }
        | AnswerError::Withdrawn(_)
        | AnswerError::Unreadable(_)
        | AnswerError::Misfit { .. } => error.to_string(),
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Environment(problem.message)
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
            Failure::Findings(_) => Self::Findings,
            Failure::Paused(_) => Self::Paused,
            Failure::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
