//! Correct plans have no errors and no warnings.

use std::collections::BTreeMap;

use planrun_lang::diag::{Diagnostic, Severity};
use planrun_lang::source::SourceFile;
use rayon::prelude::*;

use super::project_context::{ProjectContext, seeds};
use crate::generate::{Project, Size, project};

/// Number of plans that are tried in CI; most of them are small.
const PLANS: u64 = 5000;

/// One in this number of plans has a realistic size.
const USUAL: u64 = 25;

#[test]
fn correct_plans_give_nothing() {
    let (base, count) = seeds(PLANS);
    let judged: Vec<Result<Vec<&str>, String>> =
        (base..base + count).into_par_iter().map(judge).collect();
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    for name in judged.iter().flatten().flatten() {
        *notes.entry(name).or_default() += 1;
    }
    let wrong: Vec<&String> = judged
        .iter()
        .filter_map(|judged| judged.as_ref().err())
        .collect();
    println!(
        "{count} correct plans from seed {base}: {} with a finding; notes: {notes:?}",
        wrong.len()
    );
    for fault in wrong.iter().take(5) {
        println!("{fault}");
    }
    assert!(
        wrong.is_empty(),
        "{} of {count} correct plans give something",
        wrong.len()
    );
}

#[test]
fn the_same_seed_makes_the_same_project() {
    let texts = |seed| {
        let made = project(seed, Size::USUAL);
        (made.apps, made.plans)
    };
    assert_eq!(texts(7), texts(7));
    assert_ne!(texts(7).1, texts(8).1);
    let large = project(1, Size::many(200));
    assert!(large.main().len() > 200_000, "{}", large.main().len());
}

/// Returns the names of the notes of a plan, or the first other finding.
fn judge(seed: u64) -> Result<Vec<&'static str>, String> {
    let size = if seed.is_multiple_of(USUAL) {
        Size::USUAL
    } else {
        Size::SMALL
    };
    let project = project(
        seed,
        Size {
            whole_language: !seed.is_multiple_of(3),
            network: !seed.is_multiple_of(3),
            ..size
        },
    );
    let found = ProjectContext::of(&project).check(&project).diagnostics;
    let counts = |found: &&Diagnostic| found.severity != Severity::Note;
    match found.iter().find(counts) {
        None => Ok(found.iter().map(|found| found.code.name).collect()),
        Some(worst) => Err(describe(&project, seed, worst)),
    }
}

/// Formats a finding with the lines around it.
pub fn describe(project: &Project, seed: u64, found: &Diagnostic) -> String {
    let source = SourceFile::new("main.plan", project.main());
    let line = source.position(found.span.start).line as usize;
    let lines = project
        .main()
        .lines()
        .skip(line.saturating_sub(3))
        .take(5)
        .collect::<Vec<_>>()
        .join("\n");
    let types = format!("expected {:?}, actual {:?}", found.expected, found.actual);
    format!(
        "seed {seed}: {} `{}`, {types}, in line {line}:\n{lines}\n",
        found.code.name, found.message
    )
}
