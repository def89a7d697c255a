//! Tests of approvals, and of continuing after an interruption.

use super::*;

#[tokio::test]
async fn s4_17_what_changes_something_is_asked_for_once_and_a_no_is_told_with_its_reason() {
    let turns = "- { calls: [{ name: desk_close, arguments: { id: 7 } }] }\n- { text: ok }";
    for (value, note, expected, calls) in [
        (true, None, "closed 7", 1),
        (
            false,
            None,
            "Rejected: a person declined. Nothing was called.",
            0,
        ),
        (
            false,
            Some("it is mine"),
            "Rejected: a person declined: it is mine. Nothing was called.",
            0,
        ),
    ] {
        let bench = Bench::new(turns).await.answered(value, note);
        let outcome = bench.run("Close 7").await;
        assert_eq!(outcome.ended, done("ok"));
        assert_eq!(results(&outcome), [(expected, !value)]);
        assert_eq!(bench.called().len(), calls);
        let asked = bench.asked.lock();
        assert_eq!(asked.len(), 1);
        assert!(
            asked[0].contains("desk.close") && asked[0].contains("id: 7"),
            "{asked:?}"
        );
    }
}

#[tokio::test]
async fn a_question_shows_no_secret() {
    let bench = Bench::new(
        "- { calls: [{ name: desk_enter, arguments: { key: hunter2, door: 7 } }] }\n- { text: ok }",
    )
    .await
    .answered(true, None);
    let outcome = bench.run("Go in").await;
    assert_eq!(results(&outcome), [("in", false)]);
    let asked = bench.asked.lock();
    assert!(
        asked[0].contains("door: 7") && !asked[0].contains("hunter2"),
        "{asked:?}"
    );
}

/// The part of a text that decides may be anywhere in it, and below it.
#[tokio::test]
async fn a_question_shows_its_arguments_as_a_whole() {
    let text = format!("{} rm -rf / {}", "a".repeat(2_000), "b".repeat(2_000));
    let turns = format!(
        "- {{ calls: [{{ name: desk_note, arguments: {{ text: '{text}', id: 7 }} }}] }}\n- {{ text: ok }}"
    );
    let bench = Bench::new(&turns).await.answered(true, None);
    let outcome = bench.run("Note it").await;
    assert_eq!(results(&outcome), [("noted", false)]);
    let shown = format!("\n| text: \"{text}\"\n| id: 7");
    let asked = bench.asked.lock().clone();
    assert!(asked[0].ends_with(&shown), "{asked:?}");

    let bench = Bench::new(&turns).await;
    let outcome = bench.run("Note it").await;
    let Ended::Waits { question, .. } = &outcome.ended else {
        panic!("{outcome:?}")
    };
    assert!(question.ends_with(&shown), "{question}");
}

#[tokio::test]
async fn a_standing_grant_is_asked_for_once() {
    let turns = "- { calls: [{ name: desk_close, arguments: { id: 7 } }, { name: desk_close, arguments: { id: 8 } }] }\n- { text: ok }";
    let yes = json!({ "approve": true, "scope": "plan" });
    let bench = Bench::new(turns).await.answered(yes, None);
    let outcome = bench.run("Close").await;
    assert_eq!(
        results(&outcome),
        [("closed 7", false), ("closed 8", false)]
    );
    assert_eq!(bench.asked.lock().len(), 1);
}

#[tokio::test]
async fn where_nobody_is_there_the_loop_waits_and_goes_on_after_the_answer() {
    let bench = Bench::new(
        "- { calls: [{ id: a, name: desk_close, arguments: { id: 7 } }, { id: b, name: desk_close, arguments: { id: 8 } }] }\n- { text: ok }",
    )
    .await;
    let mut session = Session::new("s");
    let outcome = bench.resume(&mut session, Some("Close")).await;
    let Ended::Waits { run, question } = &outcome.ended else {
        panic!("{outcome:?}")
    };
    assert!(
        question.contains("desk.close") && question.contains(run.as_str()),
        "{question}"
    );
    assert_eq!(session.unanswered().len(), 1);
    // There is no answer yet.
    let again = bench.resume(&mut session, None).await;
    assert_eq!(again.ended, outcome.ended);
    bench.approve(run);
    let outcome = bench.resume(&mut session, None).await;
    assert_eq!(outcome.ended, done("ok"));
    assert_eq!(bench.called(), [r#"close {"id":7}"#]);
    let sent = bench.sent();
    let messages = sent[1]["messages"].as_array().unwrap();
    assert!(
        messages[3]["content"]
            .as_str()
            .unwrap()
            .contains("closed 7"),
        "{messages:?}"
    );
    assert!(
        messages[4]["content"]
            .as_str()
            .unwrap()
            .starts_with("Nothing was called")
    );
}

#[tokio::test]
async fn s4_23_a_session_goes_on_in_another_process_and_calls_of_a_killed_one_are_answered() {
    let bench = Bench::new("- { calls: [{ id: a, name: desk_find, arguments: { customer: x } }] }\n- { text: One }\n- { text: Two }").await;
    let sessions = Sessions::of(Arc::new(RealHost), bench.place.path().to_owned());
    let mut setup = bench.setup.clone();
    setup.sessions = Some(sessions.clone());
    let mut session = sessions.open("one").unwrap();
    let agent = Agent::new(setup.clone(), "").unwrap();
    agent.run(&mut session, Some("Hi")).await.unwrap();
    let kept = sessions.open("one").unwrap();
    assert_eq!(kept, session);

    // The state that a process leaves if it dies before making its calls.
    let mut killed = kept;
    killed.messages.truncate(2);
    killed.runs.clear();
    sessions.save(&mut killed).unwrap();
    let mut session = sessions.open("one").unwrap();
    let outcome = agent.run(&mut session, Some("And?")).await.unwrap();
    assert_eq!(outcome.ended, done("Two"));
    let Message::Tool { call, text, .. } = &session.messages[2] else {
        panic!("{session:?}")
    };
    assert!(
        call == "a" && text.starts_with("[Interrupted] Nothing was called"),
        "{text}"
    );
}

/// The call goes on when somebody has answered elsewhere.
#[tokio::test]
async fn a_question_in_the_middle_of_a_call_is_reported_where_nobody_is_there() {
    let turns = "- { calls: [{ id: a, name: desk_ask, arguments: { id: 7 } }] }\n- { text: ok }";
    let mut bench = Bench::new(turns).await;
    let planrun = bench.setup.planrun.clone();
    let reported: Arc<Mutex<Vec<String>>> = Arc::default();
    let asked = reported.clone();
    bench.setup.watch = Arc::new(move |event| {
        let Event::Asked(question) = event else {
            return;
        };
        asked.lock().push(question.to_owned());
        let planrun = planrun.clone();
        std::thread::spawn(move || {
            let runs = planrun.list(&RunFilter::default()).unwrap();
            let run = runs[0].run.clone();
            let answer = SubmittedAnswer {
                path: "result.asked".into(),
                value: json!({ "room": "five" }),
                by: None,
                note: None,
            };
            planrun.answer(Addressee::Run(&run), &[answer]).unwrap();
        });
    });
    let mut session = Session::new("s");
    let outcome = bench.resume(&mut session, Some("Ask")).await;
    let Ended::Waits { run, .. } = &outcome.ended else {
        panic!("{outcome:?}")
    };
    bench.approve(run);
    let outcome = bench.resume(&mut session, None).await;
    assert_eq!(outcome.ended, done("ok"));
    let reported = reported.lock().clone();
    let [question] = &reported[..] else {
        panic!("{reported:?}")
    };
    assert!(
        question.contains("Which room?") && question.contains("planrun runs answer "),
        "{question}"
    );
}
