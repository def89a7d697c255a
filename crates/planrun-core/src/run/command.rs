//! The interface of the machine: the inputs that it takes and the commands that it gives.

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
use crate::journal::{AnswerError, Event, FormField, Given, Message, Question, Summary, Used};

/// One attempt at a call: tells it from every other attempt of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId {
    pub(super) at: NodeRef,
    pub(super) number: u64,
}

/// The number of a plan instance in a run: the plan itself is 0, each call of a plan opens another.
pub type ScopeId = usize;

/// An input of the machine.
#[derive(Debug)]
pub enum Input {
    /// Go on with what is ready.
    Continue,
    /// Every command was carried out and no other input is there: the run decides what it waits for.
    Idle,
    /// The moment of the last [`Command::Wait`] has come.
    Wake,
    /// The handle with which a later process can reattach to the attempt.
    CallHandle { call: CallId, handle: Json },
    /// What is called asks something in the middle of an attempt. It is answered with [`Command::Reply`], unless the
    /// attempt ends before; until then it asks nothing else.
    CallAsks {
        call: CallId,
        /// Text from outside.
        text: Arc<str>,
        form: Vec<FormField>,
        /// A map of what stands in the fields before anybody has answered.
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
    /// The result of [`Command::Ask`]: an answer, or none.
    Asked {
        asking: Asking,
        given: Option<Given>,
    },
    /// The permissions of a plan cannot be resolved on this machine.
    ScopeRefused { scope: ScopeId, message: String },
    /// This process is asked to stop.
    Stop,
}

/// A command to the driver. Commands are carried out in order; calls and questions report back with an [`Input`].
#[derive(Debug)]
pub enum Command {
    /// Record this event, and pass it to whoever follows the run.
    Append(Event),
    /// Record the state of the run together with the events before.
    Summarize(Summary),
    /// The message with this number is part of the recorded events.
    MessageTaken(u64),
    /// A plan instance starts: its permissions are those of its plan, within those of its caller.
    OpenScope {
        scope: ScopeId,
        outer: Option<ScopeId>,
        program: Arc<Program>,
    },
    /// Make this attempt. What must be durable before it is durable.
    Call(CallRequest),
    /// Look for an earlier result of this call, given at `not_before` or later (nanoseconds since 1970), and tell
    /// [`Input::Recalled`].
    Recall {
        call: CallId,
        of: CachedCall,
        not_before: i128,
    },
    /// Cache this result of a call, which came at `at` (nanoseconds since 1970).
    Remember {
        of: CachedCall,
        at: i128,
        value: Value,
    },
    /// Stop an attempt. Its end is not waited for, and is ignored.
    StopCall(CallId),
    /// Answer the question that a tool asked during an attempt.
    Reply { call: CallId, reply: PeerReply },
    /// Ask somebody this question.
    Ask(Asking),
    /// An answer is refused.
    Refuse(AnswerError),
    /// A coverage point was reached.
    Reached {
        program: Arc<Program>,
        block: BlockId,
        node: NodeId,
        what: Reached,
    },
    /// Nothing can go on before an input, or before this moment of the monotonic clock.
    Wait(Option<Duration>),
    /// The run has ended, or this process stops driving it: see [`super::Run::conclude`].
    End,
}

/// The answer to a question that a tool asked during a call.
#[derive(Clone, Debug, PartialEq)]
pub enum PeerReply {
    /// A map of the fields of its form.
    Given(Value),
    /// Somebody said no.
    Declined,
    /// Nobody was there to be asked.
    Unanswered,
}

impl From<Value> for PeerReply {
    /// Null is a no.
    fn from(answer: Value) -> Self {
        match answer {
            Value::Null => Self::Declined,
            given => Self::Given(given),
        }
    }
}

/// A call whose result may be used again. Beside this, where it is called and with which credentials decide it, which
/// only the driver knows.
#[derive(Clone, Debug)]
pub struct CachedCall {
    pub scope: ScopeId,
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
}

/// A result that was given before.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The run whose call gave it.
    pub run: Arc<str>,
    pub value: Value,
}

/// One attempt at a call.
#[derive(Clone, Debug)]
pub struct CallRequest {
    pub call: CallId,
    pub scope: ScopeId,
    /// The step that calls.
    pub path: Arc<str>,
    pub signature: Arc<Signature>,
    /// A map of argument names to values.
    pub arguments: Value,
    /// Equal for every attempt of one execution, and for no other.
    pub key: Arc<str>,
    /// What an earlier process was given for this attempt: it is taken up there, and nothing is sent.
    pub handle: Option<Json>,
    /// How long the attempt may take.
    pub timeout: Duration,
}

/// One question to somebody.
#[derive(Clone, Debug)]
pub struct Asking {
    /// The path under which it is answered.
    pub path: Arc<str>,
    pub question: Arc<Question>,
    /// Why the answer before this one was not taken.
    pub refused: Option<String>,
}
