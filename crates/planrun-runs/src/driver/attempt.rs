//! The conversation of one attempt with what it calls, driven to its end within its time.

use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::Used;
use planrun_core::run::{CallId, Input, short_duration};
use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient};
use planrun_tools::tools::{CallEvent, Events, Progress, broken_off};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::spans::ended;

/// How long a transport gets to stop after a timeout, such as a program to die.
const CLEAN_UP: Duration = Duration::from_secs(2);

/// What arrives from what was begun beside the run.
pub(super) enum News {
    Input(Input),
    /// The call of the step at this path goes on.
    Progress(Arc<str>, Progress),
}

/// One attempt that goes on.
pub(super) struct Attempt {
    pub call: CallId,
    pub path: Arc<str>,
    pub events: Events,
    pub cancel: CancellationToken,
    /// How long it may take.
    pub timeout: Duration,
    pub sender: mpsc::UnboundedSender<News>,
}

impl Attempt {
    /// Takes what the call tells, to its end.
    pub(super) async fn drive(mut self) {
        let timeout = self.timeout;
        let outcome = tokio::select! {
            biased;
            outcome = self.listen() => Some(outcome),
            () = tokio::time::sleep(timeout) => None,
        };
        let outcome = if let Some(outcome) = outcome {
            outcome
        } else {
            self.cancel.cancel();
            // The transport cleans up; its end comes too late, and what it has used still counts.
            let _ = tokio::time::timeout(CLEAN_UP, self.listen()).await;
            Err(timed_out(timeout))
        };
        ended(&outcome);
        let call = self.call;
        self.send(News::Input(Input::CallEnded { call, outcome }));
    }

    async fn listen(&mut self) -> CallOutcome {
        let call = self.call;
        loop {
            match self.events.next().await {
                Some(CallEvent::Progress(progress)) => {
                    self.send(News::Progress(self.path.clone(), progress));
                }
                Some(CallEvent::Usage(usage)) => {
                    let used = Used {
                        tokens: usage.tokens(),
                        cost: usage.cost(),
                    };
                    self.send(News::Input(Input::CallUsed { call, used }));
                }
                Some(CallEvent::Handle(handle)) => {
                    let handle = handle.content().clone();
                    self.send(News::Input(Input::CallHandle { call, handle }));
                }
                // Nobody is asked in the middle of a call yet, so the peer hears that nobody answers.
                Some(CallEvent::Ask(ask)) => drop(ask),
                Some(CallEvent::Done(outcome)) => return outcome,
                None => return Err(broken_off()),
            }
        }
    }

    fn send(&self, news: News) {
        // The other end is gone only when the run is over.
        let _ = self.sender.send(news);
    }
}

/// The end of a call whose tool is nowhere.
pub(super) fn unknown_place(tool: &str) -> CallError {
    let message = format!("nothing tells where `{tool}` is; name its app file in `planrun.yaml`");
    CallError {
        class: ErrorClass::Internal,
        message,
        sent: Sent::No,
        retry_after: None,
    }
}

/// The class of an attempt that took longer than its `timeout`.
fn timed_out(limit: Duration) -> CallError {
    CallError {
        class: ErrorClass::Transient(Transient::Timeout),
        message: format!("no answer within {}", short_duration(limit)),
        sent: Sent::Maybe,
        retry_after: None,
    }
}
