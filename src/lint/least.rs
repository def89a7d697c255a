//! The least that a plan does on every way through it: what no luck with data or answers can undercut.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sema::{BlockId, NodeKind, Plan, Step, StepKind, Target};

/// Counts that were made, by plan: plans that call each other share most of theirs.
#[derive(Default)]
pub(super) struct Least {
    calls: HashMap<*const Plan, u64>,
}

impl Least {
    /// How many calls of tools every run of a plan makes that ends well.
    pub(super) fn calls(&mut self, plan: &Plan) -> u64 {
        self.block_calls(plan, BlockId(0))
    }

    fn called(&mut self, plan: &Arc<Plan>) -> u64 {
        if let Some(known) = self.calls.get(&Arc::as_ptr(plan)) {
            return *known;
        }
        let calls = self.calls(plan);
        self.calls.insert(Arc::as_ptr(plan), calls);
        calls
    }

    /// How many calls every pass through a block makes.
    pub(super) fn block_calls(&mut self, plan: &Plan, block: BlockId) -> u64 {
        let mut calls = 0_u64;
        for node in &plan.block(block).nodes {
            match &node.kind {
                // An early end: what stands below may never run.
                NodeKind::Reply(_) | NodeKind::Yield(_) if !node.guard.is_empty() => return calls,
                NodeKind::Step(step) if node.guard.is_empty() => {
                    calls = calls.saturating_add(self.step_calls(plan, step));
                }
                NodeKind::Step(_)
                | NodeKind::Condition(_)
                | NodeKind::Let(_)
                | NodeKind::Ensure { .. }
                | NodeKind::Fail(_)
                | NodeKind::Reply(_)
                | NodeKind::Yield(_)
                | NodeKind::Next(_)
                | NodeKind::Task(_)
                | NodeKind::Set(_)
                | NodeKind::Listener(_) => {}
            }
        }
        calls
    }

    fn step_calls(&mut self, plan: &Plan, step: &Step) -> u64 {
        if let StepKind::Call(call) = &step.kind
            && matches!(call.target, Target::Tool(_))
        {
            return 1;
        }
        // A failure inside may end it before most of its calls, and the arm goes on.
        if !step.recover.is_empty() {
            return 0;
        }
        match &step.kind {
            StepKind::Call(call) => match &call.target {
                Target::Tool(_) => 1,
                Target::Plan(index, _) => plan.plans.get(*index).map_or(0, |plan| self.called(plan)),
            },
            StepKind::Do(body) => self.block_calls(plan, *body),
            StepKind::Each(each) if !each.settle => {
                let elements = each.list.constant().and_then(|list| list.as_list()).map_or(0, <[_]>::len);
                self.block_calls(plan, each.body).saturating_mul(elements as u64)
            }
            StepKind::Repeat(repeat) => self.block_calls(plan, repeat.body),
            StepKind::Race(branches) => self.fewest(plan, branches.iter().map(|(_, body)| *body)),
            StepKind::Match { arms, .. } => self.fewest(plan, arms.iter().map(|(_, body)| *body)),
            StepKind::Each(_)
            | StepKind::Ask(_)
            | StepKind::Infer(_)
            | StepKind::Input(_)
            | StepKind::Wait(_)
            | StepKind::Damaged => 0,
        }
    }

    fn fewest(&mut self, plan: &Plan, bodies: impl Iterator<Item = BlockId>) -> u64 {
        bodies.map(|body| self.block_calls(plan, body)).min().unwrap_or(0)
    }
}
