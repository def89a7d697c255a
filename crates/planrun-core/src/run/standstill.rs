//! Nothing can go on by itself: the run waits for somebody, or for what can never come.

use std::sync::Arc;

use planrun_lang::sema::expr::StateTest;
use planrun_lang::sema::{Event, EventKind, Plan, PlanTest, TaskTest};
use planrun_lang::types::ErrorClass;

use super::frame::{Ending, Life};
use super::leaf::Leaf;
use super::machine::{NodeRef, Run, Timer};
use super::outcome::Interruption;
use super::signal::comes_from_outside;
use crate::journal::StepError;

impl Run {
    /// Whether something happens by itself in time: a call answers, or a wait ends. The deadline of the run does not
    /// count, since its clock stops while everything waits for somebody.
    pub(super) fn moves_by_itself(&self) -> bool {
        if !self.leaves.is_empty() || self.people.holds_any() || self.reactions.waits.is_empty() {
            return true;
        }
        self.timers.iter().any(|timer| match timer.0.2 {
            Timer::Again(at, number) => self
                .leaves
                .get(&at)
                .is_some_and(|leaf: &Leaf| leaf.number == number),
            Timer::Hold(at, number) => self.people.counts(at, number),
            Timer::Within(at, number) => self.is_bounded(at, number),
            Timer::Deadline(_) => false,
        })
    }

    /// Nothing runs any more, and not everything has settled.
    pub(super) fn stuck(&mut self) {
        if self.reactions.waits.is_empty() {
            return self.faulty();
        }
        let outside = self.can_be_woken();
        if outside && self.recording.is_durable() {
            return self.let_go(Interruption::Waiting {
                wake: None,
                events: self.conditions(),
            });
        }
        let waiting = self.conditions();
        let message = if outside {
            format!(
                "only somebody outside could wake the run, and without a journal nobody reaches it: {waiting}"
            )
        } else {
            format!("nothing that the plan names can wake it: {waiting}")
        };
        // A failure that the rest went on from may be why nothing came.
        let cause = self.frames[0].first_failure.clone();
        self.stall(StepError {
            cause,
            ..StepError::new(ErrorClass::Cancelled, message, &"".into())
        });
    }

    /// A fault of the engine, told instead of hung.
    fn faulty(&mut self) {
        self.fatal(
            ErrorClass::Internal,
            "nothing can run any more, and not everything has settled",
        );
        if !self.has_work() {
            self.finish();
        }
    }

    fn stall(&mut self, error: StepError) {
        let root_has_ended =
            self.frames[0].ending.is_some() || self.frames[0].life != Life::Running;
        if !root_has_ended {
            self.reactions.stalled = Some(Arc::new(error));
            self.end_frame(0, &Ending::Cancelled);
        }
        self.cancel_firings();
        if !self.has_work() {
            self.faulty();
        }
    }

    /// Whether a signal or a move of a task from outside is among what anything still listens to.
    fn can_be_woken(&self) -> bool {
        let waits = self.reactions.waits.iter();
        let listeners = self
            .reactions
            .listeners
            .iter()
            .filter(|(_, hearing)| hearing.may_fire())
            .map(|(at, _)| at);
        waits.chain(listeners).any(|at| {
            let program = self.program(at.0);
            let plan = &program.plan;
            let on = self.node(&program, *at).event();
            on.is_some_and(|on| {
                comes_from_outside(on, |task| at_root(self, *at) && plan.task(task).external)
            })
        })
    }

    /// Whether a step waits for something that only somebody outside can bring.
    pub(super) fn waits_for_outside(&self) -> bool {
        !self.reactions.waits.is_empty() && self.can_be_woken()
    }

    /// Who waits for what, for people.
    pub(super) fn conditions(&self) -> String {
        let told = self.reactions.waits.iter().filter_map(|at| {
            let program = self.program(at.0);
            let on = self.node(&program, *at).event()?;
            Some(format!(
                "`{}` waits for `{}`",
                self.own_path(*at),
                describe(on, &program.plan, false)
            ))
        });
        told.collect::<Vec<_>>().join("; ")
    }
}

/// Tasks of called plans are private: nobody outside can move them.
fn at_root(run: &Run, at: NodeRef) -> bool {
    run.frames[at.0].scope == 0
}

/// A condition as its author wrote it.
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
