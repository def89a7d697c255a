//! Generated plans: everything that a run covers is a goal, and every completed step is covered.

use std::sync::Arc;

use planrun_core::run::{Program, Setup};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::{Call, Plan, StepKind, Target};
use planrun_lang::source::SourceFile;
use planrun_runs::driver::{self, Context, Silence};
use planrun_test::plantest::coverage::{
    Coverage, CoverageObserver, Goals, Item, Kind, Seen, What, lcov, text,
};
use rayon::prelude::*;

use super::tracefile;
use crate::generate::{Size, project};
use crate::generated::harness::{self, FailureRate};
use crate::generated::project_context::{ProjectContext, seeds};

/// Number of plans that are tried in CI, each with and without failing calls.
const PLANS: u64 = 3000;

#[test]
fn what_runs_reach_is_a_goal_and_completed_steps_are_seen() {
    let (base, count) = seeds(PLANS);
    let counts: Vec<[usize; 3]> = (base..base + count).into_par_iter().map(try_seed).collect();
    let sum = |index: usize| counts.iter().map(|counts| counts[index]).sum::<usize>();
    println!(
        "{count} plans: {} goals, {} reached, {} completed steps",
        sum(0),
        sum(1),
        sum(2)
    );
    assert!(
        count < 100 || sum(1) * 4 > sum(0) && sum(2) > 300,
        "too little is reached"
    );
}

/// Returns the number of goals, of goals reached, and of completed steps.
fn try_seed(seed: u64) -> [usize; 3] {
    let made = project(seed, Size::SMALL);
    let checked = ProjectContext::of(&made).check(&made);
    let main = checked.plans.last().unwrap();
    let file = Arc::new(SourceFile::new("main.plan", made.main()));
    let nowhere = Arc::new(SourceFile::new("other.plan", ""));
    let (mut reached, mut completed) = (Seen::default(), 0);
    for failure_rate in [FailureRate::Never, FailureRate::Often] {
        let outcome = perform(main, &made, failure_rate, seed, &mut reached);
        let goals = Goals::of(&file, main);
        for step in outcome
            .steps()
            .iter()
            .filter(|step| step.status == StepState::Completed)
        {
            let name = without_brackets(&step.path);
            let goal = goals
                .list
                .iter()
                .find(|goal| goal.kind == Kind::Step && goal.name == name);
            if let Some(goal) = goal {
                completed += 1;
                assert!(
                    reached.count(main, &goal.item) > 0,
                    "seed {seed}: {name} has completed\n{}",
                    made.main()
                );
            }
        }
    }
    let mut plans: Vec<Arc<Plan>> = vec![main.clone()];
    let mut next = 0;
    while let Some(plan) = plans.get(next).cloned() {
        plans.extend(plan.plans.iter().cloned());
        next += 1;
    }
    for plan in &plans {
        let goals = Goals::of(
            if Arc::ptr_eq(plan, main) {
                &file
            } else {
                &nowhere
            },
            plan,
        );
        for item in reached.of(plan) {
            let known = goals.list.iter().any(|goal| goal.item == *item);
            assert!(
                known || may_be_reached(plan, item),
                "seed {seed}: {item:?} is no goal\n{}",
                made.main()
            );
        }
    }
    let goals = [Goals::of(&file, main)];
    let coverage = Coverage::of(&goals, &reached);
    tracefile::read(&lcov(&coverage));
    assert_eq!(
        text(&coverage),
        text(&Coverage::of(&goals, &reached.clone()))
    );
    let share = coverage.share();
    [share.all, share.reached, completed]
}

fn perform(
    plan: &Arc<Plan>,
    made: &crate::generate::Project,
    failure_rate: FailureRate,
    seed: u64,
    reached: &mut Seen,
) -> planrun_core::run::Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let (host, catalog) = harness::host_and_tools(made, failure_rate, seed);
        let mut silent = Silence;
        let mut watching = CoverageObserver {
            seen: reached,
            inner: &mut silent,
        };
        let context = Context {
            root: "/".into(),
            ..Context::new(
                host,
                Arc::new(catalog),
                Setup::new("test-run"),
                &mut watching,
            )
        };
        driver::run(
            &Arc::new(Program::new(plan.clone())),
            &harness::inputs(plan, seed),
            context,
        )
        .await
    })
}

/// Returns true for items that may be covered without being goals: failures that neither a contract nor a clause
/// mentions, and a call that is a whole arm, whose goal is the arm.
fn may_be_reached(plan: &Plan, item: &Item) -> bool {
    let block = plan.block(item.block);
    let Some(step) = block.node(item.node).step() else {
        return false;
    };
    match &item.what {
        What::Failed(class) => match &step.kind {
            StepKind::Call(Call {
                target: Target::Tool(signature),
                ..
            }) => {
                let declared = class
                    .strip_prefix("tool.")
                    .is_some_and(|name| signature.raises.iter().any(|own| **own == *name));
                let retried =
                    class == "transient" && step.retry().is_some_and(|retry| retry.on.is_none());
                !retried && (!declared || class == "tool.failed")
            }
            _ => true,
        },
        What::Started => block.label.is_none() && item.block.0 > 0,
        _ => false,
    }
}

fn without_brackets(path: &str) -> String {
    let mut depth = 0;
    let mut kept = String::new();
    for character in path.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
    }
    kept
}
