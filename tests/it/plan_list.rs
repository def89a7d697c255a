//! `planrun plans list`: the plans of a project can be searched like its tools.

use serde_json::{Value as Json, json};

use crate::support::{folder, planrun};

const STAFF: &str = "\
/// Gives a new employee an account and a badge.
plan welcome(name: string, floor?: int) -> string {
    reply \"welcome ${name}\"
}

/// 统计每个部门的员工人数。
plan headcount() -> int {
    reply 3
}
";
const FILES: &str = "\
/// Copies a report to the archive.
plan archive(path: string) -> any {
    allow { write: [\"archive/**\"] }
    step kept = fs.write(path: \"archive/${path}\", content: \"x\")
    reply kept
}
";

fn listed(arguments: &[&str]) -> String {
    let place = folder([
        ("staff.plan", STAFF),
        ("reports/files.plan", FILES),
        ("broken.plan", "plan ("),
    ]);
    let output = planrun(["plans", "list"].iter().chain(arguments))
        .within(place.path())
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    output.stdout
}

#[test]
fn plans_are_listed_with_what_they_change() {
    let all = listed(&[]);
    let lines: Vec<&str> = all.lines().collect();
    assert_eq!(lines.len(), 3, "{all}");
    assert!(lines[0].starts_with("reports/files.plan:2"), "{all}");
    assert!(
        lines[0].contains("archive") && lines[0].ends_with("Copies a report to the archive."),
        "{all}"
    );
    assert_eq!(listed(&["--effect", "read", "--brief"]).lines().count(), 2);
    assert_eq!(listed(&["reports"]).lines().count(), 1);
    assert_eq!(
        listed(&["--limit", "1", "--offset", "1", "--brief"]).trim(),
        "staff.plan:2  welcome"
    );
}

#[test]
fn plans_are_found_by_words() {
    for (words, plan) in [
        ("onboard a new employee", "welcome"),
        ("部门 人数", "headcount"),
        ("move reports into an archive", "archive"),
    ] {
        let found = listed(&["--query", words, "--brief"]);
        assert!(
            found
                .lines()
                .next()
                .is_some_and(|line| line.ends_with(plan)),
            "{words}: {found}"
        );
    }
    assert_eq!(listed(&["--query", "xylophone"]), "");
    let none: Json =
        serde_json::from_str(&listed(&["--query", "xylophone", "--format", "json"])).unwrap();
    assert_eq!(none, json!([]));
    let one: Json =
        serde_json::from_str(&listed(&["--query", "employee", "--format", "json"])).unwrap();
    assert_eq!(
        (&one[0]["plan"], &one[0]["effect"]),
        (&json!("welcome"), &json!("pure"))
    );
    assert_eq!(one[0]["input"]["required"], json!(["name"]));
}
