//! The project's own plans are tested as plans should be: each has tests and a snapshot, almost complete coverage, no
//! findings about its tests, and almost all of its mutants are killed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use planrun::testing::tests;
use planrun_core::run::Order;
use rayon::prelude::*;
use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{Program, planrun, root};

/// Minimum coverage of a plan by its tests, in percent.
const REACHED: usize = 95;
/// Minimum share of killed mutants, in percent.
const NOTICED: &str = "90";

fn plans() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("plans"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let plans = entries.filter(|path| path.extension().is_some_and(|end| end == "plan"));
    let mut names: Vec<String> = plans
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_plan_has_tests_and_a_snapshot() {
    let snapshots: Vec<String> = std::fs::read_dir(root().join("plans/snapshots"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for name in plans() {
        assert!(
            root().join(format!("plans/{name}.plantest")).exists(),
            "{name}"
        );
        assert!(
            snapshots
                .iter()
                .any(|file| file.starts_with(&format!("{name}.plantest__"))),
            "{name}"
        );
    }
}

#[test]
fn tests_reach_nearly_all_of_every_plan() {
    let folder = tempfile::tempdir().unwrap();
    let output = planrun(["test", "plans", "--coverage=json", "--coverage-dir"])
        .argument(folder.path())
        .variable("CI", "1")
        .without_variable("INSTA_UPDATE")
        .run();
    assert_eq!(output.status, 0, "{}", output.stdout);
    let files: Vec<PathBuf> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let text = if let Some(file) = files.first() {
        std::fs::read_to_string(file).unwrap()
    } else {
        output.stdout.clone()
    };
    let report: Json = serde_json::from_str(&text).unwrap();
    let plans_of = report["files"].as_array().unwrap().iter().flat_map(|file| {
        file["plans"]
            .as_array()
            .unwrap()
            .iter()
            .map(move |plan| (file, plan))
    });
    let mut seen = 0;
    for (file, plan) in plans_of {
        let goals = plan["goals"].as_array().unwrap();
        let reached = |goal: &&Json| goal["count"].as_u64().unwrap() > 0;
        let count = goals.iter().filter(reached).count();
        let percent = count * 100 / goals.len().max(1);
        println!(
            "{}: {count} of {} goals, {percent} %",
            plan["plan"],
            goals.len()
        );
        assert!(
            percent >= REACHED,
            "{}: {}: {percent} %",
            file["file"],
            plan["plan"]
        );
        seen += 1;
    }
    assert!(seen >= plans().len(), "{seen} plans");
}

/// Returns all plans in CI, else those with the most risks: a debug build takes a minute for all.
fn explored() -> Vec<String> {
    if std::env::var_os("CI").is_some() {
        return vec!["plans".to_owned()];
    }
    ["order", "refund", "release"]
        .iter()
        .map(|name| format!("plans/{name}.plantest"))
        .collect()
}

#[test]
fn nothing_is_found_around_their_tests() {
    let program = planrun(["test", "--explore", "--seeds", "1"])
        .without_variable("INSTA_UPDATE")
        .variable("CI", "1");
    let output = explored().iter().fold(program, Program::argument).run();
    assert_eq!(output.status, 0, "{}", output.stdout);
    let mut lines = output.stdout.lines();
    let sum = lines.find(|line| line.starts_with("explored ")).unwrap();
    println!("{}", output.stdout);
    let runs: usize = sum.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!(sum.ends_with(" 0 found") && runs > 500, "{sum}");
}

#[test]
fn nearly_every_small_change_is_noticed() {
    let output = planrun(["mutate", "plans", "--min", NOTICED]).run();
    println!("{}", output.stdout);
    assert_eq!(output.status, 0, "{}{}", output.stdout, output.stderr);
}

#[test]
fn they_come_to_the_same_in_any_order() {
    let tests = tests(root().join("plans")).unwrap();
    assert!(tests.len() > 200, "{}", tests.len());
    let faults: Vec<String> = tests
        .par_iter()
        .filter_map(|test| {
            let base = test.run();
            (0..3).find_map(|seed| {
                let other = test.run_in(Order::Seeded(seed));
                let same = (base.trace(), base.reply()) == (other.trace(), other.reply());
                (!same).then(|| {
                    format!(
                        "{}, seed {seed}:\n{}\nand\n{}",
                        test.name(),
                        base.trace(),
                        other.trace()
                    )
                })
            })
        })
        .collect();
    println!(
        "{} tests in 3 orders beside that of the source, {} differ",
        tests.len(),
        faults.len()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Copies the plans without their snapshots.
fn copy() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    copy_into(&root().join("plans"), &folder.path().join("plans"));
    std::fs::remove_dir_all(folder.path().join("plans/snapshots")).unwrap();
    folder
}

fn copy_into(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_into(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn kept(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| {
            (
                entry.file_name().to_string_lossy().into_owned(),
                std::fs::read(entry.path()).unwrap(),
            )
        })
        .collect()
}

#[test]
fn snapshots_are_the_same_bytes_in_every_place() {
    let ours = kept(&root().join("plans/snapshots"));
    assert!(ours.len() >= plans().len());
    let places: [&[(&str, &str)]; 4] = [
        &[("TZ", "Pacific/Kiritimati"), ("RAYON_NUM_THREADS", "1")],
        &[("TZ", "America/St_Johns"), ("RAYON_NUM_THREADS", "2")],
        &[
            ("LC_ALL", "tr_TR.UTF-8"),
            ("LANG", "tr_TR.UTF-8"),
            ("RAYON_NUM_THREADS", "7"),
        ],
        &[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")],
    ];
    for variables in places {
        let folder = copy();
        let program = planrun(["test", "plans", "--accept"])
            .within(folder.path())
            .without_variable("CI");
        let output = variables
            .iter()
            .fold(program, |program, (name, value)| {
                program.variable(name, value)
            })
            .run();
        assert_eq!(output.status, 0, "{variables:?}: {}", output.stdout);
        let theirs = kept(&folder.path().join("plans/snapshots"));
        assert_eq!(
            theirs.keys().collect::<Vec<_>>(),
            ours.keys().collect::<Vec<_>>(),
            "{variables:?}"
        );
        for (name, bytes) in &ours {
            assert!(theirs[name] == *bytes, "{variables:?}: {name}");
        }
    }
}
