//! The doubles of tools in a test: answers their calls, and records what was called.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use planrun_lang::call::{Answer, CallError, CallOutcome};
use planrun_lang::protocol::Sent;
use planrun_lang::source::Span;
use planrun_lang::types::{Effect, ErrorClass, Signature, Transient, Validation};
use planrun_lang::value::Value;
use planrun_tools::host::Host;
use planrun_tools::tools::{
    BoxFuture, Conversation, Described, Request, StandIn, Transport, described,
};

use super::recording::Recorder;
use planrun_runs::journal::MemoryLog;

/// The namespace of tools that compute and read the clock; they are not replaced.
const SYSTEM: &str = "sys";
/// Tools of that namespace whose results vary, so that recordings contain them.
const VARYING: [&str; 2] = ["now", UUID];
const UUID: &str = "uuid";
/// Maximum number of calls of one step in a run, and at one moment of it. A step that makes more of them never ends: its
/// outcome is unknown each time, say, and each time the test answers that nothing has happened.
const MAX_CALLS: u32 = 100_000;
const MAX_CALLS_AT_ONCE: u32 = 1_000;

/// Longer than any run waits.
const NEVER: Duration = Duration::from_hours(24 * 365 * 100);

/// A source of answers to calls.
pub trait Source: Send + Sync {
    /// Returns the answer to this call; `None` to ask the next source.
    fn answer(&self, call: &Call<'_>) -> Option<Response>;

    /// Returns true if it has answers to calls of this tool at all.
    fn knows(&self, signature: &Signature) -> bool;
}

/// One attempt of a call.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub request: &'a Request,
    /// Number of earlier calls of the same step, including retries and polls.
    pub occurrence: u32,
}

/// The response to a call.
#[derive(Clone, Debug)]
pub struct Response {
    pub reaction: Reaction,
    /// On the clock of the test.
    pub delay: Duration,
    /// Why the mock has no value. The test fails, whatever the plan makes of the failed call.
    pub fault: Option<MockFault>,
}

/// A mock that cannot be evaluated for a call.
#[derive(Clone, Debug)]
pub struct MockFault {
    pub span: Span,
    pub why: String,
}

#[derive(Clone, Debug)]
pub enum Reaction {
    Answer(CallOutcome),
    /// The process dies: before the call was sent, or after it happened.
    Crash {
        after: bool,
    },
}

/// One attempt that was sent.
#[derive(Clone, Debug)]
pub struct Called {
    pub path: Arc<str>,
    pub tool: Arc<str>,
    pub signature: Arc<Signature>,
    pub arguments: Value,
    pub key: Arc<str>,
    pub effect: Effect,
    /// The result, as it arrived: nothing is redacted. `None` if a source of answers did not give one.
    pub answer: Option<Answer>,
    /// The class of its error; `None` if it succeeded or its end is unknown.
    pub failed: Option<ErrorClass>,
    /// Whether it may have had an effect: it succeeded, or its answer was lost or violates the contract.
    pub happened: bool,
    /// Whether the process died during the call.
    pub crashed: bool,
}

/// The doubles of one run.
pub struct World {
    sources: Vec<Box<dyn Source>>,
    /// Records calls that no source answers, which are sent to the real tools.
    recorder: Option<Arc<Recorder>>,
    state: Mutex<State>,
    /// The seed of ids of `sys.uuid`.
    seed: u64,
    /// The journal of the run; a process that loses it is dead.
    log: MemoryLog,
    /// The clock of the run, from its begin.
    host: OnceLock<Arc<dyn Host>>,
}

#[derive(Default)]
struct State {
    calls: Vec<Called>,
    occurrences: BTreeMap<Arc<str>, Occurrences>,
    /// Calls that no source answered.
    unanswered: Vec<Unanswered>,
    mock_faults: Vec<MockFault>,
    /// The step that made too many calls, and their number.
    endless: Option<(Arc<str>, u32)>,
}

/// The calls of one step so far.
struct Occurrences {
    count: u32,
    /// Number of those at the time of the last one.
    at_once: u32,
    last: Duration,
}

/// A call that no source answered.
#[derive(Clone, Debug)]
pub struct Unanswered {
    pub path: Arc<str>,
    pub signature: Arc<Signature>,
    pub arguments: Value,
}

impl World {
    /// Returns doubles with these sources, in this order of precedence.
    #[must_use]
    pub fn new(sources: Vec<Box<dyn Source>>, log: MemoryLog) -> Self {
        Self {
            sources,
            recorder: None,
            seed: 0,
            state: Mutex::default(),
            log,
            host: OnceLock::new(),
        }
    }

    /// Returns the doubles with a recorder: calls that no source answers are sent to the real tools.
    #[must_use]
    pub fn recording(self, recorder: Arc<Recorder>) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }

    /// Returns the doubles with another seed of ids.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the clock of the run.
    pub fn begin(&self, host: &Arc<dyn Host>) {
        self.host.get_or_init(|| host.clone());
    }

    /// Returns every attempt that was sent, in order.
    #[must_use]
    pub fn calls(&self) -> Vec<Called> {
        self.state.lock().calls.clone()
    }

    /// Returns the calls that no source answered.
    #[must_use]
    pub fn unanswered(&self) -> Vec<Unanswered> {
        self.state.lock().unanswered.clone()
    }

    /// Returns the mocks that could not be evaluated.
    pub fn mock_faults(&self) -> Vec<MockFault> {
        self.state.lock().mock_faults.clone()
    }

    /// Returns the step that made too many calls, and their number; the run was stopped there.
    #[must_use]
    pub fn endless(&self) -> Option<(Arc<str>, u32)> {
        self.state.lock().endless.clone()
    }

    /// Counts a call. Returns the number of earlier calls of its step; `None` if the process is dead, or dies now because
    /// the step makes too many.
    fn occurrence(&self, request: &Request) -> Option<u32> {
        if self.log.is_dead() {
            return None;
        }
        let mut state = self.state.lock();
        let now = self
            .host
            .get()
            .map(|host| host.monotonic())
            .unwrap_or_default();
        let path = &request.path;
        let known = state.occurrences.entry(path.clone());
        let calls = known.or_insert(Occurrences {
            count: 0,
            at_once: 0,
            last: now,
        });
        if calls.last != now {
            (calls.last, calls.at_once) = (now, 0);
        }
        let earlier = calls.count;
        if earlier < MAX_CALLS && calls.at_once < MAX_CALLS_AT_ONCE {
            (calls.count, calls.at_once) = (earlier + 1, calls.at_once + 1);
            return Some(earlier);
        }
        state.endless = Some((path.clone(), earlier));
        self.log.die();
        None
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
        self.state.lock().calls.push(Called {
            path: request.path.clone(),
            tool: request.signature.path().into(),
            signature: request.signature.clone(),
            arguments: request.arguments.clone(),
            key: request.idempotency_key.clone(),
            effect: request.signature.effect,
            answer: match reaction {
                Some(Reaction::Answer(Ok(answer))) => Some(answer.clone()),
                Some(Reaction::Answer(Err(_)) | Reaction::Crash { .. }) | None => None,
            },
            failed,
            happened,
            crashed,
        });
    }

    fn refuse(&self, request: &Request) -> Conversation {
        let mut state = self.state.lock();
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
            // The process is dead, so nothing sees what it still does.
            return Conversation::from_future(std::future::pending());
        };
        let Some(response) = self.respond(&request, occurrence) else {
            return self.call_unanswered(request, occurrence, tool);
        };
        self.note(&request, Some(&response.reaction));
        self.state.lock().mock_faults.extend(response.fault);
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
    /// Handles a call that no source answers.
    fn call_unanswered(
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
            (None, Some(_)) if is_uuid(&request.signature) => {
                let id = uuid(self.seed, &request.path, occurrence);
                Conversation::Now(Ok(Answer::Value(id.into())))
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

/// A tool as the runs of a test call it.
struct ToolDouble {
    world: Arc<World>,
    tool: Option<Arc<dyn Transport>>,
}

impl Transport for ToolDouble {
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
    fn wrap(self: Arc<Self>, tool: Option<Arc<dyn Transport>>) -> Arc<dyn Transport> {
        Arc::new(ToolDouble { world: self, tool })
    }

    fn replaces(&self, signature: &Signature) -> bool {
        let varies = || self.recorder.is_some() && VARYING.contains(&&*signature.name);
        !is_system(signature) || is_uuid(signature) || varies() || self.knows(signature)
    }

    fn verifies(&self, signature: &Signature) -> bool {
        is_system(signature) || self.recorder.is_some() || self.knows(signature)
    }
}

/// Returns true if the tool is built in and answers its calls itself.
pub(super) fn is_system(signature: &Signature) -> bool {
    *signature.namespace == *SYSTEM
}

fn is_uuid(signature: &Signature) -> bool {
    is_system(signature) && *signature.name == *UUID
}

/// Returns the id that a call of a step returns. Steps that start in another order have the same ids.
fn uuid(seed: u64, path: &str, occurrence: u32) -> String {
    let hash = blake3::hash(format!("{seed} {occurrence} {path}").as_bytes());
    let digits = hash.to_hex();
    let (first, second, third) = (&digits[..8], &digits[8..12], &digits[13..16]);
    let (fourth, last) = (&digits[17..20], &digits[20..32]);
    format!("{first}-{second}-4{third}-8{fourth}-{last}")
}

/// Returns true if a failed call may have had an effect: its answer was lost, or its answer violates the contract.
fn may_have_happened(error: &CallError) -> bool {
    error.sent == Sent::Maybe || error.class == ErrorClass::Validation(Validation::Result)
}

impl Response {
    /// Returns an answer without delay.
    #[must_use]
    pub fn now(outcome: CallOutcome) -> Self {
        Self::after(Duration::ZERO, outcome)
    }

    /// Returns an answer with a delay.
    #[must_use]
    pub fn after(delay: Duration, outcome: CallOutcome) -> Self {
        Self {
            reaction: Reaction::Answer(outcome),
            delay,
            fault: None,
        }
    }

    /// Returns a response to a call that nothing answers.
    #[must_use]
    pub fn never(signature: &Signature) -> Self {
        let timeout = ErrorClass::Transient(Transient::Timeout);
        Self::after(NEVER, Err(failure(timeout, None, signature)))
    }
}

/// Returns a failure of a class as a tool would report it: the outcome of a call that timed out is unknown, calls
/// with other transient errors were never sent, and for errors that the tool declares the contract states whether the
/// call happened.
#[must_use]
pub fn failure(class: ErrorClass, message: Option<String>, signature: &Signature) -> CallError {
    let message = message.unwrap_or_else(|| format!("the test specifies this failure: {class}"));
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

/// Returns what the contract of a tool states about a call that failed with this error.
fn sent_with(name: &Arc<str>, signature: &Signature) -> Sent {
    if signature.may_have_happened.contains(name) {
        Sent::Maybe
    } else if **name != *"failed" && signature.raises.contains(name) {
        Sent::Refused
    } else {
        Sent::Answered
    }
}
