//! Output of the `runs` commands that other programs read, and lists in which nothing is found.

use std::io::Read as _;
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use tempfile::TempDir;

use super::support::{Output, folder, planrun};

const PLAN: &str = r#"use sys

plan nap() -> string {
    step pause = sys.sleep(duration: 300ms)
    step form = input "Your PIN?" -> { pin: string } by "desk"
    reply form.pin
}
"#;

fn run(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

/// Returns a project in which this run waits for an answer.
fn waiting(run_id: &str) -> TempDir {
    let place = folder([("planrun.yaml", "{}\n"), ("a.plan", PLAN)]);
    let begun = run(&place, &["run", "a.plan", "--run-id", run_id]);
    assert_eq!(begun.status, 4, "{begun:?}");
    place
}

#[test]
fn all_due_runs_are_one_json_document() {
    let place = waiting("r1");
    let answer = r#"form={"pin": "1"}"#;
    for id in ["r2", "r3"] {
        run(&place, &["run", "a.plan", "--run-id", id]);
        let answered = run(&place, &["runs", "answer", id, answer, "--by", "desk"]);
        assert_eq!(answered.status, 0, "{answered:?}");
    }
    let due = ["runs", "resume", "--due", "--format", "json"];
    let resumed = run(&place, &due);
    let document = resumed.json();
    let known = |run: &Json| format!("{} {}", run["run"], run["status"]);
    let mut runs: Vec<String> = document["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(known)
        .collect();
    runs.sort();
    assert_eq!(runs, ["\"r2\" \"completed\"", "\"r3\" \"completed\""]);
    assert_eq!((resumed.status, &document["version"]), (0, &Json::from(1)));
    assert_eq!(run(&place, &due).json()["runs"], Json::Array(Vec::new()));
}

#[test]
fn each_event_of_a_due_run_names_the_run() {
    let place = waiting("r1");
    let answer = r#"form={"pin": "1"}"#;
    for id in ["r2", "r3"] {
        run(&place, &["run", "a.plan", "--run-id", id]);
        run(&place, &["runs", "answer", id, answer, "--by", "desk"]);
    }
    let due = ["runs", "resume", "--due", "--format", "ndjson"];
    let resumed = run(&place, &due);
    let lines = resumed.stdout.lines();
    let events: Vec<Json> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for id in ["r2", "r3"] {
        let mut own = events.iter().filter(|event| event["run"] == id);
        let last = own.next_back().map(|event| &event["event"]);
        assert_eq!(last, Some(&"run.settled".into()), "{resumed:?}");
    }
    assert!(events.iter().all(|event| event["run"].is_string()));
    // The output of a single run needs no names.
    let one = run(&place, &["runs", "resume", "r2", "--format", "ndjson"]);
    assert!(!one.stdout.contains("\"run\":\"r3\""), "{one:?}");
}

#[test]
fn a_list_of_no_runs_is_not_asked_for() {
    let place = waiting("r1");
    let none = run(&place, &["runs", "list", "--limit", "0"]);
    assert_eq!((none.status, &*none.stdout), (2, ""), "{none:?}");
    let one = run(&place, &["runs", "list", "--limit", "1"]);
    assert!(one.status == 0 && one.stdout.contains("r1"), "{one:?}");
}

#[test]
fn the_plan_of_a_run_is_a_json_document_if_that_is_requested() {
    let place = waiting("r1");
    let shown = run(
        &place,
        &["runs", "show", "r1", "--plan", "--format", "json"],
    )
    .json();
    assert_eq!(
        (
            &shown["run"],
            &shown["plan"],
            &shown["file"],
            &shown["text"]
        ),
        (&"r1".into(), &"nap".into(), &"a.plan".into(), &PLAN.into())
    );
}

#[test]
fn a_list_in_which_nothing_is_found_names_the_nearest() {
    let place = waiting("r1");
    for (command, note) in [
        (
            &["runs", "list", "--plan", "nep", "--format", "json"][..],
            "no runs of the plan `nep`; did you mean `nap`?\n",
        ),
        (
            &["runs", "list", "--plan", "nap", "--state", "failed"],
            "no runs of the plan `nap`\n",
        ),
        (
            &["runs", "inbox", "--plan", "nep"],
            "no open questions of the plan `nep`; did you mean `nap`?\n",
        ),
        (
            &["runs", "inbox", "--by", "dek", "--format", "json"],
            "no open questions to `dek`; did you mean `desk`?\n",
        ),
        (
            &["runs", "events", "r1", "--path", "puase"],
            "no such events; did you mean `pause`?\n",
        ),
        (&["tools", "list", "--query", "xyzzy"], "no tools match\n"),
        (&["plans", "list", "--query", "xyzzy"], "no plans match\n"),
    ] {
        let output = run(&place, command);
        assert_eq!((output.status, &*output.stderr), (0, note), "{command:?}");
    }
    for (command, error) in [
        (
            &["runs", "events", "r1", "--event", "step.settld"][..],
            "there is no such event; did you mean `step.settled`?",
        ),
        (
            &["tools", "learn", "fs.raed"],
            "there is no tool `fs.raed`; did you mean `fs.read`?",
        ),
    ] {
        let output = run(&place, command);
        assert_eq!(output.status, 2, "{output:?}");
        assert!(output.stderr.contains(error), "{output:?}");
    }
}

#[test]
fn a_malformed_answer_is_not_repeated() {
    let place = waiting("r1");
    let plan = "plan p() { step sent = wait for signal \"go\" -> string }";
    let signalled = folder([("b.plan", plan)]);
    run(&signalled, &["run", "b.plan", "--run-id", "r1"]);
    for (place, command) in [
        (
            &place,
            &["runs", "answer", "r1", "form={\"pin\": hunter2}"][..],
        ),
        (
            &place,
            &["run", "a.plan", "--answer", "form={\"pin\": hunter2}"],
        ),
        (&signalled, &["runs", "signal", "r1", "go=hunter2"]),
    ] {
        let output = run(place, command);
        assert_eq!(output.status, 2, "{output:?}");
        assert!(
            output.stderr.contains("is not JSON") && !output.stderr.contains("hunter2"),
            "{output:?}"
        );
    }
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_output_quietly() {
    let place = waiting("r1");
    for command in [
        &["runs", "export", "r1"][..],
        &["runs", "events", "r1", "--follow"],
        &["schema"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
            .args(command)
            .current_dir(place.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut messages = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut messages).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), &*messages),
            (Some(0), ""),
            "{command:?}"
        );
    }
}

#[test]
fn a_journal_that_cannot_be_read_is_not_a_missing_one() {
    let place = folder([
        ("plain/.planrun/journal.db", "a text"),
        ("nested/.planrun/journal.db/a", ""),
        ("file/.planrun", ""),
    ]);
    for (name, why) in [
        ("plain", "is not a journal: it is not a database"),
        ("nested", "is not a journal: it is not a file"),
        ("file", "cannot be read: Not a directory"),
    ] {
        let output = planrun(["runs", "list"])
            .within(place.path().join(name))
            .run();
        assert_eq!(output.status, 3, "{output:?}");
        assert!(
            output.stderr.contains(why) && output.stderr.contains("journal.db"),
            "{output:?}"
        );
    }
    let everywhere = run(&place, &["runs", "inbox", "--all"]);
    assert_eq!(everywhere.status, 3, "{everywhere:?}");
    let reported = everywhere.stderr.matches("journal.db").count();
    assert_eq!(reported, 3, "{everywhere:?}");
}
