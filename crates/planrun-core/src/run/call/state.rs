//! The state of an open call: its execution and its phase.

use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use crate::journal::StepError;

/// A call that has begun and not settled.
#[derive(Debug)]
pub(in crate::run) struct CallState {
    /// Distinguishes answers and timers of this phase from those of earlier phases.
    pub number: u64,
    pub phase: Phase,
    /// Path of its step.
    pub path: Arc<str>,
    /// Name of its tool.
    pub tool: Arc<str>,
    pub effect: Effect,
    pub arguments: Value,
    /// Idempotency key, shared by every attempt of the execution.
    pub key: Arc<str>,
    /// Number of the execution that its attempts belong to.
    pub execution: u32,
    /// Wall-clock time at which the first attempt of the execution that may have arrived was sent, in nanoseconds since
    /// the Unix epoch.
    pub arrived: Option<i128>,
    /// Wall-clock time at which the latest attempt was sent; not set for calls without effects, which do not need it.
    pub sent_at: i128,
    /// The handle with which a later process can reattach to the attempt in flight.
    pub handle: Option<Json>,
    /// Whether its peer waits for the reply to a question; meanwhile the call holds no slot.
    pub awaits_reply: bool,
    /// Whether its peer has asked any question.
    pub has_peer_questions: bool,
    /// Whether the attempt in flight has reported usage, so that the usage in its answer is ignored.
    pub has_reported_usage: bool,
    /// The error of the latest poll, if it got no answer.
    pub poll_error: Option<Arc<StepError>>,
    /// Number of the attempt in the current series of retries; a poll begins a new series.
    pub attempt: u32,
    /// How often it was sent again after it was found not to have taken effect.
    pub sends: u32,
}

/// The phase of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::run) enum Phase {
    /// It holds a slot, and is sent when the event with this number is durable.
    Held(u64),
    InFlight,
    /// It holds a slot, and looks for a cached result when the replay has ended; the result may be at most this many
    /// nanoseconds old.
    ToRecall(i128),
    /// The cache is being searched.
    Recalling,
    /// Between attempts or polls; holds no slot.
    Waiting,
    /// An earlier process received its answer, which is replayed at its place.
    Answered,
    /// An earlier process had sent it, and died before an answer came.
    Lost,
    /// An earlier process had sent it, and ended it because of something else.
    CutOff,
    /// An earlier process had announced it, and cancelled its step without waiting for an answer.
    Cancelled,
}

impl CallState {
    /// Creates a call that is about to make its first attempt.
    pub(in crate::run) fn new(
        (path, tool): (Arc<str>, Arc<str>),
        effect: Effect,
        arguments: Value,
        execution: u32,
        key: Arc<str>,
    ) -> Self {
        Self {
            number: 0,
            phase: Phase::InFlight,
            path,
            tool,
            effect,
            arguments,
            key,
            execution,
            arrived: None,
            sent_at: 0,
            handle: None,
            awaits_reply: false,
            has_peer_questions: false,
            has_reported_usage: false,
            poll_error: None,
            attempt: 0,
            sends: 0,
        }
    }

    /// Returns true if an attempt is in flight, or was in flight when an earlier process recorded it.
    pub(in crate::run) fn in_flight(&self) -> bool {
        match self.phase {
            Phase::InFlight | Phase::Answered | Phase::Lost | Phase::CutOff => true,
            Phase::Held(_)
            | Phase::ToRecall(_)
            | Phase::Recalling
            | Phase::Waiting
            | Phase::Cancelled => false,
        }
    }

    /// Returns true if it looks for a cached result before its first attempt.
    pub(in crate::run) fn searches_cache(&self) -> bool {
        matches!(self.phase, Phase::ToRecall(_) | Phase::Recalling)
    }

    /// Returns true if its attempt was announced and has not been sent.
    pub(in crate::run) fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held(_))
    }

    /// Returns true if it holds a slot.
    pub(in crate::run) fn has_slot(&self) -> bool {
        self.phase != Phase::Waiting && !self.awaits_reply
    }

    /// Returns true if the process must wait for its answer, because the next process could neither repeat the call nor
    /// reattach to it.
    pub(in crate::run) fn requires_process(&self) -> bool {
        self.phase == Phase::InFlight && !self.effect.repeatable() && self.handle.is_none()
    }

    /// Returns true if the attempt is stopped when the run is suspended, because the next process repeats it. A call
    /// with a handle continues at its peer, and is reattached to.
    pub(in crate::run) fn stops_on_suspend(&self) -> bool {
        self.phase == Phase::InFlight && self.effect.repeatable() && self.handle.is_none()
    }

    /// Returns true if cancelling it would leave its outcome unknown, so that it could take effect after its undo.
    pub(in crate::run) fn must_be_awaited(&self) -> bool {
        self.in_flight() && !self.effect.is_read_only()
    }

    /// Returns true if cancelling it leaves its outcome unknown.
    pub(in crate::run) fn may_take_effect(&self) -> bool {
        self.in_flight() && !self.effect.is_read_only()
    }

    /// Forgets the attempts of the execution, none of which took effect, so that its key counts as never sent.
    pub(in crate::run) fn forget_attempts(&mut self) {
        self.arrived = None;
    }

    /// Begins another execution.
    pub(in crate::run) fn begin_execution(&mut self, execution: u32, key: Arc<str>) {
        self.forget_attempts();
        (self.execution, self.key) = (execution, key);
    }

    /// Begins a new series of attempts for the next poll; `poll_error` is the error of a poll without an answer.
    pub(in crate::run) fn begin_poll(&mut self, poll_error: Option<Arc<StepError>>) {
        (self.attempt, self.poll_error) = (0, poll_error);
    }
}
