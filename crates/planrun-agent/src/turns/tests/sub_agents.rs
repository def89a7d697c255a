//! Tests of sub-agents: their permissions, ends and reports.

use super::*;

#[tokio::test]
async fn s4_12_a_sub_agent_finishes_only_by_a_call_that_succeeds_and_its_siblings_are_not_made() {
    let bench = Bench::new(
        r#"- { calls: [{ name: dispatch_subagents, arguments: { context_summary: about Li, sub_agents: [{ prompt: "Close the first ticket" }] } }] }
- { when: { user: Context Summary }, calls: [{ name: task_finish, arguments: {} }] }
- { when: { tool: missing }, calls: [{ name: task_finish, arguments: { context_summary: All done } }, { name: desk_close, arguments: { id: 1 } }] }
- { when: { tool: Finished }, text: ok }"#,
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Go").await;
    assert_eq!(outcome.ended, done("ok"), "{outcome:?}");
    let expected = "### Sub-agent 'Close the first tick...' Finished:\nAll done";
    assert_eq!(results(&outcome), [(expected, false)]);
    assert_eq!(bench.called(), [""; 0]);
    let sent = bench.sent();
    let child = &sent[1]["messages"];
    assert_eq!(
        child[1]["content"],
        "## Context Summary\nabout Li\n\nClose the first ticket"
    );
    assert!(
        child[0]["content"]
            .as_str()
            .unwrap()
            .contains("You are a sub-agent")
    );
    let offers = |body: &Json| body["tools"].to_string().contains("\"task_finish\"");
    assert_eq!((offers(&sent[0]), offers(&sent[1])), (false, true));
}

#[tokio::test]
async fn s4_19_reports_are_joined_and_a_failure_is_one_of_them() {
    let bench = Bench::new(
        r"- { calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: one }, { prompt: two }] } }] }
- { when: { user: one }, text: First }
- { when: { user: two }, status: 400, error: broken }
- { when: { tool: Failed }, calls: [{ name: dispatch_subagents, arguments: { sub_agents: [] } }] }
- { when: { tool: empty }, text: ok }",
    )
    .await;
    let outcome = bench.run("Go").await;
    let results = results(&outcome);
    let (first, second) = results[0].0.split_once("\n\n----------------\n\n").unwrap();
    assert_eq!(first, "### Sub-agent 'one...' Finished:\nFirst");
    assert!(
        second.starts_with("### Sub-agent 'two...' Failed:\n"),
        "{second}"
    );
    assert_eq!(results[1], ("Error: sub_agents list empty.", true));
    assert_eq!(outcome.ended, done("ok"));
}

#[tokio::test]
async fn s4_19_a_sub_agent_reaches_at_most_what_its_parent_does() {
    let bench = Bench::new(
        r#"- { calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: child, allowed_uris: [notes/deep, /etc], tools: [desk_find, "fs.*"] }] } }] }
- when: { user: child }
  calls:
    - { name: fs_read, arguments: { path: notes/deep/b.txt } }
    - { name: fs_read, arguments: { path: notes/a.md } }
    - { name: fs_read, arguments: { path: /etc/hostname } }
    - { name: desk_meet, arguments: { who: x } }
    - { name: run, arguments: { plan: "use fs plan p() -> string { allow { read: [\"notes\"] } step t = fs.read(path: \"notes/a.md\") reply t }" } }
- { when: { tool: '' }, calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: grand, allowed_uris: [notes] }] } }] }
- { when: { user: grand }, calls: [{ name: fs_read, arguments: { path: notes/a.md } }] }
- { when: { tool: denied }, text: grand saw nothing }
- { when: { tool: saw nothing }, text: child is done }
- { when: { tool: is done }, text: ok }"#,
    )
    .await;
    let outcome = bench.run("Go").await;
    assert_eq!(
        outcome.ended,
        done("ok"),
        "{outcome:?}\n{:#?}",
        bench.sent().last()
    );
    let sent = bench.sent();
    let texts: Vec<&str> = sent[2]["messages"].as_array().unwrap()[3..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts[0], "two\n");
    for text in &texts[1..] {
        assert!(
            ["one\r", "one\n", "one\\", "two\n"]
                .iter()
                .all(|content| !text.contains(content)),
            "{texts:?}"
        );
    }
    // Those who refuse it are named: neither a plan, which a single call has not, nor the project, which allows it.
    assert!(
        texts[1].ends_with(
            "to allow it, the agent that started this one has to pass \"notes/a.md\" in `allowed_uris` when it starts it"
        ),
        "{texts:?}"
    );
    assert!(
        texts[2].ends_with("add \"/etc/hostname\" to `read` of `allow` in planrun.yaml")
            && !texts[2].contains("in the plan"),
        "{texts:?}"
    );
    let in_plan = texts[4];
    assert!(
        in_plan.contains("the agent that started this one") && !in_plan.contains("planrun.yaml"),
        "{in_plan}"
    );
    let offered = sent[1]["tools"].to_string();
    assert!(
        offered.contains("\"desk_find\"") && !offered.contains("\"desk_close\""),
        "{offered}"
    );
    assert_eq!(bench.called(), [""; 0]);
}

#[tokio::test]
async fn s4_19_nobody_waits_for_a_sub_agent_forever() {
    let mut bench = Bench::new(
        r"- { calls: [{ name: dispatch_subagents, arguments: { sub_agents: [{ prompt: slow }] } }] }
- { when: { user: slow }, text: late, delay: 3600s }
- { when: { tool: stopped }, text: ok }",
    )
    .await;
    bench.setup.options.child_time = Duration::from_millis(50);
    let outcome = bench.run("Go").await;
    assert_eq!(outcome.ended, done("ok"));
    assert!(
        results(&outcome)[0].0.contains("it was stopped after"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn a_model_is_not_told_that_nothing_is_allowed_if_that_is_unknown() {
    let bench = Bench::new("- { text: unused }").await;
    let toolbox = Toolbox::new(&bench.setup.planrun, None, "").unwrap();
    let allowed = "Current Allowed URIs: read [\"notes\"], write [\"notes\"], net []";
    assert_eq!(toolbox.reach(), allowed);
    std::fs::write(bench.place.path().join("planrun.yaml"), "allow: [").unwrap();
    let unknown = toolbox.reach();
    assert!(
        unknown.contains("unknown") && unknown.contains("planrun.yaml"),
        "{unknown}"
    );
}

#[tokio::test]
async fn what_a_run_may_reach_stays_narrow_whoever_resumes_it() {
    let bench = Bench::new("- { text: unused }").await;
    let grant = Grant {
        write: vec!["notes/deep".to_owned()],
        ..Grant::default()
    };
    let narrow = bench.setup.planrun.clone().confined([grant.into()]);
    let wide = Toolbox::new(&bench.setup.planrun, None, "").unwrap();
    let narrow = Toolbox::new(&narrow, None, "").unwrap();
    let cancel = CancellationToken::new();
    let arguments = json!({ "path": "notes/a.md", "content": "new" });
    for (run, toolbox, is_denied) in [("wide", &wide, false), ("narrow", &narrow, true)] {
        let arguments = arguments.as_object().unwrap().clone();
        let called = toolbox.call("fs_write", arguments, run, &cancel).await;
        assert!(matches!(called, Called::Waits { .. }), "{called:?}");
        bench.approve(run);
        let called = wide.resume(run, &cancel).await.unwrap();
        let text = format!("{called:?}");
        assert_eq!(text.contains("denied.policy"), is_denied, "{text}");
    }
}
