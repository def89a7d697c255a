//! Decides what happens when a run has nothing to do: keep waiting, suspend until a timer or an event, or ask a person.

use std::time::Duration;

use planrun_lang::sema::expr::StateTest;
use planrun_lang::sema::{Event, EventKind, Plan, PlanTest, TaskTest};

use super::context::Context;
use super::frame::{NodeRef, Role};
use super::interruption::{Awaited, Interruption};
use super::listener::Listeners;
use super::schedule::Timer;
use super::signal::awaited_from_outside;
use super::step::Steps;

/// A timer that fires sooner than this is waited for instead of suspending the run.
const NEAR: Duration = Duration::from_mins(1);

/// A run in which nothing can continue at present.
pub(super) struct Idle<'a> {
    pub ctx: &'a Context,
    pub steps: &'a Steps,
    pub listeners: &'a Listeners,
}

impl Idle<'_> {
    /// Returns true if the process may stop driving the run: it is suspended, and no attempt is in flight that the
    /// process has to wait for. A run that is only replayed may stop at once.
    pub(super) fn may_stop(&self) -> bool {
        let mut calls = self.steps.calls.open.iter();
        self.ctx.is_suspended()
            && (self.ctx.setup.replay_only || !calls.any(|(_, call)| call.requires_process()))
    }

    /// Returns true if nothing continues before a person answers or a signal arrives. Meanwhile the clock of the
    /// deadline is stopped.
    pub(super) fn only_others_are_awaited(&self) -> bool {
        (self.steps.people.any_waiting() || self.steps.peers.any_open() || self.waits_for_outside())
            && !self.steps.people.awaits_moments()
            && self.steps.calls.open.is_quiet()
            && self
                .steps
                .calls
                .open
                .iter()
                .all(|(at, call)| call.awaits_reply || self.steps.people.is_waiting(at))
    }

    /// Returns why the process may suspend the run now; `None` if it may not.
    pub(super) fn quiesce(&self) -> Option<Interruption> {
        let idle = self.ctx.outbox.recording.is_durable()
            && !self.ctx.is_suspended()
            && !self.steps.people.is_asking()
            && self.steps.calls.open.is_quiet()
            && !self
                .steps
                .calls
                .open
                .iter()
                .any(|(_, call)| call.has_slot() || call.requires_process());
        if !idle {
            return None;
        }
        let only_others = self.only_others_are_awaited();
        let soon = self.ctx.outbox.now.after(NEAR);
        if let Some((at, timer)) = self.ctx.schedule.first_timer()
            && at <= soon
            && self.still_counts(timer, only_others)
        {
            return None;
        }
        let counting = |(_, timer): &(Duration, Timer)| self.still_counts(*timer, only_others);
        let timers = self.ctx.schedule.timers().filter(counting);
        // The limit of an `undo` does not end it while it waits: it begins again with the next process.
        let (limits, timers): (Vec<_>, Vec<_>) =
            timers.partition(|(_, timer)| self.is_limit_of_undo(*timer));
        let limits = limits
            .into_iter()
            .filter(|_| !only_others && timers.is_empty());
        let wake = limits.chain(timers.iter().copied()).map(|(at, _)| at).min();
        if wake.is_some_and(|at| at <= soon)
            || (wake.is_none() && !(only_others || self.steps.people.any_waiting()))
        {
            return None;
        }
        Some(Interruption::Waiting {
            wake: wake.map(|at| self.wall_time(at)),
            events: self.conditions(),
            awaited: self.awaited(),
        })
    }

    /// Returns the time at which the next `wait` of the run is over. It comes whatever has stopped the process.
    pub(super) fn next_wait_over(&self) -> Option<i128> {
        let is_wait = |(_, timer): &(Duration, Timer)| {
            matches!(timer, Timer::Wait(..)) && self.still_counts(*timer, false)
        };
        let waits = self.ctx.schedule.timers().filter(is_wait);
        waits.map(|(at, _)| self.wall_time(at)).min()
    }

    /// Returns the wall-clock time of a moment that is still to come, in nanoseconds since the Unix epoch.
    fn wall_time(&self, at: Duration) -> i128 {
        let left = at.saturating_sub(self.ctx.outbox.now.monotonic);
        let left = i128::try_from(left.as_nanos()).unwrap_or(i128::MAX);
        self.ctx.outbox.now.wall.saturating_add(left)
    }

    /// Returns true if what a timer belongs to is still waiting.
    fn still_counts(&self, timer: Timer, only_others: bool) -> bool {
        match timer {
            Timer::NextAttempt(at, number) => self.is_between_attempts(at, number),
            Timer::Wait(at, number) => self.steps.people.counts(at, number),
            Timer::Within(at, number) => self.ctx.schedule.is_bounded(at, number),
            Timer::Deadline(..) => !only_others,
        }
    }

    fn is_limit_of_undo(&self, timer: Timer) -> bool {
        let Timer::Within(at, _) = timer else {
            return false;
        };
        let owner = self.ctx.tree[at.0].owner;
        owner.is_some_and(|owner| owner.role == Role::Undo)
    }

    /// Returns true if the run need not be woken by an event: a call is open, a step waits for a person or a time, a
    /// timer will fire, or no step waits for an event. The deadline of the run does not count, because its clock is
    /// stopped while everything waits for people.
    pub(super) fn moves_by_itself(&self) -> bool {
        if !self.steps.calls.open.is_empty()
            || self.steps.people.any_waiting()
            || self.steps.waits.is_empty()
        {
            return true;
        }
        let mut timers = self.ctx.schedule.timers();
        timers.any(|(_, timer)| self.still_counts(timer, true))
    }

    /// Returns true if something in the run still listens to, or waits for, a signal or a move of a task from outside.
    pub(super) fn can_be_woken(&self) -> bool {
        self.awaited_by_each().any(|awaited| !awaited.is_empty())
    }

    /// Returns the signals and the moves of tasks that the run listens to or waits for, each once.
    pub(super) fn awaited(&self) -> Vec<Awaited> {
        let mut all = Vec::new();
        for awaited in self.awaited_by_each().flatten() {
            if !all.contains(&awaited) {
                all.push(awaited);
            }
        }
        all
    }

    /// Returns what each wait, and each listener that may still fire, awaits from outside.
    fn awaited_by_each(&self) -> impl Iterator<Item = Vec<Awaited>> {
        let listening = self.listeners.listening();
        let listeners = listening.filter(|(_, listener)| listener.may_fire());
        let waits = self.steps.waits.waiting();
        let tree = &self.ctx.tree;
        waits.chain(listeners.map(|(at, _)| at)).map(|at| {
            let program = tree.program(at.0);
            // Tasks of called plans are private and cannot be moved from outside.
            let at_root = tree[at.0].scope == 0;
            let on = tree.node(&program, at).event();
            on.map_or_else(Vec::new, |on| {
                awaited_from_outside(on, &program.plan, at_root)
            })
        })
    }

    /// Returns true if a step waits for an event that can only come from outside.
    fn waits_for_outside(&self) -> bool {
        !self.steps.waits.is_empty() && self.can_be_woken()
    }

    /// Returns true if a call waits for the attempt with this number.
    fn is_between_attempts(&self, at: NodeRef, number: u64) -> bool {
        let call = self.steps.calls.open.get(at);
        call.is_some_and(|call| call.number == number)
    }

    /// Describes which steps wait for which events, for people.
    pub(super) fn conditions(&self) -> String {
        let tree = &self.ctx.tree;
        let descriptions = self.steps.waits.waiting().filter_map(|at| {
            let program = tree.program(at.0);
            let on = tree.node(&program, at).event()?;
            Some(format!(
                "`{}` waits for `{}`",
                tree.path(&program, at),
                describe(on, &program.plan, false)
            ))
        });
        descriptions.collect::<Vec<_>>().join("; ")
    }
}

/// Formats a condition as plans write it.
fn describe(on: &Event, plan: &Plan, inner: bool) -> String {
    let joined = |parts: &[Event], word: &str| {
        let text = parts
            .iter()
            .map(|part| describe(part, plan, true))
            .collect::<Vec<_>>()
            .join(word);
        if inner { format!("({text})") } else { text }
    };
    match &on.kind {
        EventKind::Step { name, test, .. } => match test {
            None => name.to_string(),
            Some(StateTest::State(state)) => format!("{name} is {state}"),
            Some(StateTest::Settled) => format!("{name} is settled"),
        },
        EventKind::Task { task, test } => {
            let task = plan.task(*task);
            match test {
                TaskTest::Any => task.name.to_string(),
                TaskTest::Settled => format!("{} is settled", task.name),
                TaskTest::Is(status) => format!("{} is {}", task.name, task.status_name(*status)),
            }
        }
        EventKind::Plan(test) => match PlanTest::WORDS.iter().find(|(_, known)| known == test) {
            Some((word, _)) => format!("plan is {word}"),
            None => "plan".to_owned(),
        },
        EventKind::Signal(name) => format!("signal \"{name}\""),
        EventKind::Not(operand) => format!("!({})", describe(operand, plan, false)),
        EventKind::All(parts) => joined(parts, " && "),
        EventKind::Any(parts) => joined(parts, " || "),
        EventKind::Damaged => String::new(),
    }
}
