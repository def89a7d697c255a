//! `planrun run` in whole sessions: inputs, ends, outputs, limits.
//!
//! A folder in `tests/fixtures/run` has plans and a `session.txt`: lines `$ planrun …`, each with its output, standard
//! output first, and its exit code. The commands run in a copy of the folder. `PLANRUN_BLESS=1` rewrites the sessions.

use std::fmt::Write as _;
use std::path::Path;

use regex::Regex;

use crate::support::{compare, folder, planrun, root, words};

#[test]
fn sessions_go_as_written() {
    let mut folders: Vec<_> = std::fs::read_dir(root().join("tests/fixtures/run"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    folders.sort();
    assert!(folders.len() >= 8);
    let faults = std::thread::scope(|scope| {
        let sessions = folders
            .iter()
            .map(|folder| scope.spawn(|| replay(folder)))
            .collect::<Vec<_>>();
        sessions
            .into_iter()
            .filter_map(|session| session.join().unwrap().err())
            .collect::<Vec<_>>()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// Runs the commands of a session, and compares their output with the session file.
fn replay(fixture: &Path) -> Result<(), String> {
    let expected = fixture.join("session.txt");
    let place = folder(std::fs::read_dir(fixture).unwrap().map(|entry| {
        let entry = entry.unwrap();
        (entry.file_name(), std::fs::read(entry.path()).unwrap())
    }));
    let mut session = String::new();
    for command in std::fs::read_to_string(&expected)
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("$ planrun "))
    {
        let arguments = words(command).into_iter().skip(2);
        let output = planrun(arguments).within(place.path()).run();
        let printed = steady(&format!("{}{}", output.stdout, output.stderr));
        let end = if output.status == 0 {
            String::new()
        } else {
            format!("(exit code {})\n", output.status)
        };
        let newline = if printed.is_empty() || printed.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        writeln!(session, "{command}\n{printed}{newline}{end}").unwrap();
    }
    compare(&expected, &session)
}

/// Replaces the parts of a text that differ from run to run.
fn steady(text: &str) -> String {
    let changes = [
        (r#""(started_at|asked_at|at)": ?"[^"]+""#, r#""$1": "…""#),
        (r#""(duration_ms|wait_ms|latency_ms)": ?\d+"#, r#""$1": 0"#),
        (r"/tmp/\.tmp\w+", "/tmp/here"),
        (r"at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "at then"),
    ];
    changes
        .iter()
        .fold(text.to_owned(), |text, (pattern, instead)| {
            Regex::new(pattern)
                .unwrap()
                .replace_all(&text, *instead)
                .into_owned()
        })
}
