//! The contents of a recording.

use std::path::Path;
use std::sync::Arc;

use planrun_lang::call::CallError;
use serde_json::Value as Json;

use super::RecordingError;

/// The version of the format.
pub(super) const VERSION: u32 = 1;

/// The calls of one run, in the order of their paths and numbers.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    pub(super) calls: Vec<Entry>,
}

/// One recorded call.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The path of the calling step in the run.
    pub path: Arc<str>,
    /// Number of the call among the calls of its step, from 1; retries and polls count.
    pub call: u32,
    /// The dotted name of the tool.
    pub tool: Arc<str>,
    /// The hash of the contract of the tool when it was recorded.
    pub contract: Arc<str>,
    pub arguments: Json,
    pub outcome: Recorded,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Recorded {
    Value(Json),
    Failure(CallError),
    /// The call was cancelled before an answer came: it timed out or lost a race.
    Unanswered,
}

impl Recording {
    /// Returns a recording of these calls.
    #[must_use]
    pub fn new(mut calls: Vec<Entry>) -> Self {
        calls.sort_by(|one, other| one.place().cmp(&other.place()));
        Self { calls }
    }

    /// Parses a recording.
    ///
    /// # Errors
    /// Returns an error if the text is not a recording of this version or has invalid contents.
    pub fn read(path: &Path, text: &str) -> Result<Self, RecordingError> {
        super::read::read(path, text)
    }

    /// Formats the recording as a file. Each line of `about` becomes a comment at the top.
    #[must_use]
    pub fn to_text(&self, about: &[String]) -> String {
        super::write::write(self, about)
    }

    /// Returns its calls, in order.
    #[must_use]
    pub fn calls(&self) -> &[Entry] {
        &self.calls
    }

    pub(super) fn find(&self, path: &str, call: u32) -> Option<usize> {
        self.calls
            .binary_search_by(|entry| entry.place().cmp(&(path, call)))
            .ok()
    }
}

impl Entry {
    pub(super) fn place(&self) -> (&str, u32) {
        (&self.path, self.call)
    }
}
