//! Section 4: forms, known fields, time limits of forms, and which answers are accepted.

use std::time::Duration;

use planrun_core::journal::{Accepted, AnswerError, SubmittedAnswer};
use planrun_runs::journal::MemoryLog;
use serde_json::{Value as Json, json};

use crate::world::{Ran, World, give};

const TOOLS: &str = "
use a
tool a.read(x?: any) -> int read
tool a.write(x?: any) -> int effect fails busy
";

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

fn durable() -> (World, MemoryLog) {
    let log = MemoryLog::default();
    let mut world = World::new()
        .tool("a.write", [give(json!(1))])
        .tool("a.read", [give(json!(7))]);
    world.journal = Some(log.clone());
    (world, log)
}

fn events(log: &MemoryLog, name: &str) -> Vec<Json> {
    let lines = log
        .lines()
        .into_iter()
        .map(|line| serde_json::from_str::<Json>(&line).unwrap());
    lines.filter(|event| event["event"] == name).collect()
}

fn asked(ran: &Ran) -> Vec<String> {
    let (_, question) = &ran.outcome.questions[0];
    question
        .form
        .iter()
        .map(|field| field.name.to_string())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn c2_r4_3_a_prefilled_field_is_asked_for_and_may_be_changed() {
    let text = plan(
        "step r = a.read() step i = input \"Which?\" -> { n: int = r, city: string = \"Oslo\" } reply i",
    );
    for (answer, expected) in [
        (json!({}), json!({"n": 7, "city": "Oslo"})),
        (json!({"city": "Rome"}), json!({"n": 7, "city": "Rome"})),
        (
            json!({"n": 8, "city": "Rome"}),
            json!({"n": 8, "city": "Rome"}),
        ),
    ] {
        let (world, log) = durable();
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.outcome.state.name(), asked(&ran)),
            ("paused", vec!["n".to_owned(), "city".to_owned()])
        );
        let question = &events(&log, "step.waiting")[0];
        assert_eq!(
            question["arguments"],
            json!({"n": 7, "city": "Oslo"}),
            "what stands there is told"
        );
        log.send(&json!({"answer": "i", "value": answer}).to_string());
        assert_eq!(world.run(&text).await.reply(), expected);
        assert_eq!(
            world.run(&text).await.reply(),
            expected,
            "and again, from the journal"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r4_3_what_is_known_wins_over_what_stands_there_and_null_is_not_known() {
    let (world, log) = durable();
    let text = plan(
        "step r = a.read()
         step i = input \"Which?\" -> { n: int known r = 1, m: int known (r > 9 ? r : null) = 2, o: int known null }
         reply i",
    );
    let ran = world.run(&text).await;
    assert_eq!(asked(&ran), ["m", "o"]);
    log.send(r#"{"answer": "i", "value": {"o": 3}}"#);
    assert_eq!(
        world.run(&text).await.reply(),
        json!({"n": 7, "m": 2, "o": 3})
    );
}

#[tokio::test(start_paused = true)]
async fn b10_what_is_known_and_no_choice_is_asked_for() {
    let (world, log) = durable();
    let text = plan(
        "step r = a.read() let at = \"z${r}\"
         step i = input \"Which?\" -> { level: string in [\"a\", \"b\"] known at } reply i.level",
    );
    let ran = world.run(&text).await;
    assert_eq!(asked(&ran), ["level"]);
    // The known value is checked against the choices like any answer.
    log.send(r#"{"answer": "i", "value": {}}"#);
    let ran = world.run(&text).await;
    assert!(
        ran.refused[0].contains("one of \"a\", \"b\""),
        "{:?}",
        ran.refused
    );
    log.send(r#"{"answer": "i", "value": {"level": "b"}}"#);
    assert_eq!(world.run(&text).await.reply(), json!("b"));
}

#[tokio::test(start_paused = true)]
async fn b10_what_is_known_and_of_another_type_is_asked_for() {
    let (world, log) = durable();
    let text = plan(
        "step r = a.read() let at = \"z${r}\" let what: any = \"y${r}\"
         step i = input \"Which?\" -> { level: \"a\" | \"b\" known at, n: int known what, m: int = what }
         reply [i.level, i.n, i.m]",
    );
    let ran = world.run(&text).await;
    assert_eq!(asked(&ran), ["level", "n", "m"]);
    log.send(r#"{"answer": "i", "value": {"level": "b", "n": 2, "m": 3}}"#);
    assert_eq!(world.run(&text).await.reply(), json!(["b", 2, 3]));
}

#[tokio::test(start_paused = true)]
async fn r4_3_every_fault_of_an_answer_is_told_at_once() {
    let (world, log) = durable();
    let text = plan("step i = input \"Which?\" -> { n: int, city: string } reply i");
    world.run(&text).await;
    log.send(r#"{"answer": "i", "value": {"n": "x", "town": "Oslo"}}"#);
    let ran = world.run(&text).await;
    let refusal = &ran.refused[0];
    assert!(
        [
            "there is no field `town`; the fields are n: int, city: string",
            "the field `n`",
            "`city` is missing"
        ]
        .iter()
        .all(|fault| refusal.contains(fault)),
        "{refusal}"
    );
    assert_eq!(
        (ran.outcome.state.name(), ran.outcome.questions.len()),
        ("paused", 1),
        "and the form stays open"
    );
}

#[tokio::test(start_paused = true)]
async fn c1_r4_1_within_bounds_a_form_and_what_is_waited_for_by_the_clock_on_the_wall() {
    for (waits, answer) in [
        (
            "step i = input \"Which?\" -> { n: int } within 2d",
            r#"{"answer": "i", "value": {"n": 3}}"#,
        ),
        (
            "step i = wait for signal \"go\" -> { n: int } within 2d",
            r#"{"signal": "go", "payload": {"n": 3}}"#,
        ),
    ] {
        for (hours, class, order) in [(47, "", vec!["a.write"]), (49, "expired", vec![])] {
            let (world, log) = durable();
            let text = plan(&format!("{waits} step w = a.write(x: i.n)"));
            let ran = world.run(&text).await;
            assert_eq!(ran.outcome.state.name(), "paused", "{waits}");
            assert_eq!(
                log.summary().unwrap().wake,
                Some(1_767_225_600_000_000_000 + 172_800_000_000_000)
            );
            // Meanwhile no process drives the run.
            world.host.advance(Duration::from_hours(hours));
            log.send(answer);
            let ran = world.run(&text).await;
            assert_eq!(
                (ran.class().as_str(), ran.order()),
                (class, order),
                "{waits} after {hours} hours"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r4_1_what_was_said_in_time_counts_however_late_a_process_hears_of_it() {
    for (waits, answer) in [
        (
            "step i = input \"Which?\" -> { n: int } within 2d",
            r#"{"answer": "i", "value": {"n": 3}}"#,
        ),
        (
            "step i = wait for signal \"go\" -> { n: int } within 2d",
            r#"{"signal": "go", "payload": {"n": 3}}"#,
        ),
    ] {
        for (hours, class) in [(47, ""), (49, "expired")] {
            let (world, log) = durable();
            let text = plan(&format!("{waits} step w = a.write(x: i.n)"));
            world.run(&text).await;
            world.host.advance(Duration::from_hours(72));
            log.send_at(
                answer,
                1_767_225_600_000_000_000 + hours * 3_600_000_000_000,
            );
            let ran = world.run(&text).await;
            assert_eq!(ran.class(), class, "{waits}, said after {hours} hours");
            assert_eq!(
                world.run(&text).await.class(),
                class,
                "and again, from the journal"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_deadline_stands_still_while_only_people_and_signals_are_awaited() {
    for (waits, answer) in [
        (
            "input \"Which?\" -> { n: int } within 9d",
            r#"{"answer": "i", "value": {"n": 3}}"#,
        ),
        (
            "wait for signal \"go\" -> { n: int } within 9d",
            r#"{"signal": "go", "payload": {"n": 3}}"#,
        ),
        (
            "wait for signal \"go\" -> { n: int }",
            r#"{"signal": "go", "payload": {"n": 3}}"#,
        ),
    ] {
        let (world, log) = durable();
        let text = plan(&format!(
            "policy {{ deadline: 10m }} step i = {waits} step w = a.write(x: i.n)"
        ));
        assert_eq!(world.run(&text).await.outcome.state.name(), "paused");
        for _ in 0..2 {
            world.host.advance(Duration::from_hours(24));
            assert_eq!(
                world.run(&text).await.outcome.state.name(),
                "paused",
                "{waits}"
            );
        }
        log.send(answer);
        assert_eq!(
            world.run(&text).await.outcome.state.name(),
            "completed",
            "{waits}"
        );
    }
    // A wait of the run itself counts towards the deadline.
    let (world, _) = durable();
    let text =
        plan("policy { deadline: 10m } step t = wait 1h step i = wait for signal \"go\" within 9d");
    world.run(&text).await;
    world.host.advance(Duration::from_mins(30));
    assert_eq!(world.run(&text).await.class(), "budget.time");
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_end_of_a_wait_for_somebody_is_expired_and_an_arm_catches_it() {
    for (waits, arms) in [
        (
            "input \"Which?\" -> { n: int } within 30s",
            "recover expired => { n: 5 }",
        ),
        (
            "input \"Which?\" -> { n: int } within 30s",
            "recover _ as e => { n: e.class == \"expired\" ? 5 : 6 }",
        ),
        (
            "wait for signal \"go\" -> { n: int } within 30s",
            "recover expired => { n: 5 }",
        ),
        (
            "a.write() confirm \"Write?\" expires 30s",
            "recover denied => { n: 6 } recover expired => { n: 5 }",
        ),
    ] {
        let (world, log) = durable();
        let ran = world
            .run(&plan(&format!("step i = {waits} {arms} reply i")))
            .await;
        assert_eq!(
            (ran.reply(), ran.took),
            (json!({"n": 5}), 30_000),
            "{waits}"
        );
        assert_eq!(
            events(&log, "step.recovering")[0]["error"]["class"],
            "expired"
        );
    }
    // A running step still ends with a timeout.
    let world = World::new().tool("a.read", [crate::world::after(60_000, give(json!(1)))]);
    assert_eq!(
        world
            .run(&plan("step r = a.read() within 30s"))
            .await
            .class(),
        "transient.timeout"
    );
}

#[tokio::test(start_paused = true)]
async fn a8_f2_a_second_answer_names_the_first_and_the_same_once_more_is_fine() {
    let (world, log) = durable();
    let text = plan(
        "step w = a.write() confirm \"Write?\" step i = input \"Which?\" -> { n: int, pin: secret }
        step last = a.write() confirm \"Last?\"",
    );
    world.run(&text).await;
    log.send(r#"{"answer": "w.confirm", "value": true, "by": "desk:ann"}"#);
    let ran = world.run(&text).await;
    assert_eq!(ran.order(), ["a.write"]);
    log.send(r#"{"answer": "i", "value": {"n": 3, "pin": "4711"}}"#);
    log.send(r#"{"answer": "i", "value": {"n": 3, "pin": "4711"}}"#);
    log.send(r#"{"answer": "i", "value": {"n": 4, "pin": "0815"}}"#);
    log.send(r#"{"answer": "w.confirm", "value": false, "by": "desk:bob"}"#);
    let ran = world.run(&text).await;
    assert_eq!(ran.refused.len(), 2, "{:?}", ran.refused);
    assert!(
        ran.refused[0].contains("with {\"n\":3,\"pin\":\"[redacted]\"}"),
        "{:?}",
        ran.refused
    );
    assert!(ran.refused[1].contains(
        "`w.confirm` has already been answered with yes by desk:ann at 2026-01-01T00:00:00Z"
    ));
    assert_eq!(events(&log, "answer.given").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a8_the_journal_knows_the_answers_that_stand() {
    let (world, log) = durable();
    let text =
        plan("step w = a.write() confirm \"Write?\" step i = input \"Which?\" -> { n: int }");
    world.run(&text).await;
    log.send(r#"{"answer": "w.confirm", "value": true, "by": "desk:ann"}"#);
    world.run(&text).await;
    let given = |value: bool, by: Option<&str>| SubmittedAnswer {
        path: "w.confirm".into(),
        value: json!(value),
        by: by.map(Into::into),
        note: None,
    };
    let replay = log.replay_state().unwrap();
    assert_eq!(
        replay.accept(&given(true, Some("desk:ann")), 0),
        Ok(Accepted::Duplicate)
    );
    assert_eq!(
        replay.accept(&given(true, None), 0),
        Ok(Accepted::Duplicate)
    );
    for second in [
        given(false, Some("desk:ann")),
        given(true, Some("desk:bob")),
    ] {
        let error = replay.accept(&second, 0).unwrap_err();
        assert!(matches!(error, AnswerError::Twice { .. }), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn r4_2_a_gate_tells_the_class_of_what_it_lets_through_and_why_it_asks_again() {
    use crate::world::Script::Fail;
    use planrun_lang::protocol::Sent::Refused;
    let log = MemoryLog::default();
    let mut world = World::new().tool("a.write", [Fail("tool.busy", Refused), give(json!(1))]);
    (world.journal, world.answers) = (Some(log.clone()), vec![("w.confirm", json!(true))]);
    world
        .run(&plan(
            "step w = a.write() retry { delay: 1s, on: [tool.busy] } confirm \"Write?\"",
        ))
        .await;
    let asked = events(&log, "step.waiting")
        .into_iter()
        .filter(|event| event["for"] == "confirm")
        .collect::<Vec<_>>();
    assert_eq!(
        (asked.len(), &asked[0]["effect"], &asked[0]["why"]),
        (2, &json!("effect"), &Json::Null)
    );
    assert_eq!(asked[1]["why"], "the step is executed again");
}
