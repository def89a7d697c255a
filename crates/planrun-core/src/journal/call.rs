//! A call that an earlier process recorded.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::event::Used;
use super::failure::StepError;
use super::question::{Answer, Question};

/// The latest recorded execution of a call.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    /// Name of the called tool.
    pub tool: Arc<str>,
    pub execution: u32,
    /// Number of times its step, or a step that holds it, had been retried when the call was made.
    pub generation: usize,
    /// Number of the event with which it began, and the wall-clock time of that, in nanoseconds since the Unix epoch.
    pub began: (u64, i128),
    /// Number of the attempt in the current series of retries, from 1.
    pub trial: u32,
    /// Total number of attempts, earlier executions included.
    pub attempts: u32,
    /// Usage reported by its answers, earlier executions included.
    pub used: Used,
    /// Why the call was made although another run had already made it.
    pub again: Option<Arc<str>>,
    /// The class with which its attempts were sent.
    pub effect: Effect,
    /// Idempotency key; empty for an execution without an attempt.
    pub key: Arc<str>,
    pub arguments: Value,
    pub phase: RecordedPhase,
    /// Wall-clock time at which the latest attempt was sent, in nanoseconds since the Unix epoch.
    pub sent_at: i128,
    /// Wall-clock time at which the first attempt of the execution that may have arrived was sent, in nanoseconds since
    /// the Unix epoch.
    pub arrived: Option<i128>,
    /// Whether any attempt may have taken effect.
    pub may_have_happened: bool,
    /// The handle with which a later process can reattach to the latest attempt.
    pub handle: Option<Json>,
    /// The error of the latest poll, if it got no answer.
    pub poll_error: Option<Arc<StepError>>,
    /// Whether a cached result was used, so that nothing was sent.
    pub cached: bool,
    /// Questions that the peer asked during the attempts, oldest first.
    pub asked: Vec<PeerQuestion>,
}

impl RecordedCall {
    /// Creates the record of a call whose result came from the cache.
    pub(super) fn cached(began: (u64, i128), attempts: u32, generation: usize) -> Self {
        Self {
            tool: "".into(),
            execution: 0,
            generation,
            began,
            trial: 0,
            attempts,
            used: Used::default(),
            again: None,
            effect: Effect::Pure,
            key: "".into(),
            arguments: Value::Null,
            phase: RecordedPhase::Answered,
            sent_at: began.1,
            arrived: None,
            may_have_happened: false,
            handle: None,
            poll_error: None,
            cached: true,
            asked: Vec::new(),
        }
    }
}

/// A question that a peer asked during a call.
#[derive(Clone, Debug)]
pub struct PeerQuestion {
    pub question: Arc<Question>,
    pub answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedPhase {
    /// The attempt was sent, or was about to be sent.
    InFlight,
    /// Between two attempts. The wait began at `since`, a wall-clock time in nanoseconds since the Unix epoch.
    Waiting { since: i128, wait: Duration },
    /// The call has an answer, which is among the external inputs.
    Answered,
    /// The call was ended by something else, such as a timeout.
    Ended,
    /// Its step was cancelled. If it has an effect, the attempt had not been sent.
    Cancelled,
}

impl RecordedPhase {
    pub(super) fn has_ended(self) -> bool {
        matches!(self, Self::Answered | Self::Ended | Self::Cancelled)
    }
}
