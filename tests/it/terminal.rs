//! What a person at a terminal sees: live progress, secrets that are typed, and what an interrupt leaves behind.

#![cfg(unix)]

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;

use super::support::{Output, folder, planrun};

const BANK: &str = r#"
name: bank
tools:
  - name: pay
    endpoint: http://127.0.0.1:9/tool
    effect: effect
    parameters:
      type: object
      properties: { pin: { type: string, writeOnly: true } }
      required: [pin]
    returns: { type: string }
    mock: "paid"
"#;

const PAYS: &str = r#"use bank

plan pays() -> string {
    step form = input "Your PIN?" -> { pin: string, note: string }
    step paid = bank.pay(pin: form.pin)
    reply form.note
}
"#;

const WRITES: &str = r#"use fs
use proc

plan writes() -> string {
    allow { write: ["*.txt"], run: ["sh"] }
    step one = fs.write(path: "one.txt", content: "x")
    step two = proc.run(argv: ["sh", "-c", "touch began.txt; sleep 2"])
    step three = fs.write(path: "three.txt", content: "x")
    reply "done"
}
"#;

fn place() -> TempDir {
    folder([
        ("planrun.yaml", "apps: [bank.yaml]\n"),
        ("bank.yaml", BANK),
        ("pays.plan", PAYS),
        ("writes.plan", WRITES),
    ])
}

/// Runs the program on a terminal; `None` without Python.
fn on_terminal(
    place: &TempDir,
    steps: &[(&str, &str)],
    arguments: &[&str],
) -> Option<serde_json::Value> {
    planrun(arguments).within(place.path()).on_terminal(steps)
}

#[test]
fn a_secret_is_not_displayed_while_it_is_typed() {
    let place = place();
    let steps = [("pin .*: ", "hunter2\n"), ("note .*: ", "thanks\n")];
    let run = ["run", "pays.plan", "--mock"];
    let Some(seen) = on_terminal(&place, &steps, &run) else {
        return;
    };
    assert_eq!(seen["displays"], json!([false, true, true]), "{seen}");
    let output = seen["output"].as_str().unwrap();
    assert_eq!(seen["status"], 0, "{seen}");
    assert!(
        output.contains("(string, not displayed): \r\n") && !output.contains("hunter2"),
        "{output}"
    );
    // No command is suggested that would leave the secret in the history of a shell.
    let waiting = planrun(run).within(place.path()).run();
    assert!(
        waiting.stderr.contains(" --interactive --resume\n"),
        "{waiting:?}"
    );
    // What is printed after an interrupt at a prompt does not stand behind the prompt.
    let seen = on_terminal(&place, &[("pin .*: ", "\u{3}")], &run).unwrap();
    let output = seen["output"].as_str().unwrap();
    assert!(output.contains("\r\ninterrupted; resume"), "{seen}");
    // An interrupt in the middle does not leave the terminal without a display.
    let seen = on_terminal(&place, &[("pin .*: ", "hun\u{3}")], &run).unwrap();
    assert_eq!(
        (&seen["status"], &seen["displays"]),
        (&json!(130), &json!([false, true])),
        "{seen}"
    );
}

#[test]
fn a_typed_interrupt_leaves_no_progress_line_behind() {
    let place = place();
    let once = [("two: proc.run", "\u{3}")];
    let Some(seen) = on_terminal(&place, &once, &["run", "writes.plan"]) else {
        return;
    };
    assert_eq!(seen["status"], 130, "{seen}");
    let output = seen["output"].as_str().unwrap();
    // The terminal displays `^C` at the begin of a line of its own, not behind a full line, where it would wrap.
    let (before, _) = output.split_once("^C").unwrap();
    let (_, on_its_line) = before.rsplit_once('\r').unwrap();
    assert_eq!(on_its_line.trim(), "", "{seen}");
    assert!(
        output.contains("stops after the calls that have been sent; press Ctrl-C again"),
        "{seen}"
    );
    let twice = [("two: proc.run", "\u{3}"), ("press Ctrl-C again", "\u{3}")];
    let seen = on_terminal(&place, &twice, &["run", "writes.plan", "--no-journal"]).unwrap();
    assert_eq!(seen["status"], 130, "{seen}");
    let output = seen["output"].as_str().unwrap();
    let (_, end) = output.rsplit_once("error: may have been done").unwrap();
    assert_eq!(
        end, ", and recorded in no journal: `two` (proc.run)\r\n",
        "nothing is drawn after that"
    );
}

/// Interrupts a command once it is ready for that, and returns its output.
fn interrupted(place: &TempDir, is_ready: impl Fn() -> bool, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(arguments)
        .current_dir(place.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !is_ready() {
        assert!(child.try_wait().unwrap().is_none(), "{arguments:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let kill = ["-INT", &child.id().to_string()];
    assert!(Command::new("kill").args(kill).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    Output {
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn an_interrupted_run_without_a_journal_tells_what_it_has_done() {
    let place = place();
    let run = ["run", "writes.plan", "--no-journal", "--format", "json"];
    let has_begun = || place.path().join("began.txt").exists();
    let output = interrupted(&place, has_begun, &run);
    assert_eq!(output.status, 130, "{output:?}");
    assert!(!place.path().join("three.txt").exists());
    for line in [
        "error: done and not undone, and recorded in no journal: `one` (fs.write)\n",
        "error: done and not undone, and recorded in no journal: `two` (proc.run)\n",
    ] {
        assert!(output.stderr.contains(line), "{output:?}");
    }
    // With a journal, `runs show` tells it.
    std::fs::remove_file(place.path().join("began.txt")).unwrap();
    let output = interrupted(&place, has_begun, &["run", "writes.plan"]);
    assert!(
        output.status == 130 && !output.stderr.contains("no journal"),
        "{output:?}"
    );
}

#[test]
fn an_interrupted_call_of_a_tool_ends_like_an_interrupted_run() {
    let place = place();
    let sleep = [
        "tools",
        "run",
        "sys.sleep",
        "--input",
        r#"{"duration": "9s"}"#,
    ];
    for format in ["human", "json"] {
        let runs = || {
            let list = planrun(["runs", "list", "--format", "json"]);
            list.within(place.path()).run()
        };
        // The run and its call have begun.
        let is_running = || {
            let listed = runs();
            listed.status == 0
                && listed.json()["runs"][0]["events"].as_u64() >= Some(2)
                && listed.json()["runs"][0]["status"] == "running"
        };
        let command = [&sleep[..], &["--format", format]].concat();
        let output = interrupted(&place, is_running, &command);
        assert_eq!(output.status, 130, "{output:?}");
        assert!(
            output
                .stderr
                .contains("interrupted; resume the run with `planrun run --resume "),
            "{output:?}"
        );
        if format == "json" {
            assert_eq!(output.json()["status"], "interrupted");
        }
    }
}

#[test]
fn a_call_that_reaches_no_service_ends_alike_in_every_format() {
    let place = place();
    let hint = "check that the service is running and its address is correct";
    for format in ["human", "json"] {
        let call = ["tools", "run", "bank.pay", "--input", r#"{"pin": "1"}"#];
        let output = planrun(call.iter().chain(&["--format", format]))
            .within(place.path())
            .run();
        assert_eq!(output.status, 3, "{output:?}");
        // This command has no `--mock`.
        assert!(output.stderr.ends_with(&format!("{hint}\n")), "{output:?}");
    }
    let answer = r#"form={"pin": "1", "note": "x"}"#;
    let run = planrun(["run", "pays.plan", "--answer", answer])
        .within(place.path())
        .run();
    let with_mock = format!("{hint}, or try the plan with `--mock`\n");
    assert!(
        run.status == 3 && run.stderr.ends_with(&with_mock),
        "{run:?}"
    );
}
