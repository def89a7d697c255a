//! Implements the log interface for a lease.

use std::future::Future;
use std::pin::Pin;

use tokio::sync::watch;

use super::super::digest::Digest;
use super::SqliteLease;
use crate::journal::Log;
use planrun_core::journal::{Message, Summary};

impl Log for SqliteLease {
    fn append(&mut self, number: u64, line: &[u8]) {
        Self::append(self, number, line);
    }

    fn keep(&mut self, _digest: &str, content: &[u8]) {
        Self::keep(self, Digest::of(content), content);
    }

    fn summarize(&mut self, summary: &Summary) {
        let now = self.now();
        Self::summary(self, summary.clone(), now);
    }

    fn flush(&mut self) {
        // `broken` reports the error.
        let _ = Self::flush(self);
    }

    fn durable(&self) -> u64 {
        self.watched().0.borrow().through
    }

    fn broken(&self) -> Option<String> {
        self.failure().map(|failure| failure.to_string())
    }

    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let (durable, newest_message) = self.watched_mut();
        Box::pin(async move {
            tokio::select! {
                () = change(durable) => {}
                () = change(newest_message) => {}
            }
        })
    }

    fn messages(&mut self) -> Vec<Message> {
        // If the file cannot be read, the next write reports it.
        let messages = self.inbox().unwrap_or_default();
        messages
            .into_iter()
            .map(|message| Message {
                id: message.id,
                at: Some(message.at),
                text: message.text,
            })
            .collect()
    }

    fn taken(&mut self, id: u64) {
        Self::taken(self, id);
    }

    fn release(self: Box<Self>) -> Pin<Box<dyn Future<Output = Result<bool, String>> + Send>> {
        let released = (*self).release();
        Box::pin(async move { released.await.map_err(|failure| failure.to_string()) })
    }
}

/// Returns at the next change; never if there will be none.
async fn change<T>(watched: &mut watch::Receiver<T>) {
    if watched.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}
