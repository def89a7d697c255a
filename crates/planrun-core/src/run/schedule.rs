//! What can go on next: ready nodes, settled frames, and timers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::CallOutcome;

use super::command::CallId;
use super::frame::{Frame, FrameId, Life, Microseconds, NodeRef};
use super::order::{Draw, Order};

/// How many ready nodes are taken before inputs are looked at.
const BATCH: usize = 256;

/// Beyond so many ready nodes in a row a run whose order is drawn looks for external input.
const MAX_IN_A_ROW: usize = 8;

/// A step whose time is bounded, while it goes on.
pub(super) struct Within {
    pub path: Arc<str>,
    /// Tells its timer from those of earlier times at which the step was done.
    pub number: u64,
    /// When its time is over, since the run began.
    pub until: Microseconds,
}

/// What a timer is for. The number tells a timer of an earlier phase from one that counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Timer {
    /// The wait before the next attempt or poll is over.
    NextAttempt(NodeRef, u64),
    /// `within` is over.
    Within(NodeRef, u64),
    /// The deadline of a plan, which knows of so much time that everything waited for people.
    Deadline(Duration),
    /// What a step waits for has not come in time, or is the time itself.
    Hold(NodeRef, u64),
}

impl Timer {
    /// Whether it ends what others may still finish.
    fn is_bound(self) -> bool {
        match self {
            Self::Within(..) | Self::Deadline(_) => true,
            Self::NextAttempt(..) | Self::Hold(..) => false,
        }
    }
}

/// What can go on now or at a known moment, and the order in which it is taken.
pub(super) struct Schedule {
    /// Nodes that may run, or be skipped, in source order.
    pub ready: BinaryHeap<Reverse<NodeRef>>,
    /// Frames in which everything has settled.
    pub ended: Vec<FrameId>,
    timers: BinaryHeap<Reverse<(Duration, u64, Timer)>>,
    draw: Draw,
    numbers: u64,
    /// Steps whose time is bounded.
    pub within: BTreeMap<NodeRef, Within>,
    /// How long everything has waited for people, until the last time.
    waited: Duration,
    /// Since when everything waits for people, on the monotonic clock.
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

    /// Whether a statement can go on.
    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty() || !self.ended.is_empty()
    }

    /// Everything in a frame has settled.
    pub(super) fn end(&mut self, id: FrameId, frame: &mut Frame) {
        if frame.life == Life::Running {
            frame.life = Life::Ended;
            self.ended.push(id);
        }
    }

    /// A number that no other phase of a step has.
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Sets a timer; those of one moment are taken in the order of their numbers.
    pub(super) fn set(&mut self, at: Duration, number: u64, timer: Timer) {
        self.timers.push(Reverse((at, number, timer)));
    }

    /// All timers with their moments, in no order.
    pub(super) fn timers(&self) -> impl Iterator<Item = (Duration, Timer)> {
        self.timers
            .iter()
            .map(|Reverse((at, _, timer))| (*at, *timer))
    }

    /// The next timer.
    pub(super) fn first_timer(&self) -> Option<(Duration, Timer)> {
        self.timers
            .peek()
            .map(|Reverse((at, _, timer))| (*at, *timer))
    }

    /// Whether a timer is the one that bounds a step now.
    pub(super) fn is_bounded(&self, at: NodeRef, number: u64) -> bool {
        let within = self.within.get(&at);
        within.is_some_and(|within| within.number == number)
    }

    /// From now on everything waits for people, or not any more.
    pub(super) fn note_wait(&mut self, waits: bool, now: Duration) {
        if let Some(since) = self.waits_since.take() {
            self.waited += now.saturating_sub(since);
        }
        self.waits_since = waits.then_some(now);
    }

    /// How long everything has waited for people.
    pub(super) fn waited(&self) -> Duration {
        self.waited
    }

    /// How many ready nodes are taken before the run looks for external input.
    pub(super) fn in_a_row(&mut self) -> usize {
        self.draw
            .one_of(MAX_IN_A_ROW)
            .map_or(BATCH, |drawn| drawn + 1)
    }

    /// Takes a node of the ready set. Where the order is drawn, only of those at its head that are `free` to be taken in
    /// any, and of these the first if it is not.
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

    /// Takes a timer that is due.
    pub(super) fn next_due(&mut self, now: Duration) -> Option<Timer> {
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
        let (.., timer) = waits.swap_remove(drawn);
        self.timers.extend(waits.into_iter().map(Reverse));
        Some(timer)
    }

    /// One of several calls that may have a slot.
    pub(super) fn one_of(&mut self, mut able: impl Iterator<Item = NodeRef>) -> Option<NodeRef> {
        if !self.draw.is_seeded() {
            return able.next();
        }
        let able: Vec<NodeRef> = able.collect();
        self.draw.one_of(able.len()).map(|drawn| able[drawn])
    }

    /// A call has ended.
    pub(super) fn answer_arrived(&mut self, call: CallId, outcome: CallOutcome) {
        self.draw.arrived(call, outcome);
    }

    pub(super) fn has_answers(&self) -> bool {
        self.draw.has_answers()
    }

    /// Takes the end of a call that is there.
    pub(super) fn next_answer(&mut self) -> Option<(CallId, CallOutcome)> {
        self.draw.next_answer()
    }
}
