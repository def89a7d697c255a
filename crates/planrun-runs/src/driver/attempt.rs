//! The conversation of one attempt with what it calls, driven to its end within its time.

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

/// How long a transport gets to stop after a timeout, such as a program to die.
pub(super) const CLEAN_UP: Duration = Duration::from_secs(2);

/// What arrives from what was begun beside the run.
pub(super) enum DriverMessage {
    Input(Input),
    /// The call of the step at this path goes on.
    Progress(Arc<str>, Progress),
    /// The peer of an attempt wants to know something.
    Asked(CallId, Ask),
}

/// One attempt that goes on.
pub(super) struct Attempt {
    pub call: CallId,
    pub path: Arc<str>,
    pub events: Events,
    pub cancel: CancellationToken,
    /// How long it may take.
    pub timeout: Duration,
    pub sender: mpsc::UnboundedSender<DriverMessage>,
}

impl Attempt {
    /// Takes what the call tells, to its end. Time in which its peer waits for somebody's reply does not count.
    pub(super) async fn drive(mut self) {
        let timeout = self.timeout;
        // A bound that no clock reaches is none.
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
                    // One question at a time: the peer hears that nobody answers this one.
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

    /// Puts a question to whoever drives the run.
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

    /// The time of the attempt is over. The transport cleans up; its end comes too late, and what it has used still counts.
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

    fn send(&self, news: DriverMessage) {
        // The other end is gone only when the run is over.
        let _ = self.sender.send(news);
    }
}

/// A question of the peer, and where its reply arrives.
struct Asked {
    ask: Ask,
    arrives: oneshot::Receiver<AskReply>,
    since: Instant,
}

/// The end of a call whose tool is nowhere.
pub(super) fn unknown_place(tool: &str) -> CallError {
    let message = format!("nothing tells where `{tool}` is; name its app file in `planrun.yaml`");
    CallError::new(ErrorClass::Internal, message, Sent::No)
}

/// The class of an attempt that took longer than its `timeout`.
fn timed_out(limit: Duration) -> CallError {
    CallError::new(
        ErrorClass::Transient(Transient::Timeout),
        format!("no answer within {}", short_duration(limit)),
        Sent::Maybe,
    )
}
