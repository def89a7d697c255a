//! The printed results of a run: rows of results, the last one, observations.

use serde_json::{Value as Json, json};

use crate::support::{Output, folder, planrun};

/// Runs a plan with a tool `add`, one that fails and one that returns nothing.
fn run(body: &str, arguments: &[&str]) -> Output {
    let app = "name: calc\ntools:
  - { name: add, endpoint: 'http://127.0.0.1:9/tool', effect: read, parameters: { properties: { a: { type: integer } } }, mock: { sum: 3, words: \"ein \\\"Wort\\\"\" } }
  - { name: lost, endpoint: 'http://127.0.0.1:9/tool', errors: [gone], mock: [{ fail: { reason: gone, error: it is gone } }] }
  - { name: zero, endpoint: 'http://127.0.0.1:9/tool', effect: read, mock: 0 }
";
    let plan = format!("use calc\nplan p() {{\n{body}\n}}\n");
    let files = folder([("p.plan", plan.as_str()), ("apps/calc.yaml", app)]);
    planrun(
        ["run", "p.plan", "--mock", "--run-id", "r"]
            .iter()
            .chain(arguments),
    )
    .within(files.path())
    .run()
}

fn results(output: &Output) -> Vec<Json> {
    output.json()["execution_results"]
        .as_array()
        .unwrap()
        .clone()
}

const FAILS: &str = "policy { on_failure: settle }
    step one = calc.add(a: 1)
    step two = calc.lost()
    step three = calc.zero() after two
    step four = calc.zero()";

#[test]
fn s0_1_every_step_has_a_row_and_the_run_has_the_last_one() {
    let output = run(FAILS, &["--output", "full"]);
    assert_eq!(output.status, 1, "{}", output.stderr);
    let rows = results(&output);
    let sum = json!({"sum": 3, "words": "ein \"Wort\""});
    assert_eq!(
        rows[0],
        json!({"step_id": "one", "tool": "calc.add", "ok": true, "output": sum})
    );
    assert_eq!(
        (&rows[1]["tool"], &rows[1]["ok"]),
        (&json!("calc.lost"), &json!(false))
    );
    assert!(
        rows[1]["error"].as_str().unwrap().contains("it is gone"),
        "{}",
        rows[1]
    );
    let skipped = json!({"step_id": "three", "tool": "calc.zero", "ok": false, "skipped": true, "reason": "upstream", "blocked_by": ["two"]});
    assert_eq!(rows[2], skipped);
    assert_eq!(
        rows[3],
        json!({"step_id": "four", "tool": "calc.zero", "ok": true, "output": 0})
    );
    let meta = &rows[4];
    assert_eq!(
        (rows.len(), &meta["step_id"], &meta["task_status"]),
        (5, &json!("__meta__"), &json!("FAILED"))
    );
    let stats = json!({"total_steps": 4, "ok": 2, "skipped": 1, "failed": 1, "degraded_count": 0});
    assert_eq!(meta["stats"], stats);
    assert_eq!(
        (&meta["failed_steps"], &meta["blocked_steps"]),
        (&json!(["two"]), &json!(["three"]))
    );
}

#[test]
fn s0_2_the_last_object_alone_and_everything_else_whole() {
    let last = |body: &str| run(body, &["--output", "last"]).json();
    let sum = json!({"sum": 3, "words": "ein \"Wort\""});
    assert_eq!(last("step z = calc.zero()\nstep a = calc.add(a: 1)"), sum);
    assert_eq!(
        last("step a = calc.add(a: 1)\nstep z = calc.zero() when false == true"),
        sum,
        "a guard leaves out"
    );
    for whole in [
        "step a = calc.add(a: 1)\nstep z = calc.zero()",
        "step a = calc.add(a: 1)\nstep l = calc.lost()",
        "",
    ] {
        let printed = last(whole);
        assert_eq!(
            printed["execution_results"]
                .as_array()
                .unwrap()
                .last()
                .unwrap()["step_id"],
            "__meta__",
            "{whole}"
        );
    }
    let text = run("step a = calc.add(a: 1)", &["--output", "full"]);
    assert_eq!(
        results(&text).len(),
        2,
        "everything where everything is wanted"
    );
}

#[test]
fn s0_3_a_completed_run_is_told_in_short_and_any_other_whole() {
    let last = |body: &str| run(body, &["--output", "last", "--format", "json"]).json();
    let stats = json!({"total_steps": 2, "ok": 2, "skipped": 0, "failed": 0, "degraded_count": 1});
    let summary = last("step l = calc.lost() recover tool => 1\nstep z = calc.zero()");
    let expected = json!({"task_status": "COMPLETED", "stats": stats, "last_step_id": "z", "tool": "calc.zero", "output": 0});
    assert_eq!(summary, expected);
    let step_status = |body: &str| {
        last(body)["execution_results"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()["task_status"]
            .clone()
    };
    assert_eq!(step_status("step l = calc.lost()"), "FAILED");
    assert_eq!(
        step_status("policy { on_failure: settle }\nstep l = calc.lost()\nreply 1"),
        "PARTIAL"
    );
    assert_eq!(
        step_status("step i = input \"Well?\" -> { a: int }"),
        "BLOCKED"
    );
}

#[test]
fn s1_4_observations_are_lines_in_the_language_that_was_asked_for() {
    let lines = |body: &str, language: &str| {
        run(body, &["--output", "observations", "--language", language]).stdout
    };
    let chinese = lines(FAILS, "zh");
    let expected = [
        "#1 工具 calc.add 成功：{\"sum\":3,\"words\":\"ein \\\"Wort\\\"\"}",
        "#2 工具 calc.lost 失败：calc.lost: it is gone",
        "#3 工具 calc.zero 成功：0",
    ];
    assert_eq!(
        chinese.lines().collect::<Vec<_>>(),
        expected,
        "what is nothing, such as 0, is told as it is"
    );
    let english = lines(FAILS, "en");
    assert_eq!(
        english.lines().next().unwrap(),
        "#1 tool calc.add succeeded: {\"sum\":3,\"words\":\"ein \\\"Wort\\\"\"}"
    );
    assert_eq!(
        english.lines().nth(1).unwrap(),
        "#2 tool calc.lost failed: calc.lost: it is gone"
    );
    assert_eq!(
        lines("reply 1", "zh"),
        "（没有可执行的步骤或工具返回空结果）\n"
    );
    assert_eq!(
        lines("reply 1", "en"),
        "(no step ran, or the tools returned nothing)\n"
    );
    let rows = run(FAILS, &["--output", "observations", "--format", "json"]).json();
    let shape = |row: &Json| row.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        shape(&rows[0]),
        ["step", "tool", "ok", "latency_ms", "result"]
    );
    assert_eq!(
        shape(&rows[1]),
        ["step", "tool", "ok", "latency_ms", "error"]
    );
    assert_eq!(
        (&rows[0]["step"], &rows[1]["ok"], &rows[2]["result"]),
        (&json!(0), &json!(false), &json!(0))
    );
}

/// Returns a project in Chinese with one question.
fn chinese_project(settings: &str) -> tempfile::TempDir {
    let plan = "use 计算\nplan 询价(数量: int = 2) {\n    step 和 = 计算.add(a: 数量)\n    step 填写 = input \"请填写收件人\" -> { 收件人: string, 备注: string = \"无\" } by \"前台\" within 2d\n    step 发送 = 计算.add(a: 3)\n        confirm \"发送给 ${填写.收件人}？\" by \"经理\" expires 1d\n}\nplan 只算(数量: int = 2) { step 和 = 计算.add(a: 数量) }\n";
    let app = "name: 计算\ntools:\n  - { name: add, endpoint: 'http://127.0.0.1:9/tool', parameters: { a: { type: integer, required: true } }, mock: { sum: 3 } }\n";
    crate::support::folder([
        ("planrun.yaml", settings),
        ("plans/询价.plan", plan),
        ("apps/计算.yaml", app),
    ])
}

#[expect(clippy::too_many_lines, reason = "a table of cases")]
#[test]
fn d17_a_project_sets_the_language_of_observations_summaries_and_questions_once() {
    let place = chinese_project("language: zh\n");
    let planrun = |arguments: &[&str]| {
        crate::support::planrun(arguments)
            .within(place.path())
            .run()
    };
    let line = "#1 工具 计算.add 成功：";
    for output in ["observations", "summary"] {
        let run = planrun(&[
            "run",
            "plans/询价.plan",
            "--plan",
            "只算",
            "--mock",
            "--output",
            output,
        ]);
        assert_eq!(run.status, 0, "{run:?}");
        assert!(run.stdout.starts_with(line), "{run:?}");
    }
    let english = planrun(&[
        "run",
        "plans/询价.plan",
        "--plan",
        "只算",
        "--mock",
        "--output",
        "observations",
        "--language",
        "en",
    ]);
    assert!(
        english.stdout.starts_with("#1 tool 计算.add succeeded: "),
        "the flag wins: {english:?}"
    );

    let asks = planrun(&[
        "run",
        "plans/询价.plan",
        "--plan",
        "询价",
        "--mock",
        "--run-id",
        "r1",
    ]);
    assert_eq!(asks.status, 4, "{asks:?}");
    for words in [
        "请填写: 填写",
        "运行 r1，计划 询价",
        "刚刚提出，截止 ",
        "由 \"前台\" 回答",
        "请填写收件人",
        "待填写",
        "收件人: string",
        "回答：planrun runs answer r1 ",
    ] {
        assert!(asks.stderr.contains(words), "{words}: {asks:?}");
    }
    for english in ["a form", "answer:", "asked just now", "to be filled in"] {
        assert!(!asks.stderr.contains(english), "{english}: {asks:?}");
    }
    for command in [
        &["runs", "inbox"][..],
        &["runs", "show", "r1"],
        &["runs", "list", "--waiting"],
        &["runs", "inbox", "--all"],
    ] {
        let printed = planrun(command);
        assert!(
            printed.stdout.contains("待填写") && printed.stdout.contains("（2d 后）"),
            "{command:?}: {printed:?}"
        );
    }
    let answered = planrun(&[
        "runs",
        "answer",
        "r1",
        "填写={\"收件人\": \"张三\"}",
        "--by",
        "前台",
        "--resume",
    ]);
    assert_eq!(answered.status, 4, "{answered:?}");
    for words in [
        "请确认: 发送.confirm",
        "发送给 张三？",
        "将要发送的内容",
        "计算.add",
    ] {
        assert!(answered.stderr.contains(words), "{words}: {answered:?}");
    }
    let resumed = planrun(&["runs", "answer", "r1", "发送.confirm=true", "--by", "经理"]);
    assert_eq!(resumed.status, 0, "{resumed:?}");
    let observed = planrun(&["runs", "resume", "r1", "--output", "observations"]);
    assert!(observed.stdout.starts_with(line), "{observed:?}");
    let observed = planrun(&[
        "runs",
        "resume",
        "r1",
        "--output",
        "observations",
        "--language",
        "en",
    ]);
    assert!(observed.stdout.starts_with("#1 tool "), "{observed:?}");
}

#[test]
fn d17_a_language_that_there_is_none_of_is_found_in_its_place() {
    let place = chinese_project("allow: {}\nlanguage: zhh\n");
    let checked = crate::support::planrun(["check"])
        .within(place.path())
        .run();
    assert_eq!(checked.status, 1, "{checked:?}");
    let all = format!("{}{}", checked.stdout, checked.stderr);
    assert!(
        all.contains("config-key") && all.contains("planrun.yaml:2:11"),
        "{all}"
    );
    assert!(
        all.contains("`language` must be one of `en`, `zh`, but is `zhh`")
            && all.contains("did you mean `zh`?"),
        "{all}"
    );
    let run = crate::support::planrun(["run", "plans/询价.plan", "--plan", "只算", "--mock"])
        .within(place.path())
        .run();
    assert_eq!(
        run.status, 1,
        "a project that is not understood runs nothing: {run:?}"
    );
}
