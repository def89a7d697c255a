//! `planrun test` in everyday use and in CI: selected tests, exit codes, formats, snapshots.

use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Output, Program, folder, planrun};

const PLAN: &str = r"use api

tool api.find(id: int) -> { n: int } read fails gone

plan it(id: int) -> int {
    step found = api.find(id: id)
    reply found.n
}
";

const TESTS: &str = r#"use "./it.plan" as file

test "it is found" for file.it {
    given [{ id: 1 }, { id: 2 }]
    mock api.find => { n: id }
    expect reply == id
}

test "it is gone" for file.it {
    given { id: 1 }
    mock api.find => fail tool.gone
    expect error.class == "tool.gone"
}
"#;

pub(super) fn test(folder: &Path, arguments: &[&str]) -> Output {
    let program = planrun(["test"])
        .within(folder)
        .without_variable("CI")
        .without_variable("INSTA_UPDATE");
    arguments.iter().fold(program, Program::argument).run()
}

fn in_ci(folder: &Path) -> Output {
    planrun(["test", "."])
        .within(folder)
        .variable("CI", "1")
        .without_variable("INSTA_UPDATE")
        .run()
}

/// Returns the last line, without the duration.
pub(super) fn counts(output: &Output) -> &str {
    output
        .stdout
        .trim_end()
        .lines()
        .last()
        .unwrap_or_default()
        .split(" (")
        .next()
        .unwrap()
}

#[test]
fn tests_in_files_of_their_own_are_run_and_chosen_by_name() {
    let folder = folder([("it.plan", PLAN), ("it.plantest", TESTS)]);
    let run = |arguments: &[&str]| test(folder.path(), arguments);
    let all = run(&["."]);
    assert_eq!((all.status, counts(&all)), (0, "3 passed"), "{all:?}");
    assert_eq!(counts(&run(&["-k", "gone"])), "1 passed");
    assert_eq!(counts(&run(&["-k", "found", "-k", "gone"])), "3 passed");
    assert_eq!(counts(&run(&["it.plantest"])), "3 passed");
    let none = run(&["-k", "nobody"]);
    assert_eq!(
        (none.status, none.stderr.as_str()),
        (3, "error: no test matches nobody\n")
    );
    let none = run(&["it.plan"]);
    assert_eq!(none.status, 3);
    assert!(
        none.stderr
            .starts_with("error: no tests found in `it.plan`"),
        "{}",
        none.stderr
    );
    assert_eq!(run(&["nowhere.plan"]).status, 3);
    assert_eq!(run(&["--frmat", "json"]).status, 2);
    let printed = planrun(["test", "-v"]).within(folder.path()).run().stdout;
    for title in ["it is found #1", "it is found #2", "it is gone"] {
        assert!(
            printed.contains(&format!("ok    it.plantest: {title} (")),
            "{printed}"
        );
    }
}

#[test]
fn what_fails_or_cannot_be_tested_is_exit_code_one() {
    let wrong = TESTS
        .replace("reply == id", "reply > 1")
        .replace("reply == id", "reply > 1");
    let broken = PLAN.replace("found.n", "fund.n");
    let dir = folder([
        ("it.plan", PLAN),
        ("it.plantest", wrong.as_str()),
        ("broken.plan", &broken),
    ]);
    let some = test(dir.path(), &["."]);
    assert_eq!(
        (some.status, counts(&some)),
        (1, "2 passed, 1 failed"),
        "a broken plan without tests is no matter here"
    );
    std::fs::write(
        dir.path().join("broken.plan"),
        broken + "\ntest \"no\" for it {\n    given { id: 1 }\n}\n",
    )
    .unwrap();
    let some = test(dir.path(), &["."]);
    assert_eq!(
        (some.status, counts(&some)),
        (1, "2 passed, 1 failed, 1 file not tested"),
        "{some:?}"
    );
    assert!(some.stdout.contains("error[unknown-name]"), "{some:?}");
    std::fs::write(dir.path().join("latin.plan"), b"# caf\xe9\n").unwrap();
    let some = test(dir.path(), &["."]);
    assert_eq!(counts(&some), "2 passed, 1 failed, 2 files not tested");
}

#[test]
fn programs_read_what_came_of_tests() {
    let wrong = TESTS.replace("reply == id", "reply == 1");
    let folder = folder([("it.plan", PLAN), ("it.plantest", wrong.as_str())]);
    let json: Json = test(folder.path(), &["--format", "json"]).json();
    let shape = without_times(json);
    insta::assert_snapshot!("report.json", format!("{shape:#}"));
    let junit = test(folder.path(), &["--format", "junit"]).stdout;
    let times = regex::Regex::new(r#"time="[0-9.]+""#).unwrap();
    insta::assert_snapshot!("report.junit", times.replace_all(&junit, "time=\"…\""));
    let github = test(folder.path(), &["--format", "github"]);
    insta::assert_snapshot!("report.github", github.stdout);
    assert_eq!(github.status, 1);
}

fn without_times(mut json: Json) -> Json {
    match &mut json {
        Json::Object(fields) => {
            for (name, value) in fields.iter_mut() {
                let timed = name.contains("duration") || name.contains("took");
                *value = if timed {
                    Json::from("…")
                } else {
                    without_times(value.take())
                };
            }
        }
        Json::Array(values) => values
            .iter_mut()
            .for_each(|value| *value = without_times(value.take())),
        _ => {}
    }
    json
}

const KEPT: &str = r#"use api

tool api.find(id: int) -> { n: int } read fails gone

plan it(id: int) -> int {
    step found = api.find(id: id)
    reply found.n
}

test "kept" for it {
    given [{ id: 1 }, { id: 2 }]
    mock api.find => { n: id + 1 }
    snapshot trace
    snapshot reply
}

test "drawn" for it {
    snapshot graph
}
"#;

fn snapshots(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder.join("snapshots")) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn snapshots_are_new_then_taken_then_compared() {
    let folder = folder([("it.plan", KEPT)]);
    let run = |arguments: &[&str]| test(folder.path(), arguments);
    let ci = in_ci(folder.path());
    assert_eq!(ci.status, 1);
    assert_eq!(snapshots(folder.path()), [""; 0], "CI writes nothing");
    let new = run(&["."]);
    assert_eq!(new.status, 1);
    assert!(
        counts(&new).ends_with("5 snapshots to review"),
        "{}",
        counts(&new)
    );
    assert!(
        snapshots(folder.path())
            .iter()
            .all(|name| name.ends_with(".snap.new")),
        "{:?}",
        snapshots(folder.path())
    );
    let taken = run(&["--accept"]);
    assert_eq!(
        (taken.status, counts(&taken)),
        (0, "3 passed, 5 snapshots accepted"),
        "{taken:?}"
    );
    assert_eq!(snapshots(folder.path()).len(), 5);
    assert!(
        snapshots(folder.path())
            .iter()
            .all(|name| Path::new(name).extension().is_some_and(|end| end == "snap")),
        "{:?}",
        snapshots(folder.path())
    );
    assert_eq!(counts(&run(&["."])), "3 passed");
    let ci = in_ci(folder.path());
    assert_eq!(ci.status, 0, "what was taken holds in CI");

    std::fs::write(
        folder.path().join("it.plan"),
        KEPT.replace("id + 1", "id + 2"),
    )
    .unwrap();
    let before = snapshots(folder.path());
    let ci = in_ci(folder.path());
    assert_eq!((ci.status, snapshots(folder.path())), (1, before));
    assert!(
        ci.stdout.contains("this differs from the snapshot"),
        "{}",
        ci.stdout
    );
    let differs = run(&["."]);
    assert_eq!(
        (differs.status, counts(&differs)),
        (1, "1 passed, 2 failed, 4 snapshots to review"),
        "{differs:?}"
    );
    assert_eq!(
        counts(&run(&["--accept"])),
        "3 passed, 4 snapshots accepted"
    );
    assert_eq!(run(&["."]).status, 0);
}

#[test]
fn tests_on_standard_input_have_no_snapshots() {
    let folder = folder([("notes.txt", "")]);
    let some = planrun(["test", "-", "--accept"])
        .within(folder.path())
        .without_variable("CI")
        .stdin(KEPT)
        .run();
    assert_eq!(
        (some.status, counts(&some)),
        (1, "0 passed, 3 failed"),
        "{some:?}"
    );
    assert!(
        some.stdout
            .contains("a test on standard input has no snapshots"),
        "{some:?}"
    );
    assert_eq!(snapshots(folder.path()), [""; 0]);
}

#[test]
fn tests_that_fail_keep_nothing_and_what_nobody_names_is_told() {
    let folder = folder([(
        "it.plan",
        KEPT.replace("snapshot reply", "snapshot reply\n    expect reply == 2")
            .as_str(),
    )]);
    let run = |arguments: &[&str]| test(folder.path(), arguments);
    let some = run(&["--accept"]);
    assert_eq!(
        (some.status, counts(&some)),
        (1, "2 passed, 1 failed, 3 snapshots accepted"),
        "{some:?}"
    );
    std::fs::write(folder.path().join("it.plan"), KEPT).unwrap();
    assert_eq!(run(&["--accept"]).status, 0);
    std::fs::write(
        folder.path().join("it.plan"),
        KEPT.replace("    snapshot reply\n", ""),
    )
    .unwrap();
    let some = run(&["."]);
    assert_eq!(some.status, 0);
    assert_eq!(
        some.stderr.matches("no test uses the snapshot").count(),
        2,
        "{}",
        some.stderr
    );
    assert_eq!(
        run(&["-k", "drawn"]).stderr,
        "",
        "who runs a part cannot know"
    );
    let removed = run(&["--unreferenced", "delete"]);
    assert_eq!(
        (removed.status, counts(&removed)),
        (0, "3 passed, 2 snapshots removed")
    );
    assert_eq!(snapshots(folder.path()).len(), 3);
}

#[test]
fn the_permissions_of_the_project_hold_however_its_path_is_written() {
    let text = r#"use fs

plan it(file: string = "data/x.txt") -> string {
    allow { read: ["data/**"] }
    step text = fs.read(path: file)
    reply text
}

test "allowed" for it {
    mock fs.read => "hi"
    expect reply == "hi"
}

test "not allowed" for it {
    given { file: "other/x.txt" }
    mock fs.read => "hi"
    expect error.class == "denied.policy"
}
"#;
    let project = "allow:\n  read: [\"data/**\"]\n";
    let folder = folder([("it.plan", text), ("planrun.yaml", project)]);
    let whole = folder.path().to_string_lossy().into_owned();
    for path in [".", "it.plan", &whole] {
        let output = test(folder.path(), &[path]);
        assert_eq!(output.status, 0, "{path}: {}", output.stdout);
    }
}

#[test]
fn a_run_may_be_woken_hundreds_of_times() {
    let text = r#"use deploy

tool deploy.health(env: string) -> { ok: bool } read

plan watch() -> bool {
    step seen = deploy.health(env: "prod")
        until seen.ok every 5m within 15h
    reply seen.ok
}

test "half a day" for watch {
    mock deploy.health => { ok: false } times 150, then { ok: true }
    expect reply
    expect calls(deploy.health) == 151
}

test "without an end" for watch {
    mock deploy.health => { ok: false }
    expect error.class == "validation.until"
}
"#;
    let folder = folder([("it.plan", text)]);
    let output = test(folder.path(), &["."]);
    assert_eq!(output.status, 0, "{}", output.stdout);
}

#[test]
fn what_hangs_on_the_order_is_flaky() {
    let text = r#"use a

tool a.next() -> { n: int } read

plan it() -> int[] {
    step one = a.next()
    step two = a.next()
    reply [one.n, two.n]
}

test "one first" for it {
    mock a.next => { n: 1 }, then { n: 2 }
    expect reply == [1, 2]
}
"#;
    let folder = folder([("it.plan", text)]);
    assert_eq!(test(folder.path(), &["."]).status, 0);
    let flaky = test(folder.path(), &["--seeds", "20", "--format", "json"]);
    assert_eq!(flaky.status, 1);
    assert!(flaky.stdout.contains("\"flaky\""), "{}", flaky.stdout);
}

#[test]
fn a_snapshot_that_hangs_on_the_order_is_flaky_and_not_taken() {
    let text = r#"use a

tool a.next() -> { n: int } read

plan it() -> int[] {
    step one = a.next()
    step two = a.next()
    reply [one.n, two.n]
}

test "one first" for it {
    mock a.next => { n: 1 }, then { n: 2 }
    snapshot reply
}
"#;
    let folder = folder([("it.plan", text)]);
    let run = |arguments: &[&str]| test(folder.path(), arguments);
    let flaky = run(&["--seeds", "20", "--accept"]);
    assert_eq!(
        (flaky.status, counts(&flaky)),
        (1, "0 passed, 1 failed"),
        "{flaky:?}"
    );
    assert!(
        flaky.stdout.contains(": its reply is different"),
        "{}",
        flaky.stdout
    );
    assert_eq!(snapshots(folder.path()), [""; 0]);
    assert_eq!(run(&["--accept"]).status, 0);
    let flaky = run(&["--seeds", "20", "--unreferenced", "delete"]);
    assert_eq!(
        (flaky.status, counts(&flaky)),
        (1, "0 passed, 1 failed"),
        "the snapshot has a test"
    );
    assert_eq!(snapshots(folder.path()).len(), 1);
}

#[test]
fn snapshots_of_files_that_are_gone_are_told_and_removed() {
    let folder = folder([
        ("it.plan", KEPT),
        ("more/gone.plan", KEPT),
        ("more/bare.plan", KEPT),
        ("more/broken.plan", KEPT),
        ("more/ignored.plan", KEPT),
        (
            "more/snapshots/lib__graph.snap",
            "---\nsource: src/lib.rs\n---\n1\n",
        ),
    ]);
    let run = |arguments: &[&str]| test(folder.path(), arguments);
    assert_eq!(run(&["--accept"]).status, 0);
    let more = |name: &str| folder.path().join("more").join(name);
    std::fs::rename(more("gone.plan"), folder.path().join("moved.plan")).unwrap();
    let (plan, _) = KEPT.split_once("test \"kept\"").unwrap();
    std::fs::write(more("bare.plan"), plan).unwrap();
    // Nothing is known about the tests of these files.
    std::fs::write(more("broken.plan"), KEPT.replace("plan it", "plan at")).unwrap();
    std::fs::write(folder.path().join(".ignore"), "ignored.plan\n").unwrap();
    let told = run(&["--accept", "."]);
    let unused = |output: &Output| -> Vec<String> {
        let lines = output.stderr.lines();
        let names = lines.filter_map(|line| line.split_once("uses the snapshot `more/snapshots/"));
        let names = names.filter_map(|(_, rest)| rest.split_once("__"));
        names.map(|(name, _)| name.to_owned()).collect()
    };
    let expected = [["bare"; 5], ["gone"; 5]].concat();
    assert_eq!(unused(&told), expected, "{told:?}");
    assert_eq!(
        unused(&run(&["it.plan"])),
        [""; 0],
        "who runs one file asks about that file"
    );
    assert_eq!(unused(&run(&["-k", "drawn", "."])), [""; 0]);
    for arguments in [&["--coverage"], &["."]] {
        let all = [arguments.as_slice(), &["--unreferenced", "delete"]].concat();
        let removed = run(&all);
        let count = if arguments == &["."] {
            ""
        } else {
            ", 10 snapshots removed"
        };
        assert!(removed.stdout.contains(count), "{removed:?}");
        let mut left: Vec<String> = std::fs::read_dir(more("snapshots"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left.len(), 11, "{left:?}");
        assert!(left[..5].iter().all(|name| name.starts_with("broken__")));
        assert!(left[5..10].iter().all(|name| name.starts_with("ignored__")));
        assert_eq!(left[10], "lib__graph.snap");
    }
}

#[test]
fn a_file_with_two_names_is_tested_once() {
    let folder = folder([("sub/it.plan", KEPT)]);
    let whole = folder.path().canonicalize().unwrap();
    let whole = whole.join("sub/it.plan").display().to_string();
    let names = [
        "sub/it.plan",
        "./sub/it.plan",
        "sub/../sub/it.plan",
        &whole,
        "sub",
        ".",
    ];
    assert_eq!(test(folder.path(), &["--accept"]).status, 0);
    let output = test(folder.path(), &names);
    assert_eq!(
        (output.status, counts(&output)),
        (0, "3 passed"),
        "{output:?}"
    );
    let check = names.iter().fold(planrun(["check"]), Program::argument);
    let checked = check.within(folder.path()).run();
    assert_eq!(checked.stderr, "no problems found in 1 file\n");
}

#[test]
fn findings_that_a_test_expects_are_no_hindrance() {
    let text = "plan it() -> int {\n    let idle = 1\n    reply fund\n}\n\ntest \"it is wrong\" for it {\n    expect diagnostics [unknown-name, unused-let]\n    snapshot diagnostics\n}\n\nplan fine() -> int {\n    reply 1\n}\n\ntest \"another plan of the file runs\" for fine {\n    expect reply == 1\n}\n";
    let folder = folder([("it.plan", text)]);
    let some = test(folder.path(), &["--accept"]);
    assert_eq!(
        (some.status, counts(&some)),
        (0, "2 passed, 1 snapshot accepted"),
        "{some:?}"
    );
    std::fs::write(folder.path().join("it.plan"), text.replace("fund", "1")).unwrap();
    let some = test(folder.path(), &["."]);
    assert_eq!(
        (some.status, counts(&some)),
        (1, "1 passed, 1 failed"),
        "{some:?}"
    );
}
