//! `PLANRUN_LOG`: events inside of a run are logged on request, without secrets.

use crate::support::{Output, folder, planrun};

const SECRET: &str = "hunter2-and-more";

const PLAN: &str = r#"
use fs

plan keep(password: secret, names: string[]) -> string {
    allow { read: ["out/**"], write: ["out/**"] }
    step written = each name in names max 10 {
        step file = fs.write(path: "out/${name}.txt", content: "${password}")
        yield name
    }
    step missing = fs.read(path: "out/none.txt") recover tool => "none"
    reply missing
}
"#;

/// Runs the plan with this log filter.
fn logged(filter: Option<&str>) -> Output {
    let files = folder([("keep.plan", PLAN), ("out/readme.txt", "")]);
    let arguments = [
        "run",
        "keep.plan",
        "--run-id",
        "r1",
        "-i",
        "names=[\"one\",\"two\"]",
    ];
    let password = format!("password={SECRET}");
    let mut program = planrun(arguments)
        .argument("-i")
        .argument(password)
        .within(files.path());
    if let Some(filter) = filter {
        program = program.variable("PLANRUN_LOG", filter);
    }
    program.run()
}

#[test]
fn debug_tells_runs_steps_attempts_and_commits_and_no_secret() {
    let output = logged(Some("debug"));
    assert_eq!(output.status, 0, "{}", output.stderr);
    for part in [
        r"run{run=r1 plan=keep}: planrun_runs::driver::spans: new",
        r"run{run=r1 plan=keep}:step{path=written tool=}:step{path=written[0].file tool=fs.write}: planrun_runs::driver::spans: new",
        r"step{path=written[1].file tool=fs.write}:attempt{tool=fs.write}: planrun_runs::driver::spans: answered",
        r":step{path=missing tool=fs.read}:attempt{tool=fs.read}: planrun_runs::driver::spans: failed class=tool.",
        r"settled state=completed attempts=1",
        r"commit{runs=1 events=",
        r"close time.busy=",
    ] {
        assert!(
            output.stderr.contains(part),
            "no {part} in\n{}",
            output.stderr
        );
    }
    for text in [&output.stdout, &output.stderr] {
        assert!(!text.contains(SECRET), "{text}");
        assert!(!text.contains('\u{1b}'), "colour in a pipe: {text}");
    }
}

#[test]
fn a_filter_leaves_out_what_it_does_not_name_and_without_one_nothing_is_told() {
    let output = logged(Some("planrun_runs::driver=debug"));
    assert!(
        output.stderr.contains("step{path=written"),
        "{}",
        output.stderr
    );
    assert!(!output.stderr.contains("commit{"), "{}", output.stderr);
    let silent = logged(None);
    assert!(!silent.stderr.contains("planrun_runs"), "{}", silent.stderr);
    assert!(!logged(Some("")).stderr.contains("planrun_runs"));
    // Spans of other crates are never logged, regardless of the filter, because their fields may contain secrets.
    let all = logged(Some("trace"));
    let stranger = all
        .stderr
        .lines()
        .find(|line| line.contains("Z ") && !line.contains("planrun"));
    assert_eq!(stranger, None);
    let wrong = logged(Some("planrun=loud"));
    assert_eq!(wrong.status, 2, "{}", wrong.stderr);
    assert!(wrong.stderr.contains("PLANRUN_LOG: "), "{}", wrong.stderr);
}
