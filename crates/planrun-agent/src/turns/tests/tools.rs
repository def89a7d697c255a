//! Tests of what a model can use in a loop: tools, plans, files, rules and skills.

use super::*;

#[tokio::test]
async fn a_long_chain_is_a_plan_and_costs_one_turn() {
    let bench = Bench::new(
        r#"- { calls: [{ name: run, arguments: { plan: "step ids = desk.find(customer: \"Li\") step closed = each id in ids max 10 { step one = desk.close(id: id) yield one } reply closed" } }] }
- { text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Close all of Li").await;
    let [(result, false)] = &*results(&outcome) else {
        panic!("{outcome:?}")
    };
    assert!(result.contains(r#"["closed 1","closed 2"]"#), "{result}");
    assert_eq!((outcome.rounds, bench.asked.lock().len()), (2, 1));
}

#[tokio::test]
async fn findings_of_a_plan_and_lookups_are_results() {
    let bench = Bench::new(
        r#"- calls:
    - { name: search, arguments: { query: customer } }
    - { name: describe, arguments: { names: [desk.find] } }
- { calls: [{ name: run, arguments: { plan: "step a = desk.finde(customer: 1) reply a" } }] }
- { text: ok }"#,
    )
    .await;
    let outcome = bench.run("Look").await;
    let results = results(&outcome);
    assert!(
        results[0].0.contains("desk.find") && results[1].0.contains("customer"),
        "{results:?}"
    );
    assert!(
        results[2].1 && results[2].0.contains("desk.find"),
        "{results:?}"
    );
}

#[tokio::test]
async fn s4_13_file_tools_reach_what_is_allowed_and_change_what_they_are_told() {
    let bench = Bench::new(
        r#"- calls:
    - { name: files_glob, arguments: { pattern: '**/*.*' } }
    - { name: files_grep, arguments: { pattern: '^t.o', path: notes } }
    - { name: files_outline, arguments: { path: notes } }
    - { name: files_grep, arguments: { pattern: hunter, path: . } }
    - { name: fs_read, arguments: { path: secret.txt } }
- calls:
    - { name: files_edit, arguments: { path: notes/a.md, edits: [{ search: "one\ntwo", replace: "$& 1\n2" }] } }
    - { name: files_mkdir, arguments: { path: notes/x/y } }
    - { name: files_mkdir, arguments: { path: other } }
    - { name: fs_write, arguments: { path: notes/x/y/z, content: new } }
    - { name: files_edit, arguments: { path: secret.txt, edits: [{ search: hunter2, replace: x }] } }
- { text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("See @[notes/a.md:2] and @[secret.txt]").await;
    assert_eq!(outcome.ended, done("ok"));
    let results = results(&outcome);
    let json = |index: usize| -> Json { serde_json::from_str(results[index].0).unwrap() };
    assert_eq!(
        json(0),
        json!({"paths": ["notes/a.md", "notes/deep/b.txt"], "more": false})
    );
    let found = |path: &str, line: u64| json!({"path": path, "line": line, "text": "two"});
    assert_eq!(
        json(1)["matches"],
        json!([found("notes/a.md", 2), found("notes/deep/b.txt", 1)])
    );
    assert_eq!(results[2].0, "notes/\n  a.md\n  deep/\n    b.txt\n");
    for index in [3, 4, 7, 9] {
        let (text, is_error) = results[index];
        assert!(
            is_error && text.contains("denied.policy"),
            "{index}: {results:?}"
        );
    }
    assert_eq!(json(5), json!({"edits": 1, "bytes": 9}));
    assert_eq!(bench.file("notes/a.md"), "$& 1\r\n2\r\n");
    assert_eq!(
        (
            bench.file("notes/x/y/z").as_str(),
            bench.file("secret.txt").as_str()
        ),
        ("new", "hunter2")
    );
    let request = &bench.sent()[0]["messages"][1]["content"];
    let request = request.as_str().unwrap();
    assert!(
        request.contains("```\ntwo\n```") && !request.contains("hunter2"),
        "{request}"
    );
}

#[tokio::test]
async fn s4_24_and_s4_26_rules_and_skills_are_told() {
    let bench = Bench::new(
        "- { calls: [{ name: skill, arguments: { name: pdf } }, { name: skill, arguments: { name: x } }] }\n- { text: ok }",
    )
    .await;
    let agents = bench.place.path().join(".agents");
    std::fs::create_dir_all(agents.join("rules")).unwrap();
    std::fs::create_dir_all(agents.join("skills/pdf")).unwrap();
    std::fs::write(agents.join("rules/a.md"), "Be brief.").unwrap();
    std::fs::write(
        agents.join("skills/pdf/SKILL.md"),
        "---\nname: pdf\ndescription: Reads PDFs\n---\nOpen it.",
    )
    .unwrap();
    let outcome = bench.run("Go").await;
    let system = bench.sent()[0]["messages"][0]["content"].to_string();
    for expected in [
        "Be brief.",
        "pdf: Reads PDFs",
        "Current Allowed URIs: read [\\\"notes\\\"]",
    ] {
        assert!(system.contains(expected), "{expected}: {system}");
    }
    assert_eq!(results(&outcome)[0], ("Open it.", false));
    assert!(results(&outcome)[1].1);
}

#[tokio::test]
async fn tools_beyond_the_first_are_told_once_they_were_described() {
    let bench = Bench::new(
        "- { calls: [{ name: describe, arguments: { names: [desk.close] } }] }\n- { text: ok }\n- { text: again }",
    )
    .await;
    let many: String = (0..60).fold(String::new(), |text, number| {
        text + &format!("tool many.t{number}(a: int) -> int read\n")
    });
    let (declared, _) = declared_tools(&SourceFile::new("tools", many));
    let tools = declared.into_iter().map(|signature| Tool {
        transport: Arc::new(RecordingTool {
            signature: signature.clone(),
            calls: Arc::default(),
            meeting: Arc::new(Barrier::new(1)),
        }),
        signature,
    });
    let mut setup = bench.setup.clone();
    setup.planrun = setup.planrun.with_tools(tools);
    let mut session = Session::new("s");
    for request in ["many t7", "more"] {
        let agent = Agent::new(setup.clone(), request).unwrap();
        agent.run(&mut session, Some(request)).await.unwrap();
    }
    let sent = bench.sent();
    let offers =
        |body: &Json, name: &str| body["tools"].to_string().contains(&format!("\"{name}\""));
    let offered: Vec<bool> = sent.iter().map(|body| offers(body, "desk_close")).collect();
    assert_eq!(offered, [false, true, true]);
    assert!(sent[0]["tools"].as_array().unwrap().len() <= 48 + 5);
}

/// Without its `base`, a repair would make the finished effects again.
#[tokio::test]
async fn a_run_with_an_argument_of_another_type_calls_nothing() {
    let bench = Bench::new(
        r#"- calls:
    - { name: run, arguments: { plan: "step c = desk.close(id: 7) reply c", base: ["01J"] } }
    - { name: run, arguments: { plan: "step c = desk.close(id: 7) reply c", max_tokens: many } }
    - { name: run, arguments: { plan: "step c = desk.close(id: 7) reply c", inputs: 7 } }
- { text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Close 7").await;
    let results = results(&outcome);
    assert_eq!(results.len(), 3);
    for ((text, is_error), name) in results.into_iter().zip(["base", "max_tokens", "inputs"]) {
        let start = format!("Nothing was called: `{name}`: invalid type");
        assert!(is_error && text.starts_with(&start), "{text}");
    }
    assert!(bench.called().is_empty());
}
