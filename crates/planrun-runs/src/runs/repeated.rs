//! Effects of another run that a new one would repeat.

use std::fmt;
use std::sync::Arc;

use planrun_core::run::RepeatReason;

/// An effect of another run that a new one would repeat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    pub path: Arc<str>,
    pub tool: String,
    pub reason: RepeatReason,
}

impl fmt::Display for Repeated {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            RepeatReason::Unknown => ", which may have happened",
            RepeatReason::UndoFailed => ", whose `undo` has failed",
            RepeatReason::Order => ", below an effect that is made again",
            RepeatReason::Asked
            | RepeatReason::Definition
            | RepeatReason::Arguments
            | RepeatReason::Contract
            | RepeatReason::Undone => "",
        };
        write!(out, "{} ({}{why})", self.path, self.tool)
    }
}
