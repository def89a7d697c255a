//! The order in which a run takes what it may take in any: ready steps, due waits, answers, free slots.
//!
//! No plan may hang on that order, and a seed tries it: whatever is drawn, what a plan promises must stay. Drawn are only
//! choices that the language leaves open, or that belong to the world:
//!
//! - which of the ready nodes is taken next, and after how many of them the run looks for news;
//! - which of several answers that are there is received first;
//! - which of several waits that are over goes on first;
//! - which of the calls that wait for a slot gets the one that is free.
//!
//! Never drawn, since somebody relies on it:
//!
//! - What waits for something is not ready, so the edges of the graph hold by themselves: data, `after`, effects on the same
//!   state, decisions, the two `set`s of one task.
//! - Whom an event reaches first: listeners, then steps that wait for it, both in source order; and that in a plan with
//!   listeners each piece of news is taken after all that followed from the one before. There a listener must also have
//!   begun to listen before the `set` below it, although nothing else orders the two, so that of its ready nodes only
//!   calls are drawn, and none before a ready node above it that is no call.
//! - Bounds. The end of `within` and the deadline keep their place in time, so that a bound which falls on the moment of
//!   what it bounds decides the same way each time.
//! - An answer that is there wins over a wait that is over, and the end of a block is told before anything else begins.
//! - What was held back for the journal goes out as it became ready.
//!
//! The order is not written down: a run that goes on after its process has ended lives through its past in the source order.

use std::cmp::Reverse;
use std::collections::VecDeque;

use std::time::Duration;

use fastrand::Rng;
use planrun_lang::call::CallOutcome;

use super::command::CallId;
use super::machine::{BATCH, NodeRef, Run, Timer};

/// Beyond so many ready nodes in a row a run whose order is drawn looks for news.
const MOST_IN_A_ROW: usize = 8;

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
    fn one_of(&mut self, count: usize) -> Option<usize> {
        let chance = self.chance.as_mut().filter(|_| count > 0)?;
        Some(chance.usize(..count))
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

impl Run {
    /// How many ready nodes are taken before the run looks for news.
    pub(super) fn in_a_row(&mut self) -> usize {
        self.draw
            .one_of(MOST_IN_A_ROW)
            .map_or(BATCH, |drawn| drawn + 1)
    }

    /// Takes a node of the ready set.
    pub(super) fn next_ready(&mut self) -> Option<NodeRef> {
        if self.draw.chance.is_none() {
            return self.ready.pop().map(|Reverse(at)| at);
        }
        let mut ready = std::mem::take(&mut self.ready).into_vec();
        ready.sort_unstable_by_key(|Reverse(at)| *at);
        let free = if self.reactions.in_order {
            ready
                .iter()
                .take_while(|Reverse(at)| self.is_call(&self.program(at.0), *at))
                .count()
                .max(1)
        } else {
            ready.len()
        };
        let drawn = self.draw.one_of(free.min(ready.len()));
        let at = drawn.map(|drawn| ready.swap_remove(drawn).0);
        self.ready = ready.into();
        at
    }

    /// Takes a timer that is due.
    pub(super) fn next_due(&mut self, now: Duration) -> Option<Timer> {
        let is_due = |timer: &Reverse<(Duration, u64, Timer)>| timer.0.0 <= now;
        self.timers.peek().filter(|timer| is_due(timer))?;
        let Reverse(first) = self.timers.pop()?;
        let mut waits = vec![first];
        if self.draw.chance.is_some() && !first.2.is_bound() {
            while let Some(Reverse(next)) = self
                .timers
                .peek()
                .filter(|timer| is_due(timer) && !timer.0.2.is_bound())
            {
                waits.push(*next);
                self.timers.pop();
            }
        }
        let drawn = self.draw.one_of(waits.len()).unwrap_or(0);
        let (.., timer) = waits.swap_remove(drawn);
        self.timers.extend(waits.into_iter().map(Reverse));
        Some(timer)
    }

    /// Which of the calls that wait for a slot gets one: of those that have one to take.
    pub(super) fn next_in_queue(&mut self) -> Option<NodeRef> {
        let mut able = self
            .queued
            .iter()
            .copied()
            .filter(|at| self.has_slot(self.frames[at.0].scope));
        if self.draw.chance.is_none() {
            return able.next();
        }
        let able: Vec<NodeRef> = able.collect();
        self.draw.one_of(able.len()).map(|drawn| able[drawn])
    }
}

impl Timer {
    /// Whether it ends what others may still finish.
    fn is_bound(self) -> bool {
        match self {
            Self::Within(..) | Self::Deadline(_) => true,
            Self::Again(..) | Self::Hold(..) => false,
        }
    }
}
