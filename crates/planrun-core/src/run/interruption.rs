//! Reasons for which a process stops driving a run that has not ended.

use std::sync::Arc;

use crate::journal::StepError;

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
    },
}
