//! What a recording holds.

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

/// One call.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The step that called, by its path in the run.
    pub path: Arc<str>,
    /// Which of the calls that the step made, from 1; retries and polls count.
    pub call: u32,
    /// Its dotted name.
    pub tool: Arc<str>,
    /// The hash of the contract that it had.
    pub contract: Arc<str>,
    pub arguments: Json,
    pub outcome: Recorded,
}

/// How a call ended.
#[derive(Clone, Debug)]
pub enum Recorded {
    Value(Json),
    Failure(CallError),
    /// It was stopped before an answer came: it took too long, or another one was faster.
    Unanswered,
}

impl Recording {
    /// A recording of these calls.
    #[must_use]
    pub fn new(mut calls: Vec<Entry>) -> Self {
        calls.sort_by(|one, other| one.place().cmp(&other.place()));
        Self { calls }
    }

    /// Reads a recording.
    ///
    /// # Errors
    /// When it is none of this version, or says something that no recording says.
    pub fn read(path: &Path, text: &str) -> Result<Self, RecordingError> {
        super::read::read(path, text)
    }

    /// The recording as a file. Each line of `about` becomes a comment at its head.
    #[must_use]
    pub fn to_text(&self, about: &[String]) -> String {
        super::write::write(self, about)
    }

    /// Its calls, in order.
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
