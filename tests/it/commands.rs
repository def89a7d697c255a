//! Commands in everyday use: their messages about runs, the places where they search for runs, and the mistakes that
//! they refuse.

use std::fs::{self, File};
use std::process::Command;

use tempfile::TempDir;

use super::support::{Output, folder, planrun};

const APP: &str = "name: desk
tools:
  - name: look
    endpoint: 'http://127.0.0.1:9/tool'
    effect: read
    parameters: { type: object, properties: { id: { type: string } }, required: [id] }
    returns: { type: object, properties: { n: { type: integer }, token: { type: string } }, required: [n] }
    sensitive: [result.token]
    mock:
      - { when: { id: bad }, status: 400 }
      - { when: { id: gone }, status: 404 }
      - { data: { n: 3, token: tok-4711-s3cret-value } }
  - name: mail
    endpoint: 'http://127.0.0.1:9/tool'
    effect: effect
    parameters: { type: object, properties: { to: { type: string } }, required: [to] }
    returns: { type: object, properties: { id: { type: string } }, required: [id] }
    mock: { id: m }
";
const PLANS: &str = r#"use desk

plan gate() -> { a: string, d: duration } {
    step m = desk.mail(to: "x") confirm "Really?" by "boss" expires 2d
    reply { a: m.id, d: 2d }
}

plan part(id: string, unread: string = "x") -> int {
    step l = desk.look(id: id)
    let none = l.n - 3
    let far = 5 / none
    step m = desk.mail(to: "mail ${far}")
    reply size(m.id)
}

plan settled() -> int {
    policy { on_failure: settle }
    step a = desk.look(id: "bad")
    step b = desk.look(id: "gone")
    step c = do {
        step inner = desk.look(id: "bad")
        yield inner.n
    }
    step d = desk.look(id: "ok")
    reply d.n + a.n
}

plan say(text: string) -> string {
    reply text
}

plan both(text: string) -> { text: string } {
    reply { text: text }
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

fn run(place: &TempDir, plan: &str, more: &[&str]) -> Output {
    run_in(
        place,
        &[&["run", "a.plan", "--mock", "--plan", plan], more].concat(),
    )
}

#[test]
fn d7_lists_name_states_that_can_be_asked_for_and_count_what_completed() {
    let place = project();
    run(&place, "gate", &["--run-id", "asks"]);
    run(&place, "settled", &["--run-id", "fails"]);
    let list = |arguments: &[&str]| run_in(&place, &[&["runs", "list"], arguments].concat());
    let human = list(&[]).stdout;
    assert!(human.contains("its question expires in 2d"), "{human}");
    assert!(!human.contains("resumes"), "{human}");
    let line = human
        .lines()
        .find(|line| line.starts_with("fails"))
        .unwrap();
    assert!(line.contains("failed  1/4"), "{human}");
    for state in ["interrupted", "running", "paused", "failed"] {
        let output = list(&["--state", state]);
        assert_eq!(output.status, 0, "{output:?}");
        assert_eq!(
            output.stdout.contains("asks"),
            state == "paused",
            "{output:?}"
        );
    }
    let dry = run(&place, "gate", &["--dry-run"]).stdout;
    assert!(dry.contains("for 2d: "), "{dry}");
}

#[test]
fn lists_and_reports_name_what_has_arrived_and_why_a_call_is_repeated() {
    const PLAN: &str = "use fs

plan p() {
    policy { on_failure: undo }
    allow { write: [\"out/*\"] }
    step a = fs.write(path: \"out/a\", content: \"\")
        undo fs.write(path: \"out/b\", content: \"\")
    step why = input \"Go on?\" -> { text: string }
    fail tool.refused \"${why.text}\"
}
";
    let place = folder([("p.plan", PLAN)]);
    let missing = run_in(&place, &["run", "p.plan", "--run-id", "r0"]);
    assert!(
        missing.stderr.contains("tool.failed: out does not exist"),
        "{missing:?}"
    );
    fs::create_dir(place.path().join("out")).unwrap();
    let list = || run_in(&place, &["runs", "list", "--limit", "1"]).stdout;
    assert_eq!(
        run_in(&place, &["run", "p.plan", "--run-id", "r1"]).status,
        4
    );
    assert!(!list().contains("has arrived"), "{}", list());
    let answer = run_in(&place, &["runs", "answer", "r1", "why={\"text\": \"no\"}"]);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert!(list().contains("paused  1/2  "), "{}", list());
    assert!(
        list().contains("can be resumed: an answer or a signal has arrived"),
        "{}",
        list()
    );
    assert_eq!(run_in(&place, &["runs", "resume", "r1"]).status, 1);
    assert!(!list().contains("has arrived"), "{}", list());
    let based = ["run", "p.plan", "--base", "r1", "--run-id", "r2"];
    assert_eq!(run_in(&place, &based).status, 4);
    let shown = run_in(&place, &["runs", "show", "r2"]).stdout;
    assert!(shown.contains("repeated: it had been undone"), "{shown}");
}

#[test]
fn d7_a_run_that_waits_for_centuries_is_listed_with_its_time() {
    let place = project();
    for year in ["2200", "9999"] {
        let plan =
            format!("plan p() {{ step w = wait until timestamp(\"{year}-12-31T23:59:59Z\") }}");
        fs::write(place.path().join("b.plan"), plan).unwrap();
        let waiting = run_in(&place, &["run", "b.plan", "--run-id", year]);
        assert_eq!(waiting.status, 4, "{waiting:?}");
        let list =
            |more: &[&str]| run_in(&place, &[&["runs", "list", "--limit", "1"], more].concat());
        let row = list(&["--format", "json"]).json()["runs"][0].clone();
        assert_eq!(row["wake_at"], format!("{year}-12-31T23:59:59Z"));
        let human = list(&[]).stdout;
        assert!(
            human.contains("resumes in ") && !human.contains("10950d"),
            "{human}"
        );
    }
}

#[test]
fn d7_a_run_that_lost_its_process_is_found_as_interrupted() {
    let place = project();
    let app = APP.replace("mock: { id: m }", "mock: [{ data: { id: m }, delay: 30s }]");
    fs::write(place.path().join("desk.yaml"), app).unwrap();
    fs::write(place.path().join("a.plan"), PLANS.replace("l.n - 3", "l.n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
    command.args([
        "run", "a.plan", "--mock", "--plan", "part", "--run-id", "dead", "-i", "id=ok",
    ]);
    let mut child = command
        .current_dir(place.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while !run_in(&place, &["runs", "events", "dead"])
        .stdout
        .contains("desk.mail")
    {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(
        run_in(&place, &["runs", "list", "--state", "running"])
            .stdout
            .contains("dead")
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let ids = |state: &str| {
        run_in(&place, &["runs", "list", "--state", state])
            .stdout
            .contains("dead")
    };
    assert!(ids("interrupted") && !ids("running"));
}

#[test]
fn d8_prune_deletes_nothing_before_it_is_told_what() {
    let place = project();
    run(&place, "say", &["--run-id", "one", "-i", "text=x"]);
    run(&place, "gate", &["--run-id", "asks"]);
    let count = || {
        run_in(&place, &["runs", "list", "--format", "json"]).json()["runs"]
            .as_array()
            .unwrap()
            .len()
    };
    let bare = run_in(&place, &["runs", "prune"]);
    assert_eq!(bare.status, 2, "{bare:?}");
    assert!(
        bare.stdout
            .contains("1 run would be deleted:\n  one  say  completed"),
        "{bare:?}"
    );
    assert!(
        bare.stderr.contains("nothing was deleted; `--all`"),
        "{bare:?}"
    );
    let dry = run_in(&place, &["runs", "prune", "--all", "--dry-run"]);
    assert_eq!((dry.status, count()), (0, 2), "{dry:?}");
    assert_eq!(run_in(&place, &["runs", "prune", "--keep", "1"]).status, 0);
    assert_eq!(run_in(&place, &["runs", "prune", "--days", "3"]).status, 0);
    assert_eq!(count(), 2);
    let all = run_in(&place, &["runs", "prune", "--all"]);
    assert_eq!((all.status, count()), (0, 1), "{all:?}");
    assert!(all.stderr.starts_with("deleted 1 run and "), "{all:?}");
    assert_eq!(
        run_in(&place, &["runs", "prune"]).status,
        0,
        "there is nothing left that it could mean"
    );
}

#[test]
fn d9_an_expression_without_a_value_names_its_line_and_a_let_its_own() {
    let place = project();
    let output = run(&place, "part", &["-i", "id=ok", "--run-id", "fails"]);
    assert_eq!(output.status, 1);
    let line = "the step `m` failed with validation.expression: divide by zero (a.plan:11:15)";
    assert!(output.stderr.contains(line), "{output:?}");
    let printed = run_in(&place, &["runs", "show", "fails"]).stdout;
    assert!(
        printed.contains("divide by zero (a.plan:11:15)"),
        "{printed}"
    );
}

#[test]
fn d10_a_failure_that_is_passed_on_is_told_once() {
    let place = project();
    let plan = "use desk\nplan p() -> int {\n    step x = do {\n        step y = each i in [\"bad\"] max 2 {\n            step z = desk.look(id: i)\n            yield z.n\n        }\n        yield size(y)\n    }\n    reply x\n}\n";
    fs::write(place.path().join("b.plan"), plan).unwrap();
    let output = run_in(&place, &["run", "b.plan", "--mock"]);
    assert_eq!(
        output.stderr.matches("Mock status 400").count(),
        1,
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("the step `x.y[0].z` failed with tool.failed"),
        "{output:?}"
    );
}

#[test]
fn d11_warnings_are_about_the_plan_that_runs() {
    let place = project();
    assert_eq!(run(&place, "say", &["-i", "text=x"]).stderr, "");
    let own = run(&place, "part", &["-i", "id=ok"]).stderr;
    assert!(own.contains("the input `unread` is never read"), "{own}");
}

#[test]
fn d12_a_misspelt_command_suggests_the_nearest() {
    let place = project();
    let tip = |words: &[&str]| {
        let output = run_in(&place, words);
        assert_eq!(output.status, 2, "{output:?}");
        output
            .stderr
            .lines()
            .find(|line| line.contains("tip:"))
            .map(|line| line.trim().to_owned())
    };
    assert_eq!(
        tip(&["rn"]).unwrap(),
        "tip: a similar subcommand exists: 'run'"
    );
    assert_eq!(
        tip(&["list"]).unwrap(),
        "tip: some similar subcommands exist: 'plans list', 'runs list', 'tools list'"
    );
    assert_eq!(
        tip(&["lint"]).unwrap(),
        "tip: a similar subcommand exists: 'check'"
    );
    assert_eq!(tip(&["banana"]), None);
}

#[test]
fn d14_all_steps_that_failed_are_named() {
    let place = project();
    let message = run(&place, "settled", &[]).stderr;
    for step in [
        "`a` failed with tool.failed",
        "`b` also failed, with tool.failed",
        "`c` also failed, with tool.failed",
    ] {
        assert!(message.contains(step), "{step}: {message}");
    }
    let many: Vec<String> = (0..30)
        .map(|n| format!("    step s{n} = desk.look(id: \"bad\")"))
        .collect();
    let many = many.join("\n");
    let plan = format!(
        "use desk\nplan p() -> int {{\n    policy {{ on_failure: settle }}\n{many}\n    reply s1.n\n}}\n"
    );
    fs::write(place.path().join("b.plan"), plan).unwrap();
    let message = planrun(["run", "b.plan", "--mock"])
        .within(place.path())
        .run()
        .stderr;
    assert_eq!(message.matches("also failed, with").count(), 8, "{message}");
    assert!(message.contains("and 21 more steps failed"), "{message}");
}

#[test]
fn d15_a_trace_tells_what_was_said_to_a_gate() {
    let place = project();
    let tests = "test \"agreed\" for gate {\n    mock desk.mail => { id: \"m\" }\n    answer m.confirm => { approve: true, by: \"boss\", note: \"fine\" }\n    expect status == \"completed\"\n    snapshot trace\n}\n\ntest \"refused\" for gate {\n    answer m.confirm => false\n    expect status == \"failed\"\n    snapshot trace\n}\n";
    fs::write(place.path().join("a.plan"), format!("{PLANS}\n{tests}")).unwrap();
    let output = planrun(["test", "--accept"])
        .within(place.path())
        .without_variable("CI")
        .run();
    assert_eq!(output.status, 0, "{output:?}");
    let snapshots = place.path().join("snapshots");
    let contents: Vec<String> = fs::read_dir(snapshots)
        .unwrap()
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let all = contents.join("\n");
    assert!(all.contains("  gate: approved by boss: fine\n"), "{all}");
    assert!(all.contains("  gate: refused"), "{all}");
}

#[test]
fn d16_runs_of_a_plan_elsewhere_are_found() {
    let place = folder([
        ("sub/planrun.yaml", "apps: [desk.yaml]\n"),
        ("sub/desk.yaml", APP),
        ("sub/a.plan", PLANS),
    ]);
    fs::create_dir_all(place.path().join("sub/deeper")).unwrap();
    fs::create_dir_all(place.path().join("other")).unwrap();
    let begun = run_in(
        &place,
        &[
            "run",
            "sub/a.plan",
            "--plan",
            "gate",
            "--mock",
            "--run-id",
            "asks",
        ],
    );
    assert_eq!(begun.status, 4, "{begun:?}");
    for from in [".", "sub", "sub/deeper"] {
        let output = planrun(["runs", "list"])
            .within(place.path().join(from))
            .run();
        assert!(output.stdout.contains("asks"), "{from}: {output:?}");
        let printed = planrun(["runs", "show", "asks"])
            .within(place.path().join(from))
            .run();
        assert_eq!(printed.status, 0, "{from}: {printed:?}");
    }
    let output = planrun(["runs", "list"])
        .within(place.path().join("other"))
        .run();
    assert_eq!(output.status, 3, "{output:?}");
    assert!(
        output.stderr.contains("there is no journal at") && output.stderr.contains("--project DIR"),
        "{output:?}"
    );
    let named = planrun(["runs", "list", "--project", "../sub"])
        .within(place.path().join("other"))
        .run();
    assert!(named.stdout.contains("asks"), "{named:?}");
    let answered = run_in(
        &place,
        &[
            "runs",
            "answer",
            "asks",
            "m.confirm=true",
            "--by",
            "boss",
            "--resume",
        ],
    );
    assert_eq!(answered.status, 0, "{answered:?}");
    // There are plans without a project in two folders, so the folder has to be named.
    for name in ["other", "third"] {
        fs::create_dir_all(place.path().join(name)).unwrap();
        fs::write(
            place.path().join(name).join("s.plan"),
            "plan s() -> int { reply 1 }\n",
        )
        .unwrap();
        run_in(
            &place,
            &["run", &format!("{name}/s.plan"), "--run-id", name],
        );
    }
    let several = run_in(&place, &["runs", "list"]);
    assert_eq!(several.status, 2, "{several:?}");
    assert!(
        several
            .stderr
            .contains("`--project other`, `--project sub`, `--project third`"),
        "{several:?}"
    );
    assert!(
        run_in(&place, &["runs", "list", "--project", "third"])
            .stdout
            .contains("third")
    );
}

/// Returns the commands in a text, in backquotes or after `answer: `.
fn commands_in(text: &str) -> Vec<String> {
    let quoted = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter(|part| part.starts_with("planrun "));
    let answers = text
        .lines()
        .filter_map(|line| line.split_once("answer: ").map(|(_, command)| command));
    quoted.chain(answers).map(str::to_owned).collect()
}

#[test]
fn d16_the_next_command_names_the_project_where_it_lies_elsewhere() {
    let name = "my project";
    let place = folder([
        (format!("{name}/planrun.yaml"), "apps: [desk.yaml]\n"),
        (format!("{name}/desk.yaml"), APP),
        (format!("{name}/a.plan"), PLANS),
        ("own/planrun.yaml".to_owned(), "apps: []\n"),
        ("own/s.plan".to_owned(), "plan s() -> int { reply 1 }\n"),
    ]);
    let own = place.path().join("own");
    assert_eq!(planrun(["run", "s.plan"]).within(&own).run().status, 0);
    let file = format!("../{name}/a.plan");
    let begun = planrun(["run", &file, "--plan", "gate", "--mock", "--run-id", "asks"])
        .within(&own)
        .run();
    assert_eq!(begun.status, 4, "{begun:?}");
    let project = format!("../{name}");
    let elsewhere = [
        begun.stderr.clone(),
        planrun(["runs", "show", "asks", "--project", &project])
            .within(&own)
            .run()
            .stdout,
        planrun(["runs", "inbox", "--project", &project])
            .within(&own)
            .run()
            .stdout,
        planrun(["runs", "list", "--waiting", "--project", &project])
            .within(&own)
            .run()
            .stdout,
    ];
    let flag = "planrun --project '../my project' ";
    for text in &elsewhere {
        let commands = commands_in(text);
        assert!(
            !commands.is_empty() && commands.iter().all(|command| command.starts_with(flag)),
            "{commands:?} in {text}"
        );
    }
    // If the project is the nearest one, it need not be named.
    let here = planrun(["runs", "show", "asks"])
        .within(place.path().join(name))
        .run()
        .stdout;
    assert!(
        commands_in(&here)
            .iter()
            .all(|command| command.starts_with("planrun runs answer ")),
        "{here}"
    );
    // Pasted into a shell in the same directory, the command works as printed.
    let answer = commands_in(&begun.stderr)
        .into_iter()
        .find(|command| command.contains(" answer "))
        .unwrap();
    let pasted = crate::support::words(&answer.replace(" --resume", ""));
    let answered = planrun(pasted.iter().skip(1)).within(&own).run();
    assert_eq!(answered.status, 0, "{answered:?}");
    let next = commands_in(&answered.stderr);
    assert_eq!(next, [format!("{flag}runs resume asks")], "{answered:?}");
    let resumed = planrun(crate::support::words(&next[0]).iter().skip(1))
        .within(&own)
        .run();
    assert_eq!(resumed.status, 0, "{resumed:?}");
}

#[test]
fn f12_nothing_of_a_pruned_run_is_left_in_the_files() {
    let place = project();
    let secret = "4711-s3cret-value";
    let output = run(
        &place,
        "part",
        &["-i", "id=ok", "-i", "unread=4711-s3cret-value-too"],
    );
    assert_eq!(output.status, 1, "{output:?}");
    let found = || {
        let files = fs::read_dir(place.path().join(".planrun"))
            .unwrap()
            .map(|file| file.unwrap().path());
        files
            .filter(|path| path.is_file())
            .any(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).contains(secret))
    };
    assert!(found(), "the run holds it, or this shows nothing");
    assert_eq!(run_in(&place, &["runs", "prune", "--all"]).status, 0);
    assert!(!found());
}

#[test]
fn f18_nothing_that_a_plan_replies_acts_on_a_terminal_or_a_workflow() {
    let place = project();
    let hostile =
        "a\u{9b}31m\u{7f}\u{202e}\n::stop-commands::x\n  ::error::y ##[add-mask]z ##vso[task.x]";
    let argument = format!("text={hostile}");
    for (plan, format) in [
        ("say", "human"),
        ("say", "json"),
        ("say", "ndjson"),
        ("both", "human"),
        ("both", "quiet"),
    ] {
        let output = run(&place, plan, &["--format", format, "-i", &argument]);
        assert_eq!(output.status, 0, "{output:?}");
        for part in ["\u{9b}", "\u{7f}", "\u{202e}", "##[", "##vso["] {
            assert!(
                !output.stdout.contains(part),
                "{plan} {format} {part:?}: {output:?}"
            );
        }
        assert!(
            !output
                .stdout
                .lines()
                .any(|line| line.trim_start().starts_with("::")),
            "{plan} {format}: {output:?}"
        );
    }
    let json = run(&place, "say", &["--format", "json", "-i", &argument]).json();
    assert_eq!(json["reply"], hostile, "it means the same");
    let listed = run_in(&place, &["runs", "list", "--format", "json"]).json();
    let id = listed["runs"][0]["run"].as_str().unwrap().to_owned();
    for arguments in [
        &["runs", "show", &id, "--format", "json"][..],
        &["runs", "events", &id, "--format", "ndjson"],
    ] {
        let text = run_in(&place, arguments).stdout;
        assert!(!text.contains('\u{9b}') && !text.contains("##["), "{text}");
    }
}

#[cfg(unix)]
#[test]
fn f22_what_planrun_keeps_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for first in [
        &["check"][..],
        &["run", "a.plan", "--mock", "--plan", "gate"],
    ] {
        let place = project();
        run_in(&place, first);
        run_in(&place, &["check"]);
        run_in(&place, &["run", "a.plan", "--mock", "--plan", "gate"]);
        let own = place.path().join(".planrun");
        assert_eq!(mode(&own), 0o700, "{first:?}");
        let mut open = vec![own];
        let mut files = 0;
        while let Some(path) = open.pop() {
            if path.is_dir() {
                assert_eq!(mode(&path), 0o700, "{}", path.display());
                open.extend(
                    fs::read_dir(path)
                        .unwrap()
                        .map(|entry| entry.unwrap().path()),
                );
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
        assert!(files > 1, "{files}");
    }
}

#[test]
fn f25_a_run_is_called_by_a_word() {
    let place = project();
    for id in [
        "",
        " ",
        "a b",
        "../../x",
        "$(id)",
        "a\nb",
        "a\u{202e}b",
        ".x",
    ] {
        let output = run(&place, "say", &["-i", "text=x", &format!("--run-id={id}")]);
        assert_eq!(output.status, 2, "{id:?}: {output:?}");
    }
    assert!(!place.path().join(".planrun").exists(), "nothing was begun");
    assert_eq!(
        run(&place, "say", &["-i", "text=x", "--run-id", "入职:1.a-b_c"]).status,
        0
    );
}

#[test]
fn f27_a_file_name_begins_no_line_of_lcov() {
    let name = "a\nend_of_record\nSF:other.plan";
    let text = "plan p() -> int { reply 1 when 1 < 2\n reply 2 }\ntest \"t\" for p { expect reply == 1 }\n";
    let place = folder([(name, "")]);
    fs::remove_file(place.path().join(name)).unwrap();
    fs::write(place.path().join(format!("{name}.plan")), text).unwrap();
    let output = run_in(&place, &["test", ".", "--coverage=lcov"]);
    let lcov = fs::read_to_string(place.path().join("coverage.lcov"))
        .or_else(|_| fs::read_to_string(place.path().join("lcov.info")))
        .unwrap_or(output.stdout);
    assert_eq!(
        lcov.lines().filter(|line| line.starts_with("SF:")).count(),
        1,
        "{lcov}"
    );
    assert_eq!(
        lcov.lines().filter(|line| *line == "end_of_record").count(),
        1,
        "{lcov}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn f28_a_full_standard_output_is_no_success() {
    let place = project();
    run(&place, "say", &["--run-id", "one", "-i", "text=x"]);
    for arguments in [
        &["--version"][..],
        &["run", "--help"],
        &["explain"],
        &["runs", "list"],
        &["runs", "events", "one", "--format", "ndjson"],
        &["runs", "export", "one"],
        &["run", "a.plan", "--mock", "--plan", "say", "-i", "text=x"],
        &[
            "run", "a.plan", "--mock", "--plan", "say", "-i", "text=x", "--format", "ndjson",
        ],
        &[
            "run", "a.plan", "--mock", "--plan", "say", "-i", "text=x", "--format", "json",
        ],
        &["mock", "--apps", "desk.yaml", "--bind", "127.0.0.1:0"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_planrun"));
        command
            .args(arguments)
            .current_dir(place.path())
            .stdout(File::options().write(true).open("/dev/full").unwrap());
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {stderr}");
        assert!(stderr.contains("No space left"), "{arguments:?}: {stderr}");
    }
}

#[test]
fn a_tool_that_is_to_fail_exists() {
    let place = project();
    let app = "name: hr\ntools: [{ name: grant_access, endpoint: 'http://127.0.0.1:9/tool' }]\n";
    fs::write(place.path().join("hr.yaml"), app).unwrap();
    for (name, hint) in [
        ("grant_acess", "; did you mean `grant_access`?"),
        ("hr.grant_access", "; did you mean `grant_access`?"),
        ("x", ""),
    ] {
        let failures = format!("grant_access=1,{name}=2");
        let arguments = ["mock", "--apps", "hr.yaml", "--bind", "127.0.0.1:0"];
        let program = planrun(arguments).argument("--failures").argument(failures);
        let output = program.within(place.path()).run();
        let error = format!("error: --failures: no app has a tool named `{name}`{hint}\n");
        assert_eq!(
            (output.status, output.stdout, output.stderr),
            (2, String::new(), error)
        );
    }
}

#[test]
fn a_failure_that_waits_for_the_effects_above_is_shown_before_they_have_ended() {
    let plan = "use sys

plan late(n: int) -> int {
    step ok = input \"Go on?\" -> { really: bool }
    step told = sys.echo(value: 10 / n)
    reply told == null ? 0 : n
}
";
    let place = folder([("late.plan", plan)]);
    let output = run_in(&place, &["run", "late.plan", "-i", "n=0", "--run-id", "r"]);
    assert_eq!(output.status, 4, "{output:?}");
    let show = run_in(&place, &["runs", "show", "r"]).stdout;
    let told = show.lines().find(|line| line.contains("told")).unwrap();
    assert!(
        told.contains("waiting") && told.contains("validation.expression"),
        "{show}"
    );
    let events = run_in(&place, &["runs", "events", "r"]).stdout;
    let why = "told  for the effects above  validation.expression: divide by zero";
    assert!(events.contains(why), "{events}");
    let answer = "ok={\"really\": true}";
    let output = run_in(&place, &["runs", "answer", "r", answer, "--resume"]);
    assert_eq!(output.status, 1, "{output:?}");
    assert!(
        output.stderr.contains("the step `told` failed"),
        "{output:?}"
    );
}

#[test]
fn a_fixed_input_that_a_default_reads_is_written_into_the_default() {
    let plan = "plan main(a: int = 1, b: int = a * 2 + a, e?: any) -> int {\n    reply a + b\n}\n";
    let place = folder([("a.plan", plan)]);
    let of = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let output = of(&["export", "a.plan", "-i", "a=-5"]);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let fixed = folder([("fixed.plan", output.stdout)]);
    let run = planrun(["run", "fixed.plan"]).within(fixed.path()).run();
    assert_eq!(run.stdout.trim(), "-20", "{}", run.stderr);
    for number in ["9223372036854775808", "[1e400]"] {
        let output = of(&["export", "a.plan", "-i", &format!("e={number}")]);
        assert_eq!(output.status, 2, "{}", output.stderr);
        let expected = "the input `e` cannot be written in a plan";
        assert!(output.stderr.contains(expected), "{}", output.stderr);
    }
}
