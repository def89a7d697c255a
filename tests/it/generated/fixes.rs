//! A safe fix of a correct plan changes the outcome of no run.

use std::collections::BTreeMap;
use std::sync::Mutex;

use planrun_core::run::Outcome;
use planrun_lang::diag::{Diagnostic, fix};
use rayon::prelude::*;

use super::harness::{FailureRate, perform};
use super::project_context::{ProjectContext, seeds};
use crate::generate::{Project, Size, mutated, project};

/// Number of plans that are tried in CI.
const PLANS: u64 = 4_000;

#[test]
fn c12_a_safe_fix_changes_the_outcome_of_no_run() {
    let (base, count) = seeds(PLANS);
    let tried: Mutex<BTreeMap<&str, u64>> = Mutex::default();
    let wrong: Vec<String> = (base..base + count)
        .into_par_iter()
        .filter_map(|seed| try_seed(seed, &tried).err())
        .collect();
    let tried = tried.into_inner().unwrap();
    println!("safe fixes of {count} plans that can run: {tried:?}");
    for fault in wrong.iter().take(3) {
        println!("{fault}");
    }
    assert!(
        wrong.is_empty(),
        "{} safe fixes change what a run does",
        wrong.len()
    );
    if count >= 400 {
        for code in [
            "unused-let",
            "unused-type",
            "unused-use",
            "constant-condition",
        ] {
            let times = tried.get(code).copied().unwrap_or(0);
            assert!(
                times >= 10,
                "{code} was mended {times} times only: {tried:?}"
            );
        }
    }
}

fn try_seed(seed: u64, tried: &Mutex<BTreeMap<&'static str, u64>>) -> Result<(), String> {
    let correct = project(seed / 2, Size::SMALL);
    let made = if seed.is_multiple_of(2) {
        correct
    } else {
        mutated(&correct, seed)
    };
    let made = with_idle_parts(made);
    let checked = ProjectContext::of(&made).check(&made);
    if checked.diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    for found in &checked.diagnostics {
        let Some(fix) = found.fix.as_ref().filter(|fix| fix.safe) else {
            continue;
        };
        let mut mended = made.clone();
        let text = fix::apply(made.main(), &fix.edits).unwrap();
        if let Some((_, main)) = mended.plans.first_mut() {
            *main = text;
        }
        let after = ProjectContext::of(&mended).check(&mended);
        let describe = |what: String| {
            format!(
                "seed {seed}, {}: {what}\n{}\n---\n{}",
                found.code.name,
                made.main(),
                mended.main()
            )
        };
        if let Some(error) = after.diagnostics.iter().find(|found| found.is_error()) {
            return Err(describe(format!(
                "leads to {}: {}",
                error.code.name, error.message
            )));
        }
        for failure_rate in [FailureRate::Never, FailureRate::Steady(4)] {
            let (one, other) = (checked.plans.last().unwrap(), after.plans.last().unwrap());
            let (before, _) = perform(one, &made, failure_rate, seed);
            let (now, _) = perform(other, &mended, failure_rate, seed);
            if observable(&before) != observable(&now) {
                return Err(describe(format!(
                    "{failure_rate:?}: {:?} became {:?}",
                    observable(&before),
                    observable(&now)
                )));
            }
        }
        *tried.lock().unwrap().entry(found.code.name).or_default() += 1;
    }
    Ok(())
}

/// Adds parts without an effect to the plan.
fn with_idle_parts(mut made: Project) -> Project {
    let Some((_, text)) = made.plans.first_mut() else {
        return made;
    };
    let Some(head) = text.rfind("\nplan ") else {
        return made;
    };
    let Some(open) = text[head..].find(" {\n").map(|at| head + at + 3) else {
        return made;
    };
    let mut mended = format!(
        "{}\ntype Idle = 1 | 2\n{}",
        &text[..head],
        &text[head..open]
    );
    mended.push_str(
        "    let idle_value = 1 + 1\n    step idle_step = sys.echo(value: 1)\n        when true\n",
    );
    mended.push_str(&text[open..]);
    if !text.contains("use sys") {
        mended = format!("use sys, proc\n{mended}");
    }
    *text = mended;
    made
}

/// Formats the observable result of a run: its end, the result of each step, and the calls.
fn observable(outcome: &Outcome) -> String {
    let steps = outcome.steps();
    let lines = steps.iter().map(|step| {
        format!(
            "{} {:?} {:?} {:?}",
            step.path, step.status, step.output, step.error
        )
    });
    let error = outcome
        .error
        .as_ref()
        .map(|error| format!("{} {}", error.class, error.message));
    format!(
        "{:?} {:?} {error:?}\n{}",
        outcome.state,
        outcome.reply,
        lines.collect::<Vec<_>>().join("\n")
    )
}
