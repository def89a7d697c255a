//! The order in which a run takes what may come in any order: ready steps, due timers, answers, free slots.
//!
//! Tests draw the order from a seed, to check that no guarantee of the language depends on it. Only choices are drawn
//! that the language leaves open, or that depend on the outside world:
//!
//! - which of the ready nodes is taken next, and after how many of them the run checks for external input;
//! - which of several answers that have arrived is received first;
//! - which of several expired waits continues first;
//! - which of the calls that wait for a slot gets the free one.
//!
//! Never drawn, because programs rely on it:
//!
//! - A node that waits for something is not ready, so the edges of the graph hold by themselves: data, `after`, effects
//!   on the same state, decisions, the two `set`s of one task.
//! - The order in which an event notifies: listeners, then steps that wait for it, both in source order.
//! - In a run with a journal, and in a plan with listeners or steps that wait for events, each external input is taken
//!   after everything that followed from the previous one. There a listener must also have begun to listen before the
//!   `set` below it, although nothing else orders the two, so that of the ready nodes only calls are drawn, and none
//!   before a ready node above it that is not a call.
//! - Bounds. The end of `within` and the deadline keep their place in time, so that a bound that expires together with
//!   what it bounds has the same result each time.
//! - An answer that has arrived precedes a wait that has expired, and the end of a block is reported before anything
//!   else begins.
//! - Attempts that were held back for the journal are sent in the order in which they became ready.
//!
//! The order is not recorded: a resumed run replays the recorded events in source order.

use std::collections::VecDeque;

use fastrand::Rng;
use planrun_lang::call::CallOutcome;

use super::command::CallId;

/// How a run chooses among several possible next items.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Steps in source order, waits and answers in the order in which they arrive.
    #[default]
    Source,
    /// Drawn from this seed. The same seed and the same outside world result in the same run.
    Seeded(u64),
}

/// The random generator of a run, and the answers that it has not taken yet, in the order in which they arrived.
#[derive(Default)]
pub(super) struct Draw {
    rng: Option<Rng>,
    answers: VecDeque<(CallId, CallOutcome)>,
}

impl Draw {
    pub(super) fn new(order: Order) -> Self {
        let rng = match order {
            Order::Source => None,
            Order::Seeded(seed) => Some(Rng::with_seed(seed)),
        };
        Self {
            rng,
            answers: VecDeque::new(),
        }
    }

    /// Draws one of `count` items; `None` in source order, or if there is nothing to choose from.
    pub(super) fn one_of(&mut self, count: usize) -> Option<usize> {
        let rng = self.rng.as_mut().filter(|_| count > 0)?;
        Some(rng.usize(..count))
    }

    /// Returns true if the order is drawn.
    pub(super) fn is_seeded(&self) -> bool {
        self.rng.is_some()
    }

    /// Queues the answer of a call.
    pub(super) fn arrived(&mut self, call: CallId, outcome: CallOutcome) {
        self.answers.push_back((call, outcome));
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Takes the next answer.
    pub(super) fn next_answer(&mut self) -> Option<(CallId, CallOutcome)> {
        match self.one_of(self.answers.len()) {
            Some(drawn) => self.answers.remove(drawn),
            None => self.answers.pop_front(),
        }
    }
}
