//! The state machine of a run alone, without a runtime: generated plans in a simulated world with random delays, lost
//! answers, slow disks and processes that die at any time. Everything is determined by a seed, so every failure is
//! reproducible.

mod approvals;
mod effects;
mod events;
mod forks;
mod gates;
mod held;
mod levels;
mod outside;
mod patches;
mod plan_body;
mod process;
mod secrets;
mod sends;
mod settings;
mod undos;
mod world;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use planrun_core::run::Program;
use rayon::prelude::*;

use self::events::with_event;
use self::secrets::with_secret;
use self::undos::with_undos;
use self::world::{Setting, Simulated, simulate};
use crate::generate::{Dice, Project, Size, project};
use crate::generated::project_context::{ProjectContext, seeds};

/// Number of plans that are tried in CI.
const PLANS: u64 = 5_000;
/// Number of worlds for each plan.
const WORLDS: u64 = 5;

/// What happens at least once for each plan, on average.
const OFTEN: [&str; 8] = [
    "awaited", "calls", "deaths", "lost", "asked", "replies", "handles", "messages",
];
/// What happens for at least one plan in 20.
const SOMETIMES: [&str; 20] = [
    "approved calls",
    "sent again",
    "reattached",
    "kept",
    "recalled",
    "answers",
    "given",
    "unfit answers",
    "broken contracts",
    "secrets",
    "forks",
    "granted",
    "beyond the grant",
    "undos retried",
    "checks retried",
    "full disks",
    "stopped",
    "reached",
    "patches",
    "undone before",
];
/// What happens for at most one plan in 100.
const SELDOM: [&str; 2] = ["refused", "unfinished"];

#[test]
fn a_run_keeps_its_promises_whatever_the_world_does() {
    let (base, count) = seeds(PLANS);
    let tally = Mutex::new(BTreeMap::<&str, u64>::new());
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| {
            let tried = std::panic::catch_unwind(|| try_plan(seed, &tally));
            let fell = |_| Err(format!("seed {seed}: the machine panics"));
            tried.unwrap_or_else(fell).err()
        })
        .collect();
    let tally = tally.into_inner().unwrap();
    println!("{count} plans from seed {base}, {WORLDS} worlds each: {tally:?}");
    wrong.iter().take(3).for_each(|fault| println!("{fault}"));
    let others = wrong.iter().skip(3);
    others.for_each(|fault| println!("{}", fault.lines().next().unwrap_or_default()));
    assert!(
        wrong.is_empty(),
        "{} of {count} plans break a promise",
        wrong.len()
    );
    // Makes sure that the test covers enough.
    let happened = |what: &str| tally.get(what).copied().unwrap_or(0);
    let is_often = |what| happened(what) >= count;
    let is_sometimes = |what| happened(what) * 20 >= count;
    let is_seldom = |what| happened(what) * 100 <= count;
    let covers = OFTEN.into_iter().all(is_often)
        && SOMETIMES.into_iter().all(is_sometimes)
        && SELDOM.into_iter().all(is_seldom);
    assert!(count < 100 || covers, "too little happens: {tally:?}");
}

fn try_plan(seed: u64, tally: &Mutex<BTreeMap<&'static str, u64>>) -> Result<(), String> {
    let size = Size {
        whole_language: true,
        ..Size::SMALL
    };
    let made = project(seed, size);
    let context = ProjectContext::of(&made);
    let Some(program) = checked(&context, &made, None) else {
        *tally.lock().unwrap().entry("refused").or_default() += 1;
        return Ok(());
    };
    let mut dice = Dice::new(seed);
    let (made, program) = with_event(&context, made, program, &mut dice);
    let (made, program) = with_secret(&context, made, program, &mut dice);
    let (made, program) = with_undos(&context, made, program, &mut dice);
    for world in 0..WORLDS {
        let describe = |fault: String| {
            let texts: Vec<String> = made.plans.iter().map(|(_, text)| text.clone()).collect();
            format!("seed {seed}, world {world}: {fault}\n{}", texts.concat())
        };
        let setting = Setting {
            context: &context,
            made: &made,
            program: &program,
            // A patch takes long to check.
            patches: world < 2,
        };
        let run = || simulate(&setting, seed.wrapping_mul(WORLDS) + world);
        let Simulated { journal, counts } = run().map_err(describe)?;
        // In some worlds, the same seed is tried again.
        if world < 2 && run().map_err(describe)?.journal != journal {
            return Err(describe("the same seed gives another journal".to_owned()));
        }
        let mut tally = tally.lock().unwrap();
        for (what, count) in counts {
            *tally.entry(what).or_default() += count;
        }
    }
    Ok(())
}

/// Checks the main plan file, and returns the plan with this name, or the last one; `None` if there are errors.
fn checked(context: &ProjectContext, made: &Project, name: Option<&str>) -> Option<Arc<Program>> {
    let checked = context.check(made);
    let refused = checked
        .diagnostics
        .iter()
        .any(planrun_lang::diag::Diagnostic::is_error);
    let mut plans = checked.plans.iter().filter(|_| !refused);
    let plan = match name {
        Some(name) => plans.find(|plan| *plan.name == *name)?,
        None => plans.next_back()?,
    };
    Some(Arc::new(Program::new(plan.clone())))
}
