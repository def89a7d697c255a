//! The log to which the events of a run are written while it is driven.

use std::future::Future;
use std::pin::Pin;

use planrun_core::journal::{Message, Summary};

/// A log that one process writes. Events are numbered from 1, without gaps.
pub trait Log: Send {
    /// Appends the next event, one JSON object without a line feed. Nothing is written to disk before [`Self::flush`].
    fn append(&mut self, number: u64, line: &[u8]);

    /// Stores a large value by the hash of its content, before the event that refers to it.
    fn keep(&mut self, digest: &str, content: &[u8]);

    /// Records the state of the run for lists of runs; written together with the events before it.
    fn summarize(&mut self, summary: &Summary);

    /// Starts writing what was appended; [`Self::durable`] says when it is on disk.
    fn flush(&mut self);

    /// Returns the number of the last event on disk.
    fn durable(&self) -> u64;

    /// Returns why nothing more can be written; `None` if writing is possible. The run must then stop, and loses
    /// nothing that was on disk.
    fn broken(&self) -> Option<String>;

    /// Returns when [`Self::durable`], [`Self::broken`] or [`Self::messages`] may have changed.
    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// Returns the messages to the run since the last call, oldest first.
    fn messages(&mut self) -> Vec<Message>;

    /// Marks a message as part of the events appended so far, so that it is not returned again.
    fn taken(&mut self, id: u64);

    /// Writes what was appended, and lets other processes drive the run. Returns when both are on disk, or why
    /// something could not be written. Returns true if messages had arrived by then that [`Self::messages`] has not
    /// returned: their senders were told that a process drives the run.
    fn release(self: Box<Self>) -> Pin<Box<dyn Future<Output = Result<bool, String>> + Send>>;
}
