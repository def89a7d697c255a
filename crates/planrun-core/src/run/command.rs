//! What goes into a run and what comes out of it: inputs and commands.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::sema::{BlockId, NodeId};
use planrun_lang::types::Signature;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::Program;
use super::machine::NodeRef;
use super::people::Asking;
use super::reached::Reached;
use crate::journal::{AnswerError, Event, FormField, Given, Message, Summary, Used};
use planrun_lang::call::CallOutcome;

/// One attempt at a call: tells it from every other attempt of the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId {
    pub(super) at: NodeRef,
    pub(super) number: u64,
}

/// The number of a plan instance in a run: the plan itself is 0, each call of a plan opens another.
pub type ScopeId = usize;

/// What has happened outside.
#[derive(Debug)]
pub enum Input {
    /// Nothing: go on with what is ready.
    Continue,
    /// Every command was carried out, and nothing else has happened. The run decides what it waits for.
    Idle,
    /// The moment of the last [`Command::Wait`] has come.
    Wake,
    /// An attempt can be taken up again with this by a later process.
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
    /// An attempt has cost so much since it last told.
    CallUsed { call: CallId, used: Used },
    /// An attempt has ended.
    CallEnded { call: CallId, outcome: CallOutcome },
    /// No event up to this number can be lost any more.
    Durable(u64),
    /// Why no event can be written any more.
    JournalBroken(String),
    /// Somebody has said something to the run.
    Message(Message),
    /// Somebody who was asked came back, with an answer or without.
    Asked {
        asking: Asking,
        given: Option<Given>,
    },
    /// What a plan may reach cannot be resolved here.
    ScopeRefused { scope: ScopeId, message: String },
    /// Somebody wants this process to end.
    Stop,
}

/// What a driver has to do. Commands are carried out in order; calls and questions report back with an [`Input`].
#[derive(Debug)]
pub enum Command {
    /// Write down this event, and show it to whoever follows the run.
    Append(Event),
    /// Note where the run stands, together with the events before.
    Summarize(Summary),
    /// A message has become part of the events so far.
    MessageTaken(u64),
    /// A plan instance begins: its tools reach what its plan allows, within what its caller may reach.
    OpenScope {
        scope: ScopeId,
        outer: Option<ScopeId>,
        program: Arc<Program>,
    },
    /// Make this attempt. Everything that must be durable before it is.
    Call(CallRequest),
    /// Stop an attempt. Its end is not waited for, and is ignored.
    StopCall(CallId),
    /// Tell the peer of an attempt what became of its question.
    Reply { call: CallId, reply: PeerReply },
    /// Turn to somebody with a question.
    Ask(Asking),
    /// Somebody's answer cannot be taken.
    Refuse(AnswerError),
    /// A statement has come to something that no event tells.
    Reached {
        program: Arc<Program>,
        block: BlockId,
        node: NodeId,
        what: Reached,
    },
    /// Nothing can go on before an input, or before this moment of the monotonic clock.
    Wait(Option<Duration>),
    /// The run is over, or this process lets go of it: see [`super::Run::conclude`].
    End,
}

/// What became of a question that was asked in the middle of a call.
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
