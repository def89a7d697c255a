//! The order of calls and of undos, as the journal has it: a statement begins after those above it that it has to wait
//! for, and what was done last is undone first.

use std::collections::BTreeSet;

use planrun_core::run::Outcome;
use planrun_lang::protocol::RunState;
use planrun_lang::sema::{OrderClass, Plan, Step, StepKind, Target};
use serde_json::Value as Json;

use super::levels::{Level, levels};

/// What the journal has of a run so far.
#[derive(Default)]
pub struct Effects {
    /// The paths of steps that have settled.
    settled: BTreeSet<String>,
    /// The paths of steps that may have done nothing themselves: their results were copied from another run, or their
    /// outcomes were in doubt.
    doubtful: BTreeSet<String>,
    /// The paths of steps that have completed by themselves, in that order.
    done: Vec<String>,
    /// The paths of steps of which an undo has begun.
    undone: BTreeSet<String>,
    /// Whether the effects of the run are kept.
    keeps: bool,
    /// Why the plan begins nothing any more, if it does not.
    over: Option<&'static str>,
    /// Whether a process has driven the run only up to a step, and may have left out what is above it.
    pub had_target: bool,
    /// Number of statements that a call has waited for, and of steps that were undone before another one.
    pub awaited: u64,
    pub undone_before: u64,
}

impl Effects {
    /// Takes the next event of the journal. Returns an error if it breaks an order.
    pub fn take(&mut self, event: &Json, plan: &Plan) -> Result<(), String> {
        let path = event["path"].as_str().unwrap_or_default();
        match event["event"].as_str().unwrap_or_default() {
            "step.running" if event["key"].is_string() => {
                if let Some((step, _)) = path.split_once(".undo") {
                    return self.undo_begins(step, plan);
                }
                if !path.contains(".verify") {
                    return self.begins(path, plan);
                }
            }
            "step.copied" => {
                self.doubtful.insert(path.to_owned());
            }
            "step.waiting" if event["for"] == "outcome" || event["for"] == "answer" => {
                self.doubtful.insert(path.to_owned());
                self.done.retain(|done| done != path);
            }
            "step.settled" => {
                self.settled.insert(path.to_owned());
                let is_own = event["recovered"] != true && !self.doubtful.contains(path);
                if is_own && event["status"] == "completed" {
                    self.done.retain(|done| done != path);
                    self.done.push(path.to_owned());
                }
            }
            "step.retried" => {
                let is_inside = |other: &String| {
                    let rest = other.strip_prefix(path);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                self.settled.retain(|other| !is_inside(other));
                self.done.retain(|other| !is_inside(other));
            }
            "run.cancelling" => (self.keeps, self.over) = (true, Some("it was cancelled")),
            "timer.fired" if event["timer"] == "deadline" => {
                self.over = Some("its deadline has passed");
            }
            _ => {}
        }
        Ok(())
    }

    fn begins(&mut self, path: &str, plan: &Plan) -> Result<(), String> {
        let levels = levels(path, plan);
        // A listener may react to the end of the plan.
        let is_of_plan = levels.last().is_some_and(|level| level.path() == path);
        if let Some(over) = self.over.filter(|_| is_of_plan) {
            return Err(format!("`{path}` is called although {over}"));
        }
        for level in levels {
            let above = (0..level.index).filter(|above| level.waits_for(*above));
            for above in above {
                let awaited = Level {
                    index: above,
                    ..level
                }
                .path();
                if !self.had_target && !self.settled.contains(&awaited) {
                    return Err(format!("`{path}` is called before `{awaited}` has settled"));
                }
                self.awaited += 1;
            }
        }
        Ok(())
    }

    fn undo_begins(&mut self, step: &str, plan: &Plan) -> Result<(), String> {
        self.undone.insert(step.to_owned());
        let Some(place) = self.done.iter().position(|done| done == step) else {
            return Ok(());
        };
        let later = self.done[place + 1..].iter();
        for other in later.filter(|other| are_siblings(step, other) && has_undo(other, plan)) {
            if !self.settled.contains(&format!("{other}.undo")) {
                return Err(format!("`{step}` is undone before `{other}`"));
            }
            self.undone_before += 1;
        }
        Ok(())
    }

    /// Checks that nothing is left beside something that was undone; nor, if `undoes` is set, of a run that has failed.
    pub fn check_undone(&self, outcome: &Outcome, plan: &Plan, undoes: bool) -> Result<(), String> {
        if self.keeps || outcome.interruption.is_some() || outcome.state == RunState::Completed {
            return Ok(());
        }
        // After the reply, a firing or a check may still fail the run, and nothing is undone.
        let undoes = undoes && outcome.state == RunState::Failed && outcome.reply.is_none();
        for step in outcome.steps() {
            let is_undone = ["undone", "undo_failed"]
                .iter()
                .any(|attribute| step.attributes.contains(attribute));
            let is_left = !is_undone
                && self.done.iter().any(|done| **done == *step.path)
                && has_undo(&step.path, plan)
                && (undoes && !step.path.contains('.')
                    || self
                        .undone
                        .iter()
                        .any(|undone| are_siblings(undone, &step.path)));
            if is_left {
                return Err(format!(
                    "`{}` is not undone: {:?}",
                    step.path, step.attributes
                ));
            }
        }
        Ok(())
    }
}

impl Level<'_> {
    /// Returns true if the statement begins only after this statement above it has settled.
    fn waits_for(&self, above: usize) -> bool {
        let (own, earlier) = (self.node(), &self.block.nodes[above]);
        // What a patch inserts above a step that has begun is not awaited.
        let is_patched = earlier
            .name
            .as_deref()
            .is_some_and(|name| name.starts_with("patched"));
        if is_patched || earlier.step().is_none() || !own.after.is_empty() {
            return false;
        }
        let matters = match own.order() {
            OrderClass::Pure => false,
            OrderClass::Read => earlier.order() == OrderClass::Barrier,
            OrderClass::Clock | OrderClass::Barrier => earlier.order() != OrderClass::Pure,
        };
        matters && !self.is_beside(above)
    }

    /// Returns true if both are in the same `parallel`, and not in the same `if` of it.
    fn is_beside(&self, above: usize) -> bool {
        let number = |index: usize| u32::try_from(index).unwrap();
        let around = self.block.parallel_around(number(self.index));
        around.is_some_and(|parallel| {
            let together = |range: &std::ops::Range<u32>| {
                range.contains(&number(above)) && range.contains(&number(self.index))
            };
            together(&parallel.nodes) && !parallel.sequences.iter().any(together)
        })
    }
}

/// Returns true if a step is a call that changes something and has an `undo`. A step that holds others may have done
/// nothing.
fn has_undo(path: &str, plan: &Plan) -> bool {
    let levels = levels(path, plan);
    let Some(last) = levels.last() else {
        return false;
    };
    let step = last.node().step().filter(|_| last.path() == path);
    let changes = |step: &&Step| match &step.kind {
        StepKind::Call(call) => {
            matches!(call.target, Target::Tool(_)) && !call.effect.is_read_only()
        }
        _ => false,
    };
    step.filter(changes).and_then(Step::undo).is_some()
}

/// Returns true if both steps are in the same block.
fn are_siblings(one: &str, other: &str) -> bool {
    let outer = |path: &str| path.rfind('.').map(|dot| path[..dot].to_owned());
    one != other && outer(one) == outer(other)
}
