//! `policy { verify: agents }` and `verify ask`: which agents are asked at the end of a run, about which steps, and the
//! meaning of their answers.

use serde_json::json;

use crate::world::Script::{self, Fail};
use crate::world::{Ran, Seen, World, after, give};
use planrun_lang::protocol::Sent::{Answered, Maybe};
use planrun_runs::journal::MemoryLog;

const AGENTS: &str = "
use a, b, c
tool a.make(x?: any) -> int effect fails busy
tool a.look(x?: any) -> { there: bool } read
tool b.make(x?: any) -> int effect fails busy
tool b.look(x?: any) -> { there: bool } read
tool c.make(x?: any) -> int effect
";

/// Returns a world with three agents, the last of which has no read-only tools.
fn agents() -> World {
    World::new()
        .tool("a.make", [after(10, give(json!(7)))])
        .tool("a.look", [give(json!({ "there": true }))])
        .tool("b.make", [give(json!(8))])
        .tool("b.look", [give(json!({ "there": true }))])
        .tool("c.make", [give(json!(9))])
}

fn asking(body: &str) -> String {
    format!("{AGENTS}\nplan p() {{ policy {{ verify: agents }} {body} }}")
}

fn verdict(verified: Option<bool>) -> Script {
    give(json!({ "verified": verified, "why": "I looked" }))
}

/// Returns the steps that agents were asked about, in order, and the arguments of each.
fn asked_about(ran: &Ran) -> Vec<(String, serde_json::Value)> {
    let data = |seen: &&Seen| seen.arguments["with"].clone();
    let asked = ran.calls("ask");
    let asked = asked.iter().map(data);
    let step_and_arguments = |data: serde_json::Value| {
        (
            data["step"].as_str().unwrap().to_owned(),
            data["arguments"].clone(),
        )
    };
    asked.map(step_and_arguments).collect()
}

fn counts(ran: &Ran) -> (usize, usize, usize, usize) {
    let verification = ran.outcome.verification();
    (
        verification.verified,
        verification.unverified,
        verification.failed,
        verification.inconclusive,
    )
}

#[tokio::test(start_paused = true)]
async fn s3_28_each_agent_that_took_part_is_asked_once_about_the_first_of_its_steps() {
    let body = "step looked = b.look()
        step never = a.make(x: 0) when looked.there == false
        step own = a.make(x: 1) verify a.look(x: own) as found => found.there
        step list = each i in [1, 2] max 2 parallel 2 by \"n${i}\" { step made = a.make(x: { n: i }) yield made }
        step late = a.make(x: 4)
        step other = b.make(x: 5)
        step again = b.make(x: 6)
        reply late";
    let ran = agents()
        .prompted([after(50, verdict(Some(true)))])
        .run(&asking(body))
        .await;
    assert_eq!(
        asked_about(&ran),
        [
            ("list[\"n1\"].made".to_owned(), json!({ "x": { "n": 1 } })),
            ("other".to_owned(), json!({ "x": 5 })),
        ]
    );
    // Of seven completed steps, one has a `verify` clause, and two agents have answered.
    assert_eq!(counts(&ran), (3, 3, 0, 0));
    let asked = ran.calls("ask");
    assert_eq!(asked[0].at, asked[1].at, "at the same time");
    for (seen, step) in asked.iter().zip(["made", "other"]) {
        let prompt = seen.arguments["prompt"].as_str().unwrap();
        assert!(
            prompt.starts_with(&format!("Was `{step}` done?")),
            "{prompt}"
        );
        assert!(
            ["a.", "b.", "make", "look("]
                .iter()
                .all(|tool| !prompt.contains(tool)),
            "{prompt}"
        );
    }
    assert_eq!(
        (ran.outcome.state.name(), ran.reply()),
        ("completed", json!(7))
    );
    assert_eq!(ran.outcome.usage.exempt_calls, 3, "they need no budget");
}

#[tokio::test(start_paused = true)]
async fn s3_28_steps_of_called_plans_are_asked_about_as_their_own_policy_says() {
    let called = "plan quiet() { step inner = a.make(x: 1) reply inner }
        plan asks() { policy { verify: agents } step inner = b.make(x: 2) reply inner }";
    let ran = agents()
        .prompted([verdict(Some(true))])
        .run(&format!(
            "{AGENTS}\n{called}\nplan p() {{ step one = quiet() step two = asks() step three = a.make(x: 3) }}"
        ))
        .await;
    assert_eq!(
        asked_about(&ran),
        [("two.inner".to_owned(), json!({ "x": 2 }))]
    );
    assert_eq!(counts(&ran), (1, 2, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn s3_28_a_step_that_recovered_is_not_asked_about_and_what_its_arm_did_is() {
    let body = "step one = a.make(x: 1) recover tool.busy => b.make(x: 2) reply one";
    let ran = agents()
        .tool("a.make", [Fail("tool.busy", Answered)])
        .prompted([verdict(Some(true))])
        .run(&asking(body))
        .await;
    assert_eq!(
        asked_about(&ran),
        [("one.recover".to_owned(), json!({ "x": 2 }))]
    );
}

#[tokio::test(start_paused = true)]
async fn s3_29_only_an_agent_that_saw_that_it_was_not_done_fails_the_run() {
    let lost = || Fail("transient.network", Answered);
    let body = "step one = a.make() step two = b.make() step three = c.make() reply one";
    for (first, second, expected, state) in [
        (
            verdict(Some(true)),
            verdict(Some(true)),
            (2, 0, 0, 1),
            "completed",
        ),
        (
            verdict(None),
            verdict(Some(true)),
            (1, 0, 0, 2),
            "completed",
        ),
        (lost(), verdict(Some(true)), (1, 0, 0, 2), "completed"),
        (
            give(json!("?")),
            verdict(Some(true)),
            (1, 0, 0, 2),
            "completed",
        ),
        (verdict(Some(false)), verdict(None), (0, 0, 1, 2), "failed"),
        (
            verdict(Some(false)),
            verdict(Some(true)),
            (1, 0, 1, 1),
            "failed",
        ),
    ] {
        // If the first agent cannot be reached, it is retried up to three attempts, concurrently with the other.
        let scripts = [first.clone(), second, first];
        let ran = agents().prompted(scripts).run(&asking(body)).await;
        assert_eq!(
            (counts(&ran), ran.outcome.state.name()),
            (expected, state),
            "{:?}",
            ran.outcome.verification()
        );
        assert_eq!(
            (ran.reply(), ran.status("one")),
            (json!(7), "completed".to_owned())
        );
        let class = if state == "failed" {
            "validation.verify"
        } else {
            ""
        };
        assert_eq!(ran.class(), class);
    }
}

#[tokio::test(start_paused = true)]
async fn s3_29_each_check_says_who_was_asked_and_why_it_is_not_known() {
    let body = "step one = a.make() step two = b.make() step three = c.make()";
    let ran = agents()
        .prompted([verdict(Some(false)), verdict(None)])
        .run(&asking(body))
        .await;
    let checks = serde_json::to_value(&ran.outcome.verification().checks).unwrap();
    let check_at = |path: &str| {
        let mut checks = checks.as_array().unwrap().iter();
        let check = checks.find(|check| check["path"] == path).unwrap();
        (
            check["status"].clone(),
            check["tools"].clone(),
            check["error"]["message"].clone(),
        )
    };
    assert_eq!(
        check_at("one"),
        (
            json!("failed"),
            json!(["a.ask"]),
            json!("`a` reports that `one` was not done: I looked")
        )
    );
    assert_eq!(
        check_at("two"),
        (
            json!("inconclusive"),
            json!(["b.ask"]),
            json!("`b` could not determine whether `two` was done: I looked")
        )
    );
    let (status, tools, message) = check_at("three");
    assert_eq!((status, tools), (json!("inconclusive"), json!(null)));
    let message = message.as_str().unwrap();
    assert!(
        message.contains("`c` has no tool of class `read` that this plan may call"),
        "{message}"
    );
}

#[tokio::test(start_paused = true)]
async fn s3_30_agents_are_asked_when_the_run_has_ended_well_and_not_before() {
    let world = |last| {
        agents()
            .tool("b.make", [last])
            .prompted([verdict(Some(true))])
    };
    let body = "step one = a.make() step two = b.make() reply two";
    let ran = world(Fail("tool.busy", Answered)).run(&asking(body)).await;
    assert_eq!(ran.outcome.state.name(), "failed");
    assert_eq!((ran.calls("ask").len(), counts(&ran)), (0, (0, 0, 0, 0)));
    assert!(ran.outcome.verification().checks.is_empty());
    let ran = world(give(json!(8))).run(&asking(body)).await;
    assert_eq!((ran.calls("ask").len(), counts(&ran)), (2, (2, 0, 0, 0)));
}

#[tokio::test(start_paused = true)]
async fn s3_31_the_journal_tells_of_every_question_and_a_retry_repeats_only_those_that_failed() {
    let body = "step one = a.make() step two = b.make() reply one";
    let mut world = agents().prompted([verdict(Some(false)), verdict(None), verdict(Some(true))]);
    world.journal = Some(MemoryLog::default());
    let ran = world.run(&asking(body)).await;
    assert_eq!(
        (ran.class().as_str(), counts(&ran)),
        ("validation.verify", (0, 0, 1, 1))
    );
    for path in ["one.verify", "two.verify"] {
        for name in ["step.running", "step.settled"] {
            let reported = ran
                .events
                .iter()
                .any(|(event, at, _)| *event == name && at == path);
            assert!(reported, "{name} {path}: {:?}", ran.events);
        }
    }
    let ran = world.run(&asking(body)).await;
    assert_eq!(
        (ran.outcome.state.name(), counts(&ran)),
        ("completed", (1, 0, 0, 1))
    );
    let asked: Vec<_> = asked_about(&ran)
        .into_iter()
        .map(|(step, _)| step)
        .collect();
    assert_eq!(asked, ["one", "two", "one"]);
    assert_eq!(
        (ran.calls("a.make").len(), ran.calls("b.make").len()),
        (1, 1),
        "nothing is done again"
    );
    assert_eq!(ran.status("one.verify[1]"), "completed");
}

#[tokio::test(start_paused = true)]
async fn a_run_that_dies_while_agents_are_asked_goes_on_with_asking() {
    let text = asking("step one = a.make() step two = b.make() reply one");
    let world = || agents().prompted([after(20, verdict(Some(true)))]);
    let mut whole = world();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = whole.run(&text).await;
    assert_eq!(counts(&undisturbed), (2, 0, 0, 0));
    let lines = log.lines();
    let settled = |line: &String| line.contains("step.settled") && line.contains("\"two\"");
    let first = lines.iter().position(settled).unwrap() + 1;
    assert!(first + 3 < lines.len(), "{lines:#?}");
    for events in first..lines.len() {
        let mut world = world();
        world.journal = Some(MemoryLog::default().dying_after(events));
        let died = world.run_until_it_dies(&text, std::collections::BTreeMap::new());
        assert!(died.await.is_none(), "{events}");
        let log = world.journal.take().unwrap().revived();
        world.journal = Some(log);
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.outcome.state.name(), counts(&ran), ran.reply()),
            ("completed", (2, 0, 0, 0), json!(7)),
            "killed after {events}"
        );
        assert_eq!(
            (ran.calls("a.make").len(), ran.calls("b.make").len()),
            (1, 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_verify_that_asks_an_agent_is_a_look_like_any_other() {
    let there = |there: bool| give(json!({ "there": there }));
    let ask = "verify ask a(\"Is it there?\", with: { x: one }) -> { there: bool } every 10s within 1m as found => found.there";
    let plan = format!("{AGENTS}\nplan p() {{ step one = a.make(x: 1) {ask} gives 5 reply one }}");
    let ran = agents()
        .prompted([there(false), there(true)])
        .run(&plan)
        .await;
    assert_eq!((counts(&ran), ran.calls("ask").len()), ((1, 0, 0, 0), 2));
    assert_eq!(
        ran.calls("ask")[0].arguments,
        json!({ "prompt": "Is it there?", "with": { "x": 7 } })
    );
    // The check was inconclusive, and the plan requires a verification.
    let ran = agents()
        .prompted([Fail("tool.failed", Answered)])
        .run(&plan)
        .await;
    assert_eq!(
        (ran.class().as_str(), counts(&ran)),
        ("validation.verify", (0, 0, 0, 1))
    );
    // The answer of the call is lost, and the agent finds the result.
    let ran = agents()
        .tool("a.make", [Fail("transient.timeout", Maybe)])
        .prompted([there(true)])
        .run(&plan)
        .await;
    assert_eq!((ran.reply(), counts(&ran)), (json!(5), (1, 0, 0, 0)));
}

#[tokio::test(start_paused = true)]
async fn an_agent_asked_by_the_policy_decides_nothing_about_a_lost_answer() {
    let ran = agents()
        .tool("a.make", [Fail("transient.timeout", Maybe)])
        .prompted([verdict(Some(false))])
        .run(&asking("step one = a.make()"))
        .await;
    assert_eq!(
        (
            ran.class().as_str(),
            ran.calls("a.make").len(),
            ran.calls("ask").len()
        ),
        ("unknown_outcome", 1, 0)
    );
}
