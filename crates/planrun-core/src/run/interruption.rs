//! Reasons for which a process stops driving a run that has not ended.

use std::sync::Arc;

use planrun_lang::types::Type;

use crate::journal::StepError;

/// Something from outside that a run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// A signal, with the type that the plan declares for its payload.
    Signal {
        name: Arc<str>,
        payload: Option<Type>,
    },
    /// A move of the external task `name`, to `status` if only one is awaited.
    Task {
        name: Arc<str>,
        status: Option<Arc<str>>,
    },
}

/// Why a process suspends a run that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Interruption {
    /// The process was asked to stop.
    Asked,
    /// The step up to which the process was to run has settled.
    Reached,
    /// A step has failed, and the run pauses for that.
    Failed(Arc<StepError>),
    /// The journal cannot be written.
    Journal(String),
    /// Everything waits for people or signals, or for a time that is far away.
    Waiting {
        /// Wall-clock time at which the run resumes by itself, in nanoseconds since the Unix epoch.
        wake: Option<i128>,
        /// Describes which steps wait for which events; empty if none does.
        events: String,
        /// What can be sent to it from outside; empty if nothing can wake it early.
        awaited: Vec<Awaited>,
    },
}

impl Interruption {
    /// Returns true if the run stays interrupted although the last results in flight have ended it: its end could not be
    /// recorded, or it was to be driven only up to a step.
    pub(super) fn outlasts_the_run(&self) -> bool {
        match self {
            Self::Reached | Self::Journal(_) => true,
            Self::Asked | Self::Failed(_) | Self::Waiting { .. } => false,
        }
    }
}
