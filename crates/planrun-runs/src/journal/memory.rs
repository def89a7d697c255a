//! A log in memory, which can die: what tests of resuming write to.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::log::Log;
use planrun_core::journal::{Event, EventError, Message, ReplayState, Summary};

/// A log in memory; its clones share what was written.
#[derive(Clone, Default)]
pub struct MemoryLog {
    content: Arc<Mutex<Content>>,
    news: Arc<Notify>,
    death: Arc<Notify>,
}

#[derive(Default)]
struct Content {
    lines: Vec<Vec<u8>>,
    kept: BTreeMap<String, Vec<u8>>,
    summary: Option<Summary>,
    messages: Vec<Message>,
    said: u64,
    /// Something was lost: whoever wrote it is as good as dead.
    dead: bool,
    /// Nothing is written beyond so many events.
    end: Option<usize>,
    /// Nothing is written beyond the event of which this is true.
    last: Option<Last>,
}

/// Whether an event is the last that is written.
type Last = Box<dyn FnMut(&[u8]) -> bool + Send>;

impl MemoryLog {
    /// A log that takes so many events and loses the rest, as if the process had died.
    #[must_use]
    pub fn dying_after(self, events: usize) -> Self {
        self.content().end = Some(events);
        self
    }

    /// Loses everything behind the event of which this is true: the process that writes it dies
    /// with the next.
    pub fn dies_at(&self, last: impl FnMut(&[u8]) -> bool + Send + 'static) {
        self.content().last = Some(Box::new(last));
    }

    /// Loses everything from here on: the process that writes it dies.
    pub fn die(&self) {
        let mut content = self.content();
        content.end = Some(content.lines.len());
        content.dead = true;
        drop(content);
        self.death.notify_one();
    }

    /// Whether something was lost, so that whoever writes it is as good as dead.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.content().dead
    }

    /// Returns when it is.
    pub async fn died(&self) {
        while !self.is_dead() {
            self.death.notified().await;
        }
    }

    /// A log that goes on where this one ended.
    #[must_use]
    pub fn living(self) -> Self {
        {
            let mut content = self.content();
            (content.end, content.last, content.dead) = (None, None, false);
        }
        self
    }

    /// The events so far, one JSON object each.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        self.content()
            .lines
            .iter()
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }

    /// What was kept of a value under a hash.
    #[must_use]
    pub fn kept(&self, digest: &str) -> Option<Vec<u8>> {
        self.content().kept.get(digest).cloned()
    }

    /// Whether nothing more is taken.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let content = self.content();
        content.end.is_some_and(|end| content.lines.len() >= end)
    }

    /// Where the run stood at the last event.
    #[must_use]
    pub fn summary(&self) -> Option<Summary> {
        self.content().summary.clone()
    }

    /// Says something to the run: one JSON object.
    pub fn say(&self, text: &str) {
        self.post(text, None);
    }

    /// The same, said at a moment in nanoseconds since 1970.
    pub fn say_at(&self, text: &str, at: i128) {
        self.post(text, Some(at));
    }

    fn post(&self, text: &str, at: Option<i128>) {
        let mut content = self.content();
        content.said += 1;
        let message = Message {
            id: content.said,
            at,
            text: text.to_owned(),
        };
        content.messages.push(message);
        self.news.notify_waiters();
        self.news.notify_one();
    }

    /// The fold of what was written.
    ///
    /// # Errors
    /// When an event cannot be read.
    pub fn past(&self) -> Result<ReplayState, EventError> {
        let mut past = ReplayState::default();
        let content = self.content();
        for line in &content.lines {
            let event = Event::read(line, &mut |digest| {
                content
                    .kept
                    .get(digest)
                    .cloned()
                    .ok_or_else(|| format!("nothing is kept under {digest}"))
            });
            past.take(event?)?;
        }
        Ok(past)
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log for MemoryLog {
    fn append(&mut self, _number: u64, line: &[u8]) {
        let mut content = self.content();
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
        self.content()
            .kept
            .insert(digest.to_owned(), bytes.to_vec());
    }

    fn summarize(&mut self, summary: &Summary) {
        self.content().summary = Some(summary.clone());
    }

    fn flush(&mut self) {}

    fn durable(&self) -> u64 {
        self.content().lines.len() as u64
    }

    fn broken(&self) -> Option<String> {
        None
    }

    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.news.notified())
    }

    fn messages(&mut self) -> Vec<Message> {
        let content = self.content();
        if content.dead {
            Vec::new()
        } else {
            content.messages.clone()
        }
    }

    fn taken(&mut self, id: u64) {
        let mut content = self.content();
        if !content.dead {
            content.messages.retain(|message| message.id != id);
        }
    }
}
