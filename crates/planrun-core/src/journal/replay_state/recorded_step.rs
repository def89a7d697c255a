//! The recorded state of one step.

use std::collections::VecDeque;
use std::sync::Arc;

use planrun_lang::protocol::StepState;
use planrun_lang::value::Value;

use crate::journal::call::{RecordedCall, RecordedPhase};
use crate::journal::failure::StepError;
use crate::journal::question::{Answer, Question};

/// The recorded state of a step.
#[derive(Debug)]
pub struct RecordedStep {
    pub state: StepState,
    /// Number of the process in which it has begun, or was skipped, from 1; `None` if it was cancelled before.
    pub begun_in: Option<u32>,
    pub tool: Option<Arc<str>>,
    /// Wall-clock time at which it began, in nanoseconds since the Unix epoch, and its duration.
    pub begun_at: i128,
    pub duration_ms: u64,
    pub attempts: u32,
    pub recovered: bool,
    pub reason: Option<Arc<str>>,
    /// Number of the process in which it last settled, from 1.
    pub process: u32,
    ends: Ends,
    pub error: Option<Arc<StepError>>,
    pub output: Option<Value>,
    /// The latest execution of its call; `None` if there is none, or if it was moved to `earlier`.
    pub call: Option<Box<RecordedCall>>,
    /// Earlier executions, which ended before the call was made again, oldest first.
    pub earlier: VecDeque<Box<RecordedCall>>,
    /// The result that was copied from another run.
    pub copied: Option<Value>,
    /// How it went on without a call after it had last waited for a slot, for each generation.
    pub(super) without_call: Vec<WithoutCall>,
    /// Questions that people were asked about it, oldest first. A gate or a form that asks again replaces its earlier
    /// question.
    pub asked: Vec<RecordedQuestion>,
    /// The wall-clock time that it waits for, in nanoseconds since the Unix epoch.
    pub(super) until: Option<i128>,
    /// The times that it has waited for, each with its generation, oldest first.
    pub(super) waits: VecDeque<(usize, i128)>,
}

/// The ends of a step in the generation in which it last ended. There is more than one if it is the undo of several
/// executions.
#[derive(Clone, Copy, Default, Debug)]
struct Ends {
    generation: usize,
    /// Number of those that have not been replayed.
    left: u32,
    /// Number of those that the last process has recorded in which there was one.
    of_process: u32,
}

/// How a step went on although its call was never made: it asked, began to recover, or ended.
#[derive(Clone, Copy, Debug)]
pub struct WithoutCall {
    pub generation: usize,
    /// Number and wall-clock time of the first event of that; `None` if it was cancelled before.
    pub event: Option<(u64, i128)>,
    /// How it ended, if it did.
    pub end: Option<EndWithoutCall>,
}

/// How a step ended whose call was never made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndWithoutCall {
    /// It was cancelled before it could begin.
    Cancelled,
    /// Its approval had expired.
    ApprovalExpired,
    /// A budget was spent.
    BudgetSpent,
    /// It would have repeated an effect of another run.
    RepetitionRefused,
    Other,
}

impl RecordedStep {
    /// Returns true if its call has not ended, or if it waits for a time.
    pub(super) fn is_active(&self) -> bool {
        let calls = self.call.as_ref().is_some_and(|call| match call.phase {
            RecordedPhase::InFlight | RecordedPhase::Waiting { .. } => true,
            RecordedPhase::Answered | RecordedPhase::Ended | RecordedPhase::Cancelled => false,
        });
        !self.state.is_settled() && (calls || self.until.is_some())
    }

    /// Creates the state of a step whose first event is recorded at this time.
    pub(super) fn new(at: i128) -> Self {
        Self {
            state: StepState::Pending,
            begun_in: None,
            tool: None,
            begun_at: at,
            duration_ms: 0,
            attempts: 0,
            recovered: false,
            reason: None,
            process: 0,
            ends: Ends::default(),
            error: None,
            output: None,
            call: None,
            earlier: VecDeque::new(),
            copied: None,
            without_call: Vec::new(),
            asked: Vec::new(),
            until: None,
            waits: VecDeque::new(),
        }
    }

    /// Returns how the step went on without a call in a generation.
    #[must_use]
    pub fn without_call(&self, generation: usize) -> Option<WithoutCall> {
        let mut known = self.without_call.iter();
        known.find(|one| one.generation == generation).copied()
    }

    /// Records that the step goes on without a call, with the event of this number, and ends with that if `end` is set.
    pub(super) fn note_without_call(
        &mut self,
        generation: usize,
        event: (u64, i128),
        end: Option<EndWithoutCall>,
    ) {
        let mut known = self.without_call.iter_mut();
        match known.find(|one| one.generation == generation) {
            Some(known) => known.end = known.end.or(end),
            None => self.without_call.push(WithoutCall {
                generation,
                event: Some(event).filter(|_| end != Some(EndWithoutCall::Cancelled)),
                end,
            }),
        }
    }

    /// Records that the step ends in a process.
    pub(super) fn note_end(&mut self, process: u32, generation: usize) {
        if self.ends.generation != generation {
            self.ends = Ends {
                generation,
                ..Ends::default()
            };
        }
        if self.process != process {
            (self.process, self.ends.of_process) = (process, 0);
        }
        self.ends.left += 1;
        self.ends.of_process += 1;
    }

    /// Records that the next end of the step in a generation has been replayed, or is void.
    pub(super) fn note_replayed_end(&mut self, generation: usize) {
        let own = self.ends.generation == generation;
        self.ends.left = self.ends.left.saturating_sub(u32::from(own));
    }

    /// Records that the last end of the step is void.
    pub(super) fn void_end(&mut self) {
        self.ends.of_process = self.ends.of_process.saturating_sub(1);
    }

    /// Returns true if the end of the step that was replayed last was recorded before this process.
    #[must_use]
    pub fn had_ended_before(&self, process: u32) -> bool {
        self.process < process || self.ends.left >= self.ends.of_process
    }

    /// Takes the next recorded call of the step in this generation.
    pub fn next_call(&mut self, generation: usize) -> Option<Box<RecordedCall>> {
        while self
            .earlier
            .front()
            .is_some_and(|call| call.generation < generation)
        {
            self.earlier.pop_front();
        }
        match self.earlier.front() {
            Some(call) if call.generation > generation => None,
            Some(_) => self.earlier.pop_front(),
            None => self.call.take_if(|call| call.generation <= generation),
        }
    }

    /// Takes the time that the step has waited for in this generation.
    pub fn next_wait(&mut self, generation: usize) -> Option<i128> {
        let index = self.waits.iter().position(|(own, _)| *own == generation)?;
        self.waits.remove(index).map(|(_, until)| until)
    }

    /// Returns the call that [`Self::next_call`] would return.
    #[must_use]
    pub fn peek_call(&self, generation: usize) -> Option<&RecordedCall> {
        let mut earlier = self
            .earlier
            .iter()
            .filter(|call| call.generation >= generation);
        let next = match earlier.next() {
            Some(call) => Some(call).filter(|call| call.generation == generation),
            None => self
                .call
                .as_ref()
                .filter(|call| call.generation <= generation),
        };
        next.map(|call| &**call)
    }
}

/// A recorded question.
#[derive(Clone, Debug)]
pub struct RecordedQuestion {
    pub question: Arc<Question>,
    pub answer: Option<Answer>,
    /// Whether the step had already ended: the question asks for its value, which its `undo` needs.
    pub after_end: bool,
    /// Whether the step had made a call before, since it began or was last retried. A replay does not need the answer
    /// once an attempt was sent on it.
    pub further: bool,
    /// Number of times that the step, or a step that holds it, had been retried before. Each retry asks anew.
    pub generation: usize,
}
