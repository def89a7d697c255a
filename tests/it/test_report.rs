//! The report formats of `planrun test` for other programs.

use std::path::PathBuf;
use std::time::Duration;

use planrun_test::plantest::report::{
    Counts, Failure, FileReport, Report, Status, TestReport, github, json, junit,
};

use crate::support::{folder, planrun};

/// Environment variable with the folder that `tests/peers/formats.sh` reads.
const FOLDER: &str = "PLANRUN_REPORTS";

fn failure(message: &str, line: u32) -> Failure {
    Failure {
        message: message.into(),
        line,
        column: 5,
        expected: None,
        actual: None,
        help: None,
    }
}

fn test(name: &str, line: u32, status: Status, failures: Vec<Failure>) -> TestReport {
    TestReport {
        name: name.into(),
        row: None,
        line,
        status,
        duration: Duration::from_micros(12_345_999),
        failures,
    }
}

/// Returns a report with every possible result of a test, in files with names that need escaping.
fn everything() -> Report {
    let facts = Failure {
        expected: Some("{\"hired\": true}".into()),
        actual: Some("{\"hired\": false}".into()),
        help: Some("`reply` is what the plan replies".into()),
        ..failure("`reply` is another one", 14)
    };
    let failed = vec![facts, failure("`mail.send` was not called", 15)];
    let row = |row, status, failures| TestReport {
        row: Some(row),
        ..test("each level", 20, status, failures)
    };
    let tests = vec![
        test("hires three", 3, Status::Passed, vec![]),
        test(
            "拒绝：100%, <too> \"much\" & more ]]>",
            9,
            Status::Failed,
            failed,
        ),
        row(1, Status::Passed, vec![]),
        row(
            2,
            Status::Errored,
            vec![failure("the run waits for somebody", 22)],
        ),
        row(3, Status::Flaky, vec![failure("`x` came before `y`", 23)]),
    ];
    let evil = "\u{1b}[2J\u{202e}\n::error::\r\u{0}\u{ffff}";
    let odd = vec![
        test(evil, 1, Status::Failed, vec![failure(evil, 2)]),
        test("", 4, Status::Errored, vec![]),
    ];
    let file = |path: &str, tests| FileReport {
        path: path.into(),
        tests,
    };
    let files = vec![
        file("plans/入职.plan", tests),
        file("a b,c:d%.plantest", odd),
        file("empty.plan", vec![]),
    ];
    Report {
        files,
        duration: Duration::from_millis(1_002_003),
    }
}

#[test]
fn ends_are_counted() {
    let counts = Counts {
        tests: 7,
        passed: 2,
        failed: 2,
        errored: 2,
        flaky: 1,
    };
    assert_eq!(everything().counts(), counts);
}

#[test]
fn junit_has_a_case_for_each_test_and_row() {
    insta::assert_snapshot!(junit(&everything()));
}

#[test]
fn json_has_the_documented_shape() {
    let text = json(&everything());
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        document["files"][1]["tests"][0]["name"],
        "\u{1b}[2J\u{202e}\n::error::\r\u{0}\u{ffff}"
    );
    insta::assert_snapshot!(text);
}

#[test]
fn workflow_commands_stand_on_their_lines() {
    let text = github(&everything());
    assert!(
        text.lines()
            .all(|line| line.starts_with("::error file=") || line.starts_with("::warning file="))
    );
    insta::assert_snapshot!(text);
}

#[test]
fn nothing_acts_on_a_terminal() {
    for text in [
        junit(&everything()),
        json(&everything()),
        github(&everything()),
    ] {
        let acts = |letter: char| letter != '\n' && (letter.is_control() || letter == '\u{202e}');
        assert!(!text.contains(acts), "{text}");
    }
}

/// Writes reports for validation against their schemas; `tests/peers/formats.sh` starts it.
#[test]
#[ignore = "writes into the folder that its caller names"]
fn leaves_reports() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).expect("the folder to write to"));
    for (name, report) in [("tests", everything()), ("none", Report::default())] {
        std::fs::write(folder.join(format!("{name}.junit")), junit(&report)).unwrap();
    }
}

#[test]
fn an_expression_that_fails_the_run_is_located() {
    let plan = "plan p(names: string[]) -> string {\n    reply names[2]\n}\n\n\
                test \"too few\" for p {\n    given { names: [\"a\"] }\n    expect reply == \"a\"\n}\n";
    let folder = folder([("p.plan", plan)]);
    let output = planrun(["test", "p.plan", "--format", "json"])
        .within(folder.path())
        .run();
    let text = output.json().to_string();
    assert!(
        text.contains("index out of range: 2 of a list of 1, at p.plan:2:16"),
        "{text}"
    );
}
