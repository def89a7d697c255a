//! The order in which a run takes what may come in any order: ready steps, due timers, answers, free slots.
//!
//! A test draws the order from a seed, to show that no promise of a plan depends on it. It draws only choices that the language
//! leaves open, or that belong to the outside world:
//!
//! - which of the ready nodes is taken next, and after how many of them the run looks for external input;
//! - which of several answers that are there is received first;
//! - which of several waits that are over goes on first;
//! - which of the calls that wait for a slot gets the one that is free.
//!
//! Never drawn, since somebody relies on it:
//!
//! - What waits for something is not ready, so the edges of the graph hold by themselves: data, `after`, effects on the same
//!   state, decisions, the two `set`s of one task.
//! - Whom an event reaches first: listeners, then steps that wait for it, both in source order; and that in a plan with
//!   listeners each external input is taken after all that followed from the one before. There a listener must also have
//!   begun to listen before the `set` below it, although nothing else orders the two, so that of its ready nodes only
//!   calls are drawn, and none before a ready node above it that is no call.
//! - Bounds. The end of `within` and the deadline keep their place in time, so that a bound which falls on the moment of
//!   what it bounds decides the same way each time.
//! - An answer that is there wins over a wait that is over, and the end of a block is told before anything else begins.
//! - What was held back for the journal goes out as it became ready.
//!
//! The order is not written down: a run that goes on after its process has ended replays its past in the source order.

use std::collections::VecDeque;

use fastrand::Rng;
use planrun_lang::call::CallOutcome;

use super::command::CallId;

/// How a run chooses where several things can be next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// Steps in the order of the source, waits and answers as they come.
    #[default]
    Source,
    /// Drawn from this seed: the same seed and the same world give the same run.
    Seeded(u64),
}

/// What a run draws from, and the ends of calls that it has not taken yet, in the order in which they came.
#[derive(Default)]
pub(super) struct Draw {
    chance: Option<Rng>,
    answers: VecDeque<(CallId, CallOutcome)>,
}

impl Draw {
    pub(super) fn new(order: Order) -> Self {
        let chance = match order {
            Order::Source => None,
            Order::Seeded(seed) => Some(Rng::with_seed(seed)),
        };
        Self {
            chance,
            answers: VecDeque::new(),
        }
    }

    /// One of so many; `None` in the source order, and where there is nothing to choose from.
    pub(super) fn one_of(&mut self, count: usize) -> Option<usize> {
        let chance = self.chance.as_mut().filter(|_| count > 0)?;
        Some(chance.usize(..count))
    }

    /// Whether the order is drawn.
    pub(super) fn is_seeded(&self) -> bool {
        self.chance.is_some()
    }

    /// A call has ended.
    pub(super) fn arrived(&mut self, call: CallId, outcome: CallOutcome) {
        self.answers.push_back((call, outcome));
    }

    pub(super) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Takes the end of a call that is there.
    pub(super) fn next_answer(&mut self) -> Option<(CallId, CallOutcome)> {
        let drawn = self.one_of(self.answers.len()).unwrap_or(0);
        self.answers.remove(drawn)
    }
}
