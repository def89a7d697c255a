//! A transport that plays a script, and records its calls.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Signature};
use planrun_tools::tools::{
    Ask, AskReply, BoxFuture, CallEvent, Conversation, Described, Handle, Progress, Question,
    Request, Transport, Usage, described,
};
use serde_json::Value as Json;
use tokio::sync::mpsc;

/// One line of a script. If a script has no end, the peer dies after its last line.
#[derive(Clone, Debug)]
pub enum Line {
    /// A fraction and a message.
    Progress(f64, &'static str),
    /// A question and the JSON Schema of its answer; the script waits for the reply.
    Ask(&'static str, Json),
    Handle(Json),
    /// Tokens and cost.
    Usage(u64, f64),
    Pause(Duration),
    /// No more events until the call is cancelled.
    Silence,
    Give(Json),
    /// An error class, and whether the peer received the call.
    Fail(&'static str, Sent),
}

/// One call as the peer received it.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    pub path: String,
    pub key: String,
    /// The handle of a call that is reattached.
    pub handle: Option<Json>,
}

/// Plays one script per call; the last one is used for all further calls.
pub struct ScriptedTransport {
    scripts: Mutex<VecDeque<Vec<Line>>>,
    log: Arc<Log>,
    signature: Arc<Signature>,
}

#[derive(Default)]
struct Log {
    received: Mutex<Vec<Received>>,
    replies: Mutex<Vec<AskReply>>,
}

impl ScriptedTransport {
    pub fn new(scripts: impl IntoIterator<Item = Vec<Line>>) -> Arc<Self> {
        let signature = Arc::new(Signature::unknown("peer".into(), "call".into()));
        let scripts = Mutex::new(scripts.into_iter().collect());
        Arc::new(Self {
            scripts,
            log: Arc::default(),
            signature,
        })
    }

    /// Returns every call, in order.
    pub fn received(&self) -> Vec<Received> {
        self.log.received.lock().unwrap().clone()
    }

    /// Returns the replies to its questions.
    pub fn replies(&self) -> Vec<AskReply> {
        self.log.replies.lock().unwrap().clone()
    }

    fn next_script(&self) -> Vec<Line> {
        let mut scripts = self.scripts.lock().unwrap();
        let next = if scripts.len() > 1 {
            scripts.pop_front()
        } else {
            scripts.front().cloned()
        };
        next.unwrap_or_default()
    }
}

impl Transport for ScriptedTransport {
    fn call(&self, request: Request) -> Conversation {
        self.log.received.lock().unwrap().push(Received {
            path: request.path.to_string(),
            key: request.idempotency_key.to_string(),
            handle: request
                .handle
                .as_ref()
                .map(|handle| handle.content().clone()),
        });
        let (events, played) = mpsc::channel(1);
        let (script, log) = (self.next_script(), self.log.clone());
        tokio::spawn(async move {
            let stopped = request.cancel.clone();
            tokio::select! {
                () = play(script, &events, &log) => {}
                () = stopped.cancelled() => {
                    let _ = events.send(CallEvent::Done(fail("cancelled", Sent::Maybe))).await;
                }
            }
        });
        Conversation::from_stream(Played(played))
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([self.signature.clone()])
    }
}

/// Plays a script. If it has no end, the sender is dropped without a result.
async fn play(script: Vec<Line>, events: &mpsc::Sender<CallEvent>, log: &Log) {
    for line in script {
        let event = match line {
            Line::Progress(fraction, message) => {
                CallEvent::Progress(Progress::message(message).with_fraction(fraction))
            }
            Line::Ask(message, schema) => {
                let question = Question::new(message.to_owned(), schema).unwrap();
                let (ask, reply) = Ask::new(question);
                let _ = events.send(CallEvent::Ask(ask)).await;
                let reply = reply.await.unwrap_or(AskReply::Unanswered);
                log.replies.lock().unwrap().push(reply);
                continue;
            }
            Line::Handle(content) => CallEvent::Handle(Handle::new(content).unwrap()),
            Line::Usage(tokens, cost) => CallEvent::Usage(Usage::new(tokens, cost)),
            Line::Pause(pause) => {
                tokio::time::sleep(pause).await;
                continue;
            }
            Line::Silence => std::future::pending().await,
            Line::Give(json) => CallEvent::Done(Ok(Answer::Json(json))),
            Line::Fail(class, sent) => CallEvent::Done(fail(class, sent)),
        };
        let _ = events.send(event).await;
    }
}

fn fail(class: &str, sent: Sent) -> CallOutcome {
    Err(CallError::new(
        ErrorClass::find(class).unwrap(),
        format!("scripted {class}"),
        sent,
    ))
}

struct Played(mpsc::Receiver<CallEvent>);

impl Stream for Played {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        self.0.poll_recv(context)
    }
}
