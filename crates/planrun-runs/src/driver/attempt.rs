//! Drives one attempt at a call to its end, within its timeout.

use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::Used;
use planrun_core::run::{CallId, Input, short_duration};
use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient};
use planrun_tools::host::runtime_now;
use planrun_tools::tools::{Ask, AskReply, CallEvent, Events, Progress, broken_off};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::spans::ended;

/// Time for a transport to stop after a timeout, for example for a program to exit.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(2);

/// A message to the driver from a task that it started.
pub(super) enum DriverMessage {
    Input(Input),
    /// The call of the step at this path reports progress.
    Progress(Arc<str>, Progress),
    /// The peer of an attempt asks a question.
    Asked(CallId, Ask),
}

/// One attempt in flight.
pub(super) struct Attempt {
    pub call: CallId,
    pub path: Arc<str>,
    pub events: Events,
    pub cancel: CancellationToken,
    /// Maximum duration of the attempt.
    pub timeout: Duration,
    pub sender: mpsc::UnboundedSender<DriverMessage>,
}

impl Attempt {
    /// Handles the events of the call until it ends. Time in which its peer waits for a reply does not count against
    /// the timeout.
    pub(super) async fn drive(mut self) {
        let timeout = self.timeout;
        // A timeout beyond the range of the clock is no timeout.
        let mut deadline = runtime_now().checked_add(timeout);
        let mut asked: Option<Asked> = None;
        let outcome = loop {
            let waits = asked.is_some();
            let replied = async {
                match &mut asked {
                    Some(asked) => (&mut asked.arrives).await.unwrap_or(AskReply::Unanswered),
                    None => std::future::pending().await,
                }
            };
            let over = async {
                match deadline {
                    Some(deadline) => tokio::time::sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                event = self.events.next() => match event {
                    Some(CallEvent::Ask(ask)) if !waits => asked = Some(self.pass_on(ask)),
                    // Only one question at a time: this one stays unanswered.
                    Some(CallEvent::Ask(ask)) => drop(ask),
                    Some(CallEvent::Done(outcome)) => break Some(outcome),
                    Some(event) => self.report(event),
                    None => break Some(Err(broken_off())),
                },
                reply = replied => if let Some(asked) = asked.take() {
                    deadline = deadline.and_then(|at| at.checked_add(asked.since.elapsed()));
                    asked.ask.reply(reply);
                },
                () = over, if !waits => break None,
            }
        };
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => self.stop_late(timeout).await,
        };
        ended(&outcome);
        let call = self.call;
        self.send(DriverMessage::Input(Input::CallEnded { call, outcome }));
    }

    /// Passes a question to the driver.
    fn pass_on(&self, ask: Ask) -> Asked {
        let (passed, arrives) = Ask::new(ask.question().clone());
        self.send(DriverMessage::Asked(self.call, passed));
        let since = runtime_now();
        Asked {
            ask,
            arrives,
            since,
        }
    }

    /// Ends an attempt whose timeout has expired. The transport cleans up; its result comes too late, but its usage
    /// still counts.
    async fn stop_late(&mut self, timeout: Duration) -> CallOutcome {
        self.cancel.cancel();
        let cleaned_up = async {
            while let Some(event) = self.events.next().await {
                self.report(event);
            }
        };
        let _ = tokio::time::timeout(CLEAN_UP, cleaned_up).await;
        Err(timed_out(timeout))
    }

    fn report(&self, event: CallEvent) {
        let call = self.call;
        match event {
            CallEvent::Progress(progress) => {
                self.send(DriverMessage::Progress(self.path.clone(), progress));
            }
            CallEvent::Usage(usage) => {
                let used = Used {
                    tokens: usage.tokens(),
                    cost: usage.cost(),
                };
                self.send(DriverMessage::Input(Input::CallUsed { call, used }));
            }
            CallEvent::Handle(handle) => {
                let handle = handle.content().clone();
                self.send(DriverMessage::Input(Input::CallHandle { call, handle }));
            }
            CallEvent::Ask(_) | CallEvent::Done(_) => {}
        }
    }

    fn send(&self, message: DriverMessage) {
        // The receiver is gone only when the run has ended.
        let _ = self.sender.send(message);
    }
}

/// A question of the peer, and the channel on which the reply arrives.
struct Asked {
    ask: Ask,
    arrives: oneshot::Receiver<AskReply>,
    since: Instant,
}

/// The error of a call whose tool has no known address.
pub(super) fn unknown_place(tool: &str) -> CallError {
    let message = format!("the address of `{tool}` is unknown; add its app file to `planrun.yaml`");
    CallError::new(ErrorClass::Internal, message, Sent::No)
}

/// The error of an attempt that exceeded its timeout.
fn timed_out(limit: Duration) -> CallError {
    CallError::new(
        ErrorClass::Transient(Transient::Timeout),
        format!("no answer within {}", short_duration(limit)),
        Sent::Maybe,
    )
}
