//! A log in memory that can simulate the death of the process, for tests of resuming.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::log::Log;
use planrun_core::journal::{Event, EventError, Message, ReplayState, Summary};

/// A log in memory; clones share their content.
#[derive(Clone, Default)]
pub struct MemoryLog {
    content: Arc<Mutex<Content>>,
    notify: Arc<Notify>,
    death: Arc<Notify>,
}

#[derive(Default)]
struct Content {
    lines: Vec<Vec<u8>>,
    kept: BTreeMap<String, Vec<u8>>,
    summary: Option<Summary>,
    messages: Vec<Message>,
    /// Id of the last message.
    last_message: u64,
    /// Whether something was lost, so that the process which wrote it counts as dead.
    dead: bool,
    /// Number of events after which nothing more is written.
    end: Option<usize>,
    /// Nothing is written after the first event for which this returns true.
    last: Option<Last>,
}

/// Returns true for the last event that is written.
type Last = Box<dyn FnMut(&[u8]) -> bool + Send>;

impl MemoryLog {
    /// Lets the log take this number of events and lose everything after them, as if the process had died.
    #[must_use]
    pub fn dying_after(self, events: usize) -> Self {
        self.content.lock().end = Some(events);
        self
    }

    /// Lets the log lose everything after the first event for which `last` returns true: the process dies when it
    /// writes the next one.
    pub fn dies_at(&self, last: impl FnMut(&[u8]) -> bool + Send + 'static) {
        self.content.lock().last = Some(Box::new(last));
    }

    /// Lets the log lose everything from here on: the process that writes it dies.
    pub fn die(&self) {
        let mut content = self.content.lock();
        content.end = Some(content.lines.len());
        content.dead = true;
        drop(content);
        self.death.notify_one();
    }

    /// Returns true if something was lost, so that the process which wrote it counts as dead.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.content.lock().dead
    }

    /// Waits until [`Self::is_dead`].
    pub async fn died(&self) {
        while !self.is_dead() {
            self.death.notified().await;
        }
    }

    /// Returns the log for another process, which continues where this one ended.
    #[must_use]
    pub fn revived(self) -> Self {
        {
            let mut content = self.content.lock();
            (content.end, content.last, content.dead) = (None, None, false);
        }
        self
    }

    /// Returns the events so far, one JSON object each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.content
            .lock()
            .lines
            .iter()
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }

    /// Returns the stored value with a hash.
    #[must_use]
    pub fn kept(&self, digest: &str) -> Option<Vec<u8>> {
        self.content.lock().kept.get(digest).cloned()
    }

    /// Returns true if nothing more is written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let content = self.content.lock();
        content.end.is_some_and(|end| content.lines.len() >= end)
    }

    /// Returns the last recorded summary.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        self.content.lock().summary.clone()
    }

    /// Sends a message to the run: one JSON object.
    pub fn send(&self, text: &str) {
        self.post(text, None);
    }

    /// Sends a message with a time, in nanoseconds since the Unix epoch.
    pub fn send_at(&self, text: &str, at: i128) {
        self.post(text, Some(at));
    }

    fn post(&self, text: &str, at: Option<i128>) {
        let mut content = self.content.lock();
        content.last_message += 1;
        let message = Message {
            id: content.last_message,
            at,
            text: text.to_owned(),
        };
        content.messages.push(message);
        self.notify.notify_waiters();
        self.notify.notify_one();
    }

    /// Returns the replay state after all written events.
    ///
    /// # Errors
    /// Returns an error if an event cannot be read.
    pub fn replay_state(&self) -> Result<ReplayState, EventError> {
        let mut state = ReplayState::default();
        let content = self.content.lock();
        for line in &content.lines {
            let event = Event::read(line, &mut |digest| {
                content
                    .kept
                    .get(digest)
                    .cloned()
                    .ok_or_else(|| format!("no value is stored under {digest}"))
            });
            state.take(event?)?;
        }
        Ok(state)
    }
}

impl Log for MemoryLog {
    fn append(&mut self, _number: u64, line: &[u8]) {
        let mut content = self.content.lock();
        if content.end.is_some_and(|end| content.lines.len() >= end) {
            content.dead = true;
            drop(content);
            self.death.notify_one();
            return;
        }
        content.lines.push(line.to_vec());
        if content.last.as_mut().is_some_and(|last| last(line)) {
            content.end = Some(content.lines.len());
        }
    }

    fn keep(&mut self, digest: &str, bytes: &[u8]) {
        self.content
            .lock()
            .kept
            .insert(digest.to_owned(), bytes.to_vec());
    }

    fn summarize(&mut self, summary: &Summary) {
        self.content.lock().summary = Some(summary.clone());
    }

    fn flush(&mut self) {}

    fn durable(&self) -> u64 {
        self.content.lock().lines.len() as u64
    }

    fn broken(&self) -> Option<String> {
        None
    }

    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.notify.notified())
    }

    fn messages(&mut self) -> Vec<Message> {
        let content = self.content.lock();
        if content.dead {
            Vec::new()
        } else {
            content.messages.clone()
        }
    }

    fn taken(&mut self, id: u64) {
        let mut content = self.content.lock();
        if !content.dead {
            content.messages.retain(|message| message.id != id);
        }
    }

    fn release(self: Box<Self>) -> Pin<Box<dyn Future<Output = Result<bool, String>> + Send>> {
        Box::pin(async move {
            if self.content.lock().dead {
                std::future::pending::<()>().await;
            }
            Ok(false)
        })
    }
}
