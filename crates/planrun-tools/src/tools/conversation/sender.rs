//! How a transport tells what happens in its call.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::host::runtime_now;

use super::event::{Ask, AskReply, CallEvent, Handle, Progress, Question, Usage};

/// Events that wait to be taken; a transport that tells more waits, and its progress is left out.
pub const MAX_WAITING_EVENTS: usize = 16;
/// Between two progresses of a call; what comes earlier is left out.
pub const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Tells the events of one call. Its end is what the future returns that holds this, so nothing can follow it.
#[derive(Debug)]
pub struct EventSender {
    events: mpsc::Sender<CallEvent>,
    /// When the latest progress was told.
    told_at: Option<Instant>,
    /// The largest fraction that was told.
    fraction: Option<f64>,
}

impl EventSender {
    pub(super) fn new() -> (Self, mpsc::Receiver<CallEvent>) {
        let (events, taken) = mpsc::channel(MAX_WAITING_EVENTS);
        let sender = Self {
            events,
            told_at: None,
            fraction: None,
        };
        (sender, taken)
    }

    /// Tells how far the call has come: at most once in [`PROGRESS_INTERVAL`], and never less than before.
    pub fn progress(&mut self, progress: Progress) {
        let now = runtime_now();
        let early = |told: Instant| now.duration_since(told) < PROGRESS_INTERVAL;
        if self.told_at.is_some_and(early) {
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
            (self.told_at, self.fraction) = (Some(now), fraction);
        }
    }

    /// Asks, and waits for what becomes of the question. One is open at a time.
    pub async fn ask(&mut self, question: Question) -> AskReply {
        let (ask, reply) = Ask::new(question);
        self.send(CallEvent::Ask(ask)).await;
        reply.await.unwrap_or(AskReply::Unanswered)
    }

    /// Gives what is needed to come back to the call after a crash. It returns once the event has a place in the queue.
    pub async fn handle(&mut self, handle: Handle) {
        self.send(CallEvent::Handle(handle)).await;
    }

    /// Tells what was used since the usage before.
    pub async fn usage(&mut self, usage: Usage) {
        self.send(CallEvent::Usage(usage)).await;
    }

    async fn send(&mut self, event: CallEvent) {
        // Nobody takes events any more where the conversation was dropped, and this future with it.
        let _ = self.events.send(event).await;
    }
}
