//! The canonical text: its form, and its properties for every plan in the repository and for thousands of disturbed
//! ones.

mod corpus;
mod disturb;
mod fixtures;
mod meaning;
mod program;

use crate::generate::{self, Size};
use meaning::judge;

#[test]
fn every_plan_there_is_keeps_its_meaning_and_comments() {
    let texts = corpus::texts();
    // 300 with the cases of other projects; without them, only the plans of this repository.
    let least = if crate::support::cases("nestools/plans.jsonl").is_some() {
        300
    } else {
        250
    };
    assert!(texts.len() > least, "only {} plans", texts.len());
    let faults: Vec<String> = texts
        .iter()
        .filter_map(|(name, text)| Some(format!("{name}: {}", judge(text)?)))
        .collect();
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}

/// Generated plans that use the whole language. A failure reports the seed.
#[test]
fn generated_plans_keep_their_meaning() {
    let size = Size {
        whole_language: true,
        network: true,
        ..Size::USUAL
    };
    for seed in 0..disturb::rounds() / 4 {
        for (name, text) in generate::project(seed, size).plans {
            assert!(meaning::reads(&text), "seed {seed}, {name}\n{text}");
            assert_eq!(judge(&text), None, "seed {seed}, {name}");
        }
    }
}

/// Comments at every place where one is allowed, and different spaces everywhere.
#[test]
fn disturbed_plans_keep_their_meaning_and_comments() {
    let texts: Vec<_> = corpus::texts()
        .into_iter()
        .filter(|(_, text)| text.len() < 3000)
        .collect();
    let (mut read, mut faults) = (0, Vec::new());
    for seed in 0..disturb::rounds() {
        let (name, text) = &texts[usize::try_from(seed).unwrap() % texts.len()];
        let disturbed = disturb::disturb(text, seed);
        if !meaning::reads(&disturbed) {
            continue;
        }
        read += 1;
        if let Some(fault) = judge(&disturbed) {
            println!("{name} {seed} {}", fault.lines().next().unwrap());
            faults.push(format!("{name}, seed {seed}: {fault}"));
        }
    }
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults[..faults.len().min(5)].join("\n")
    );
    assert!(
        read * 10 > disturb::rounds() * 8,
        "only {read} of {} texts could be read",
        disturb::rounds()
    );
}
