//! Sends the events of a call.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::host::runtime_now;

use super::event::{Ask, AskReply, CallEvent, Handle, Progress, Question, Usage};

/// Maximum number of queued events. A transport that sends more waits, and its progress is dropped.
pub const MAX_WAITING_EVENTS: usize = 16;
/// Minimum time between two progress events of a call. Earlier ones are dropped.
pub const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Sends the events of one call. The call ends when the future that holds the sender returns, so no event can follow
/// the end.
#[derive(Debug)]
pub struct EventSender {
    events: mpsc::Sender<CallEvent>,
    /// Time of the last progress event.
    sent_at: Option<Instant>,
    /// The largest fraction that was sent.
    fraction: Option<f64>,
}

impl EventSender {
    pub(super) fn new() -> (Self, mpsc::Receiver<CallEvent>) {
        let (events, taken) = mpsc::channel(MAX_WAITING_EVENTS);
        let sender = Self {
            events,
            sent_at: None,
            fraction: None,
        };
        (sender, taken)
    }

    /// Sends progress, at most once per [`PROGRESS_INTERVAL`]. The fraction never decreases.
    pub fn progress(&mut self, progress: Progress) {
        let now = runtime_now();
        let early = |last: Instant| now.duration_since(last) < PROGRESS_INTERVAL;
        if self.sent_at.is_some_and(early) {
            return;
        }
        let fraction = match (progress.fraction(), self.fraction) {
            (Some(new), Some(old)) => Some(new.max(old)),
            (new, old) => new.or(old),
        };
        let progress = match fraction {
            Some(fraction) => progress.with_fraction(fraction),
            None => progress,
        };
        if self.events.try_send(CallEvent::Progress(progress)).is_ok() {
            (self.sent_at, self.fraction) = (Some(now), fraction);
        }
    }

    /// Asks a question and waits for the reply. Only one question is open at a time.
    pub async fn ask(&mut self, question: Question) -> AskReply {
        let (ask, reply) = Ask::new(question);
        self.send(CallEvent::Ask(ask)).await;
        reply.await.unwrap_or(AskReply::Unanswered)
    }

    /// Sends the handle with which the call can be resumed after a crash. Returns once the event is queued.
    pub async fn handle(&mut self, handle: Handle) {
        self.send(CallEvent::Handle(handle)).await;
    }

    /// Sends what was used since the previous usage event.
    pub async fn usage(&mut self, usage: Usage) {
        self.send(CallEvent::Usage(usage)).await;
    }

    async fn send(&mut self, event: CallEvent) {
        // If the receiver was dropped, no one takes events any more, and this future is dropped with it.
        let _ = self.events.send(event).await;
    }
}
