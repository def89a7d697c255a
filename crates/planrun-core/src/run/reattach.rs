//! Calls that an earlier process of the run has begun: they go on where they were.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallError;
use planrun_lang::protocol::{Sent, StepState};
use planrun_lang::types::{Effect, ErrorClass, Transient};
use planrun_lang::value::Value;

use super::attempt::tool_call;
use super::copies::Again;
use super::leaf::{Leaf, Phase};
use super::machine::{NodeRef, Run, Timer};
use crate::journal::{PastCall, PastPhase, StepError, Waiting};

impl Run {
    /// A call that an earlier process of the run has begun: with its arguments and its key, where it was.
    pub(super) fn begin_again(
        &mut self,
        at: NodeRef,
        effect: Effect,
        path: Arc<str>,
        past: PastCall,
    ) {
        self.note_past(at, effect, &past);
        let phase = match past.phase {
            PastPhase::InFlight => Phase::Lost,
            PastPhase::Ended => Phase::CutOff,
            PastPhase::Waiting { .. } => Phase::Waiting,
            PastPhase::Answered => Phase::Answered,
        };
        let labels = self.in_arguments_of(at, &past.arguments);
        self.note_secrets(&past.arguments, &labels);
        let number = self.number();
        let key = if past.key.is_empty() {
            self.key(effect, &path, past.execution)
        } else {
            past.key
        };
        let leaf = Leaf {
            number,
            phase,
            arrived: past.arrived,
            sent_at: past.sent_at,
            handle: past.handle,
            unheard: past.unheard,
            attempt: past.trial,
            ..Leaf::new(effect, past.arguments, past.execution, key)
        };
        self.frames[at.0].node(at.1).state = StepState::Running;
        self.note_open(at, &leaf);
        self.leaves.insert(at, leaf);
        self.asked_before(at, past.asked);
        match past.phase {
            PastPhase::Answered => match self.recording.late_answer(&path) {
                Some(outcome) => self.answered_before(at, outcome),
                None => self.recording.expect(path, at),
            },
            PastPhase::InFlight | PastPhase::Ended => {}
            PastPhase::Waiting { since, wait } => {
                self.frames[at.0].node(at.1).state = StepState::Waiting;
                self.give_slot(self.frames[at.0].scope);
                if self
                    .recording
                    .has_asked(&path, Waiting::Confirm, past.execution)
                {
                    return self.ask_again(at);
                }
                let waited = u64::try_from(self.now.wall - since).unwrap_or(0);
                let left = wait.saturating_sub(Duration::from_nanos(waited));
                let again = Timer::Again(at, number);
                self.timers
                    .push(Reverse((self.now.after(left), number, again)));
            }
        }
    }

    /// What is known of the attempts that an earlier process made at a call.
    fn note_past(&mut self, at: NodeRef, effect: Effect, past: &PastCall) {
        let record = self.record(at.0, at.1);
        let made = past.attempts.saturating_sub(record.attempts);
        record.attempts = past.attempts;
        record.in_doubt |= past.may_have_happened && !effect.is_read_only();
        if past.again.is_some() {
            record.details_mut().again = Again::ALL
                .into_iter()
                .find(|again| past.again.as_deref() == Some(again.name()));
        }
        if !matches!(&past.arguments, Value::Map(map) if map.is_empty()) {
            record.details_mut().arguments = Some(past.arguments.clone());
        }
        self.spend(at.0, made, past.used);
    }

    /// Takes up the next call that an earlier process had sent and never got an answer to; false where none is left. All
    /// that follows from one comes before the next, as it does when the journal is replayed.
    pub(super) fn take_up_next_lost(&mut self) -> bool {
        let is_lost = |leaf: &Leaf| matches!(leaf.phase, Phase::Lost | Phase::CutOff);
        if self.lost.is_empty() {
            let lost = self.leaves.iter().filter(|(_, leaf)| is_lost(leaf));
            self.lost = lost.map(|(at, _)| *at).collect();
        }
        let Some(at) = self.lost.pop_front() else {
            return false;
        };
        if self.leaves.get(&at).is_some_and(is_lost)
            && let Some(leaf) = self.leaves.remove(&at)
        {
            self.take_up_lost(at, leaf);
        }
        true
    }

    /// A lost call with a handle goes on at its peer, what may be done twice is sent again, and of the rest nobody knows.
    fn take_up_lost(&mut self, at: NodeRef, mut leaf: Leaf) {
        let program = self.program(at.0);
        let Some((step, _, signature)) = tool_call(&program, self, at) else {
            return;
        };
        leaf.arrived = leaf.arrived.or(Some(leaf.sent_at));
        if leaf.phase == Phase::Lost && leaf.handle.is_some() {
            leaf.number = self.number();
            return self.dispatch(&program, at, step, &signature, leaf);
        }
        self.record(at.0, at.1).in_doubt |= !leaf.effect.is_read_only();
        let ending = self.frames[at.0].ending.is_some();
        let forgotten = self.key_is_forgotten(at, &signature, &leaf);
        if leaf.effect.repeatable() && !ending && forgotten.is_none() {
            // The attempt that was lost is the one that is made again.
            leaf.attempt = leaf.attempt.saturating_sub(1);
            return self.attempt(&program, at, step, &signature, leaf);
        }
        let error = forgotten.unwrap_or_else(|| self.lost_with_its_process(at, leaf.effect));
        self.give_slot(self.frames[at.0].scope);
        if error.class == ErrorClass::UnknownOutcome {
            self.doubt(at, leaf, Arc::new(error), true);
        } else {
            self.step_failed(at, Arc::new(error));
        }
    }

    fn lost_with_its_process(&mut self, at: NodeRef, effect: Effect) -> StepError {
        let message = "the process that had sent it ended before an answer came".to_owned();
        let class = ErrorClass::Transient(Transient::Network);
        let lost = CallError {
            class,
            message,
            sent: Sent::Maybe,
            retry_after: None,
        };
        let attempts = self.record(at.0, at.1).attempts;
        StepError::attempt(lost, effect, &self.own_path(at), attempts)
    }
}
