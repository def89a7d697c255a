//! A summary of a run for lists, and the messages in its inbox.

use planrun_lang::protocol::RunState;

/// The state of a run, for lists of runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub state: RunState,
    /// Wall-clock time at which the run resumes by itself, in nanoseconds since the Unix epoch.
    pub wake: Option<i128>,
    /// Class of its error.
    pub error: Option<String>,
    /// A short text for people, such as what the run waits for.
    pub note: Option<String>,
    /// Number of settled steps, and number of all steps of the plan itself.
    pub steps_done: u64,
    pub steps_all: u64,
}

/// A raw message in the inbox of a run: one JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: u64,
    /// Wall-clock time at which it was sent, in nanoseconds since the Unix epoch; `None` for now.
    pub at: Option<i128>,
    pub text: String,
}
