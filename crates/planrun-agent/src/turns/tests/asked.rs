//! Tests of calls in requests, rules and skills.

use super::*;

impl Bench {
    /// Returns the first system prompt and the first request that the model received.
    fn prompts(&self) -> [String; 2] {
        let sent = self.sent();
        [0, 1].map(|index| {
            let text = sent[0]["messages"][index]["content"].as_str();
            text.unwrap().to_owned()
        })
    }

    fn agents_file(&self, name: &str, text: &str) {
        let path = self.place.path().join(".agents").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[tokio::test]
async fn s4_25_a_call_in_a_request_is_made_before_the_model_is_asked() {
    let bench = Bench::new("- { text: ok }\n- { text: ok }").await;
    let request = "@{define WHO, Li}Which of @[desk.find{\"customer\": \"@{WHO}\"}]\n\
        and @[desk.find{\"customer\": \"Li\"}], @[desk_broken{\"why\": \"}]\"}]? \
        @[desk.find{\"customer\": 7}] @[desk.fin{}] @[desk.find{customer}] @[task_finish{}]";
    let mut session = Session::new("s");
    let outcome = bench.resume(&mut session, Some(request)).await;
    assert_eq!((outcome.ended, outcome.rounds), (done("ok"), 1));
    assert_eq!(
        bench.called(),
        [r#"find {"customer":"Li"}"#, r#"broken {"why":"}]"}"#]
    );
    let [_, message] = bench.prompts();
    let (text, blocks) = message.split_once("\n\n").unwrap();
    assert!(
        text.starts_with("Which of @[desk.find{\"customer\": \"Li\"}]\nand @[desk"),
        "{text}"
    );
    let blocks: Vec<&str> = blocks.split("\n\n@").collect();
    for (block, begin) in blocks.iter().zip([
        "@[desk.find{\"customer\": \"Li\"}]:\n```\n[1,2]\n```",
        "[desk_broken{\"why\": \"}]\"}] failed: Error executing desk.broken: tool.lost: it is lost",
        "[desk.find{\"customer\": 7}] failed: ",
        "[desk.fin{}] failed: There is no tool `desk.fin`.",
        "[desk.find{customer}] failed: its arguments are not a JSON object: ",
        "[task_finish{}] failed: only the model can call this",
    ]) {
        assert!(block.starts_with(begin), "{begin}: {message}");
    }
    assert_eq!(blocks.len(), 6, "{message}");
    bench
        .resume(&mut session, Some("@[desk.find{\"customer\": \"@{WHO}\"}]"))
        .await;
    let Some(Message::User { text }) = session.messages.get(2) else {
        panic!("{session:?}")
    };
    assert!(
        text.ends_with("content unchanged since request 1"),
        "{text}"
    );
}

#[tokio::test]
async fn s4_25_a_call_in_a_request_that_changes_something_is_asked_for() {
    for (value, expected, calls) in [
        (true, "@[desk.close{\"id\": 7}]:\n```\nclosed 7\n```", 1),
        (
            false,
            "@[desk.close{\"id\": 7}] failed: Rejected: a person declined. Nothing was called.",
            0,
        ),
    ] {
        let bench = Bench::new("- { text: ok }").await.answered(value, None);
        let outcome = bench.run("@[desk.close{\"id\": 7}]").await;
        assert_eq!(outcome.ended, done("ok"));
        assert!(
            bench.prompts()[1].ends_with(expected),
            "{:?}",
            bench.prompts()
        );
        assert_eq!(bench.called().len(), calls);
        assert_eq!(bench.asked.lock().len(), 1);
    }
}

#[tokio::test]
async fn s4_25_a_request_waits_for_its_calls_and_goes_on_without_making_one_twice() {
    let bench = Bench::new("- { text: ok }\n- { text: again }").await;
    let mut session = Session::new("s");
    let request = "@[desk.find{\"customer\": \"Li\"}] @[desk.close{\"id\": 7}] @[desk.find{\"customer\": \"Wu\"}]";
    let outcome = bench.resume(&mut session, Some(request)).await;
    let Ended::Waits { run, question } = &outcome.ended else {
        panic!("{outcome:?}")
    };
    assert!(question.contains("desk.close"), "{question}");
    assert!(
        session.messages.is_empty() && session.pending.is_some(),
        "{session:?}"
    );
    let kept = serde_json::to_string(&session).unwrap();
    let mut session: Session = serde_json::from_str(&kept).unwrap();
    // There is no answer yet, so the next request has to wait.
    let again = bench.resume(&mut session, Some("And?")).await;
    assert_eq!(again.ended, outcome.ended);
    bench.approve(run);
    let outcome = bench.resume(&mut session, None).await;
    assert_eq!(outcome.ended, done("ok"));
    assert_eq!(
        bench.called(),
        [
            r#"find {"customer":"Li"}"#,
            r#"close {"id":7}"#,
            r#"find {"customer":"Wu"}"#
        ]
    );
    let [_, message] = bench.prompts();
    assert!(
        message.contains("closed 7") && message.matches("[1,2]").count() == 2,
        "{message}"
    );
    assert_eq!(session.pending, None);
}

#[tokio::test]
async fn s4_25_a_request_of_a_process_that_died_before_its_calls_is_gone_on_with() {
    let bench = Bench::new("- { text: ok }").await;
    let mut session = Session::new("s");
    let agent = Agent::new(bench.setup.clone(), "").unwrap();
    let request = "@[desk.find{\"customer\": \"Li\"}]";
    session.pending = Some(agent.pending(request, &session.macros));
    let outcome = bench.resume(&mut session, None).await;
    assert_eq!(outcome.ended, done("ok"));
    assert_eq!(bench.called(), [r#"find {"customer":"Li"}"#]);
    assert!(
        bench.prompts()[1].contains("[1,2]"),
        "{:?}",
        bench.prompts()
    );
}

#[tokio::test]
async fn s4_25_rules_and_skills_call_what_only_reads_and_a_skill_when_it_is_read() {
    let bench =
        Bench::new("- { calls: [{ name: skill, arguments: { name: close } }] }\n- { text: ok }")
            .await
            .answered(true, None);
    let rule = "Open: @[desk.find{\"customer\": \"Li\"}] @[desk.close{\"id\": 7}] @[.agents/more.md] @[run{\"plan\": \"reply 1\"}]";
    bench.agents_file("rules/a.md", rule);
    bench.agents_file("more.md", "@[desk.find{\"customer\": \"Wu\"}]");
    let skill =
        "---\nname: close\ndescription: Closes\n---\nOf @[desk.find{\"customer\": \"Xu\"}].";
    bench.agents_file("skills/close/SKILL.md", skill);
    let outcome = bench.run("Go").await;
    let [system, _] = bench.prompts();
    for who in ["Li", "Wu"] {
        let block = format!("@[desk.find{{\"customer\": \"{who}\"}}]:\n```\n[1,2]\n```");
        assert!(system.contains(&block), "{system}");
    }
    for refused in ["desk.close{\"id\": 7}", "run{\"plan\": \"reply 1\"}"] {
        let message =
            format!("@[{refused}] failed: rules and skills can call only read-only tools");
        assert!(system.contains(&message), "{system}");
    }
    let (skill, _) = results(&outcome)[0];
    assert_eq!(
        skill,
        "Of \n\n@[desk.find{\"customer\": \"Xu\"}]:\n```\n[1,2]\n```."
    );
    let who = bench.called();
    let mut who: Vec<&str> = who.iter().map(String::as_str).collect();
    who.sort_unstable();
    assert_eq!(
        who,
        ["Li", "Wu", "Xu"].map(|who| format!("find {{\"customer\":\"{who}\"}}"))
    );
}

#[tokio::test]
async fn s4_25_what_strangers_wrote_calls_nothing() {
    let bench = Bench::new(
        "- { calls: [{ name: fs_read, arguments: { path: notes/x.md } }] }\n- { text: '@[desk.find{\"customer\": \"Li\"}]' }",
    )
    .await
    .answered(true, None);
    let stranger = "@[desk.find{\"customer\": \"Li\"}] @[desk.close{\"id\": 7}]";
    std::fs::write(bench.place.path().join("notes/x.md"), stranger).unwrap();
    bench.agents_file("rules/a.md", "@[notes/x.md]");
    let request = "@{define A, @[desk.close{\"id\": 7}]}@[notes/x.md] @{A}";
    let outcome = bench.run(request).await;
    assert_eq!(results(&outcome).len(), 1);
    assert!(bench.prompts().iter().all(|text| text.contains(stranger)));
    assert_eq!(bench.called(), [""; 0]);
}
