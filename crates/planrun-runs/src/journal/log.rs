//! Where the events of one run go while it is driven.

use std::future::Future;
use std::pin::Pin;

use planrun_core::journal::{Message, Summary};

/// A log that one process writes. Events are numbered from 1, without gaps.
pub trait Log: Send {
    /// Takes the next event, one JSON object without a line feed. Nothing is on disk before [`Self::flush`].
    fn append(&mut self, number: u64, line: &[u8]);

    /// Takes a large value by the hash of its content, before the event that names it.
    fn keep(&mut self, digest: &str, content: &[u8]);

    /// Notes where the run stands, for lists of runs; written together with the events before it.
    fn summarize(&mut self, summary: &Summary);

    /// Hands what was taken to whoever writes; [`Self::durable`] tells when it is on disk.
    fn flush(&mut self);

    /// The number of the last event that is on disk.
    fn durable(&self) -> u64;

    /// Why nothing more can be written, where that is so: the run must stop, and loses nothing that was on disk.
    fn broken(&self) -> Option<String>;

    /// Returns when [`Self::durable`], [`Self::broken`] or [`Self::messages`] may have something new.
    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;

    /// What others have said to the run since the last look, oldest first.
    fn messages(&mut self) -> Vec<Message>;

    /// A message has become part of the events taken so far, and is not given again.
    fn taken(&mut self, id: u64);
}
