//! A run may die at any event, and again: another process goes on with it, and nothing is lost or done twice.
//!
//! Generated plans run with a journal that takes so many events and loses the rest, then another process goes on, some
//! of them several times in a row. What came of it is held against the same plan in the same world that nobody disturbed.

mod life;
mod verdict;

use std::sync::{Arc, Mutex};

use planrun_lang::sema::Plan;
use rayon::prelude::*;

use self::life::{Life, lived};
use self::verdict::{Tally, fault};
use super::shrink::shrunk;
use super::stage::Weather;
use super::workshop::{Workshop, seeds};
use crate::generate::{Dice, Project, Size, project};

/// So many plans are tried in CI.
const PLANS: u64 = 240;
/// Each dies in so many ways.
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
    for told in wrong.iter().take(3) {
        println!("{told}");
    }
    for told in wrong.iter().skip(3) {
        println!("{}", told.lines().next().unwrap_or_default());
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} plans do not survive",
        wrong.len()
    );
    // The test must not become empty.
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
            let nobody = Mutex::default();
            let still = |made: &Project| {
                let made = Arc::new(made.clone());
                checked(&made)
                    .is_some_and(|plan| try_way(&made, &plan, (seed, way), &nobody).is_some())
            };
            let small = shrunk(&made, &still);
            let again = checked(&small)
                .and_then(|plan| try_way(&Arc::new(small.clone()), &plan, (seed, way), &nobody));
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
    let checked = Workshop::of(made).check(made);
    let refused = checked
        .diagnostics
        .iter()
        .any(planrun_lang::diag::Diagnostic::is_error);
    checked.plans.last().filter(|_| !refused).cloned()
}

/// What is wrong where a plan dies in one way.
fn try_way(
    made: &Arc<Project>,
    plan: &Arc<Plan>,
    (seed, way): (u64, u64),
    tally: &Mutex<Tally>,
) -> Option<String> {
    let weather = Weather::Steady(if way.is_multiple_of(2) { 0 } else { 8 });
    let life = |deaths: Vec<usize>| {
        lived(&Life {
            made,
            plan,
            weather,
            seed,
            deaths,
        })
    };
    let undisturbed = match life(Vec::new()) {
        Ok(undisturbed) => undisturbed,
        Err(fault) => return Some(format!("undisturbed: {fault}")),
    };
    let mut dice = Dice::new(seed.wrapping_mul(WAYS) + way);
    let mut deaths = vec![dice.below(undisturbed.events.len())];
    while dice.one_in(2) && deaths.len() < 5 {
        deaths.push(dice.below(12));
    }
    let disturbed = match life(deaths.clone()) {
        Ok(disturbed) => disturbed,
        Err(fault) => return Some(format!("died after {deaths:?} events: {fault}")),
    };
    let told = |fault| format!("died after {deaths:?} events: {fault}");
    fault(plan, &undisturbed, &disturbed, tally).map(told)
}
