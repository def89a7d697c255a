//! MCP servers of the stateless protocol revision: long work as tasks, resources, and tools that change during a run.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::mcp::{calling, run, served};
use crate::support::{Output, planrun};

const SERVER: &str = "modern.py";

fn project(plan: &str) -> Option<TempDir> {
    let place = served(SERVER, &[], plan)?;
    let locked = run(&place, &["tools", "lock", "--accept", "reads"]);
    assert_eq!(locked.status, 0, "{locked:?}");
    std::fs::remove_file(place.path().join("asked")).unwrap();
    Some(place)
}

fn touch(place: &TempDir, name: &str) {
    std::fs::write(place.path().join(name), "").unwrap();
}

/// Returns the number of requests with this method.
fn asked(place: &TempDir, method: &str) -> usize {
    let asked = std::fs::read_to_string(place.path().join("asked")).unwrap_or_default();
    let requests = asked
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    requests
        .filter(|request: &Json| request["method"] == method)
        .count()
}

fn ran(place: &TempDir, more: &[&str]) -> Output {
    run(
        place,
        &[&["run", "a.plan", "--format", "json"], more].concat(),
    )
}

#[test]
fn a_task_is_taken_up_again_after_a_kill_and_nothing_is_sent_twice() {
    let Some(place) = project(&calling("notes.long()")) else {
        return;
    };
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--run-id", "long"])
        .current_dir(place.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let events = || run(&place, &["runs", "events", "long"]).stdout;
    while !events().contains("handle.given") {
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    touch(&place, "finish");
    let resumed = run(&place, &["runs", "resume", "long"]);
    assert_eq!(resumed.status, 0, "{resumed:?}");
    assert!(resumed.stdout.contains("done"), "{resumed:?}");
    assert_eq!(asked(&place, "tools/call"), 1);
}

#[test]
fn a_task_that_its_server_has_forgotten_may_have_happened() {
    let Some(place) = project(&calling("notes.long()")) else {
        return;
    };
    touch(&place, "forget");
    let output = ran(&place, &[]);
    assert_eq!(output.status, 1, "{output:?}");
    let message = "the server no longer knows the task: there is no such task";
    assert!(
        output.stdout.contains("unknown_outcome") && output.stdout.contains(message),
        "{output:?}"
    );
    assert_eq!(asked(&place, "tools/call"), 1);
}

#[test]
fn a_task_goes_on_if_a_poll_fails() {
    let Some(place) = project(&calling("notes.long()")) else {
        return;
    };
    touch(&place, "busy");
    touch(&place, "finish");
    let output = ran(&place, &[]);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(output.json()["reply"], "done");
    assert_eq!(asked(&place, "tasks/get"), 2);
    assert_eq!(asked(&place, "tools/call"), 1);
}

#[test]
fn a_question_in_the_middle_of_a_task_is_one_of_the_run_and_answered_once() {
    let Some(place) = project(&calling("notes.asking()")) else {
        return;
    };
    touch(&place, "finish");
    let output = ran(&place, &["--answer", "given.asked={\"colour\": \"blue\"}"]);
    let expected = json!({ "action": "accept", "content": { "colour": "blue" } });
    assert_eq!(output.json()["reply"], expected);
    assert_eq!(asked(&place, "tasks/update"), 1);
}

#[test]
fn a_task_that_fails_or_is_not_wanted_any_more_ends_the_step() {
    let Some(place) = project(&calling("notes.failing()")) else {
        return;
    };
    touch(&place, "finish");
    let output = ran(&place, &[]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(
        output.stdout.contains("tool.failed") && output.stdout.contains("out of luck"),
        "{output:?}"
    );
    let place = project(&calling("notes.long() timeout 1s")).unwrap();
    let output = ran(&place, &[]);
    assert!(output.stdout.contains("unknown_outcome"), "{output:?}");
    assert_eq!(asked(&place, "tasks/cancel"), 1);
}

#[test]
fn resources_are_read_by_a_tool_and_links_to_them_stay_links() {
    let Some(place) = project(&calling("notes.resource(uri: \"note://two\")")) else {
        return;
    };
    let printed = run(&place, &["tools", "show", "notes.resource"]).stdout;
    assert!(
        printed.contains("tool notes.resource(uri: string) -> any read"),
        "{printed}"
    );
    let expected = json!({ "text": "a", "parts": [
        { "kind": "resource", "uri": "note://two", "text": "a" },
        { "kind": "resource", "uri": "note://two", "mime": "image/png", "bytes": "AAEC" },
    ] });
    assert_eq!(ran(&place, &[]).json()["reply"], expected);
    assert_eq!(asked(&place, "tools/call"), 0);
    let place = project(&calling("notes.resource(uri: \"note://three\")")).unwrap();
    let output = ran(&place, &[]);
    assert!(output.stdout.contains("validation.arguments"), "{output:?}");
    let place = project(&calling("notes.link()")).unwrap();
    let link = json!([{ "kind": "link", "uri": "note://one", "name": "one" }]);
    assert_eq!(ran(&place, &[]).json()["reply"]["parts"], link);
    assert_eq!(asked(&place, "resources/read"), 0);
}

#[test]
fn a_tool_of_the_server_goes_before_the_one_that_reads_resources() {
    let Some(place) = served(SERVER, &[], &calling("notes.resource()")) else {
        return;
    };
    touch(&place, "own");
    touch(&place, "finish");
    assert_eq!(run(&place, &["tools", "lock"]).status, 0);
    assert_eq!(ran(&place, &[]).json()["reply"], "done");
    assert_eq!(asked(&place, "resources/read"), 0);
    assert_eq!(asked(&place, "tools/call"), 1);
}

#[test]
fn tools_are_listed_again_only_after_they_have_changed() {
    let steps = "use notes\n\nplan a() -> any {\n    step one = notes.link()\n    step two = notes.link()\n    step grown = notes.grow()\n    step three = notes.link()\n    step four = notes.link()\n    reply four.text\n}\n";
    let Some(place) = project(steps) else { return };
    let output = planrun(["run", "a.plan"]).within(place.path()).run();
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(asked(&place, "tools/call"), 5);
    assert_eq!(asked(&place, "subscriptions/listen"), 1);
    assert_eq!(asked(&place, "tools/list"), 2);
}
