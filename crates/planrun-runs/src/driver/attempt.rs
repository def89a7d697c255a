//! Drives one attempt at a call to its end, within its timeout.

use std::sync::Arc;
use std::time::Duration;

use planrun_core::journal::{SubmittedAnswer, Used};
use planrun_core::run::{Asking, CallId, Input, short_duration};
use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Transient};
use planrun_tools::host::runtime_now;
use planrun_tools::tools::{Ask, AskReply, CallEvent, Events, Progress, broken_off};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::spans::ended;

/// Time for a transport to stop after a timeout or a cancellation, for example for a program to exit. After that, the
/// call is cut off.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(2);

/// Maximum number of messages that wait for the driver. Senders of more wait until the driver has taken some. The
/// driver itself sends none, so it never waits for itself.
pub(super) const MAX_MESSAGES: usize = 256;

/// A message to the driver from a task that it started.
pub(super) enum DriverMessage {
    Input(Input),
    /// The call of the step at this path reports progress.
    Progress(Arc<str>, Progress),
    /// The peer of an attempt asks a question.
    Asked(CallId, Ask),
    /// The asker has replied to the question that was passed to it with this number.
    Replied {
        number: u64,
        asking: Asking,
        given: Option<SubmittedAnswer>,
    },
}

/// One attempt in flight.
pub(super) struct Attempt {
    pub call: CallId,
    pub path: Arc<str>,
    pub events: Events,
    pub cancel: CancellationToken,
    /// Maximum duration of the attempt.
    pub timeout: Duration,
    pub sender: mpsc::Sender<DriverMessage>,
}

impl Attempt {
    /// Handles the events of the call until it ends. Time in which its peer waits for a reply does not count against
    /// the timeout.
    pub(super) async fn drive(mut self) {
        // A timeout beyond the range of the clock is no timeout.
        let mut deadline = runtime_now().checked_add(self.timeout);
        let mut asked: Option<Asked> = None;
        let outcome = loop {
            let waits = asked.is_some();
            // The branches below prefer events, of which there may always be another one.
            if self.cancel.is_cancelled() || !waits && is_long_past(deadline) {
                break None;
            }
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
                    Some(CallEvent::Ask(ask)) if !waits => asked = Some(self.pass_on(ask).await),
                    // Only one question at a time: this one stays unanswered.
                    Some(CallEvent::Ask(ask)) => drop(ask),
                    Some(CallEvent::Done(outcome)) => break Some(outcome),
                    Some(event) => self.report(event).await,
                    None => break Some(Err(broken_off())),
                },
                reply = replied => if let Some(asked) = asked.take() {
                    deadline = deadline.and_then(|at| at.checked_add(asked.since.elapsed()));
                    asked.ask.reply(reply);
                },
                () = self.cancel.cancelled() => break None,
                () = over, if !waits => break None,
            }
        };
        // An open question stays unanswered.
        drop(asked);
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => self.stop().await,
        };
        ended(&outcome);
        let call = self.call;
        self.send(DriverMessage::Input(Input::CallEnded { call, outcome }))
            .await;
    }

    /// Passes a question to the driver.
    async fn pass_on(&mut self, ask: Ask) -> Asked {
        let (passed, arrives) = Ask::new(ask.question().clone());
        self.send(DriverMessage::Asked(self.call, passed)).await;
        let since = runtime_now();
        Asked {
            ask,
            arrives,
            since,
        }
    }

    /// Ends an attempt that was told to stop, or whose timeout has expired. A result then comes too late.
    async fn stop(&mut self) -> CallOutcome {
        let is_late = !self.cancel.is_cancelled();
        self.cancel.cancel();
        let outcome = self.clean_up().await;
        if is_late {
            return Err(timed_out(self.timeout));
        }
        outcome.unwrap_or_else(|| Err(cut_off()))
    }

    /// Lets a transport that was told to stop clean up, for a limited time. Its usage still counts. Returns its
    /// outcome; `None` if it did not end in time.
    async fn clean_up(&mut self) -> Option<CallOutcome> {
        let limit = runtime_now() + CLEAN_UP;
        let ends = async {
            while let Some(event) = self.events.next().await {
                match event {
                    CallEvent::Done(outcome) => return Some(outcome),
                    event if runtime_now() < limit => self.report(event).await,
                    _ => return None,
                }
            }
            None
        };
        tokio::time::timeout_at(limit, ends).await.ok().flatten()
    }

    async fn report(&mut self, event: CallEvent) {
        let call = self.call;
        let message = match event {
            CallEvent::Progress(progress) => DriverMessage::Progress(self.path.clone(), progress),
            CallEvent::Usage(usage) => {
                let used = Used {
                    tokens: usage.tokens(),
                    cost: usage.cost(),
                };
                DriverMessage::Input(Input::CallUsed { call, used })
            }
            CallEvent::Handle(handle) => {
                let handle = handle.content().clone();
                DriverMessage::Input(Input::CallHandle { call, handle })
            }
            CallEvent::Ask(_) | CallEvent::Done(_) => return,
        };
        self.send(message).await;
    }

    /// Sends a message to the driver. Waits while too many are waiting there.
    async fn send(&mut self, message: DriverMessage) {
        // The receiver is closed only when the run has ended.
        let _ = self.sender.send(message).await;
    }
}

/// A question of the peer, and the channel on which the reply arrives.
struct Asked {
    ask: Ask,
    arrives: oneshot::Receiver<AskReply>,
    since: Instant,
}

/// Returns true if the deadline has passed so long ago that an outcome which was there in time has been taken.
fn is_long_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| runtime_now().saturating_duration_since(deadline) > CLEAN_UP)
}

/// The error of a call whose tool has no known address.
pub(super) fn unknown_place(tool: &str) -> CallError {
    let message = format!("the address of `{tool}` is unknown; add its app file to `planrun.yaml`");
    CallError::new(ErrorClass::Internal, message, Sent::No)
}

/// The error of an attempt that did not end after it was told to stop.
fn cut_off() -> CallError {
    let limit = short_duration(CLEAN_UP);
    let message = format!("the call was cancelled, but did not end within {limit}");
    CallError::new(ErrorClass::Cancelled, message, Sent::Maybe)
}

/// The error of an attempt that exceeded its timeout.
fn timed_out(limit: Duration) -> CallError {
    CallError::new(
        ErrorClass::Transient(Transient::Timeout),
        format!("no answer within {}", short_duration(limit)),
        Sent::Maybe,
    )
}
