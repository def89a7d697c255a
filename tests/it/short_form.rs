//! The short form of a plan, for plans that are passed as text: statements without a head and without `use`.

use std::fs;

use planrun::Planrun;
use planrun::check::{Checked, PlanText};
use serde_json::json;
use tempfile::TempDir;

use super::support::{Output, folder, planrun};

const APP: &str = "name: desk
tools:
  - name: list_open
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: {} }
    returns: { type: object, properties: { tickets: { type: array, items: { type: object, properties: { id: { type: integer }, state: { type: string } }, required: [id, state] } } }, required: [tickets] }
    mock: { tickets: [{ id: 1, state: solved }, { id: 2, state: open }, { id: 3, state: solved }] }
  - name: close_ticket
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { id: { type: integer } }, required: [id] }
    returns: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
    mock: { ok: true }
  - name: reopen_ticket
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { id: { type: integer } }, required: [id] }
    returns: { type: object, properties: { ok: { type: boolean } }, required: [ok] }
    mock: { ok: true }
";

const DESK: &str = "step open = desk.list_open()
let solved = open.tickets.filter(t, t.state == \"solved\")
step closed = each t in solved max 50 {
    step c = desk.close_ticket(id: t.id) undo desk.reopen_ticket(id: t.id)
    yield t.id
}
reply { closed: closed, all: size(open.tickets) }
";

fn project() -> TempDir {
    folder([("planrun.yaml", "apps: [desk.yaml]\n"), ("desk.yaml", APP)])
}

fn run(arguments: &[&str], text: &str) -> Output {
    let place = project();
    let arguments = arguments.iter().copied();
    planrun(arguments).within(place.path()).stdin(text).run()
}

/// Returns line, column and code of each finding in a plan that is passed as text.
fn found(text: &str) -> Vec<(u64, u64, String)> {
    let output = run(&["check", "-", "--format", "json"], text);
    let document = output.json();
    let found = document["diagnostics"].as_array().unwrap().iter();
    found
        .map(|found| {
            let start = &found["span"]["start"];
            let number = |value: &serde_json::Value| value.as_u64().unwrap();
            (
                number(&start["line"]),
                number(&start["column"]),
                found["code"].as_str().unwrap().to_owned(),
            )
        })
        .collect()
}

fn one(text: &str, line: u64, column: u64, code: &str) {
    assert_eq!(found(text), [(line, column, code.to_owned())], "{text}");
}

#[test]
fn statements_are_checked_and_run_as_a_plan() {
    assert_eq!(found(DESK), []);
    let ran = run(&["run", "-", "--mock", "--format", "json"], DESK);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(ran.json()["plan"], "main");
    assert_eq!(ran.json()["reply"], json!({"closed": [1, 3], "all": 3}));
    let dry = run(&["run", "-", "--dry-run"], DESK);
    let calls: Vec<_> = dry
        .stdout
        .lines()
        .skip_while(|line| *line != "calls:")
        .skip(1)
        .take(3)
        .collect();
    assert_eq!(
        calls,
        [
            "  desk.list_open at most 1 read",
            "  desk.close_ticket at most 50 effect; undone by desk.reopen_ticket",
            "  desk.reopen_ticket at most 50 effect, to undo",
        ],
        "{}",
        dry.stdout
    );
}

#[test]
fn findings_stand_where_they_are_written() {
    one(
        &DESK.replace("close_ticket(id: t.id)", "close_ticket(id: t.id, x: 1)"),
        4,
        42,
        "unknown-argument",
    );
    one(&DESK.replace("t.state", "t.stat"), 2, 39, "unknown-field");
    // On the first line, and after multi-byte characters.
    one(
        "step 打开 = desk.list_open()\nreply size(打开.ticket)",
        2,
        15,
        "unknown-field",
    );
    one("reply size(\"打开\") + true", 1, 18, "no-overload");
    // The name of the wrapping plan does not conflict with names in the text.
    assert_eq!(found("let main = 1\nreply main"), []);
}

#[test]
fn a_namespace_that_nobody_knows_is_told_wherever_it_is_called() {
    let text = DESK.replace("desk.list", "dask.list");
    one(&text, 1, 13, "unknown-namespace");
    let fixed = run(&["check", "-", "--fix"], &text);
    assert_eq!(fixed.stdout, DESK);
    assert_eq!(
        found("step a = nobody.is() step b = nobody.was() reply a").len(),
        2
    );
}

#[test]
fn settings_types_and_tools_may_stand_before_the_statements() {
    let text = "// What is asked for.
policy { budget: { calls: 10 } }
type Found = { n: int }
/// Made here.
tool more.count(of: int) -> Found read
step open = desk.list_open()
step n = more.count(of: size(open.tickets))
reply n.n
";
    let codes: Vec<_> = found(text).into_iter().map(|(.., code)| code).collect();
    assert_eq!(codes, ["unimplemented-tool"]);
    let full = run(&["fmt", "-"], text).stdout;
    assert_eq!(
        full,
        "// What is asked for.
use desk, more

type Found = { n: int }

/// Made here.
tool more.count(of: int) -> Found read

plan main() {
    policy { budget: { calls: 10 } }

    step open = desk.list_open()
    step n = more.count(of: size(open.tickets))
    reply n.n
}
"
    );
    assert_eq!(run(&["fmt", "-"], &full).stdout, full);
}

#[test]
fn a_text_that_is_broken_or_empty_says_so() {
    one(
        "step open = desk.list_open(\nreply 1",
        1,
        27,
        "unclosed-delimiter",
    );
    let codes = |text: &str| -> Vec<_> {
        found(text)
            .into_iter()
            .map(|(line, _, code)| (line, code))
            .collect()
    };
    assert_eq!(
        codes("stp open = desk.list_open()\nreply 1"),
        [(1, "unexpected-token".to_owned())]
    );
    assert_eq!(codes("reply 1\n}"), [(2, "unexpected-token".to_owned())]);
    for text in ["", "// Nothing yet.\n", "\n\n"] {
        assert_eq!(found(text), []);
        let ran = run(&["run", "-"], text);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
        assert!(ran.stderr.contains("`-` has no plan"), "{}", ran.stderr);
    }
}

#[test]
fn a_file_has_a_head() {
    let place = project();
    fs::write(place.path().join("a.plan"), DESK).unwrap();
    let check = |arguments: &[&str]| {
        planrun(arguments.iter().copied())
            .within(place.path())
            .run()
    };
    let checked = check(&["check", "a.plan"]);
    assert_eq!(checked.status, 1);
    assert!(
        checked.stdout.contains("missing-head") && checked.stdout.contains("a.plan:1:1"),
        "{}",
        checked.stdout
    );
    let fixed = check(&["check", "--fix", "a.plan"]);
    assert_eq!(fixed.status, 0, "{}", fixed.stdout);
    let full = fs::read_to_string(place.path().join("a.plan")).unwrap();
    assert!(full.starts_with("use desk\n\nplan main() {\n"), "{full}");
    let formed = run(&["fmt", "-"], &full).stdout;
    assert_eq!(formed, run(&["fmt", "-"], DESK).stdout);
}

#[test]
fn a_server_hands_texts_in_without_a_name() {
    let place = project();
    let planrun = Planrun::open(place.path()).unwrap();
    let check = |text: PlanText| -> Checked { planrun.check(text).unwrap() };
    let plan = check(PlanText::handed_in(place.path(), DESK))
        .plan(None)
        .unwrap();
    assert_eq!(&*plan.plan.name, "main");
    assert_eq!(plan.bounds(None).uses.len(), 3);
    assert!(check(PlanText::new("a.plan", DESK)).plan(None).is_err());
}

/// A plan whose run pauses because a file is missing.
const PAUSED: &str = "policy { on_failure: pause }
step note = fs.write(path: \"note.txt\", content: \"hello\")
step text = fs.read(path: \"nowhere.txt\")
reply text
";

/// Returns a project with a paused run, and the text that reads an existing file.
fn paused_run() -> (TempDir, String) {
    let place = folder([("planrun.yaml", "allow: { read: [\".\"], write: [\".\"] }\n")]);
    let ran = at(&place, &["run", "-", "--run-id", "r1"], PAUSED);
    assert_eq!(ran.status, 4, "{}", ran.stderr);
    (place, PAUSED.replace("nowhere.txt", "note.txt"))
}

fn at(place: &TempDir, arguments: &[&str], text: &str) -> Output {
    let arguments = arguments.iter().copied();
    planrun(arguments).within(place.path()).stdin(text).run()
}

#[test]
fn a_paused_run_is_resumed_and_patched() {
    let (place, mended) = paused_run();
    let resumed = at(&place, &["runs", "resume", "r1"], "");
    assert_eq!(resumed.status, 4, "{}", resumed.stderr);
    assert!(
        resumed.stderr.contains("nowhere.txt does not exist"),
        "{}",
        resumed.stderr
    );
    let patched = at(&place, &["runs", "patch", "r1", "-", "--resume"], &mended);
    assert_eq!(patched.status, 0, "{}", patched.stderr);
    assert!(
        patched.stderr.contains("patched: replaced text"),
        "{}",
        patched.stderr
    );
    assert_eq!(patched.stdout, "hello\n");
    assert_eq!(
        at(&place, &["runs", "show", "r1", "--plan"], "")
            .stdout
            .trim(),
        mended.trim()
    );
}

#[test]
fn a_file_patches_a_run_of_a_short_form_where_it_has_a_head() {
    let (place, mended) = paused_run();
    fs::write(place.path().join("mended.plan"), &mended).unwrap();
    let patch = ["runs", "patch", "r1", "mended.plan", "--resume"];
    let refused = at(&place, &patch, "");
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("missing-head"),
        "{}",
        refused.stderr
    );
    at(&place, &["check", "--fix", "mended.plan"], "");
    let patched = at(&place, &patch, "");
    assert_eq!(
        (patched.status, &*patched.stdout),
        (0, "hello\n"),
        "{}",
        patched.stderr
    );
}

#[test]
fn what_a_run_of_a_short_form_has_done_is_not_patched() {
    let (place, mended) = paused_run();
    let other = mended.replace("hello", "bye");
    let refused = at(&place, &["runs", "patch", "r1", "-"], &other);
    assert_eq!(refused.status, 2, "{}", refused.stderr);
    assert!(
        refused.stderr.contains("`note` cannot be changed"),
        "{}",
        refused.stderr
    );
}
