//! `planrun check --watch` and `--stats`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use crate::support::{folder, planrun};

const GOOD: &str = "plan p() -> int {\n    reply 1\n}\n";

#[test]
fn a_change_is_checked_and_named() {
    let folder = folder([("a.plan", GOOD), ("notes.txt", "")]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["check", "--watch", "--format", "short"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (sender, lines) = mpsc::channel();
    let streams: [Box<dyn std::io::Read + Send>; 2] = [
        Box::new(child.stdout.take().unwrap()),
        Box::new(child.stderr.take().unwrap()),
    ];
    for stream in streams {
        let sender = sender.clone();
        std::thread::spawn(move || {
            BufReader::new(stream)
                .lines()
                .map_while(Result::ok)
                .for_each(|line| drop(sender.send(line)));
        });
    }
    // A timeout, so that a broken test ends.
    let mut seen = Vec::new();
    let mut until = |times: usize, expected: &str| {
        // The order of the two streams is not fixed.
        while seen
            .iter()
            .filter(|line: &&String| line.contains(expected))
            .count()
            < times
        {
            seen.push(lines.recv_timeout(Duration::from_mins(2)).expect(expected));
        }
        assert!(seen.iter().all(|line| !line.contains('\u{1b}')), "{seen:?}");
    };
    until(1, "waiting for changes");
    std::fs::write(folder.path().join("a.plan"), GOOD.replace('1', "nobody")).unwrap();
    until(1, "a.plan:2:11: error[unknown-name]");
    until(2, "waiting for changes");
    std::fs::create_dir(folder.path().join("new")).unwrap();
    std::fs::write(folder.path().join("new/b.plan"), GOOD).unwrap();
    until(1, "in 2 files");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn standard_input_is_not_watched() {
    let output = planrun(["check", "--watch", "-"]).run();
    assert_eq!(output.status, 2);
    assert_eq!(planrun(["check", "--watch", "--fix"]).run().status, 2);
    let output = planrun(["test", "--watch", "-"]).run();
    assert_eq!(output.status, 2);
    assert_eq!(
        output.stderr,
        "error: standard input cannot be watched; name files or folders\n"
    );
}

#[test]
fn stats_count_what_is_known() {
    let plan = "use kit\n\ntool kit.a(x: int) -> string read\ntool kit.b(x: int) -> any read\n\nplan p() -> any {\n    step one = kit.a(x: 1)\n    step two = kit.b(x: 2)\n    step all = do {\n        step three = kit.a(x: 3)\n        yield three\n    }\n    reply { one: one, two: two.x, all: all }\n}\n";
    let folder = folder([("a.plan", plan), ("b.plan", GOOD)]);
    let output = planrun(["check", "--stats", "--format", "json", "--offline"])
        .within(folder.path())
        .run();
    let bytes = plan.len() + GOOD.len();
    let expected = format!(
        "files: 2 ({bytes} bytes)\nplans: 2\nsteps: 4\ncalls: 3 (2 with a known result type, 1 without)\nchecked at run time: 0 contracts of calls, 0 values\nnote[unknown-read]: 1\n1 note in 2 files\n"
    );
    assert_eq!(
        (output.status, output.stderr.as_str()),
        (0, expected.as_str())
    );
    assert_eq!(output.json()["summary"]["unknown"], 1);
    assert!(
        planrun(["check", "--stats", "-v"])
            .within(folder.path())
            .run()
            .stderr
            .contains("time to check: ")
    );
}
