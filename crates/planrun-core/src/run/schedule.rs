//! The schedule: ready nodes, ended frames, and timers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallOutcome;

use super::command::{CallId, ScopeId};
use super::frame::{Frame, FrameId, Lifecycle, Microseconds, NodeRef};
use super::order::{Draw, Order};

/// Number of ready nodes that are taken before the run checks for external input.
const BATCH: usize = 256;

/// Maximum of that number in a run whose order is drawn.
const MAX_DRAWN_BATCH: usize = 8;

/// A running step with a `within`.
pub(super) struct Within {
    pub path: Arc<str>,
    /// Distinguishes its timer from those of earlier executions of the step.
    pub number: u64,
    /// Time at which `within` expires, since the run began.
    pub until: Microseconds,
}

/// The purpose of a timer. The number distinguishes the current timer from those of earlier phases.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// The wait before the next attempt or poll is over.
    NextAttempt(NodeRef, u64),
    /// `within` has expired.
    Within(NodeRef, u64),
    /// The deadline of a plan instance, with the time spent waiting for people that was included when it was set.
    Deadline(ScopeId, Duration),
    /// The question of a step expires, or its wait ends.
    Wait(NodeRef, u64),
}

impl Timer {
    /// Returns true if it bounds something that might still finish.
    fn is_bound(self) -> bool {
        match self {
            Self::Within(..) | Self::Deadline(..) => true,
            Self::NextAttempt(..) | Self::Wait(..) => false,
        }
    }
}

/// The work that can continue now or at a known time, in the order in which it is taken.
pub(super) struct Schedule {
    /// Nodes that may run or be skipped, in source order.
    pub ready: BinaryHeap<Reverse<NodeRef>>,
    /// Frames in which everything has settled.
    pub ended: Vec<FrameId>,
    timers: BinaryHeap<Reverse<(Duration, u64, Timer)>>,
    draw: Draw,
    numbers: u64,
    /// Running steps with a `within`.
    pub within: BTreeMap<NodeRef, Within>,
    /// Time in which everything waited for people, without the current such period.
    waited: Duration,
    /// Beginning of the current such period, on the monotonic clock.
    waits_since: Option<Duration>,
}

impl Schedule {
    pub(super) fn new(order: Order) -> Self {
        Self {
            ready: BinaryHeap::new(),
            ended: Vec::new(),
            timers: BinaryHeap::new(),
            draw: Draw::new(order),
            numbers: 0,
            within: BTreeMap::new(),
            waited: Duration::ZERO,
            waits_since: None,
        }
    }

    /// Returns true if a statement can continue.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.ended.is_empty()
    }

    /// Ends a frame in which everything has settled.
    pub(super) fn end(&mut self, id: FrameId, frame: &mut Frame) {
        if frame.lifecycle == Lifecycle::Running {
            frame.lifecycle = Lifecycle::Ended;
            self.ended.push(id);
        }
    }

    /// Returns a number that identifies a phase of a step.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Sets a timer. Timers for the same time fire in the order of their numbers.
    pub(super) fn set(&mut self, at: Duration, number: u64, timer: Timer) {
        self.timers.push(Reverse((at, number, timer)));
    }

    /// Removes the deadline of a plan instance, which has ended.
    pub(super) fn remove_deadline(&mut self, scope: ScopeId) {
        let is_own = |timer: Timer| matches!(timer, Timer::Deadline(of, _) if of == scope);
        self.timers.retain(|Reverse((_, _, timer))| !is_own(*timer));
    }

    /// Returns all timers with their times, in no particular order.
    pub(super) fn timers(&self) -> impl Iterator<Item = (Duration, Timer)> {
        self.timers
            .iter()
            .map(|Reverse((at, _, timer))| (*at, *timer))
    }

    /// Returns the next timer.
    pub(super) fn first_timer(&self) -> Option<(Duration, Timer)> {
        self.timers
            .peek()
            .map(|Reverse((at, _, timer))| (*at, *timer))
    }

    /// Returns the time of the first timer that is not one of a deadline.
    pub(super) fn first_but_deadlines(&self) -> Option<Duration> {
        let others = self
            .timers()
            .filter(|(_, timer)| !matches!(timer, Timer::Deadline(..)));
        others.map(|(at, _)| at).min()
    }

    /// Returns true if this is the current `within` timer of a step.
    pub(super) fn is_bounded(&self, at: NodeRef, number: u64) -> bool {
        let within = self.within.get(&at);
        within.is_some_and(|within| within.number == number)
    }

    /// Records whether everything waits for people from now on.
    pub(super) fn note_wait(&mut self, waits: bool, now: Duration) {
        if let Some(since) = self.waits_since.take() {
            self.waited += now.saturating_sub(since);
        }
        self.waits_since = waits.then_some(now);
    }

    /// Returns how long everything has waited for people.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    /// Returns the number of ready nodes to take before the run checks for external input.
    pub(super) fn batch_size(&mut self) -> usize {
        self.draw
            .one_of(MAX_DRAWN_BATCH)
            .map_or(BATCH, |drawn| drawn + 1)
    }

    /// Takes a ready node. If the order is drawn, the choice is among the nodes at the head of the set that are `free`
    /// to be taken in any order, or the first node if it is not free.
    pub(super) fn next_ready(&mut self, free: impl Fn(NodeRef) -> bool) -> Option<NodeRef> {
        if !self.draw.is_seeded() {
            return self.ready.pop().map(|Reverse(at)| at);
        }
        let mut ready = std::mem::take(&mut self.ready).into_vec();
        ready.sort_unstable_by_key(|Reverse(at)| *at);
        let head = ready.iter().take_while(|Reverse(at)| free(*at)).count();
        let drawn = self.draw.one_of(head.max(1).min(ready.len()));
        let at = drawn.map(|drawn| ready.swap_remove(drawn).0);
        self.ready = ready.into();
        at
    }

    /// Takes a timer that is due, with the time for which it was set.
    pub(super) fn next_due(&mut self, now: Duration) -> Option<(Duration, Timer)> {
        let is_due = |timer: &Reverse<(Duration, u64, Timer)>| timer.0.0 <= now;
        self.timers.peek().filter(|timer| is_due(timer))?;
        let Reverse(first) = self.timers.pop()?;
        let mut waits = vec![first];
        if self.draw.is_seeded() && !first.2.is_bound() {
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
        let (at, _, timer) = waits.swap_remove(drawn);
        self.timers.extend(waits.into_iter().map(Reverse));
        Some((at, timer))
    }

    /// Chooses one of several calls that may have a slot.
    pub(super) fn one_of(&mut self, mut able: impl Iterator<Item = NodeRef>) -> Option<NodeRef> {
        if !self.draw.is_seeded() {
            return able.next();
        }
        let able: Vec<NodeRef> = able.collect();
        self.draw.one_of(able.len()).map(|drawn| able[drawn])
    }

    /// Queues the answer of a call.
    pub(super) fn answer_arrived(&mut self, call: CallId, outcome: CallOutcome) {
        self.draw.arrived(call, outcome);
    }

    pub(super) fn has_answers(&self) -> bool {
        self.draw.has_answers()
    }

    /// Takes the next answer.
    pub(super) fn next_answer(&mut self) -> Option<(CallId, CallOutcome)> {
        self.draw.next_answer()
    }
}
