//! Reasons for which a process stops driving a run that has not ended.

use std::sync::Arc;

use crate::journal::StepError;

/// Why a process lets go of a run that has not ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Interruption {
    /// Somebody asked for it.
    Asked,
    /// The step that it was to go up to has settled.
    Reached,
    /// A step has failed, and the plan says that the run waits then.
    Failed(Arc<StepError>),
    /// The journal cannot be written.
    Journal(String),
    /// Everything waits for somebody outside, or for a moment that is far away.
    Waiting {
        /// When the run goes on by itself, in nanoseconds since 1970.
        wake: Option<i128>,
        /// Which steps wait for which events; empty where none does.
        events: String,
    },
}
