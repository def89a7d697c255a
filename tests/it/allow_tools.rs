//! `allow { tools }`: the calls that are permitted to a plan and everything it starts.

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::support::{Output, folder, planrun};

const DESK: &str = "\
name: desk
tools:
  - { name: find, endpoint: 'http://127.0.0.1:9/', effect: read, returns: { type: string }, mock: [{ data: here }] }
  - { name: close, endpoint: 'http://127.0.0.1:9/', effect: effect, returns: { type: string }, mock: [{ data: closed }] }
";

fn project(settings: &str, plan: &str) -> TempDir {
    folder([
        ("planrun.yaml", &*format!("apps: [desk.yaml]\n{settings}")),
        ("desk.yaml", DESK),
        ("a.plan", plan),
    ])
}

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

/// Returns code, severity and line of each finding.
fn found(place: &TempDir) -> Vec<(String, String, u64)> {
    let document = run(place, &["check", "a.plan", "--format", "json"]).json();
    let text = |one: &Json, key: &str| one[key].as_str().unwrap().to_owned();
    let found = document["diagnostics"].as_array().unwrap().iter();
    found
        .map(|one| {
            let line = one["span"]["start"]["line"].as_u64().unwrap();
            (text(one, "code"), text(one, "severity"), line)
        })
        .collect()
}

fn expected(code: &str, severity: &str, line: u64) -> Vec<(String, String, u64)> {
    vec![(code.to_owned(), severity.to_owned(), line)]
}

#[test]
fn a_call_outside_of_the_list_is_found_and_the_fix_adds_it() {
    let place = project(
        "",
        "use desk\n\nplan a() -> string {\n    allow { tools: [\"desk.find\"] }\n    step one = desk.find()\n    step two = desk.close()\n    reply \"${one} ${two}\"\n}\n",
    );
    assert_eq!(found(&place), expected("permission-missing", "error", 6));
    assert_eq!(run(&place, &["check", "a.plan", "--unsafe-fix"]).status, 0);
    let fixed = std::fs::read_to_string(place.path().join("a.plan")).unwrap();
    assert!(
        fixed.contains("allow { tools: [\"desk.find\", \"desk.close\"] }"),
        "{fixed}"
    );
    let ran = run(&place, &["run", "a.plan", "--mock"]);
    assert_eq!((ran.status, &*ran.stdout), (0, "here closed\n"), "{ran:?}");
}

#[test]
fn the_list_bounds_plans_that_are_called_and_what_recovers_sees_it() {
    let plan = "use desk\n\nplan end() -> string {\n    step done = desk.close()\n    reply done\n}\n\nplan a() -> string {\n    allow { tools: [\"desk.find\"] }\n    step one = desk.find()\n    step two = end() recover denied.policy as e => e.message\n    reply \"${one} ${two}\"\n}\n";
    let place = project("", plan);
    assert_eq!(found(&place), []);
    let ran = run(&place, &["run", "a.plan", "--plan", "a", "--mock"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.stdout
            .starts_with("here calling desk.close is not allowed"),
        "{ran:?}"
    );
    // Run by itself, the same plan may make the call.
    let alone = run(&place, &["run", "a.plan", "--plan", "end", "--mock"]);
    assert_eq!((alone.status, &*alone.stdout), (0, "closed\n"), "{alone:?}");
    let uncaught = project(
        "",
        &plan.replace(" recover denied.policy as e => e.message", ""),
    );
    assert_eq!(
        found(&uncaught),
        expected("permission-missing", "error", 11)
    );
}

#[test]
fn a_call_that_is_not_caught_is_found_beside_one_that_is() {
    let plan = |statements: &str| {
        format!(
            "use desk\n\nplan end() -> string {{\n    step done = desk.close()\n    reply done\n}}\n\nplan a() {{\n    \
             allow {{ tools: [\"desk.find\"] }}\n{statements}}}\n"
        )
    };
    let caught = "    step one = end() recover denied.policy as e => e.message\n";
    let open = "    step two = end()\n";
    for (statements, line) in [
        (format!("{caught}{open}"), 11),
        (format!("{open}{caught}"), 10),
        // An arm does not catch what fails in the arm itself.
        (
            "    step one = desk.find() recover _ => desk.close()\n".to_owned(),
            10,
        ),
    ] {
        let found = found(&project("", &plan(&statements)));
        let missing = expected("permission-missing", "error", line);
        assert!(found.contains(&missing[0]), "{statements}: {found:?}");
    }
}

#[test]
fn the_list_of_a_project_bounds_every_plan_and_one_that_nobody_needs_is_told() {
    let plan = "use desk\n\nplan a() -> string {\n    allow { tools: [\"*\"] }\n    step two = desk.close()\n    reply two\n}\n";
    let place = project("allow: { tools: [\"desk.find\"] }\n", plan);
    assert_eq!(found(&place), expected("permission-missing", "error", 5));
    let refused = run(&place, &["run", "a.plan", "--mock"]);
    assert_eq!(refused.status, 1, "{refused:?}");
    assert!(
        refused
            .stderr
            .contains("the project's planrun.yaml does not allow it"),
        "{refused:?}"
    );

    let unused = plan.replace("[\"*\"]", "[\"desk.close\", \"desk.find\"]");
    assert_eq!(
        found(&project("", &unused)),
        expected("permission-unused", "warning", 4)
    );
    let wrong = plan.replace("[\"*\"]", "[\"desk\"]");
    assert_eq!(
        found(&project("", &wrong)),
        expected("permission-missing", "error", 4)
    );
}

#[test]
fn a_list_from_which_the_last_tool_is_taken_is_empty_and_not_gone() {
    let plan = "use desk\n\nplan a() -> string {\n    allow { tools: [\"desk.find\"] }\n    reply \"nothing\"\n}\n";
    let place = project("", plan);
    run(&place, &["check", "a.plan", "--unsafe-fix"]);
    let fixed = std::fs::read_to_string(place.path().join("a.plan")).unwrap();
    assert!(fixed.contains("allow { tools: [] }"), "{fixed}");
}
