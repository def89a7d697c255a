//! When a run needs no process: everything waits for people, or for a moment that is far away.

use std::cmp::Reverse;
use std::time::Duration;

use planrun_lang::types::{Budget, ErrorClass};

use super::machine::{Run, Timer};
use super::outcome::Interruption;
use crate::journal::{Bound, EventKind};

/// What comes sooner than this is waited for.
const NEAR: Duration = Duration::from_mins(1);

impl Run {
    /// Whether nothing goes on before somebody answers, or a signal comes; the clock of the deadline stands still then.
    pub(super) fn only_others_are_awaited(&self) -> bool {
        (self.people.holds_any() || self.peers.any_open() || self.waits_for_outside())
            && !self.people.awaits_moments()
            && self.nothing_is_queued()
            && self
                .leaves
                .iter()
                .all(|(at, leaf)| leaf.asks || self.people.holds(*at))
    }

    /// Why the process may let go of the run now, if it may.
    pub(super) fn rest(&self) -> Option<Interruption> {
        let idle = self.recording.is_durable()
            && !self.is_let_go()
            && !self.people.is_asking()
            && self.nothing_is_queued()
            && !self
                .leaves
                .values()
                .any(|leaf| leaf.has_slot() || leaf.keeps_the_process());
        if !idle {
            return None;
        }
        let only_others = self.only_others_are_awaited();
        let soon = self.now.after(NEAR);
        if let Some(Reverse((at, _, timer))) = self.timers.peek()
            && *at <= soon
            && self.still_counts(*timer, only_others)
        {
            return None;
        }
        let wake = self
            .timers
            .iter()
            .filter(|Reverse((_, _, timer))| self.still_counts(*timer, only_others));
        let wake = wake.map(|Reverse((at, ..))| *at).min();
        if wake.is_some_and(|at| at <= soon)
            || (wake.is_none() && !(only_others || self.people.holds_any()))
        {
            return None;
        }
        let now = self.now.monotonic;
        let left =
            |at: Duration| i128::try_from(at.saturating_sub(now).as_nanos()).unwrap_or(i128::MAX);
        let wake = wake.map(|at| self.now.wall.saturating_add(left(at)));
        Some(Interruption::Waiting {
            wake,
            events: self.conditions(),
        })
    }

    fn nothing_is_queued(&self) -> bool {
        self.queued.is_empty() && self.woken.is_empty() && self.held.is_empty()
    }

    /// Whether a timer is of something that still goes on.
    fn still_counts(&self, timer: Timer, only_others: bool) -> bool {
        match timer {
            Timer::Again(at, number) => self
                .leaves
                .get(&at)
                .is_some_and(|leaf| leaf.number == number),
            Timer::Hold(at, number) => self.people.counts(at, number),
            Timer::Within(at, number) => self.is_bounded(at, number),
            Timer::Deadline(_) => !only_others,
        }
    }

    /// Sets the deadline of a plan that begins, or that began in an earlier process: time in which the run neither went
    /// on nor waited for a moment does not count.
    pub(super) fn set_deadline(&mut self, deadline: Duration) {
        let since = Duration::from_micros(self.real_elapsed().saturating_sub(self.elapsed()));
        let counted = since.saturating_sub(self.recording.idle(self.now.wall));
        let number = self.number();
        let timer = Timer::Deadline(self.people.waited());
        self.timers.push(Reverse((
            self.now.after(deadline.saturating_sub(counted)),
            number,
            timer,
        )));
    }

    /// The deadline has come, unless people were waited for since it was set.
    pub(super) fn deadline_has_come(&mut self, known: Duration) {
        let waited = self.people.waited();
        let extra = waited.saturating_sub(known);
        if extra.is_zero() {
            return self.deadline_is_over();
        }
        let number = self.number();
        self.timers.push(Reverse((
            self.now.after(extra),
            number,
            Timer::Deadline(waited),
        )));
    }

    pub(super) fn deadline_is_over(&mut self) {
        self.emit(EventKind::TimerFired {
            path: "".into(),
            timer: Bound::Deadline,
        });
        self.fatal(
            ErrorClass::Budget(Budget::Time),
            "the deadline of the plan has passed",
        );
    }
}
