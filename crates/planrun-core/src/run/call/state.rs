//! A call that has begun: its execution, and how far it has come.

use std::sync::Arc;

use planrun_lang::types::Effect;
use planrun_lang::value::Value;
use serde_json::Value as Json;

use crate::journal::StepError;

/// A call that has begun and not settled.
#[derive(Debug)]
pub(in crate::run) struct CallState {
    /// Tells answers and timers of this phase from those of earlier ones.
    pub number: u64,
    pub phase: Phase,
    pub effect: Effect,
    pub arguments: Value,
    /// What every attempt of the execution carries.
    pub key: Arc<str>,
    /// The execution that its attempts belong to.
    pub execution: u32,
    /// When the first attempt of the execution that may have arrived was sent, in nanoseconds since 1970.
    pub arrived: Option<i128>,
    /// When the latest attempt was sent; of one that changes nothing nobody asks.
    pub sent_at: i128,
    /// What the attempt in flight can be taken up again with by a later process.
    pub handle: Option<Json>,
    /// Whether its peer has asked something and waits for the reply; it holds no slot then.
    pub asks: bool,
    /// Whether its peer has asked anything.
    pub talks: bool,
    /// Whether the attempt in flight has told what it has cost, so that its answer need not.
    pub has_reported_usage: bool,
    /// Why the latest poll has told nothing.
    pub unheard: Option<Arc<StepError>>,
    /// Of the current series of retries; a poll begins a new one.
    pub attempt: u32,
    /// How often it was sent again because it had not happened.
    pub sends: u32,
}

/// How far a call has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::run) enum Phase {
    /// It has a slot, and goes out as soon as the event with this number is on disk.
    Held(u64),
    InFlight,
    /// It has a slot, and asks for an earlier result as soon as the run has caught up: one at most so old, in nanoseconds.
    ToRecall(i128),
    /// Whether there is an earlier result is being looked up.
    Recalling,
    /// Between attempts or polls; holds no slot.
    Waiting,
    /// An earlier process of the run has got its answer, and it will be given at its place.
    Answered,
    /// An earlier process of the run had sent it, and died before an answer came.
    Lost,
    /// An earlier process of the run had sent it, and ended it because of something else.
    CutOff,
}

impl CallState {
    /// A call that is about to make its first attempt.
    pub(in crate::run) fn new(
        effect: Effect,
        arguments: Value,
        execution: u32,
        key: Arc<str>,
    ) -> Self {
        Self {
            number: 0,
            phase: Phase::InFlight,
            effect,
            arguments,
            key,
            execution,
            arrived: None,
            sent_at: 0,
            handle: None,
            asks: false,
            talks: false,
            has_reported_usage: false,
            unheard: None,
            attempt: 0,
            sends: 0,
        }
    }

    /// Whether an attempt is under way.
    pub(in crate::run) fn in_flight(&self) -> bool {
        match self.phase {
            Phase::InFlight | Phase::Answered | Phase::Lost | Phase::CutOff => true,
            Phase::Held(_) | Phase::ToRecall(_) | Phase::Recalling | Phase::Waiting => false,
        }
    }

    /// Whether it was told of and has not gone out.
    pub(in crate::run) fn is_held(&self) -> bool {
        matches!(self.phase, Phase::Held(_))
    }

    /// Whether it holds a slot.
    pub(in crate::run) fn has_slot(&self) -> bool {
        self.phase != Phase::Waiting && !self.asks
    }

    /// Whether the process must not end before its answer is there, since the next one may neither make it again nor take
    /// it up.
    pub(in crate::run) fn keeps_the_process(&self) -> bool {
        self.in_flight() && !self.effect.repeatable() && self.handle.is_none()
    }

    /// Whether the attempt is stopped when the process lets go of the run: the next one makes it again. One with a handle
    /// goes on at its peer, and is taken up there.
    pub(in crate::run) fn stops_with_its_process(&self) -> bool {
        self.phase == Phase::InFlight && self.effect.repeatable() && self.handle.is_none()
    }

    /// Whether cancelling it would leave open if it happened, so that it could land after what undoes it.
    pub(in crate::run) fn must_be_awaited(&self) -> bool {
        self.in_flight() && self.phase != Phase::CutOff && !self.effect.is_read_only()
    }

    /// Whether cancelling it leaves open if it happened.
    pub(in crate::run) fn may_land(&self) -> bool {
        self.in_flight() && !self.effect.is_read_only()
    }

    /// Nothing of the execution has happened, so nobody knows its key.
    pub(in crate::run) fn forget_attempts(&mut self) {
        self.arrived = None;
    }

    /// Goes on as another execution.
    pub(in crate::run) fn begins(&mut self, execution: u32, key: Arc<str>) {
        self.forget_attempts();
        (self.execution, self.key) = (execution, key);
    }

    /// Goes on with the first attempt of a poll, after one that has told nothing for this reason.
    pub(in crate::run) fn polls(&mut self, unheard: Option<Arc<StepError>>) {
        (self.attempt, self.unheard) = (0, unheard);
    }
}
