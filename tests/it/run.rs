//! `planrun run`: from text to reply.

use planrun_runs::journal::store::Store as _;
use serde_json::{Value as Json, json};

use crate::support::{Output, folder, planrun};

const HELLO: &str = "use sys

/// Greets.
plan hello(name: string, times: int = 1, loud: bool = false, kind?: \"short\" | \"long\") -> { text: string, kind?: string } {
    step said = sys.echo(value: \"Hello ${name} ${times}\")
    step slow = sys.sleep(duration: 5ms) when loud
    ensure times < 10 else \"that is too often\"
    reply { text: string(said), kind: kind }
}
";

fn run(plan: &str, arguments: &[&str]) -> Output {
    let files = folder([("a.plan", plan)]);
    planrun(["run", "a.plan"].iter().chain(arguments))
        .within(files.path())
        .run()
}

fn reply(plan: &str, arguments: &[&str]) -> Json {
    let output = run(plan, arguments);
    assert_eq!(output.status, 0, "{}", output.stderr);
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn inputs_are_read_by_their_types() {
    assert_eq!(
        reply(HELLO, &["-i", "name=42"]),
        json!({"text": "Hello 42 1"}),
        "text stays text"
    );
    let more = [
        "-i",
        "name=张伟",
        "-i",
        "times=3",
        "-i",
        "loud=true",
        "-i",
        "kind=long",
    ];
    assert_eq!(
        reply(HELLO, &more),
        json!({"text": "Hello 张伟 3", "kind": "long"})
    );
    let files = folder([
        ("a.plan", HELLO),
        ("in.json", r#"{"name": "Ana", "times": 2.0}"#),
    ]);
    let output = planrun(["run", "a.plan", "--input", "in.json"])
        .within(files.path())
        .run();
    assert_eq!(output.json()["text"], "Hello Ana 2");
    let output = planrun(["run", "-", "--input", "in.json"])
        .within(files.path())
        .stdin(HELLO)
        .run();
    assert_eq!(output.json()["text"], "Hello Ana 2", "{}", output.stderr);
}

#[test]
fn wrong_inputs_are_wrong_usage_and_say_what_would_be_right() {
    for (arguments, message) in [
        (vec![], "-i name=…"),
        (vec!["-i", "nam=x"], "did you mean `name`?"),
        (
            vec!["-i", "name=x", "-i", "times=many"],
            "`times` must be of type int",
        ),
        (
            vec!["-i", "name=x", "-i", "kind=odd"],
            "\"short\" | \"long\"",
        ),
        (vec!["-i", "name"], "KEY=VALUE"),
        (
            vec!["-i", "name=x", "--plan", "other"],
            "has no plan `other`; it has `hello`",
        ),
        (vec!["--formt", "json"], "--format"),
    ] {
        let output = run(HELLO, &arguments);
        assert_eq!(output.status, 2, "{arguments:?}: {}", output.stderr);
        assert!(
            output.stderr.contains(message),
            "{arguments:?}: {}",
            output.stderr
        );
        assert_eq!(output.stdout, "", "{arguments:?}");
    }
}

#[test]
fn a_failed_run_ends_with_1_and_names_the_step_and_the_class() {
    let output = run(HELLO, &["-i", "name=x", "-i", "times=12"]);
    assert_eq!((output.status, output.stdout.as_str()), (1, ""));
    assert!(
        output.stderr.contains("validation.ensure") && output.stderr.contains("that is too often"),
        "{}",
        output.stderr
    );
    let plan = "use sys plan p() { step d = do { step f = sys.fail(class: \"tool.gone\", message: \"it is gone\") yield 1 } }";
    let output = run(plan, &[]);
    assert!(
        output
            .stderr
            .contains("the step `d.f` failed with tool.gone: it is gone"),
        "{}",
        output.stderr
    );
}

#[test]
fn errors_in_the_projects_own_files_refuse_what_check_refuses() {
    let project = "check: { allow: [unused-lte] }\n";
    let app = "name: hr\ntools:\n  - name: find\n    endpoint: http://127.0.0.1:9/tool\n    effect: reed\n";
    for (name, text, message) in [
        ("planrun.yaml", project, "config-key"),
        ("apps/hr.yaml", app, "app-invalid"),
    ] {
        let files = folder([("a.plan", HELLO), (name, text)]);
        for command in [
            vec!["check", "a.plan"],
            vec!["run", "a.plan", "-i", "name=x"],
            vec!["graph", "a.plan"],
        ] {
            let output = planrun(&command).within(files.path()).run();
            let printed = format!("{}{}", output.stdout, output.stderr);
            assert_eq!(output.status, 1, "{command:?}: {printed}");
            assert!(
                printed.contains(message) && printed.contains(name),
                "{command:?}: {printed}"
            );
            assert!(
                command[0] == "check" || output.stdout.is_empty(),
                "{command:?}: {}",
                output.stdout
            );
        }
    }
}

#[test]
fn the_document_of_a_run_has_every_step() {
    let outcome = run(
        HELLO,
        &["-i", "name=x", "--format", "json", "--run-id", "r-1"],
    )
    .json();
    assert_eq!(
        (&outcome["version"], &outcome["run"], &outcome["plan"]),
        (&json!(1), &json!("r-1"), &json!("hello"))
    );
    assert_eq!(
        (&outcome["status"], &outcome["reply"]["text"]),
        (&json!("completed"), &json!("Hello x 1"))
    );
    let steps = outcome["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 2);
    assert_eq!(
        (&steps[0]["path"], &steps[0]["tool"], &steps[0]["attempts"]),
        (&json!("said"), &json!("sys.echo"), &json!(1))
    );
    assert_eq!(
        (&steps[0]["arguments"], &steps[0]["output"]),
        (&json!({"value": "Hello x 1"}), &json!("Hello x 1"))
    );
    assert_eq!(
        (&steps[1]["status"], &steps[1]["reason"]),
        (&json!("skipped"), &json!("guard"))
    );
    assert_eq!(
        (
            &outcome["usage"]["calls"],
            &outcome["tasks"],
            &outcome["error"]
        ),
        (&json!(1), &json!([]), &Json::Null)
    );
    let failed = run(
        HELLO,
        &["-i", "name=x", "-i", "times=12", "--format", "json"],
    );
    assert_eq!(
        (failed.status, &failed.json()["error"]["class"]),
        (1, &json!("validation.ensure"))
    );
}

#[test]
fn events_are_lines_in_order() {
    let output = run(HELLO, &["-i", "name=x", "--format", "ndjson"]);
    let lines = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap())
        .collect::<Vec<_>>();
    let numbers = lines
        .iter()
        .map(|line| line["number"].as_u64().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(numbers, (1..=lines.len() as u64).collect::<Vec<_>>());
    assert_eq!(
        (&lines[0]["event"], &lines[lines.len() - 1]["event"]),
        (&json!("run.started"), &json!("run.settled"))
    );
    assert_eq!(lines[lines.len() - 1]["reply"]["text"], "Hello x 1");
    assert_eq!(output.stderr, "");
}

#[test]
fn what_is_printed_can_be_chosen() {
    let with = |what: &str| run(HELLO, &["-i", "name=x", "--output", what]).json();
    assert_eq!(with("full")["execution_results"][0]["step_id"], "said");
    assert_eq!(
        with("last")["execution_results"],
        with("full")["execution_results"],
        "text is no object"
    );
    let lines = run(HELLO, &["-i", "name=x", "--output", "observations"]).stdout;
    assert_eq!(lines, "#1 tool sys.echo succeeded: \"Hello x 1\"\n");
    let quiet = run(HELLO, &["-i", "name=x", "--format", "quiet", "-q"]);
    assert_eq!(
        (quiet.json()["text"].as_str(), quiet.stderr.as_str()),
        (Some("Hello x 1"), "")
    );
}

#[test]
fn a_run_up_to_a_step_leaves_the_rest_as_it_is() {
    let plan = "use fs plan p() -> string { allow { write: [\".\"] }
        step a = fs.write(path: \"a.txt\", content: \"a\")
        step b = fs.write(path: \"b.txt\", content: \"b\")
        step c = fs.write(path: \"c.txt\", content: \"c\")
        listener l on a is completed { step d = fs.write(path: \"d.txt\", content: \"d\") }
        reply \"done\" }";
    let files = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let there =
        || ["a", "b", "c", "d"].map(|name| files.path().join(format!("{name}.txt")).exists());
    let output = run(&["run", "a.plan", "--until", "b", "--run-id", "r"]);
    assert_eq!(
        (output.status, there()),
        (0, [true, true, false, false]),
        "{}",
        output.stderr
    );
    let document = run(&["runs", "show", "r", "--format", "json"]).json();
    let states: Vec<&str> = document["steps"]
        .as_array()
        .unwrap()
        .iter()
        .take(3)
        .map(|step| step["status"].as_str().unwrap())
        .collect();
    assert_eq!(
        (states, &document["status"]),
        (vec!["completed", "completed", "pending"], &json!("paused"))
    );
    let output = run(&["run", "--resume", "r"]);
    assert_eq!(
        (output.status, output.stdout.as_str(), there()),
        (0, "done\n", [true; 4]),
        "{}",
        output.stderr
    );
    let events = run(&["runs", "events", "r", "--format", "ndjson"]).stdout;
    for path in ["a", "b", "c", "l[0].d"] {
        let running = format!("\"event\":\"step.running\",\"path\":\"{path}\"");
        assert_eq!(events.matches(&running).count(), 1, "{path}: {events}");
    }
}

#[test]
fn a_plan_and_its_inputs_cannot_both_come_from_standard_input() {
    let plan = "plan p(n: int) -> int { reply n }";
    let output = planrun(["run", "-", "--input", "-"]).stdin(plan).run();
    assert_eq!(output.status, 2, "{output:?}");
    let why = "cannot both come from standard input";
    assert!(output.stderr.contains(why), "{output:?}");
}

#[test]
fn a_question_that_expires_before_the_process_exits_is_printed_when_it_is_asked() {
    let plan = "use sys plan p() -> int {
        step one = sys.echo(value: 1) confirm \"Sure?\" expires 1s recover expired => 9
        reply one }";
    let files = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let output = run(&["run", "a.plan", "--run-id", "r"]);
    assert_eq!((output.status, &*output.stdout), (0, "9\n"), "{output:?}");
    for told in ["Sure?", "planrun runs answer r one.confirm=true --resume"] {
        assert!(output.stderr.contains(told), "{output:?}");
    }
    let quiet = run(&["run", "a.plan", "--format", "json"]);
    assert!(!quiet.stderr.contains("Sure?"), "{quiet:?}");
}

#[test]
fn a_run_that_waits_for_a_signal_tells_how_to_send_it() {
    let payloads = [
        ("int", "go=<int>", "go=3"),
        (
            "{ payment: string, cents: int, note: string? }",
            "'go={\"payment\": <string>, \"cents\": <int>}'",
            "go={\"payment\": \"p\", \"cents\": 1}",
        ),
    ];
    for (ty, to_fill_in, sent) in payloads {
        let plan = format!("plan p() {{ step sent = wait for signal \"go\" -> {ty} }}");
        let files = folder([("a.plan", plan)]);
        let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
        let output = run(&["run", "a.plan", "--run-id", "r"]);
        assert_eq!(output.status, 4, "{output:?}");
        let command = format!("send it with `planrun runs signal r {to_fill_in}`");
        assert!(output.stderr.contains(&command), "{output:?}");
        assert_eq!(run(&["runs", "signal", "r", sent]).status, 0);
    }
}

#[test]
fn a_signal_that_nobody_awaits_is_told_as_that_whatever_its_payload() {
    let plan = "plan p() {
        task work \"Work\" statuses [open, ready] external
        step moved = wait for work is ready || signal \"go\"
    }";
    let files = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(run(&["run", "a.plan", "--run-id", "r"]).status, 4);
    let output = run(&["runs", "signal", "r", "wrk=ready"]);
    let told = "it waits for `go`, and `work` can be moved; did you mean `work`?";
    assert!(output.stderr.contains(told), "{output:?}");
    assert_ne!(output.status, 0);
}

#[test]
fn a_run_that_waits_for_a_task_tells_what_can_move_it() {
    let plan = |external: &str, wait: &str| {
        format!(
            "plan p(go: bool = false) {{\n    task work \"Work\" statuses [open, ready] {external}\n    \
             if go {{\n        set work ready\n    }}\n    step moved = wait for work is ready{wait}\n}}\n"
        )
    };
    let folder = folder([
        ("outside.plan", plan("external", "")),
        ("nobody.plan", plan("", "\n        within 30d")),
    ]);
    let run = |arguments: &[&str]| planrun(arguments).within(folder.path()).run();
    let outside = run(&["run", "outside.plan", "--run-id", "r"]);
    let command = "send it with `planrun runs signal r work=ready`";
    assert!(outside.stderr.contains(command), "{outside:?}");
    assert_eq!(
        run(&["runs", "signal", "r", "work=ready", "--resume"]).status,
        0
    );
    let nobody = run(&["run", "nobody.plan", "--run-id", "n"]);
    assert_eq!(nobody.status, 4, "{nobody:?}");
    let told = "nothing from outside can bring that about: the wait ends at 20";
    assert!(nobody.stderr.contains(told), "{nobody:?}");
}

#[test]
fn what_a_run_up_to_a_step_does_depends_on_no_time() {
    let plan = |decision: &str, wait: u32| {
        format!(
            "use fs, sys\n\nplan p(early: bool = false) -> int {{\n    allow {{ write: [\".\"] }}\n    \
             step a = fs.write(path: \"a.txt\", content: \"a\")\n    {decision}\n    \
             step b = sys.sleep(duration: {wait}ms)\n    reply 2\n}}\n"
        )
    };
    for (decision, is_needed) in [
        ("reply 1 when early", true),
        ("ensure !early else \"no\"", false),
    ] {
        for wait in [0, 200] {
            let files = folder([("a.plan", plan(decision, wait).as_str())]);
            let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
            let output = run(&["run", "a.plan", "--until", "b", "--run-id", "r"]);
            let is_there = files.path().join("a.txt").exists();
            assert_eq!(
                (output.status, is_there),
                (0, is_needed),
                "{decision} {wait}"
            );
            let forecast = run(&[
                "run",
                "a.plan",
                "--until",
                "b",
                "--dry-run",
                "--format",
                "json",
            ]);
            let runs = if is_needed { "yes" } else { "no" };
            assert_eq!(forecast.json()["steps"][0]["runs"], runs, "{forecast:?}");
        }
    }
}

#[test]
fn a_run_that_fails_up_to_a_step_undoes_what_it_did_before_and_tells_its_listeners() {
    let plan = "use fs, sys plan p(n: int) -> any { allow { write: [\".\"] }
        step a = fs.write(path: \"a.txt\", content: \"a\") undo fs.write(path: \"undone.txt\", content: \"a\")
        step b = sys.echo(value: [1][n])
        listener told on b is failed { step c = fs.write(path: \"told.txt\", content: \"c\") }
        step d = fs.write(path: \"d.txt\", content: \"d\")
        reply b }";
    for rest in [&["--until", "b"][..], &[]] {
        let files = folder([("a.plan", plan)]);
        let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
        let begun = run(&[
            "run", "a.plan", "-i", "n=5", "--run-id", "r", "--until", "a",
        ]);
        assert_eq!(begun.status, 0, "{}", begun.stderr);
        let failed = run(&[&["run", "--resume", "r"], rest].concat());
        assert_eq!(failed.status, 1, "{}", failed.stderr);
        let there = |name: &str| files.path().join(format!("{name}.txt")).exists();
        let done = ["a", "undone", "told", "d"].map(there);
        assert_eq!(done, [true, true, true, false], "{rest:?}");
    }
}

#[test]
fn a_step_that_was_left_out_fails_where_a_later_process_begins_it() {
    // What was done before is undone, although the step is above it and fails at once.
    let plan = "use fs, sys plan p(n: int) -> any { allow { write: [\".\"] }
        parallel {
            step a = sys.echo(value: 10 / n)
            step b = fs.write(path: \"b.txt\", content: \"b\") undo fs.write(path: \"undone.txt\", content: \"b\")
        }
        reply a }";
    let files = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    let begun = run(&[
        "run", "a.plan", "-i", "n=0", "--run-id", "r", "--until", "b",
    ]);
    assert_eq!(begun.status, 0, "{}", begun.stderr);
    let failed = run(&["run", "--resume", "r"]);
    assert_eq!(failed.status, 1, "{}", failed.stderr);
    assert!(files.path().join("undone.txt").exists());
    let shown = run(&["runs", "show", "r", "--format", "json"]).json();
    let states = ["a", "b", "b.undo"].map(|path| {
        let mut steps = shown["steps"].as_array().unwrap().iter();
        let step = steps.find(|step| step["path"] == path);
        step.map_or(Json::Null, |step| step["status"].clone())
    });
    assert_eq!(states, ["failed", "completed", "completed"], "{shown:#}");
}

#[test]
fn what_is_said_and_not_taken_is_told() {
    use planrun_runs::journal::store::{Journal, Settings};
    let plan = "use sys plan p() -> int {
        task sent \"Sent\" external
        listener heard on signal \"go\" -> int as n { step told = sys.echo(value: n) }
        step end = input \"End?\" -> { n: int }
        reply end.n }";
    let files = folder([("a.plan", plan)]);
    let run = |arguments: &[&str]| planrun(arguments).within(files.path()).run();
    assert_eq!(run(&["run", "a.plan", "--run-id", "r"]).status, 4);
    let path = files.path().join(".planrun/journal.db");
    let journal = Journal::open(
        &path,
        Settings::default(),
        std::sync::Arc::new(planrun_tools::host::RealHost),
    )
    .unwrap();
    for answer in [
        "{\"signal\": \"go\", \"payload\": \"text\"}",
        "{\"task\": \"sent\", \"status\": \"nowhere\"}",
        "{\"answer\": \"ende\", \"value\": 1}",
        "nonsense",
        "{\"answer\": \"end\", \"value\": {\"n\": 3}}",
    ] {
        journal.post("r", answer).unwrap();
    }
    drop(journal);
    let output = run(&["run", "--resume", "r"]);
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (0, "3\n"),
        "{}",
        output.stderr
    );
    for message in [
        "error: the signal `go` was rejected: the payload does not have the declared type",
        "error: `sent` was not moved to `nowhere`: ",
        "error: there is no question at `ende`",
        "error: the command is not valid JSON",
    ] {
        assert!(
            output.stderr.contains(message),
            "{message}: {}",
            output.stderr
        );
    }
    assert_eq!(output.stderr.lines().count(), 4, "{}", output.stderr);
}

/// Returns which steps a dry run lists as certain, possible or left out, and its forecast.
fn forecast(plan: &str, inputs: &[&str]) -> (Vec<String>, Json) {
    let arguments = [inputs, &["--dry-run", "--format", "json"]].concat();
    let output = run(plan, &arguments);
    assert_eq!(output.status, 0, "{}", output.stderr);
    let forecast = output.json();
    let steps = forecast["steps"].as_array().unwrap().iter();
    let steps = steps.map(|step| {
        let text = |name: &str| step[name].as_str().unwrap_or_default();
        format!("{} {} {}", text("path"), text("runs"), text("reason"))
            .trim_end()
            .to_owned()
    });
    (steps.collect(), forecast)
}

#[test]
fn a_dry_run_ends_a_block_at_a_certain_failure_and_recovers_it_as_the_run_does() {
    let caught = "use sys plan main(n: int) -> any {
        step d = do { ensure n > 1 else \"too small\" step q = sys.echo(value: \"q\") yield n }
            recover validation.ensure => -1
        step e = sub(n: n) recover tool.small => -2
        step s = each x in [1, 2] max 2 settle { fail tool.b \"no\" when x > n yield x }
        step f = sys.echo(value: \"f\")
        reply d + e }
        plan sub(n: int) -> int { fail tool.small \"small\" when n < 2 step q = sys.echo(value: \"s\") reply n }";
    let (steps, of_run) = forecast(caught, &["--plan", "main", "-i", "n=1"]);
    let expected = [
        "d yes",
        "d.q no failed",
        "e yes",
        "e.q no failed",
        "s yes",
        "f yes",
    ];
    assert_eq!(steps, expected);
    assert_eq!(of_run.get("fails"), None, "{of_run}");
    assert_eq!(of_run["reply"], json!({ "value": -3 }));
    let uncaught = "use sys plan main(n: int) -> int {
        step a = sys.echo(value: \"a\")
        step d = do { ensure n > 1 else \"too small\" step q = sys.echo(value: \"q\") yield n }
            recover tool => -1
        step b = sys.echo(value: \"b\")
        reply n }";
    let (steps, of_run) = forecast(uncaught, &["-i", "n=1"]);
    assert_eq!(steps, ["a yes", "d yes", "d.q no failed", "b maybe"]);
    assert_eq!(of_run["fails"], "validation.ensure: too small");
    assert_eq!(of_run.get("reply"), None, "{of_run}");
    let outside = "use sys plan main(n: int) -> int {
        ensure n > 1 else \"too small\"
        step b = sys.echo(value: \"b\")
        reply n }";
    let (steps, of_run) = forecast(outside, &["-i", "n=1"]);
    assert_eq!(steps, ["b no failed"]);
    assert_eq!(of_run["fails"], "validation.ensure: too small");
    assert_eq!((of_run.get("reply"), &of_run["calls"]), (None, &json!({})));
}

#[test]
fn a_dry_run_does_nothing_and_knows_as_much_as_there_is_to_know() {
    let files = folder([(
        "a.plan",
        "use fs, sys plan p(dir: string) { allow { write: [\"out\"] }
         step w = fs.write(path: \"${dir}/x\", content: \"x\") step n = sys.now()
         step m = fs.write(path: \"out/${string(n)}\", content: \"y\") confirm \"At ${string(n)}?\" by dir }",
    )]);
    let arguments = [
        "run",
        "a.plan",
        "-i",
        "dir=out",
        "--dry-run",
        "--format",
        "json",
    ];
    let output = planrun(arguments).within(files.path()).run();
    let forecast = output.json();
    assert_eq!(
        (output.status, &forecast["dry_run"]),
        (0, &json!(true)),
        "{}",
        output.stderr
    );
    assert_eq!(
        forecast["steps"][0]["permission"],
        json!({"allow": "write", "thing": "out/x", "granted": true})
    );
    let path = json!({"expression": "\"out/${string(n)}\"", "after": ["n"]});
    assert_eq!(
        (
            &forecast["steps"][2]["unknown"]["path"],
            &forecast["steps"][2]["arguments"]
        ),
        (&path, &json!({"content": "y"}))
    );
    assert_eq!(
        forecast["steps"][2]["confirm"]["by"],
        json!({"value": "out"})
    );
    assert_eq!(forecast["calls"], json!({"idempotent": 2, "read": 1}));
    let names: Vec<_> = std::fs::read_dir(files.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["a.plan"], "no journal, no file");
}

#[test]
fn a_text_reply_is_plain_and_its_escapes_are_shown() {
    let output = run("plan p() -> string { reply \"line\\u001b[31m\" }", &[]);
    assert!(!output.stdout.contains('\u{1b}'), "{:?}", output.stdout);
}

#[test]
fn findings_stop_a_run_before_it_starts() {
    let files = folder([(
        "a.plan",
        "use fs\nplan p() {\n    allow { write: [\".\"] }\n    step w = fs.write(path: \"out.txt\", content: \"x\")\n    step y = fs.read(pth: \"out.txt\")\n}",
    )]);
    let output = planrun(["run", "a.plan"]).within(files.path()).run();
    assert_eq!(output.status, 1);
    assert!(
        output.stderr.contains("unknown-argument"),
        "{}",
        output.stderr
    );
    assert!(!files.path().join("out.txt").exists(), "nothing was done");
}

#[test]
fn the_environment_is_told_in_one_sentence() {
    let files = folder([("planrun.yaml", "apps: [\nx"), ("a.plan", HELLO)]);
    let broken = planrun(["run", "a.plan", "-i", "name=x"])
        .within(files.path())
        .run();
    let missing = planrun(["run", "nothing.plan"])
        .within(folder([("x", "")]).path())
        .run();
    for output in [broken, missing] {
        assert_eq!(output.status, 3, "{}", output.stderr);
        assert_eq!(
            (output.stderr.lines().count(), output.stdout.as_str()),
            (1, ""),
            "{}",
            output.stderr
        );
        assert!(!output.stderr.contains("panicked"));
    }
}

#[test]
fn an_endpoint_that_nobody_serves_is_the_environments_fault() {
    // A port that was free a moment ago, so that nothing listens on it.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let app = format!(
        "name: hr\ntools:\n  - name: ask\n    description: asks\n    endpoint: http://127.0.0.1:{port}/tool\n    effect: read\n    parameters: {{ type: object, properties: {{}} }}\n"
    );
    let plan = "use hr\nplan p() { step a = hr.ask() retry { attempts: 2, delay: 1ms } reply a }";
    let files = folder([("apps/hr.yaml", app.as_str()), ("a.plan", plan)]);
    let output = planrun(["run", "a.plan"]).within(files.path()).run();
    assert_eq!(output.status, 3, "{}", output.stderr);
    assert!(
        output.stderr.contains("transient.network") && output.stderr.contains("--mock"),
        "{}",
        output.stderr
    );
    let mocked = planrun(["run", "a.plan", "--mock"])
        .within(files.path())
        .run();
    assert_eq!(mocked.status, 0, "{}", mocked.stderr);
}

#[test]
fn plans_call_plans_within_what_the_caller_may_reach() {
    let inner = "use fs, sys\nplan keep(text: string) -> string {\n    allow { write: [\"out\", \"secret\"] }\n    step w = fs.write(path: \"out/a.txt\", content: text)\n    step s = fs.write(path: \"secret/b.txt\", content: text) recover denied => null\n    reply s == null ? \"kept\" : \"leaked\"\n}\n";
    let outer = "use \"./inner.plan\" as files\nplan main(text: string) -> string {\n    allow { write: [\"out\"] }\n    step k = files.keep(text: text)\n    reply k\n}\n";
    let files = folder([("inner.plan", inner), ("main.plan", outer)]);
    std::fs::create_dir_all(files.path().join("out")).unwrap();
    let output = planrun(["run", "main.plan", "-i", "text=hi", "--format", "json"])
        .within(files.path())
        .run();
    let outcome = output.json();
    assert_eq!(
        (output.status, &outcome["reply"]),
        (0, &json!("kept")),
        "{outcome:#}"
    );
    assert_eq!(
        std::fs::read_to_string(files.path().join("out/a.txt")).unwrap(),
        "hi"
    );
    assert!(!files.path().join("secret").exists());
    let paths = outcome["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["path"].as_str().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(paths, ["k", "k.w", "k.s"]);
}

#[test]
fn planruns_own_folder_cannot_be_allowed() {
    for allow in ["", "allow { read: [\".\"] }"] {
        let output = run(
            &format!(
                "use fs\nplan p() {{ {allow} step r = fs.read(path: \".planrun/x\") reply r }}"
            ),
            &[],
        );
        assert_eq!(output.status, 1);
        let text = &output.stderr;
        assert!(
            text.contains("planrun's own folder") && !text.contains("to allow it"),
            "{text}"
        );
    }
}

#[test]
fn what_nobody_allows_is_denied_and_the_message_names_what_to_allow() {
    let output = run(
        "use fs\nplan p() { step r = fs.read(path: \"a.plan\") reply r }",
        &[],
    );
    assert_eq!(output.status, 1);
    assert!(
        output.stderr.contains("permission-missing") && output.stderr.contains("allow { read:"),
        "{}",
        output.stderr
    );
}

#[cfg(unix)]
#[test]
fn a_reader_that_stops_reading_does_not_hold_the_run() {
    use std::fmt::Write as _;
    use std::io::Read as _;
    use std::process::{Command, Stdio};
    // Far more events than a pipe holds.
    let mut plan = "use sys\nplan p() {\n".to_owned();
    for step in 0..2000 {
        writeln!(plan, "step s{step} = sys.echo(value: {step})").unwrap();
    }
    plan.push_str("reply s0\n}\n");
    let files = folder([("a.plan", plan.as_str())]);
    let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
        .args(["run", "a.plan", "--run-id", "r1", "--format", "ndjson"])
        .current_dir(files.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let state = || {
        let listed = planrun(["runs", "list", "--format", "json"]);
        listed.within(files.path()).run().stdout
    };
    while !state().contains("\"completed\"") {
        assert!(child.try_wait().unwrap().is_none(), "{}", state());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let mut events = String::new();
    let mut output = child.stdout.take().unwrap();
    output.read_to_string(&mut events).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(events.len() > 64 * 1024 && events.contains("\"run.settled\""));
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_with_130_and_what_is_written_down_goes_on_later() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let files = folder([(
        "a.plan",
        "use sys\nplan p() { step s = sys.sleep(duration: 1s) reply \"slept\" }",
    )]);
    for (more, message) in [
        (&["--run-id", "r1"][..], "\"run.paused\""),
        (&["--no-journal"][..], "\"cancelled\""),
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_planrun"))
            .args(["run", "a.plan", "--format", "ndjson"])
            .args(more)
            .current_dir(files.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        while !lines.next().unwrap().unwrap().contains("step.running") {}
        let interrupted = Command::new("kill")
            .args(["-INT", &child.id().to_string()])
            .status()
            .unwrap();
        assert!(interrupted.success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{more:?}");
        assert!(
            lines
                .map_while(Result::ok)
                .any(|line| line.contains(message)),
            "{more:?}"
        );
    }
    let resumed = planrun(["run", "--resume", "r1"])
        .within(files.path())
        .run();
    assert_eq!(
        (resumed.status, resumed.stdout.as_str()),
        (0, "slept\n"),
        "{}",
        resumed.stderr
    );
}

/// Nothing is done before it is known that an answer answers nothing.
#[test]
fn an_answer_that_no_question_can_take_is_refused_before_the_run() {
    const PLAN: &str = "use fs

plan a() -> string {
    allow { write: [\"done.txt\"] }
    step one = fs.write(path: \"done.txt\", content: \"x\")
    step two = fs.write(path: \"done.txt\", content: \"y\")
        confirm \"Really?\"
    reply \"done\"
}
";
    let place = folder([("a.plan", PLAN)]);
    for (answer, why) in [
        (
            "one.confirm=true",
            "`--answer one.confirm`: the plan asks nothing there, since `one` has no `confirm`",
        ),
        (
            "tow.confirm=true",
            "`--answer tow.confirm`: the plan asks nothing there, since it has no step `tow`; did you mean `two`?",
        ),
    ] {
        let refused = planrun(["run", "a.plan", "--answer", answer])
            .within(place.path())
            .run();
        assert_eq!(refused.status, 2, "{refused:?}");
        assert!(refused.stderr.contains(why), "{refused:?}");
        assert!(!place.path().join("done.txt").exists());
    }
    let answered = ["run", "a.plan", "--answer", "two.confirm=true"];
    let answered = planrun(answered).within(place.path()).run();
    assert_eq!(answered.status, 0, "{answered:?}");
}

#[test]
fn a_run_that_waits_for_a_time_says_until_when() {
    let plan = "plan a() -> int {\n    step later = wait 90s\n    reply 1\n}\n";
    let output = run(plan, &["--run-id", "r"]);
    assert_eq!(output.status, 4, "{output:?}");
    assert!(
        output.stderr.starts_with("the run r is paused until 20"),
        "{output:?}"
    );
    assert!(
        output
            .stderr
            .contains("`planrun runs resume --due` resumes what is due"),
        "{output:?}"
    );
}
