//! The interface of the machine: its inputs and its commands.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallOutcome;
use planrun_lang::sema::{BlockId, NodeId};
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::frame::NodeRef;
use super::program::Program;
use super::reached::Reached;
use crate::journal::{
    AnswerError, Event, FormField, Message, Question, SubmittedAnswer, Summary, Used,
};

/// Identifies one attempt at a call among all attempts of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId {
    pub(super) at: NodeRef,
    pub(super) number: u64,
}

/// Number of a plan instance in a run: the run's own plan is 0, and each call of a plan opens another.
pub type ScopeId = usize;

/// An input of the machine.
#[derive(Debug)]
pub enum Input {
    /// Continue with what is ready.
    Continue,
    /// Every command has been carried out and there is no other input, so the run decides what it waits for.
    Idle,
    /// The time of the last [`Command::Wait`] has come.
    Wake,
    /// The handle with which a later process can reattach to the attempt.
    CallHandle { call: CallId, handle: Json },
    /// The peer asks a question during an attempt. It is answered with [`Command::Reply`], unless the attempt ends
    /// before; until then the peer asks nothing else.
    CallAsks {
        call: CallId,
        /// Text from outside.
        text: Arc<str>,
        form: Vec<FormField>,
        /// A map of prefilled values by field.
        prefilled: Value,
    },
    /// The answer to [`Command::Recall`].
    Recalled {
        call: CallId,
        found: Option<Recalled>,
    },
    /// Usage of an attempt since it was last reported.
    CallUsed { call: CallId, used: Used },
    /// An attempt has ended.
    CallEnded { call: CallId, outcome: CallOutcome },
    /// Every event up to this number is durable.
    Durable(u64),
    /// Events can no longer be recorded, for this reason.
    JournalBroken(String),
    /// A message from outside, such as a signal or a cancellation.
    Message(Message),
    /// The result of [`Command::Ask`]; `None` if there is no answer.
    Asked {
        asking: Asking,
        given: Option<SubmittedAnswer>,
    },
    /// The process is asked to stop.
    Stop,
}

/// A command to the driver. Commands are carried out in order; calls and questions report back with an [`Input`].
#[derive(Debug)]
pub enum Command {
    /// Record this event, and pass it to the observers of the run.
    Append(Event),
    /// Record the state of the run, together with the events before.
    Summarize(Summary),
    /// The message with this number is now part of the recorded events.
    MessageTaken(u64),
    /// A plan instance starts. It has the permissions of its plan, within those of its caller.
    OpenScope {
        scope: ScopeId,
        outer: Option<ScopeId>,
        program: Arc<Program>,
    },
    /// Make this attempt. Everything that must be durable before it is durable.
    Call(CallRequest),
    /// Look for a cached result of this call, from `not_before` or later (nanoseconds since the Unix epoch), and report
    /// it with [`Input::Recalled`].
    Recall {
        call: CallId,
        of: CachedCall,
        not_before: i128,
    },
    /// Cache this result of a call, received at `at` (nanoseconds since the Unix epoch).
    Remember {
        of: CachedCall,
        at: i128,
        value: Value,
    },
    /// Stop an attempt. Nothing waits for its end, which is ignored.
    StopCall(CallId),
    /// Answer the question that a peer asked during an attempt.
    Reply { call: CallId, reply: PeerReply },
    /// Ask a person this question.
    Ask(Asking),
    /// Stop asking the question with this path: it is closed. No [`Input::Asked`] follows.
    StopAsking(Arc<str>),
    /// An answer is refused, for this reason.
    Refuse(AnswerError),
    /// A coverage point was reached.
    Reached {
        program: Arc<Program>,
        block: BlockId,
        node: NodeId,
        what: Reached,
    },
    /// Nothing can continue before an input, or before this time of the monotonic clock.
    Wait(Option<Duration>),
    /// The run has ended, or this process stops driving it; call [`super::Run::conclude`].
    End,
}

/// The reply to a question that a peer asked during a call.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerReply {
    /// A map of the fields of its form.
    Given(Value),
    /// A person declined.
    Declined,
    /// There was nobody to ask.
    Unanswered,
}

impl From<Value> for PeerReply {
    /// Null declines.
    fn from(answer: Value) -> Self {
        match answer {
            Value::Null => Self::Declined,
            given => Self::Given(given),
        }
    }
}

/// A call whose result may be cached. The cache key also includes the address and the credentials, which only the
/// driver knows.
#[derive(Clone, Debug)]
pub struct CachedCall {
    pub scope: ScopeId,
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
}

/// A cached result.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The run that made the call.
    pub run: Arc<str>,
    pub value: Value,
}

/// One attempt at a call.
#[derive(Clone, Debug)]
pub struct CallRequest {
    pub call: CallId,
    pub scope: ScopeId,
    /// Path of the step that makes the call.
    pub path: Arc<str>,
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
    /// Idempotency key: the same for every attempt of one execution, and different from all others.
    pub key: Arc<str>,
    /// The handle that an earlier process received for this attempt: the transport reattaches to it and sends nothing.
    pub handle: Option<Json>,
    /// Timeout of the attempt.
    pub timeout: Duration,
}

/// A question to a person.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The path under which the question is answered.
    pub path: Arc<str>,
    pub question: Arc<Question>,
    /// Why the previous answer was refused, without secrets.
    pub refused: Option<String>,
    /// Number of answers that were refused.
    pub refusals: u32,
}
