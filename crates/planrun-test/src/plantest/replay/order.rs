//! Finds the calls that a replay makes in another order than the recorded run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use planrun_lang::graph;
use planrun_lang::sema::test::{path_name, path_parts};
use planrun_lang::sema::{Step, StepKind};

use super::compare::{Comparison, Difference, Kind};
use crate::plantest::outcome::steps_named;
use planrun_core::run::Program;

impl Comparison<'_> {
    /// Returns a difference for each step whose calls come after those of another step, and came before them in the
    /// original run, if the plan orders them. Two reads have no order.
    pub fn moved(&self) -> BTreeMap<Arc<str>, Difference> {
        if !self.unanswered.is_empty() {
            return BTreeMap::new();
        }
        let original = &self.original.history.steps;
        let steps = self.replayed.history.steps.iter();
        let called = steps.filter_map(|(path, replayed)| {
            Some((path, original.get(path)?.called()?, replayed.called()?))
        });
        let mut called: Vec<_> = called.collect();
        called.sort_by_key(|(.., (begun, _))| *begun);
        let calls = self.replayed.played.calls.iter();
        let changes = calls.filter(|call| !call.effect.is_read_only());
        let changes: BTreeSet<&str> = changes.map(|call| &*call.path).collect();
        let mut effects = called.clone();
        effects.retain(|(path, ..)| changes.contains(&***path));
        let mut moved = BTreeMap::new();
        for pair in called.windows(2).chain(effects.windows(2)) {
            let [(first, first_then, first_now), (last, last_then, last_now)] = pair else {
                continue;
            };
            let has_order = [first, last].iter().any(|path| changes.contains(&****path));
            let are_swapped = first_now.1 < last_now.0 && last_then.1 < first_then.0;
            if !(has_order && are_swapped && self.waits_for(last, first)) || self.is_unsettled(last)
            {
                continue;
            }
            let message = format!(
                "`{last}` makes its calls after `{first}`, and made them before it in the original run"
            );
            let (before, after) = (format!("{last}, {first}"), format!("{first}, {last}"));
            let finding = self.finding(last, message).expected(before, after);
            let (kind, path) = (Kind::Order, (*last).clone());
            let found = Difference {
                kind,
                path: path.clone(),
                finding,
            };
            moved.insert(path, found);
        }
        moved
    }

    /// Returns true if one step waits for the other, where their paths part: in a block of the plan or of one that it
    /// calls, or between elements that run one after another.
    fn waits_for(&self, path: &str, other: &str) -> bool {
        let mut program = self.program;
        for (own, other) in path_parts(path).zip(path_parts(other)) {
            let name = path_name(own);
            if name != path_name(other) {
                return needs(program, name, path_name(other));
            }
            let mut steps = steps_named(&program.plan, name);
            if own != other {
                return steps.any(runs_in_turn);
            }
            let called = steps.find_map(|step| program.called_by(step));
            program = called.unwrap_or(program);
        }
        false
    }
}

/// Returns true if a step of a plan needs the other one.
fn needs(program: &Program, own: &str, other: &str) -> bool {
    let blocks = program.plan.blocks.iter().zip(&program.graph.blocks);
    blocks.into_iter().any(|(block, graph)| {
        let of = |name: &str| {
            let mut numbered = (0..).zip(&block.nodes);
            numbered.find(|(_, node)| node.name.as_deref() == Some(name))
        };
        let (Some((own, _)), Some((other, _))) = (of(own), of(other)) else {
            return false;
        };
        graph::needed(graph, block, own).contains(&other)
    })
}

/// Returns true if the elements or rounds of a step run one after another.
fn runs_in_turn(step: &Step) -> bool {
    match &step.kind {
        StepKind::Each(each) => each.in_turn && each.parallel.is_none(),
        StepKind::Repeat(_) => true,
        StepKind::Call(_)
        | StepKind::Do(_)
        | StepKind::Race(_)
        | StepKind::Match { .. }
        | StepKind::Input(_)
        | StepKind::Wait(_)
        | StepKind::Damaged => false,
    }
}
