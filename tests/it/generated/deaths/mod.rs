//! A run may die at any event, several times: another process resumes it, and nothing is lost or done twice.
//!
//! Generated plans run with a journal that accepts a limited number of events and loses the rest; then another process
//! resumes the run, sometimes several times in a row. The result is compared with that of an undisturbed run of the
//! same plan in the same world.

mod scenario;
mod verdict;

use std::sync::{Arc, Mutex};

use planrun_lang::sema::Plan;
use rayon::prelude::*;

use self::scenario::{Scenario, run_scenario};
use self::verdict::{Tally, fault};
use super::harness::FailureRate;
use super::project_context::{ProjectContext, seeds};
use super::shrink::shrunk;
use crate::generate::{Dice, Project, Size, project};

/// Number of plans that are tried in CI.
const PLANS: u64 = 240;
/// Number of ways in which each plan dies.
const WAYS: u64 = 4;

#[test]
fn a_run_that_dies_goes_on_and_nothing_happens_twice() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new(Tally::default());
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| try_seed(seed, &tally).err())
        .collect();
    let tally = tally.into_inner().unwrap();
    println!(
        "{count} plans from seed {base} that die (PLANRUN_SEED replays one, PLANRUN_PLANS widens):\n  {tally}"
    );
    for fault in wrong.iter().take(3) {
        println!("{fault}");
    }
    for fault in wrong.iter().skip(3) {
        println!("{}", fault.lines().next().unwrap_or_default());
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} plans do not survive",
        wrong.len()
    );
    // Makes sure that the test covers enough.
    assert!(
        count < 100 || tally.is_telling(count * WAYS),
        "too little happens: {tally}"
    );
}

fn try_seed(seed: u64, tally: &Mutex<Tally>) -> Result<(), String> {
    let made = Arc::new(project(
        seed,
        Size {
            whole_language: true,
            ..Size::SMALL
        },
    ));
    let Some(plan) = checked(&made) else {
        return Err(format!("seed {seed}: the plan does not pass the check"));
    };
    for way in 0..WAYS {
        if let Some(fault) = try_way(&made, &plan, (seed, way), tally) {
            let silent = Mutex::default();
            let still = |made: &Project| {
                let made = Arc::new(made.clone());
                checked(&made)
                    .is_some_and(|plan| try_way(&made, &plan, (seed, way), &silent).is_some())
            };
            let small = shrunk(&made, &still);
            let again = checked(&small)
                .and_then(|plan| try_way(&Arc::new(small.clone()), &plan, (seed, way), &silent));
            let (files, fault) = again.map_or((&*made, fault), |again| (&small, again));
            let files: Vec<String> = files
                .plans
                .iter()
                .map(|(name, text)| format!("// {name}\n{text}"))
                .collect();
            return Err(format!(
                "seed {seed}, way {way}: {fault}\n{}",
                files.concat()
            ));
        }
    }
    Ok(())
}

fn checked(made: &Project) -> Option<Arc<Plan>> {
    let checked = ProjectContext::of(made).check(made);
    let refused = checked
        .diagnostics
        .iter()
        .any(planrun_lang::diag::Diagnostic::is_error);
    checked.plans.last().filter(|_| !refused).cloned()
}

/// Returns the fault if a plan dies in one way.
fn try_way(
    made: &Arc<Project>,
    plan: &Arc<Plan>,
    (seed, way): (u64, u64),
    tally: &Mutex<Tally>,
) -> Option<String> {
    let failure_rate = FailureRate::Steady(if way.is_multiple_of(2) { 0 } else { 8 });
    let run = |deaths: Vec<usize>| {
        run_scenario(&Scenario {
            made,
            plan,
            failure_rate,
            seed,
            deaths,
        })
    };
    let undisturbed = match run(Vec::new()) {
        Ok(undisturbed) => undisturbed,
        Err(fault) => return Some(format!("undisturbed: {fault}")),
    };
    let mut dice = Dice::new(seed.wrapping_mul(WAYS) + way);
    let mut deaths = vec![dice.below(undisturbed.events.len())];
    while dice.one_in(2) && deaths.len() < 5 {
        deaths.push(dice.below(12));
    }
    let disturbed = match run(deaths.clone()) {
        Ok(disturbed) => disturbed,
        Err(fault) => return Some(format!("died after {deaths:?} events: {fault}")),
    };
    let describe = |fault| format!("died after {deaths:?} events: {fault}");
    fault(plan, &undisturbed, &disturbed, tally).map(describe)
}
