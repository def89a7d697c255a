//! The world of a test: whoever answers calls in place of the tools, and what was called.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use planrun_lang::call::{CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Effect, ErrorClass, Signature, Validation};
use planrun_lang::value::Value;
use planrun_tools::tools::{
    BoxFuture, Conversation, Described, Request, StandIn, Transport, described,
};

use super::recording::Recorder;
use planrun_runs::journal::MemoryLog;

/// The namespace whose tools compute and look at the clock: they answer themselves.
const SYSTEM: &str = "sys";
/// Those of them that give something else each time, so that recordings keep what they gave.
const VARYING: [&str; 2] = ["now", "uuid"];

/// Somebody who may have an answer to a call.
pub trait Source: Send + Sync {
    /// The answer to this call; nothing where others are to be asked.
    fn answer(&self, call: &Call<'_>) -> Option<Response>;

    /// Whether it has answers to calls of this tool at all.
    fn knows(&self, signature: &Signature) -> bool;
}

/// One attempt, as those who answer see it.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub request: &'a Request,
    /// How often the same step has called before, retries and polls included.
    pub occurrence: u32,
}

/// What happens to a call.
#[derive(Clone, Debug)]
pub struct Response {
    pub reaction: Reaction,
    /// On the clock of the test.
    pub delay: Duration,
}

#[derive(Clone, Debug)]
pub enum Reaction {
    Answer(CallOutcome),
    /// The process dies: before the call has gone out, or after it has happened.
    Crash {
        after: bool,
    },
}

/// One attempt that went out.
#[derive(Clone, Debug)]
pub struct Called {
    pub path: Arc<str>,
    pub tool: Arc<str>,
    pub signature: Arc<Signature>,
    pub arguments: Value,
    pub key: Arc<str>,
    pub effect: Effect,
    /// The class of its failure; nothing where it gave something, or where nobody heard of its end.
    pub failed: Option<ErrorClass>,
    /// Whether it did something in the world: it was answered, or its answer was lost.
    pub happened: bool,
    /// Whether the process died with it.
    pub crashed: bool,
}

/// The world of one run.
pub struct World {
    sources: Vec<Box<dyn Source>>,
    /// Calls to which none of them has an answer go to the real tools, and it writes down what they come to.
    recorder: Option<Arc<Recorder>>,
    state: Mutex<State>,
    /// Where the run is written down; who loses it is dead.
    log: MemoryLog,
}

#[derive(Default)]
struct State {
    calls: Vec<Called>,
    occurrences: BTreeMap<Arc<str>, u32>,
    /// Calls to which nobody had an answer.
    unanswered: Vec<Unanswered>,
}

/// A call to which nobody had an answer.
#[derive(Clone, Debug)]
pub struct Unanswered {
    pub path: Arc<str>,
    pub signature: Arc<Signature>,
    pub arguments: Value,
}

impl World {
    /// A world in which these are asked, the first of them first.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn Source>>, log: MemoryLog) -> Self {
        Self {
            sources,
            recorder: None,
            state: Mutex::default(),
            log,
        }
    }

    /// The same, but calls to which nobody has an answer go to the real tools.
    #[must_use]
    pub fn recording(self, recorder: Arc<Recorder>) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }

    /// Every attempt that went out, in that order.
    #[must_use]
    pub fn calls(&self) -> Vec<Called> {
        self.state().calls.clone()
    }

    /// The calls to which nobody had an answer.
    #[must_use]
    pub fn unanswered(&self) -> Vec<Unanswered> {
        self.state().unanswered.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, so the state behind a poisoned one is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often the step of this call has called before.
    fn occurrence(&self, request: &Request) -> Option<u32> {
        if self.log.is_dead() {
            return None;
        }
        let mut state = self.state();
        let count = state.occurrences.entry(request.path.clone()).or_default();
        *count += 1;
        Some(*count - 1)
    }

    fn respond(&self, request: &Request, occurrence: u32) -> Option<Response> {
        let call = Call {
            request,
            occurrence,
        };
        self.sources.iter().find_map(|source| source.answer(&call))
    }

    fn note(&self, request: &Request, reaction: Option<&Reaction>) {
        let (failed, happened, crashed) = match reaction {
            Some(Reaction::Answer(Ok(_))) | None => (None, true, false),
            Some(Reaction::Answer(Err(error))) => {
                (Some(error.class.clone()), may_have_happened(error), false)
            }
            Some(Reaction::Crash { after }) => (None, *after, true),
        };
        self.state().calls.push(Called {
            path: request.path.clone(),
            tool: request.signature.path().into(),
            signature: request.signature.clone(),
            arguments: request.arguments.clone(),
            key: request.idempotency_key.clone(),
            effect: request.signature.effect,
            failed,
            happened,
            crashed,
        });
    }

    fn refuse(&self, request: &Request) -> Conversation {
        let mut state = self.state();
        state.unanswered.push(Unanswered {
            path: request.path.clone(),
            signature: request.signature.clone(),
            arguments: request.arguments.clone(),
        });
        let message = format!("nothing in the test answers `{}`", request.signature.path());
        Conversation::Now(Err(CallError::new(ErrorClass::Internal, message, Sent::No)))
    }
}

impl World {
    fn call_over(&self, request: Request, tool: Option<&dyn Transport>) -> Conversation {
        let Some(occurrence) = self.occurrence(&request) else {
            // The process is gone, and what it still does is never seen.
            return Conversation::from_future(std::future::pending());
        };
        let Some(response) = self.respond(&request, occurrence) else {
            return self.beyond(request, occurrence, tool);
        };
        self.note(&request, Some(&response.reaction));
        match response.reaction {
            Reaction::Crash { .. } => {
                self.log.die();
                Conversation::from_future(std::future::pending())
            }
            Reaction::Answer(outcome) if response.delay.is_zero() => Conversation::Now(outcome),
            Reaction::Answer(outcome) => Conversation::from_future(async move {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep(response.delay) => outcome,
                    () = request.cancel.cancelled() => Err(CallError::new(ErrorClass::Cancelled, "the call was stopped", Sent::Maybe)),
                }
            }),
        }
    }
}

impl World {
    /// A call to which nobody has an answer.
    fn beyond(
        &self,
        request: Request,
        occurrence: u32,
        tool: Option<&dyn Transport>,
    ) -> Conversation {
        match (&self.recorder, tool) {
            (Some(recorder), Some(tool)) => {
                self.note(&request, None);
                recorder.call(request, occurrence + 1, tool)
            }
            (None, Some(tool)) if is_system(&request.signature) => tool.call(request),
            (Some(_) | None, _) => self.refuse(&request),
        }
    }

    fn knows(&self, signature: &Signature) -> bool {
        self.sources.iter().any(|source| source.knows(signature))
    }
}

impl Transport for World {
    fn call(&self, request: Request) -> Conversation {
        self.call_over(request, None)
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        described([])
    }
}

/// A tool as the runs of a world call it.
struct Door {
    world: Arc<World>,
    tool: Option<Arc<dyn Transport>>,
}

impl Transport for Door {
    fn call(&self, request: Request) -> Conversation {
        self.world.call_over(request, self.tool.as_deref())
    }

    fn describe(&self) -> BoxFuture<'_, Described> {
        match &self.tool {
            Some(tool) => tool.describe(),
            None => described([]),
        }
    }
}

impl StandIn for World {
    fn over(self: Arc<Self>, tool: Option<Arc<dyn Transport>>) -> Arc<dyn Transport> {
        Arc::new(Door { world: self, tool })
    }

    fn replaces(&self, signature: &Signature) -> bool {
        let varies = || self.recorder.is_some() && VARYING.contains(&&*signature.name);
        !is_system(signature) || varies() || self.knows(signature)
    }

    fn verifies(&self, signature: &Signature) -> bool {
        is_system(signature) || self.recorder.is_some() || self.knows(signature)
    }
}

/// Whether a tool answers itself.
pub(super) fn is_system(signature: &Signature) -> bool {
    *signature.namespace == *SYSTEM
}

/// A call whose answer was lost may have done something, and one that answered with what its contract forbids has.
fn may_have_happened(error: &CallError) -> bool {
    error.sent == Sent::Maybe || error.class == ErrorClass::Validation(Validation::Result)
}

impl Response {
    /// An answer at once.
    #[must_use]
    pub fn now(outcome: CallOutcome) -> Self {
        Self {
            reaction: Reaction::Answer(outcome),
            delay: Duration::ZERO,
        }
    }
}

/// A failure of a class, with what the world has seen of it: of a call that timed out nobody knows, other transient ones
/// never arrived, and what an error that the tool declares says of that is in its contract.
#[must_use]
pub fn failure(class: ErrorClass, message: Option<String>, signature: &Signature) -> CallError {
    use planrun_lang::types::Transient;
    let message = message.unwrap_or_else(|| format!("the test says so: {class}"));
    let (class, sent) = match class {
        ErrorClass::UnknownOutcome => (ErrorClass::Transient(Transient::Network), Sent::Maybe),
        ErrorClass::Transient(Transient::Timeout) => (class, Sent::Maybe),
        ErrorClass::Transient(_) => (class, Sent::No),
        ErrorClass::Tool(name) => {
            let sent = sent_with(&name, signature);
            (ErrorClass::Tool(name), sent)
        }
        other => (other, Sent::Answered),
    };
    CallError::new(class, message, sent)
}

/// What an error of the tool says of the call, by the contract.
fn sent_with(name: &Arc<str>, signature: &Signature) -> Sent {
    if signature.may_have_happened.contains(name) {
        Sent::Maybe
    } else if **name != *"failed" && signature.raises.contains(name) {
        Sent::Refused
    } else {
        Sent::Answered
    }
}
