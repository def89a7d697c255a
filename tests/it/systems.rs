//! The treatment of results, refusals, files and retries in other planners and agent runtimes, tested with the program.
//! The rest is in `semantics/output.rs`, `semantics/listeners.rs` and `hiring.rs`.

use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::support::{Output, folder, planrun};

const APP: &str = "name: calc
tools:
  - { name: add, endpoint: 'http://127.0.0.1:9/tool', effect: read, parameters: { type: object, properties: { a: { type: integer, minimum: 2 }, key: { type: string } }, required: [a] }, sensitive: [key], mock: { sum: 3 } }
  - { name: lost, endpoint: 'http://127.0.0.1:9/tool', effect: read, errors: [gone], mock: [{ fail: { reason: gone, error: it is gone } }] }
  - { name: zero, endpoint: 'http://127.0.0.1:9/tool', effect: read, mock: 0 }
  - { name: shaky, endpoint: 'http://127.0.0.1:9/tool', errors: [busy], mock: [{ times: 2, fail: { reason: busy, error: Mock failure } }, { data: up }] }
  - { name: broken, endpoint: 'http://127.0.0.1:9/tool', mock: [{ fail: { error: Mock failure } }] }
";

/// Returns a project with a plan with this body, and the app `calc`.
fn project(parameters: &str, body: &str) -> TempDir {
    let plan = format!("use calc, fs\nplan p({parameters}) {{\n{body}\n}}\n");
    folder([
        ("p.plan", plan.as_str()),
        ("apps/calc.yaml", APP),
        ("data/a b.txt", "inside"),
        ("data2/b.txt", "beside"),
    ])
}

fn run_in(place: &TempDir, arguments: &[&str]) -> Output {
    planrun(["run", "p.plan", "--mock"].iter().chain(arguments))
        .within(place.path())
        .run()
}

fn run(body: &str, arguments: &[&str]) -> Output {
    run_in(&project("a: int = 1, ask: bool = true", body), arguments)
}

fn rows(output: &Output) -> Vec<Json> {
    output.json()["execution_results"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn s0_4_a_run_that_had_nothing_to_do_is_blocked() {
    let meta = |body: &str| rows(&run(body, &["--output", "full"])).pop().unwrap();
    let nothing = meta("");
    assert_eq!(
        (&nothing["task_status"], &nothing["ok"]),
        (&json!("BLOCKED"), &json!(false))
    );
    assert_eq!(nothing["reason"], "the plan has no steps and no reply");
    for something in [
        "reply 1",
        "step z = calc.zero()",
        "step z = calc.zero() when ask == false",
    ] {
        let meta = meta(something);
        assert_eq!(
            (&meta["task_status"], &meta["ok"]),
            (&json!("COMPLETED"), &json!(true)),
            "{something}"
        );
    }
}

#[test]
fn s0_4_a_statement_that_is_none_is_found() {
    for (body, place) in [("[null]", "1:45"), ("[3]", "1:45"), ("null", "1:44")] {
        let plan = format!(r#"{{"items":[{{"kind":"plan","name":"p","body":{body}}}]}}"#);
        let place_of = folder([("p.plan.json", plan)]);
        let output = planrun(["check", "p.plan.json", "--format", "short"])
            .within(place_of.path())
            .run();
        assert_eq!(output.status, 1, "{body}: {}", output.stderr);
        assert!(
            output.stdout.contains(place) && output.stdout.contains("json-shape"),
            "{body}: {}",
            output.stdout
        );
    }
}

#[test]
fn s0_6_what_is_skipped_names_the_steps_that_gave_it_nothing() {
    let body = "policy { on_failure: settle }
        step one = calc.lost()
        let half = one.left
        step two = calc.add(a: half ?? 2)
        step three = calc.zero() after two, one
        step four = calc.zero()
        if one.right == 1 { step five = calc.zero() }
        step six = do { step seven = calc.add(a: one.sum) yield seven }";
    let output = run(body, &["--output", "full"]);
    let rows = rows(&output);
    let row = |name: &str| rows.iter().find(|row| row["step_id"] == name).unwrap();
    let blocked = [
        ("two", json!(["one"])),
        ("three", json!(["one", "two"])),
        ("five", json!(["one"])),
        ("six", json!(["one"])),
    ];
    for (name, by) in &blocked {
        let row = row(name);
        assert_eq!(
            (&row["skipped"], &row["reason"], &row["blocked_by"]),
            (&json!(true), &json!("upstream"), by),
            "{name}"
        );
    }
    assert_eq!(
        (&row("four")["ok"], row("four").get("blocked_by")),
        (&json!(true), None),
        "it needs none of them"
    );
    let meta = row("__meta__");
    assert_eq!(
        (&meta["task_status"], &meta["failed_steps"]),
        (&json!("FAILED"), &json!(["one"]))
    );
    assert_eq!(
        meta["blocked_steps"],
        json!(["two", "three", "five", "six"])
    );
    let document = run(body, &["--format", "json"]).json();
    let steps = document["steps"].as_array().unwrap();
    let two = steps.iter().find(|step| step["path"] == "two").unwrap();
    assert_eq!(
        (&two["reason"], &two["blocked_by"]),
        (&json!("upstream"), &json!(["one"]))
    );
}

#[test]
fn s0_6_a_dependency_that_does_not_exist_is_found_before_anything_is_called() {
    for dependency in [
        "step b = calc.zero() after nobody",
        "step b = calc.add(a: nobody.sum)",
    ] {
        let refused = run(
            &format!("step one = calc.zero()\n{dependency}"),
            &["--output", "full"],
        );
        assert_eq!(
            (refused.status, refused.stdout.as_str()),
            (1, ""),
            "{dependency}"
        );
        assert!(refused.stderr.contains("nobody"), "{}", refused.stderr);
    }
}

#[test]
fn s0_7_a_path_that_leads_nowhere_fails_its_step_and_names_it() {
    let body = "policy { on_failure: settle }
        step one = calc.add(a: 2)
        step deep = calc.add(a: 2, key: json({ list: [one.docs.first] }))
        step four = calc.zero()";
    let rows = rows(&run(body, &["--output", "full"]));
    assert_eq!(
        (&rows[1]["ok"], &rows[1]["error"]),
        (&json!(false), &json!("no such key: docs; available: sum"))
    );
    assert_eq!(
        (&rows[2]["ok"], &rows[3]["failed_steps"]),
        (&json!(true), &json!(["deep"]))
    );
}

#[test]
fn s0_9_rows_keep_their_promises_however_a_run_ends() {
    let steps = "step one = calc.lost() recover tool => 1
        step two = calc.zero() when ask == false
        step three = calc.add(a: a)
        step four = calc.add(a: three.sum)
        step five = input \"Well?\" -> { n: int }
        step six = calc.zero() after five";
    for policy in ["undo", "settle", "pause"] {
        for inputs in [["-i", "a=1"], ["-i", "a=2"]] {
            for strict in [&["--output", "full"][..], &["--output", "full", "--strict"]] {
                let body = format!("policy {{ on_failure: {policy} }} {steps}");
                let rows = rows(&run(&body, &[strict, &inputs].concat()));
                let (meta, rows) = rows.split_last().unwrap();
                assert_eq!(
                    (&meta["step_id"], rows.len()),
                    (&json!("__meta__"), 6),
                    "once, and last"
                );
                for row in rows {
                    assert_ne!(row["step_id"], "__meta__");
                    let (ok, skipped) = (row["ok"] == true, row["skipped"] == true);
                    assert!(!(skipped && ok), "what was skipped is not fine: {row}");
                    assert!(
                        !(ok && row.get("error").is_some()),
                        "what is fine has no error: {row}"
                    );
                    assert!(
                        ok || row.get("error").is_some() || row.get("reason").is_some(),
                        "why not: {row}"
                    );
                }
                let count = |name: &str| meta["stats"][name].as_u64().unwrap();
                assert_eq!(
                    count("ok") + count("skipped") + count("failed"),
                    count("total_steps")
                );
            }
        }
    }
}

const PLACEHOLDER: &str = "policy { on_failure: settle }
    step docs = calc.lost() recover tool => { sum: 0 }
    step told = calc.add(a: docs.sum + 2)
    step other = calc.add(a: 2)
    reply \"done\"";

#[test]
fn s0_8_a_strict_run_passes_no_placeholder_on() {
    let output = run(PLACEHOLDER, &["--output", "full"]);
    let (rows_of, meta) = (rows(&output), rows(&output).pop().unwrap());
    assert_eq!(
        (
            output.status,
            &rows_of[0]["degraded"],
            &meta["strict_degraded"]
        ),
        (0, &json!(true), &json!(false))
    );
    assert_eq!(
        (&meta["task_status"], &meta["stats"]["degraded_count"]),
        (&json!("COMPLETED"), &json!(1))
    );

    let output = run(PLACEHOLDER, &["--output", "full", "--strict"]);
    let (rows_of, meta) = (rows(&output), rows(&output).pop().unwrap());
    assert_eq!(
        (
            output.status,
            &meta["task_status"],
            &meta["strict_degraded"]
        ),
        (1, &json!("PARTIAL"), &json!(true))
    );
    assert_eq!(
        (
            &rows_of[0]["ok"],
            rows_of[0]["error"].as_str().unwrap().contains("it is gone")
        ),
        (&json!(false), true)
    );
    assert_eq!(
        (&rows_of[1]["skipped"], &rows_of[1]["blocked_by"]),
        (&json!(true), &json!(["docs"]))
    );
    assert_eq!(rows_of[2]["ok"], true, "what does not read it goes on");

    // A call in an arm is a result of its own, while an arm around the step is only as good as its own value.
    let called = PLACEHOLDER.replace("{ sum: 0 }", "calc.add(a: 5)");
    let output = run(&called, &["--output", "full", "--strict"]);
    assert_eq!(
        (output.status, rows(&output)[0]["ok"].clone()),
        (0, json!(true)),
        "{}",
        output.stderr
    );
    let around = "step docs = do { step inner = calc.lost() yield inner } recover tool => null
        reply \"done\"";
    assert_eq!(
        (run(around, &[]).status, run(around, &["--strict"]).status),
        (0, 1)
    );
}

#[test]
fn s0_8_a_strict_run_stays_strict_when_it_is_gone_on_with() {
    let place = project("", &PLACEHOLDER.replace("settle", "pause"));
    let paused = run_in(&place, &["--strict", "--run-id", "strict"]);
    assert_eq!(paused.status, 4, "{}", paused.stderr);
    let again = planrun(["runs", "resume", "strict", "--format", "json"])
        .within(place.path())
        .run();
    assert_eq!(
        (again.status, &again.json()["steps"][0]["attempts"]),
        (4, &json!(2)),
        "{}",
        again.stderr
    );
    let other = run_in(&place, &["--run-id", "strict"]);
    assert_eq!(
        other.status, 2,
        "a run that is not strict is another one: {}",
        other.stderr
    );
}

#[test]
fn s1_2_a_reply_is_trimmed_and_a_blank_one_gives_way_to_the_observations() {
    let body = "step one = calc.add(a: 2)
        reply \"  hello \\n\" when ask
        step two = calc.zero()
        reply \" \\t \"";
    let summary = run(body, &["--output", "summary"]);
    assert_eq!(
        (summary.stdout.as_str(), summary.status),
        ("hello\n", 0),
        "{}",
        summary.stderr
    );
    let rows_of = rows(&run(body, &["--output", "full"]));
    assert_eq!(
        (&rows_of[1]["skipped"], &rows_of[1]["reason"]),
        (&json!(true), &json!("replied")),
        "later steps do not run"
    );
    let blank = run(body, &["--output", "summary", "-i", "ask=false"]);
    assert_eq!(
        blank.stdout,
        "#1 tool calc.add succeeded: {\"sum\":3}\n#2 tool calc.zero succeeded: 0\n"
    );
    let chinese = run(
        body,
        &["--output", "summary", "-i", "ask=false", "--language", "zh"],
    );
    assert_eq!(
        chinese.stdout.lines().next(),
        Some("#1 工具 calc.add 成功：{\"sum\":3}")
    );
    let document = run(
        body,
        &["--output", "summary", "-i", "ask=false", "--format", "json"],
    )
    .json();
    assert_eq!(
        (
            &document["reply"],
            document["observations"].as_array().unwrap().len()
        ),
        (&json!(null), 2)
    );
    assert_eq!(
        run("reply { a: 1 }", &["--output", "summary"]).json(),
        json!({ "a": 1 })
    );
    assert_eq!(
        run("reply null", &["--output", "summary"]).stdout,
        "(no step ran, or the tools returned nothing)\n"
    );
}

#[test]
fn s1_3_a_call_that_failed_is_observed_as_that_although_an_arm_replaces_its_value() {
    let body = "step one = calc.lost() recover _ => 7
        step two = calc.zero()
        reply one";
    let output = run(body, &["--output", "observations"]);
    let expected = [
        "#1 tool calc.lost failed: calc.lost: it is gone",
        "#2 tool calc.zero succeeded: 0",
    ];
    assert_eq!(output.stdout.lines().collect::<Vec<_>>(), expected);
    let rows = run(body, &["--output", "observations", "--format", "json"]).json();
    assert_eq!(rows[0]["ok"], false);
    assert_eq!(rows[0]["error"], "calc.lost: it is gone");
    assert!(rows[0].get("result").is_none(), "{rows}");
}

#[test]
fn s1_3_a_call_that_was_refused_before_it_was_sent_is_an_observation() {
    let body = "policy { on_failure: settle }
        step one = calc.add(a: a, key: \"hush\")
        step two = calc.lost()
        step three = calc.zero()
        step four = calc.zero() after one";
    let output = run(body, &["--output", "observations"]);
    let expected = [
        "#1 tool calc.add failed: the arguments violate the tool's contract: a must be at least 2",
        "#2 tool calc.lost failed: calc.lost: it is gone",
        "#3 tool calc.zero succeeded: 0",
    ];
    assert_eq!(
        output.stdout.lines().collect::<Vec<_>>(),
        expected,
        "what was skipped was not refused"
    );
    let rows = run(body, &["--output", "observations", "--format", "json"]).json();
    let keys = |row: &Json| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&rows[0]),
        ["step", "tool", "ok", "error", "arguments"],
        "nothing was sent, so nothing took time"
    );
    assert_eq!(rows[0]["arguments"], json!({ "a": 1, "key": "[redacted]" }));
    assert_eq!(
        keys(&rows[1]),
        ["step", "tool", "ok", "latency_ms", "error"]
    );
}

#[test]
fn d3_s1_5_only_so_many_steps_are_executed_and_the_rest_is_told() {
    let body = "step one = calc.zero() step two = calc.add(a: 2) after one step three = calc.zero() after two reply \"over\"";
    let output = run(body, &["--max-steps", "2", "--output", "summary"]);
    assert_eq!(
        output.stdout,
        "#1 tool calc.zero succeeded: 0\n#2 tool calc.add succeeded: {\"sum\":3}\n"
    );
    assert_eq!(output.status, 1);
    assert!(
        output
            .stderr
            .contains("budget.calls: 2 steps have been executed"),
        "{}",
        output.stderr
    );
    assert_eq!(
        run(body, &["--max-steps", "3", "--output", "summary"]).stdout,
        "over\n"
    );
}

#[test]
fn s1_12_the_graph_tells_roots_leaves_and_levels_of_each_block() {
    let place = project(
        "",
        "step one = calc.zero()
         step two = calc.add(a: 2)
         step all = each number in [one, two.sum] max 2 {
             step inner = calc.add(a: number + 2)
             step twice = calc.add(a: inner.sum)
             yield twice.sum
         }
         step last = calc.zero() after two
         reply all",
    );
    let graph = planrun(["graph", "p.plan", "--format", "json"])
        .within(place.path())
        .run();
    let (document, blocks) = (graph.json(), graph.json()["blocks"].clone());
    assert_eq!(blocks[0]["block"], Json::Null);
    assert_eq!(blocks[0]["roots"], json!(["one", "two"]));
    assert_eq!(blocks[0]["levels"][0], json!(["one", "two"]));
    assert_eq!(blocks[1]["block"], "all");
    assert_eq!(
        (
            &blocks[1]["roots"],
            blocks[1]["leaves"].as_array().unwrap().len()
        ),
        (&json!(["all.inner"]), 1)
    );
    let levels = |block: &Json| block["levels"].as_array().unwrap().clone();
    assert_eq!(levels(&blocks[1]).len(), 3, "one after the other");
    for block in blocks.as_array().unwrap() {
        let placed: usize = levels(block)
            .iter()
            .map(|level| level.as_array().unwrap().len())
            .sum();
        let own = document["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|node| node["parent"] == block["block"]);
        assert_eq!(placed, own.count(), "each statement has one level");
        let level = |id: &Json| {
            levels(block)
                .iter()
                .position(|level| level.as_array().unwrap().contains(id))
        };
        for edge in document["edges"].as_array().unwrap() {
            if let (Some(from), Some(to)) = (level(&edge["from"]), level(&edge["to"])) {
                assert!(from < to, "{edge}");
            }
        }
    }
    assert_eq!(
        graph.stdout,
        planrun(["graph", "p.plan", "--format", "json"])
            .within(place.path())
            .run()
            .stdout
    );
}

#[test]
fn s3_4_an_agent_that_is_spelled_with_more_words_is_recognised() {
    let plan =
        "use hr_agent_v1\nplan p() { step made = hr_agent_v1.create(name: \"Ada\") reply made }\n";
    let hr = "name: hr\ntools:\n  - { name: create, endpoint: 'http://127.0.0.1:9/tool' }\n";
    let place = folder([
        ("p.plan", plan),
        ("apps/hr.yaml", hr),
        ("apps/calc.yaml", APP),
    ]);
    let found = planrun(["check", "p.plan", "--format", "json"])
        .within(place.path())
        .run()
        .json();
    let finding = &found["diagnostics"][0];
    assert_eq!(
        (&finding["code"], &finding["help"]),
        (&json!("unresolved-use"), &json!("did you mean `hr`?"))
    );
    assert_eq!(
        (
            &finding["span"]["start"]["column"],
            &finding["fix"]["edits"][0]["text"]
        ),
        (&json!(5), &json!("hr"))
    );
}

#[test]
fn s3_17_a_project_switches_retries_on_for_the_tools_of_an_app() {
    let body = "step up = calc.shaky()\nreply up";
    let place = project("", body);
    assert_eq!(
        run_in(&place, &[]).status,
        1,
        "an effect that failed is not done again by itself"
    );
    let retry = "retry: { calc.*: { attempts: 3, delay: 0s, on: [transient, tool.busy] }, calc.broken: { attempts: 2, delay: 0s, on: [tool.failed] } }\n";
    std::fs::write(place.path().join("planrun.yaml"), retry).unwrap();
    let ran = run_in(&place, &["--format", "json"]).json();
    assert_eq!(
        (&ran["reply"], &ran["steps"][0]["attempts"]),
        (&json!("up"), &json!(3)),
        "success at an attempt ends them"
    );
    let attempts = |body: &str| {
        let plan = format!("use calc\nplan p() {{ {body} }}\n");
        std::fs::write(place.path().join("p.plan"), plan).unwrap();
        run_in(&place, &["--format", "json"]).json()["steps"][0]["attempts"].clone()
    };
    assert_eq!(
        attempts("step b = calc.broken()"),
        2,
        "the tool itself before its app"
    );
    assert_eq!(
        attempts("step b = calc.broken() retry { attempts: 4, on: [tool.failed] }"),
        4,
        "the step before both"
    );
    assert_eq!(
        attempts("step b = calc.lost()"),
        1,
        "for another failure it is not done again"
    );
    std::fs::write(
        place.path().join("planrun.yaml"),
        "retry: { calc.*: { atempts: 3 } }",
    )
    .unwrap();
    let found = planrun(["check", "p.plan"]).within(place.path()).run();
    assert!(
        found.stdout.contains("`attempts`"),
        "{} {}",
        found.stdout,
        found.stderr
    );
}

/// Returns the text of the file, or the class of the failure.
fn reads(allow: &str, path: &str) -> String {
    let body = format!("allow {{ read: [{allow}] }}\nstep text = fs.read(path: path)\nreply text");
    let place = project("path: string", &body);
    let here = place.path().canonicalize().unwrap();
    let root = format!("file://{}", here.display());
    let plan = std::fs::read_to_string(place.path().join("p.plan"))
        .unwrap()
        .replace("ROOT", &root);
    std::fs::write(place.path().join("p.plan"), plan).unwrap();
    let ran = run_in(
        &place,
        &[
            "--format",
            "json",
            "-i",
            &format!("path={}", path.replace("ROOT", &root)),
        ],
    );
    match &ran.json()["reply"] {
        Json::String(text) => text.clone(),
        _ => ran.json()["error"]["class"].as_str().unwrap().to_owned(),
    }
}

#[test]
fn s4_15_a_folder_allows_what_is_in_it_and_no_other_place() {
    let denied = "denied.policy";
    for (allow, path, expected) in [
        ("\"/\"", "data2/b.txt", "beside"),
        ("\"data\"", "data/a b.txt", "inside"),
        ("\"data/a b.txt\"", "data/a b.txt", "inside"),
        ("\"data\"", "data2/b.txt", denied),
        ("\"data\"", "data/../data2/b.txt", denied),
        ("\"DATA\"", "data/a b.txt", denied),
        ("\"ROOT/data\"", "data/a b.txt", "inside"),
        ("\"ROOT/data\"", "data2/b.txt", denied),
        ("\"ROOT/*/a%20b.txt\"", "data/a b.txt", "inside"),
    ] {
        assert_eq!(reads(allow, path), expected, "{allow} {path}");
    }
    let place = project(
        "",
        "allow { read: [\"https://example.com/data\"] }\nstep text = fs.read(path: \"x\")",
    );
    let refused = run_in(&place, &[]);
    assert!(
        refused
            .stderr
            .contains("not the address of a file on this machine"),
        "{}",
        refused.stderr
    );
}

#[test]
fn s4_16_a_file_is_named_by_a_path_or_by_its_address() {
    for (path, expected) in [
        ("data/a b.txt", "inside"),
        ("ROOT/data/a%20b.txt", "inside"),
        ("FILEROOT", "validation.arguments"),
        ("https://example.com/a.txt", "validation.arguments"),
        ("file://elsewhere/data/a.txt", "validation.arguments"),
        ("ROOT/data/a%20b.txt?x=1", "validation.arguments"),
        ("ROOT/data2/b.txt", "denied.policy"),
    ] {
        let path = path.replace("FILEROOT", "vscode-remote://host/data/a.txt");
        assert_eq!(reads("\"data\"", &path), expected, "{path}");
    }
}

#[test]
fn s4_17_a_project_wants_a_yes_before_some_tools_and_every_question_is_told_with_its_end() {
    let body = "step z = calc.zero()
        step up = calc.broken() recover denied.human as e => e.message
        reply up";
    let place = project("", body);
    std::fs::write(
        place.path().join("planrun.yaml"),
        "confirm: [calc.broken, fs.*]\n",
    )
    .unwrap();
    let program = |arguments: &[&str]| planrun(arguments).within(place.path()).run();
    let question = |run: &str| {
        program(&["runs", "show", run, "--format", "json"]).json()["questions"][0].clone()
    };
    for (run, answer, status, reply) in [
        (
            "no",
            r#"{"approve": false, "by": "ann", "note": "not today"}"#,
            "rejected",
            json!("`ann` declined: not today"),
        ),
        ("silent", "false", "rejected", json!("a person declined")),
        ("yes", "true", "approved", Json::Null),
    ] {
        let paused = run_in(&place, &["--run-id", run, "--format", "json"]);
        assert_eq!(
            (paused.status, paused.json()["steps"][0]["attempts"].clone()),
            (4, json!(1)),
            "{}",
            paused.stderr
        );
        let asked = question(run);
        assert_eq!(
            (&asked["path"], &asked["kind"], &asked["status"]),
            (&json!("up.confirm"), &json!("confirm"), &json!("pending"))
        );
        assert_eq!(
            (&asked["tool"], &asked["text"]),
            (&json!("calc.broken"), &json!("Call `calc.broken`?"))
        );
        assert!(
            asked["asked_at"].as_str().unwrap().ends_with('Z'),
            "{asked}"
        );
        program(&[
            "runs",
            "answer",
            run,
            &format!("up.confirm={answer}"),
            "--resume",
        ]);
        let ended = program(&["runs", "show", run, "--format", "json"]).json();
        assert_eq!(
            (&ended["reply"], &ended["questions"][0]["status"]),
            (&reply, &json!(status)),
            "{ended:#}"
        );
        if run == "no" {
            assert_eq!(
                (&question(run)["by"], &question(run)["note"]),
                (&json!("ann"), &json!("not today"))
            );
        }
    }
    let forecast = run_in(&place, &["--dry-run", "--format", "json"]).json();
    assert_eq!(forecast["steps"][0].get("confirm"), None);
    assert_eq!(
        forecast["steps"][1]["confirm"]["text"]["value"],
        "Call `calc.broken`?"
    );
    // The plan's own question takes precedence.
    let own = body.replace("recover", "confirm \"Really?\" recover");
    std::fs::write(
        place.path().join("p.plan"),
        format!("use calc\nplan p() {{ {own} }}\n"),
    )
    .unwrap();
    assert_eq!(run_in(&place, &["--run-id", "own"]).status, 4);
    assert_eq!(question("own")["text"], "Really?");
    std::fs::write(place.path().join("planrun.yaml"), "confirm: [calc]\n").unwrap();
    let unclear = run_in(&place, &[]);
    assert_eq!(unclear.status, 3);
    assert!(
        unclear
            .stderr
            .contains("`calc` is not the name of a tool; write `namespace.tool`, or `namespace.*`"),
        "{}",
        unclear.stderr
    );
}

/// A plan to generate others from; its tests are not exported.
const TEMPLATE: &str = r#"use sys

/// Greets, with marks.
plan template(
    plan_name: string,
    tags: string[],
    limit?: int, // as it comes
    colour: "red" | "blue" = "red",
) -> string {
    policy { timeout: 5s }
    step told = sys.echo(value: "${plan_name}: ${tags.join(", ")} ${limit ?? 0} ${colour}")
    reply string(told)
}

test "as it is" for template {
    given { plan_name: "a", tags: [] }
    mock sys.echo => "x"
    expect reply == "x"
}
"#;

#[test]
fn s3_34_a_plan_is_made_from_another_one_with_texts_and_lists_filled_in() {
    let place = folder([("template.plan", TEMPLATE)]);
    let export = |file: &str, arguments: &[&str]| {
        planrun(["export", file].iter().chain(arguments))
            .within(place.path())
            .run()
    };
    let reply = |file: &str, text: &str, inputs: &[&str]| {
        std::fs::write(place.path().join(file), text).unwrap();
        let ran = planrun(["run", file, "--no-journal"].iter().chain(inputs))
            .within(place.path())
            .run();
        assert_eq!(ran.stderr, "", "{text}");
        ran.stdout
    };
    let hostile = r#"plan_name=${tags} "quoted" \n {"#;
    let filled = [
        "--name",
        "greet_ada",
        "-i",
        hostile,
        "-i",
        r#"tags=["a b", "c\"d"]"#,
        "-i",
        "limit=3",
    ];
    let made = export("template.plan", &filled);
    assert_eq!(made.status, 0, "{}", made.stderr);
    assert!(
        made.stdout.contains("plan greet_ada(") && !made.stdout.contains("test "),
        "{}",
        made.stdout
    );
    assert!(
        made.stdout.contains("/// Greets, with marks."),
        "{}",
        made.stdout
    );
    assert!(
        made.stdout
            .contains(r#"let tags: string[] = ["a b", "c\"d"]"#),
        "{}",
        made.stdout
    );
    let expected = "${tags} \"quoted\" \\n {: a b, c\"d 3 blue\n";
    assert_eq!(
        reply("made.plan", &made.stdout, &["-i", "colour=blue"]),
        expected,
        "what is filled in is data, never code"
    );
    // The generated plan is canonical, and filling in the inputs at once or in two steps gives the same result.
    assert_eq!(
        planrun(["fmt", "--check", "made.plan"])
            .within(place.path())
            .run()
            .status,
        0
    );
    let (first, rest) = (&filled[..4], &filled[4..]);
    std::fs::write(
        place.path().join("half.plan"),
        export("template.plan", first).stdout,
    )
    .unwrap();
    let whole = export("half.plan", rest);
    assert_eq!(
        reply("whole.plan", &whole.stdout, &["-i", "colour=blue"]),
        expected,
        "{}",
        whole.stderr
    );
    // The JSON form, in both directions.
    let json = export(
        "template.plan",
        &[&filled[..], &["--format", "json"]].concat(),
    );
    assert_eq!(
        reply("made.plan.json", &json.stdout, &["-i", "colour=blue"]),
        expected
    );
    let again = export("made.plan.json", &["-i", "colour=red"]);
    assert_eq!(
        reply("again.plan.json", &again.stdout, &[]),
        expected.replace("blue", "red")
    );
}

#[test]
fn s3_34_what_does_not_fit_makes_no_plan() {
    let place = folder([(
        "template.plan",
        TEMPLATE.replace("limit?: int", "limit?: secret"),
    )]);
    for (inputs, why) in [
        (
            ["-i", "tags=[1]"],
            "the input `tags` must be of type string[]",
        ),
        (["-i", "tag=[]"], "did you mean `tags`?"),
        (["-i", "limit=hush"], "a plan must not contain secrets"),
        (["-i", "colour=green"], "the input `colour` must be of type"),
    ] {
        let refused = planrun(["export", "template.plan"].iter().chain(&inputs))
            .within(place.path())
            .run();
        assert_eq!((refused.status, refused.stdout.as_str()), (2, ""), "{why}");
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
