//! What is recorded of a run, as `runs show` and `runs list` print it after its process.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use planrun_lang::value::parse_timestamp;
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::support::{Output, folder, planrun};

const APP: &str = "name: desk
tools:
  - name: look
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { n: { type: integer } }, required: [n] }
    mock:
      - { when: { id: gone }, status: 404 }
      - { when: { id: slow }, delay: 30s, data: { n: 3 } }
      - { data: { n: 3 } }
  - name: mail
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { to: { type: string } }, required: [to] }
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
    mock: { id: m }
";

const PLANS: &str = r#"use desk, sys

plan stepwise() {
    task t "T" { n: int }
    step a = desk.look(id: "ok")
    set t done { n: 4 }
    step f = input "Which?" -> { n: int } within 2m
    step b = desk.mail(to: "x")
}

plan parks() {
    policy { on_failure: pause }
    step a = desk.look(id: "ok")
    step b = desk.look(id: "gone")
    step m = desk.mail(to: "${b.n}")
}

plan asks() {
    step a = desk.look(id: "ok")
    step f = input "Which ${a.n}?" -> { n: int } within 2d
    step b = desk.mail(to: "x") confirm "Send it?" expires 2d
}

plan ends() -> int {
    task t "T" { n: int }
    step a = desk.look(id: "ok")
    set t done { n: a.n }
    step many = each id in ["a", "gone"] max 3 {
        step x = desk.look(id: id) recover _ => { n: 2 }
        yield x.n
    }
    step w = sys.sleep(duration: 3ms)
    step s = desk.mail(to: "x") after w
    reply a.n + size(s.id)
}

plan fails() -> int {
    step a = desk.look(id: "ok")
    step r = desk.look(id: "gone")
    reply r.n
}

plan lasts() -> int {
    step a = desk.look(id: "slow")
    reply a.n
}
"#;

fn project() -> TempDir {
    folder([
        ("planrun.yaml", "apps: [desk.yaml]\n"),
        ("desk.yaml", APP),
        ("a.plan", PLANS),
    ])
}

fn run_in(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(arguments).within(place.path()).run()
}

/// Returns the document of a run that is started or resumed.
fn run(place: &TempDir, arguments: &[&str]) -> Json {
    run_in(
        place,
        &[&["run"], arguments, &["--format", "json"]].concat(),
    )
    .json()
}

fn shown(place: &TempDir, run: &str) -> Json {
    run_in(place, &["runs", "show", run, "--format", "json"]).json()
}

/// Removes the times of steps from the document of a run: the clocks that events and reports are read from are not
/// read at the same moment.
fn without_times(mut document: Json) -> Json {
    for step in document["steps"].as_array_mut().unwrap() {
        step.as_object_mut().unwrap().remove("started_at");
    }
    document
}

#[test]
fn the_inputs_of_a_run_are_printed_as_it_can_read_them_again_without_its_secrets() {
    let plan = "type Login = { user: string, password: secret }
plan p(login: Login, note: string, at: timestamp, 等待: duration = 1m) -> int {
    reply size(note)
}
";
    let inputs = json!({
        "login": { "user": "ann", "password": "hunter2-c0rrect" },
        "note": "not hunter2-c0rrect",
        "at": "2026-03-02T09:00:00Z",
        "等待": "5m",
    });
    let place = folder([("a.plan", plan), ("in.json", &inputs.to_string())]);
    run(&place, &["a.plan", "--input", "in.json", "--run-id", "r"]);
    let printed = run_in(&place, &["runs", "show", "r", "--inputs"]);
    let expected = json!({
        "login": { "user": "ann", "password": "[redacted]" },
        "note": "not [redacted]",
        "at": "2026-03-02T09:00:00Z",
        "等待": "300s",
    });
    assert_eq!(printed.json(), expected, "{printed:?}");
    let document = run_in(
        &place,
        &["runs", "show", "r", "--inputs", "--format", "json"],
    );
    let expected = json!({ "version": 1, "run": "r", "plan": "p", "inputs": expected });
    assert_eq!(document.json(), expected, "{document:?}");
    fs::write(place.path().join("again.json"), printed.stdout).unwrap();
    let again = run(&place, &["a.plan", "--input", "again.json"]);
    assert_eq!(again["reply"], 14, "{again}");
}

#[test]
fn what_a_run_was_told_to_leave_out_is_not_shown_as_if_it_had_happened() {
    let place = project();
    let id = ["--run-id", "r", "--mock", "--plan", "stepwise"];
    let first = run(&place, &[&["a.plan", "--until", "a"], &id[..]].concat());
    assert_eq!(first["tasks"][0]["status"], "pending");
    let recorded = shown(&place, "r");
    assert_eq!(without_times(recorded.clone()), without_times(first));
    assert_eq!(shown(&place, "r"), recorded);
    let events = run_in(&place, &["runs", "events", "r", "--format", "ndjson"]);
    let lines: Vec<Json> = events
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), &lines[0]["until"]), (4, &json!("a")));

    let again = run(&place, &["--resume", "r", "--until", "b"]);
    assert_eq!(again["steps"][1]["status"], "waiting");
    let recorded = shown(&place, "r");
    assert_eq!(without_times(recorded.clone()), without_times(again));
    assert_eq!(shown(&place, "r"), recorded);
}

#[test]
fn a_recorded_run_has_the_document_that_its_process_printed() {
    let place = project();
    for plan in ["parks", "asks", "ends", "fails"] {
        let printed = run(
            &place,
            &["a.plan", "--mock", "--plan", plan, "--run-id", plan],
        );
        let recorded = shown(&place, plan);
        assert_eq!(without_times(recorded), without_times(printed), "{plan}");
    }
    assert_eq!(shown(&place, "parks")["error"]["class"], "tool.failed");
}

#[test]
fn the_time_of_a_step_that_waited_for_a_slot_begins_after_that() {
    let plan = "use sys plan p(n: int) -> int {
        policy { concurrency: 1 }
        parallel {
            step a = sys.sleep(duration: 3s)
            step b = sys.sleep(duration: 200ms) within 2s
        }
        reply n }";
    let place = folder([("a.plan", plan)]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "-i", "n=1", "--run-id", "r"])
        .current_dir(place.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let events = || {
        let events = run_in(&place, &["runs", "events", "r", "--format", "ndjson"]).stdout;
        let events = events
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        events.collect::<Vec<Json>>()
    };
    let begun = || {
        let events = events().into_iter();
        let mut begins = events.filter(|event| event["event"] == "step.running");
        begins.find(|event| event["path"] == "b")
    };
    while begun().is_none() {
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let resumed = run_in(&place, &["runs", "resume", "r"]);
    assert_eq!(
        (resumed.status, &*resumed.stdout),
        (0, "1\n"),
        "{}",
        resumed.stderr
    );
    let show = shown(&place, "r");
    let moment = |at: &Json| parse_timestamp(at.as_str().unwrap()).unwrap();
    let started = moment(&show["steps"][1]["started_at"]);
    let apart = (moment(&begun().unwrap()["at"]) - started).abs();
    assert!(apart < 1_000_000_000, "{show:#}");
}

#[test]
fn a_run_whose_process_died_is_interrupted_in_every_form() {
    let place = project();
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args([
            "run", "a.plan", "--mock", "--plan", "lasts", "--run-id", "dead",
        ])
        .current_dir(place.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !run_in(&place, &["runs", "events", "dead"])
        .stdout
        .contains("desk.look")
    {
        std::thread::sleep(Duration::from_millis(20));
    }
    let listed = || run_in(&place, &["runs", "list", "--format", "json"]).json()["runs"][0].clone();
    assert_eq!(shown(&place, "dead")["status"], "running");
    assert_eq!(listed()["status"], "running");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(shown(&place, "dead")["status"], "interrupted");
    let row = listed();
    assert_eq!(
        (&row["status"], &row["driven"]),
        (&json!("interrupted"), &json!(false))
    );
    let human = run_in(&place, &["runs", "show", "dead"]).stdout;
    assert!(human.starts_with("lasts dead: interrupted"), "{human}");
}

#[test]
fn the_steps_of_a_run_are_counted_while_it_is_driven() {
    let place = project();
    let plan = "use desk, sys plan p() -> int {
        step a = desk.look(id: \"ok\")
        step f = input \"Which?\" -> { n: int }
        step m = desk.mail(to: \"x\")
        step w = sys.sleep(duration: 150ms)
            after m
        step b = desk.look(id: \"slow\")
            after w
        reply b.n }";
    fs::write(place.path().join("b.plan"), plan).unwrap();
    let listed = || run_in(&place, &["runs", "list", "--format", "json"]).json()["runs"][0].clone();
    run(&place, &["b.plan", "--mock", "--run-id", "r"]);
    assert_eq!(listed()["steps_done"], 1);
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["runs", "answer", "r", "f={\"n\": 1}", "--resume"])
        .current_dir(place.path())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while listed()["steps_done"] != 4 {
        assert!(child.try_wait().unwrap().is_none(), "{}", listed());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(listed()["status"], "running");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(
        (
            &listed()["status"],
            &listed()["steps_done"],
            &listed()["steps_all"]
        ),
        (&json!("interrupted"), &json!(4), &json!(5))
    );
}

#[test]
fn lists_select_runs_that_have_not_begun_and_no_two_states_at_once() {
    let place = project();
    let pending = run_in(&place, &["runs", "list", "--state", "pending"]);
    assert_ne!(pending.status, 2, "{pending:?}");
    let both = run_in(
        &place,
        &["runs", "list", "--waiting", "--state", "completed"],
    );
    assert_eq!(both.status, 2, "{both:?}");
}

#[test]
fn the_events_before_the_damage_of_a_run_are_printed() {
    let place = project();
    let asks = ["a.plan", "--mock", "--plan", "stepwise", "--run-id", "r"];
    run(&place, &asks);
    let intact = run_in(&place, &["runs", "events", "r"]).stdout;
    run_in(&place, &["runs", "answer", "r", "f={\"n\": 1}", "--resume"]);
    let journal = rusqlite::Connection::open(place.path().join(".planrun/journal.db")).unwrap();
    let damage = "UPDATE segments SET text = replace(text, 'mail', 'moil')";
    assert!(journal.execute(damage, []).unwrap() > 0);
    drop(journal);
    let output = run_in(&place, &["runs", "events", "r"]);
    assert_eq!((output.status, &output.stdout), (3, &intact), "{output:?}");
    let remedy = "delete the run with `planrun runs prune --damaged r`";
    assert!(output.stderr.contains(remedy), "{output:?}");
}

#[test]
fn steps_with_wide_names_are_aligned() {
    let place = project();
    let plan = "use desk\nplan p() {\n    step `查询客户` = desk.look(id: \"ok\")\n    step b = desk.mail(to: \"x\")\n}\n";
    fs::write(place.path().join("b.plan"), plan).unwrap();
    let ran = run_in(&place, &["run", "b.plan", "--mock", "--run-id", "wide"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let shown = run_in(&place, &["runs", "show", "wide"]).stdout;
    let column = |path: &str| {
        let line = shown.lines().find(|line| line.contains(path)).unwrap();
        let (before, _) = line.split_once("completed").unwrap();
        unicode_width::UnicodeWidthStr::width(before)
    };
    assert_eq!(column("查询客户"), column("  b "), "{shown}");
}
