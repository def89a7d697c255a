//! The state of a run at a glance, and the messages sent to it from outside.

use planrun_lang::protocol::RunState;

/// Where a run stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    pub state: RunState,
    /// When it wants to go on by itself, in nanoseconds since 1970.
    pub wake: Option<i128>,
    /// The class of its error.
    pub error: Option<String>,
    /// A short text for people, such as what it waits for.
    pub note: Option<String>,
    /// The steps that have settled, and all that the plan itself holds.
    pub steps_done: u64,
    pub steps_all: u64,
}

/// What somebody said to a run: one JSON object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub id: u64,
    /// When it was said, in nanoseconds since 1970; nothing for just now.
    pub at: Option<i128>,
    pub text: String,
}
