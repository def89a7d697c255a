//! Tests of rounds: their answers and calls, and the end of the loop.

use super::*;

#[tokio::test]
async fn s4_1_without_calls_the_answer_is_the_end() {
    let bench = Bench::new("- { text: Hello! }").await;
    let outcome = bench.run("Hi").await;
    assert_eq!((outcome.ended.clone(), outcome.rounds), (done("Hello!"), 1));
    let [first, Message::Assistant { text, .. }] = &*outcome.messages else {
        panic!("{outcome:?}")
    };
    assert_eq!((first, &**text), (&user("Hi"), "Hello!"));
    assert!(outcome.usage.input > 0 && outcome.usage.output > 0);
}

#[tokio::test]
async fn s4_2_one_message_with_the_calls_and_one_for_each_result_in_their_order() {
    let bench = Bench::new(
        "- { reasoning: need it, calls: [{ id: a, name: desk_find, arguments: { customer: Li } }, { id: b, name: desk_broken, arguments: { why: x } }] }
- { text: Two. }",
    )
    .await;
    let outcome = bench.run("How many?").await;
    assert_eq!(outcome.ended, done("Two."));
    let sent = bench.sent();
    let messages = sent[1]["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "system");
    assert_eq!(messages[1], json!({"role": "user", "content": "How many?"}));
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    assert_eq!(
        messages[2],
        json!({"role": "assistant", "content": null, "reasoning_content": "need it", "tool_calls": [
            call("a", "desk_find", r#"{"customer":"Li"}"#), call("b", "desk_broken", r#"{"why":"x"}"#)
        ]})
    );
    assert_eq!(
        messages[3],
        json!({"role": "tool", "tool_call_id": "a", "name": "desk_find", "content": "[1,2]"})
    );
    let failed = "Error executing desk.broken: tool.lost: it is lost";
    assert_eq!(
        messages[4],
        json!({"role": "tool", "tool_call_id": "b", "name": "desk_broken", "content": failed})
    );
    assert_eq!(messages.len(), 5);
}

#[tokio::test]
async fn s4_3_the_last_round_is_told() {
    let mut bench = Bench::new(
        "- { calls: [{ name: desk_find, arguments: { customer: x } }], repeat: forever }",
    )
    .await;
    bench.setup.options.rounds = 3;
    let outcome = bench.run("Look").await;
    assert_eq!(
        (outcome.ended.clone(), outcome.rounds),
        (Ended::Limit(3), 3)
    );
    assert_eq!(results(&outcome), [("[1,2]", false); 3]);
    assert_eq!(Options::default().rounds, 30);
}

#[tokio::test]
async fn s4_4_a_round_that_says_nothing_is_told_and_recorded() {
    let bench = Bench::new("- { text: '' }").await;
    let outcome = bench.run("Hi").await;
    assert_eq!(outcome.ended, Ended::Empty);
    assert_eq!(outcome.messages.len(), 2);
}

#[tokio::test]
async fn s4_5_only_what_is_new_is_given_back_and_all_is_sent() {
    let bench = Bench::new("- { text: One }\n- { text: Two }").await;
    let mut session = Session::new("s");
    bench.resume(&mut session, Some("first")).await;
    let before = session.messages.clone();
    let outcome = bench.resume(&mut session, Some("second")).await;
    assert_eq!(outcome.messages[0], user("second"));
    assert_eq!(outcome.messages.len(), 2);
    assert!(session.messages.starts_with(&before) && session.messages.len() == 4);
    assert_eq!(bench.sent()[1]["messages"].as_array().unwrap().len(), 4);
}

#[tokio::test]
async fn s4_6_a_stop_is_a_normal_end_and_every_call_has_an_answer() {
    let turn = "- { text: Wait, calls: [{ name: desk_close, arguments: { id: 1 } }, { name: desk_find, arguments: { customer: x } }] }";
    // After the first call, and while the model is still answering.
    for (when_called, results_of) in [(true, 2), (false, 0)] {
        let mut bench = Bench::new(turn).await.answered(true, None);
        let cancel = bench.setup.cancel.clone();
        bench.setup.watch = Arc::new(move |event| match event {
            Event::Called { .. } if when_called => cancel.cancel(),
            Event::Part(_) if !when_called => cancel.cancel(),
            _ => {}
        });
        let outcome = bench.run("Do it").await;
        assert_eq!(outcome.ended, Ended::Cancelled);
        let results = results(&outcome);
        assert_eq!(results.len(), results_of, "{results:?}");
        if when_called {
            assert_eq!(results[0], ("closed 1", false));
            assert!(
                results[1].0.starts_with("[Cancelled] Nothing was called"),
                "{results:?}"
            );
            assert_eq!(bench.called(), [r#"close {"id":1}"#]);
        }
    }
}

#[tokio::test]
async fn s4_6_a_model_that_fails_loses_nothing_that_was_said() {
    let bench = Bench::new(
        "- { text: Half, calls: [{ name: desk_find, arguments: { customer: x } }] }\n- { status: 400, error: no }\n- { text: Whole }",
    )
    .await;
    let mut session = Session::new("s");
    let outcome = bench.resume(&mut session, Some("Hi")).await;
    let Ended::Failed(error) = &outcome.ended else {
        panic!("{outcome:?}")
    };
    assert_eq!(error.kind, ErrorKind::InvalidRequest);
    assert_eq!(outcome.messages.len(), 3);
    let outcome = bench.resume(&mut session, None).await;
    assert_eq!(outcome.ended, done("Whole"));
}

#[tokio::test]
async fn s4_8_broken_arguments_and_names_that_mean_nothing_are_answered() {
    let bench = Bench::new(
        r#"- calls:
    - { name: desk_find, arguments: '{"customer":' }
    - { name: desk_fnd, arguments: {} }
    - { name: desk_find, arguments: '{"customer":"a"}{"customer":"b"}' }
    - { name: desk.find, arguments: { custmer: a } }
    - { name: task_finish, arguments: { context_summary: x } }
- { text: ok }"#,
    )
    .await;
    let outcome = bench.run("Go").await;
    let results = results(&outcome);
    for (index, expected) in [
        (0, "the arguments are not valid JSON"),
        (1, "There is no tool `desk_fnd`. Did you mean `desk_find`?"),
        (2, "[1,2]"),
        (3, "[1,2]"),
        (4, "custmer"),
        (5, "Tool 'task_finish' is only available for Sub-Agents."),
    ] {
        assert!(
            results[index].0.contains(expected),
            "{expected}: {results:?}"
        );
    }
    assert_eq!(bench.called().len(), 2);
}

#[tokio::test]
async fn every_call_of_a_conversation_has_an_id_of_its_own() {
    let call = "{ id: a, name: desk_find, arguments: { customer: x } }";
    let bench = Bench::new(&format!(
        "- {{ calls: [{call}, {call}] }}\n- {{ calls: [{call}] }}\n- {{ text: ok }}"
    ))
    .await;
    let outcome = bench.run("Go").await;
    let ids = outcome.messages.iter().filter_map(|message| match message {
        Message::Tool { call, .. } => Some(call.clone()),
        _ => None,
    });
    let ids: Vec<String> = ids.collect();
    let unique: std::collections::BTreeSet<&String> = ids.iter().collect();
    assert_eq!((ids.len(), unique.len(), &*ids[0]), (3, 3, "a"));
}

#[tokio::test]
async fn reads_of_a_round_are_made_at_the_same_time() {
    // Each call waits for the other.
    let bench = Bench::new(
        "- { calls: [{ name: desk_meet, arguments: { who: a } }, { name: desk_meet, arguments: { who: b } }] }\n- { text: ok }",
    )
    .await;
    let outcome = bench.run("Meet").await;
    assert_eq!(results(&outcome), [("a", false), ("b", false)]);
}

#[tokio::test]
async fn s4_25_rules_bring_files_along_and_a_session_nothing_twice() {
    let bench = Bench::new("- { text: one }\n- { text: two }").await;
    let rules = bench.place.path().join(".agents/rules");
    std::fs::create_dir_all(&rules).unwrap();
    std::fs::write(rules.join("a.md"), "As in @[.agents/rules/b.md].").unwrap();
    std::fs::write(
        rules.join("b.md"),
        "@[notes/deep/b.txt]@[.agents/rules/a.md]",
    )
    .unwrap();
    let mut session = Session::new("s");
    bench
        .resume(&mut session, Some("See @[notes/a.md:1]"))
        .await;
    bench
        .resume(&mut session, Some("Again: @[notes/a.md:1]"))
        .await;
    let sent = bench.sent();
    let system = sent[1]["messages"][0]["content"].as_str().unwrap();
    let circle = "Error: Circular reference detected: .agents/rules/a.md -> .agents/rules/b.md -> \
                  .agents/rules/a.md";
    let expected = format!("As in \n\n@[notes/deep/b.txt]:\n```\ntwo\n```{circle}.");
    assert!(system.contains(&expected), "{system}");
    let texts = session.messages.iter().filter_map(|message| match message {
        Message::User { text } => Some(&**text),
        _ => None,
    });
    let again = "Again: @[notes/a.md:1]\n\n@[notes/a.md:1]: content unchanged since request 1";
    let first = "See @[notes/a.md:1]\n\n@[notes/a.md:1]:\n```\none\n```";
    assert_eq!(texts.collect::<Vec<_>>(), [first, again]);
}

#[tokio::test]
async fn s4_25_only_requests_define_macros_for_later_requests() {
    let find = "{ name: desk_find, arguments: { customer: '@{define DIR, none}' } }";
    let turns =
        format!("- {{ calls: [{find}] }}\n- {{ text: '@{{define DIR, none}}' }}\n- {{ text: ok }}");
    let bench = Bench::new(&turns).await;
    let place = bench.place.path();
    std::fs::write(place.join("notes/own.md"), "@{define DIR, none}").unwrap();
    let rules = place.join(".agents/rules");
    std::fs::create_dir_all(&rules).unwrap();
    std::fs::write(rules.join("a.md"), "<!-- @def DIR=none -->In @{DIR}.").unwrap();
    let mut session = Session::new("s");
    let first = "@{define DIR, notes}See @[@{DIR}/own.md]";
    bench.resume(&mut session, Some(first)).await;
    bench
        .resume(&mut session, Some("And @[@{DIR}/a.md:1]"))
        .await;
    let system = bench.sent()[2]["messages"][0]["content"].to_string();
    assert!(system.contains("In none."), "{system}");
    let Some(Message::User { text }) = session
        .messages
        .iter()
        .rfind(|message| matches!(message, Message::User { .. }))
    else {
        panic!("no request");
    };
    assert_eq!(
        text,
        "And @[notes/a.md:1]\n\n@[notes/a.md:1]:\n```\none\n```"
    );
}
