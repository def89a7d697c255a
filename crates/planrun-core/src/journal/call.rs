//! A call that an earlier process recorded.

use std::sync::Arc;
use std::time::Duration;

use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::event::Used;
use super::failure::StepError;
use super::question::{Answer, Question};

/// The latest execution of a call.
#[derive(Clone, Debug)]
pub struct RecordedCall {
    pub execution: u32,
    /// How often its step, or one that holds it, had been done again by then.
    pub generation: usize,
    /// Of the current series of retries, from 1.
    pub trial: u32,
    /// All that were made so far, those of earlier executions included.
    pub attempts: u32,
    /// What its answers reported, those of earlier executions included.
    pub used: Used,
    /// Why it was made although another run had made it.
    pub again: Option<Arc<str>>,
    /// Empty for an execution of which no attempt was made yet.
    pub key: Arc<str>,
    pub arguments: Value,
    pub phase: RecordedPhase,
    /// When the latest attempt was sent, in nanoseconds since 1970.
    pub sent_at: i128,
    /// When the first attempt of the execution was sent that may have arrived.
    pub arrived: Option<i128>,
    /// Whether any attempt may have happened.
    pub may_have_happened: bool,
    /// What its latest attempt can be taken up again with.
    pub handle: Option<Json>,
    /// Why the latest poll has told nothing.
    pub unheard: Option<Arc<StepError>>,
    /// Whether an earlier result has stood for it, and nothing was sent.
    pub cached: bool,
    /// What its peer has asked in the middle of its attempts, oldest first.
    pub asked: Vec<PeerQuestion>,
}

impl RecordedCall {
    /// A call for which a result stood that was given before.
    pub(super) fn cached(at: i128, attempts: u32, generation: usize) -> Self {
        Self {
            execution: 0,
            generation,
            trial: 0,
            attempts,
            used: Used::default(),
            again: None,
            key: "".into(),
            arguments: Value::Null,
            phase: RecordedPhase::Answered,
            sent_at: at,
            arrived: None,
            may_have_happened: false,
            handle: None,
            unheard: None,
            cached: true,
            asked: Vec::new(),
        }
    }
}

/// A question that was asked in the middle of a call.
#[derive(Clone, Debug)]
pub struct PeerQuestion {
    pub question: Arc<Question>,
    pub answer: Option<Answer>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedPhase {
    /// It had been sent, or was about to be.
    InFlight,
    /// Between two attempts, from this moment on (nanoseconds since 1970) for so long, whatever the clock is set to
    /// meanwhile.
    Waiting { since: i128, wait: Duration },
    /// Its answer is among the external inputs.
    Answered,
    /// It ended because of something else.
    Ended,
}

impl RecordedPhase {
    pub(super) fn has_ended(self) -> bool {
        matches!(self, Self::Answered | Self::Ended)
    }
}
