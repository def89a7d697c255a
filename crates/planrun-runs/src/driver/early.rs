//! Early reads: reads that begin before their plan is complete. A run of the incomplete plan begins them, and the run
//! of the whole plan takes over their results.

use std::collections::HashMap;
use std::future::pending;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use parking_lot::Mutex;
use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{CallKind, ErrorClass, Signature};
use planrun_lang::value::Value;
use planrun_tools::host::runtime_now;
use planrun_tools::tools::{
    BoxFuture, CallEvent, Conversation, Described, Events, Identity, Request, Transport, Usage,
};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::attempt::CLEAN_UP;

/// Maximum number of early reads that have not been taken over.
const MAX_READS: usize = 64;
/// Maximum age of a result that is taken over. Results become older, for example, while a person thinks about an
/// approval.
const MAX_AGE: Duration = Duration::from_mins(1);

/// Early reads, by the paths of their steps.
#[derive(Default)]
pub struct EarlyReads {
    begun: Mutex<HashMap<Arc<str>, EarlyRead>>,
    tasks: TaskTracker,
}

/// One early read, which is stopped when this is dropped.
struct EarlyRead {
    signature: Arc<Signature>,
    arguments: Value,
    arriving: Arriving,
    _stops: DropGuard,
}

/// The result of an early read, when it has ended. A read that asks a question never has one; the step then makes its
/// own call.
type Arriving = watch::Receiver<Option<Arrived>>;

#[derive(Clone)]
struct Arrived {
    outcome: CallOutcome,
    used: Usage,
    at: Instant,
}

/// The role of a run with respect to early reads.
#[derive(Clone)]
pub enum Early {
    /// It begins early reads; other calls are not made and never return. All calls end when the token is cancelled.
    Start(Arc<EarlyReads>, CancellationToken),
    /// It takes over the reads that its steps would make.
    Reuse(Arc<EarlyReads>),
}

impl Early {
    /// Returns the transport that a run calls in place of a tool.
    pub(super) fn over(
        &self,
        signature: &Signature,
        tool: Arc<dyn Transport>,
    ) -> Arc<dyn Transport> {
        // Prompts cost tokens, which would be wasted if the plan turns out to be wrong.
        let is_early = matches!(signature.kind, CallKind::Tool | CallKind::Skill)
            && signature.effect.is_read_only();
        match self {
            Self::Reuse(_) if !is_early => tool,
            Self::Reuse(reads) => Arc::new(ReuseEarlyReads {
                reads: reads.clone(),
                tool,
            }),
            Self::Start(reads, end) => Arc::new(StartEarlyReads {
                reads: is_early.then(|| reads.clone()),
                end: end.clone(),
                tool,
            }),
        }
    }
}

impl EarlyReads {
    /// Begins a read, unless it has begun; `None` if there are too many.
    fn begin(&self, request: Request, tool: &dyn Transport) -> Option<Arriving> {
        let mut begun = self.begun.lock();
        if let Some(known) = begun.get(&request.path).filter(|read| read.is_of(&request)) {
            return Some(known.arriving.clone());
        }
        if begun.len() >= MAX_READS {
            return None;
        }
        let stop = CancellationToken::new();
        let path = request.path.clone();
        let (signature, arguments) = (request.signature.clone(), request.arguments.clone());
        let conversation = tool.call(Request {
            cancel: stop.clone(),
            ..request
        });
        let (sender, arriving) = watch::channel(None);
        let stopped = stop.clone();
        self.tasks.spawn(async move {
            let stopped = async {
                stopped.cancelled().await;
                tokio::time::sleep(CLEAN_UP).await;
            };
            tokio::select! {
                arrived = collect(conversation) => drop(sender.send(arrived)),
                () = stopped => {}
            }
        });
        // An earlier read of this step with other arguments is not needed any more.
        begun.insert(
            path,
            EarlyRead {
                signature,
                arguments,
                arriving: arriving.clone(),
                _stops: stop.drop_guard(),
            },
        );
        Some(arriving)
    }

    /// Takes the read for a request, if it has begun and is not too old.
    fn take_over(&self, request: &Request) -> Option<EarlyRead> {
        let read = self.begun.lock().remove(&request.path)?;
        (read.is_of(request) && !read.is_old()).then_some(read)
    }

    /// Stops the reads that were not taken over, and waits for them.
    pub async fn close(&self) {
        self.begun.lock().clear();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl EarlyRead {
    fn is_of(&self, request: &Request) -> bool {
        let (own, other) = (&self.signature, &request.signature);
        (&own.namespace, &own.name) == (&other.namespace, &other.name)
            && self.arguments == request.arguments
    }

    fn is_old(&self) -> bool {
        let arrived = self.arriving.borrow();
        arrived
            .as_ref()
            .is_some_and(|arrived| arrived.at.elapsed() > MAX_AGE)
    }
}

/// Returns the result of a conversation that asks no question; `None` if it asks one.
async fn collect(conversation: Conversation) -> Option<Arrived> {
    let mut used = Usage::default();
    let outcome = match conversation {
        Conversation::Now(outcome) => outcome,
        Conversation::Later(mut events) => loop {
            match events.next().await? {
                CallEvent::Usage(more) => used = used.plus(more),
                CallEvent::Ask(_) => return None,
                CallEvent::Done(outcome) => break outcome,
                CallEvent::Progress(_) | CallEvent::Handle(_) => {}
            }
        },
    };
    let at = runtime_now();
    Some(Arrived { outcome, used, at })
}

/// Waits for the result of a read; `None` if there will be none.
async fn arrival(mut arriving: Arriving) -> Option<Arrived> {
    let arrived = arriving.wait_for(Option::is_some).await.ok()?;
    arrived.clone()
}

/// A tool of a run that begins early reads; `reads` is `None` if the tool must not be called.
struct StartEarlyReads {
    reads: Option<Arc<EarlyReads>>,
    end: CancellationToken,
    tool: Arc<dyn Transport>,
}

impl Transport for StartEarlyReads {
    fn call(&self, request: Request) -> Conversation {
        let (end, cancel) = (self.end.clone(), request.cancel.clone());
        let reads = self.reads.as_ref().filter(|_| !end.is_cancelled());
        let arriving = reads.and_then(|reads| reads.begin(request, &*self.tool));
        Conversation::from_future(async move {
            let answered = async {
                if let Some(arriving) = arriving
                    && let Some(arrived) = arrival(arriving).await
                    && arrived.outcome.is_ok()
                {
                    return arrived.outcome;
                }
                // Failures are left to the run of the whole plan.
                pending().await
            };
            tokio::select! {
                biased;
                () = end.cancelled() => Err(stopped()),
                () = cancel.cancelled() => Err(stopped()),
                outcome = answered => outcome,
            }
        })
    }

    fn identify(&self, identity: &mut Identity) {
        self.tool.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.tool.describe()
    }
}

fn stopped() -> CallError {
    CallError::new(ErrorClass::Cancelled, "the call was cancelled", Sent::Maybe)
}

/// A tool whose reads may have begun early.
struct ReuseEarlyReads {
    reads: Arc<EarlyReads>,
    tool: Arc<dyn Transport>,
}

impl Transport for ReuseEarlyReads {
    fn call(&self, request: Request) -> Conversation {
        let Some(read) = self.reads.take_over(&request) else {
            return self.tool.call(request);
        };
        let cancel = request.cancel.clone();
        let arrives = async move {
            // The read is stopped when nothing waits for it any more.
            let EarlyRead {
                arriving, _stops, ..
            } = read;
            tokio::select! {
                biased;
                () = cancel.cancelled() => Err(stopped()),
                arrived = arrival(arriving) => Ok(arrived),
            }
        };
        Conversation::from_stream(ReusedRead::Waits {
            arrives: Box::pin(arrives),
            call: Some((self.tool.clone(), request)),
        })
    }

    fn identify(&self, identity: &mut Identity) {
        self.tool.identify(identity);
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        self.tool.describe()
    }
}

/// The events of an early read; if it has no result, those of the call itself.
enum ReusedRead {
    Waits {
        arrives: BoxFuture<'static, Result<Option<Arrived>, CallError>>,
        /// `None` after the call was made.
        call: Option<(Arc<dyn Transport>, Request)>,
    },
    Calls(Events),
    Ends(Option<CallOutcome>),
}

impl Stream for ReusedRead {
    type Item = CallEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<CallEvent>> {
        loop {
            *self = match &mut *self {
                Self::Waits { arrives, call } => match ready!(arrives.as_mut().poll(context)) {
                    Ok(Some(Arrived { outcome, used, .. })) => {
                        *self = Self::Ends(Some(outcome));
                        return Poll::Ready(Some(CallEvent::Usage(used)));
                    }
                    Ok(None) => match call.take().map(|(tool, request)| tool.call(request)) {
                        Some(Conversation::Later(events)) => Self::Calls(events),
                        Some(Conversation::Now(outcome)) => Self::Ends(Some(outcome)),
                        None => Self::Ends(None),
                    },
                    Err(stopped) => Self::Ends(Some(Err(stopped))),
                },
                Self::Calls(events) => return Pin::new(events).poll_next(context),
                Self::Ends(outcome) => return Poll::Ready(outcome.take().map(CallEvent::Done)),
            };
        }
    }
}
