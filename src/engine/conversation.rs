//! The conversation of one attempt with what it calls, driven to its end within its time.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;
use tokio_util::sync::CancellationToken;

use super::dispatcher::NodeRef;
use super::failure::timed_out;
use crate::journal::Used;
use crate::tools::{CallEvent, Events, Outcome, Progress, Usage};

/// How long a transport gets to stop after a timeout, such as a program to die.
const CLEAN_UP: Duration = Duration::from_secs(2);

/// What an attempt tells the dispatcher.
pub(super) struct Message {
    pub at: NodeRef,
    /// Of the phase of the call that tells it.
    pub number: u64,
    pub news: News,
}

pub(super) enum News {
    /// The last one of an attempt.
    Ended(Ended),
    Progress(Progress),
}

/// How an attempt ended, and what it told of its cost on the way.
pub(super) struct Ended {
    pub outcome: Outcome,
    pub used: Used,
}

impl Ended {
    /// The end of an attempt that told nothing on the way.
    pub(super) fn only(outcome: Outcome) -> Self {
        Self {
            outcome,
            used: Used::default(),
        }
    }
}

/// One attempt that goes on.
pub(super) struct Attempt {
    pub at: NodeRef,
    pub number: u64,
    pub events: Events,
    pub cancel: CancellationToken,
    /// How long it may take.
    pub limit: Duration,
    pub sender: UnboundedSender<Message>,
}

impl Attempt {
    /// Takes what the call tells, to its end.
    pub(super) async fn drive(mut self) {
        let (mut usage, limit) = (Usage::default(), self.limit);
        let outcome = tokio::select! {
            biased;
            outcome = self.listen(&mut usage) => Some(outcome),
            () = tokio::time::sleep(limit) => None,
        };
        let outcome = if let Some(outcome) = outcome {
            outcome
        } else {
            self.cancel.cancel();
            // The transport cleans up; its end comes too late, and what it has used still counts.
            let _ = tokio::time::timeout(CLEAN_UP, self.listen(&mut usage)).await;
            Err(timed_out(limit))
        };
        let used = Used {
            tokens: usage.tokens(),
            cost: usage.cost(),
        };
        self.send(News::Ended(Ended { outcome, used }));
    }

    async fn listen(&mut self, usage: &mut Usage) -> Outcome {
        loop {
            match self.events.next().await {
                Some(CallEvent::Progress(progress)) => self.send(News::Progress(progress)),
                Some(CallEvent::Usage(more)) => *usage = usage.plus(more),
                // Nobody is asked in the middle of a call yet, so the peer hears that nobody answers.
                Some(CallEvent::Ask(ask)) => drop(ask),
                // Not kept yet: after a crash the outcome of the call is unknown, as without one.
                Some(CallEvent::Handle(handle)) => drop(handle),
                Some(CallEvent::Done(outcome)) => return outcome,
                None => return Err(crate::tools::broken_off()),
            }
        }
    }

    fn send(&self, news: News) {
        // The dispatcher is gone only when the run is over.
        let _ = self.sender.send(Message {
            at: self.at,
            number: self.number,
            news,
        });
    }
}
