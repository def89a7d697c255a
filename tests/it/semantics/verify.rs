//! Sections 3.8 and 10.7: `verify`, and calls whose answer was lost.

use std::time::Duration;

use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_core::run::Interruption;
use planrun_lang::protocol::Sent::{Answered, Maybe};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a
tool a.make(x?: any) -> int effect fails busy
tool a.drop(x?: any) -> bool effect
tool a.look(x?: any) -> { there: bool, id?: int } read
";

fn world() -> World {
    World::new()
        .tool("a.make", [after(10, give(json!(7)))])
        .tool("a.drop", [give(json!(true))])
        .tool("a.look", [give(json!({ "there": true, "id": 5 }))])
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

#[tokio::test(start_paused = true)]
async fn r3_8_effects_are_looked_at_at_the_end_and_those_without_a_look_are_unverified() {
    let ran = world()
        .run(&plan("step one = a.make() verify a.look(x: one) as found => found.there step two = a.make() reply one"))
        .await;
    let verification = ran.outcome.verification();
    assert_eq!(
        (
            verification.verified,
            verification.unverified,
            verification.failed
        ),
        (1, 1, 0)
    );
    assert_eq!((ran.reply(), ran.calls("a.look").len()), (json!(7), 1));
    assert_eq!(ran.calls("a.look")[0].arguments, json!({ "x": 7 }));
    assert_eq!(ran.outcome.usage.calls, 2, "a look needs no budget");
    let paths: Vec<&str> = verification
        .checks
        .iter()
        .map(|check| &*check.path)
        .collect();
    assert_eq!(paths, ["one", "two"]);
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_look_that_polls_waits_within_its_bound() {
    let polls =
        "step one = a.make() verify a.look() every 10s within 1m as found => found.there reply one";
    let no = || give(json!({ "there": false }));
    let ran = world()
        .tool("a.look", [no(), no(), give(json!({ "there": true }))])
        .run(&plan(polls))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.calls("a.look").len()),
        ("completed", 3)
    );
    let ran = world().tool("a.look", [no()]).run(&plan(polls)).await;
    assert_eq!(
        (ran.class().as_str(), ran.reply(), ran.status("one")),
        ("validation.verify", json!(7), "completed".to_owned())
    );
    assert!(ran.took >= 60_000);
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_look_that_finds_nothing_or_breaks_fails_the_run_and_nothing_is_undone() {
    let body =
        "step one = a.make() verify a.look() as found => found.there undo a.drop(x: 1) reply one";
    for (script, found) in [
        (give(json!({ "there": false })), (1, 0)),
        (Fail("tool.failed", Answered), (0, 1)),
    ] {
        let ran = world().tool("a.look", [script]).run(&plan(body)).await;
        assert_eq!(
            (ran.class().as_str(), ran.status("one")),
            ("validation.verify", "completed".to_owned())
        );
        let verification = ran.outcome.verification();
        assert_eq!(
            (
                ran.calls("a.drop").len(),
                (verification.failed, verification.inconclusive)
            ),
            (0, found)
        );
    }
}

/// A plan that has its reply at once, and whose check finds nothing for an hour.
fn checks_for_long(policy: &str) -> String {
    plan(&format!(
        "{policy} step one = a.make() undo a.drop(x: 1)
            verify a.look() every 10s within 1h as found => found.there
        reply one"
    ))
}

/// Runs a plan, which is sent this command after 25 seconds.
async fn cancelled(world: &World, log: &MemoryLog, text: &str, command: &str) -> Ran {
    let send = async {
        tokio::time::sleep(Duration::from_secs(25)).await;
        log.send(command);
    };
    tokio::join!(world.run(text), send).0
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_deadline_ends_the_checks_and_the_run_keeps_its_reply() {
    let no = || give(json!({ "there": false }));
    let mut world = world().tool("a.look", [no(), no(), give(json!({ "there": true }))]);
    world.journal = Some(MemoryLog::default());
    let text = checks_for_long("policy { deadline: 15s }");
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.class().as_str(), ran.reply(), ran.took),
        ("validation.verify", json!(7), 15_000)
    );
    let error = ran.outcome.error.as_ref().unwrap();
    let cause = error.cause.as_ref().unwrap();
    assert_eq!(cause.class.to_string(), "budget.time");
    assert_eq!(
        (
            ran.calls("a.drop").len(),
            ran.outcome.verification().inconclusive
        ),
        (0, 1)
    );
    // What is checked again is not bounded by a deadline that has passed.
    let ran = world.run(&text).await;
    assert_eq!(
        (
            ran.outcome.state.name(),
            ran.reply(),
            ran.calls("a.make").len()
        ),
        ("completed", json!(7), 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_deadline_ends_the_firings_and_the_run_keeps_its_reply() {
    let ran = world()
        .tool("a.look", [after(60_000, give(json!({ "there": true })))])
        .run(&plan(
            "policy { deadline: 15s } step one = a.make() undo a.drop(x: 1)
                verify a.look() as found => found.there
            listener l on one is completed { step slow = a.look() }
            reply one",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.reply(), ran.took),
        ("budget.time", json!(7), 15_000)
    );
    assert_eq!(
        (
            ran.calls("a.drop").len(),
            ran.calls("a.look").len(),
            ran.outcome.verification().inconclusive
        ),
        (0, 1, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_cancel_ends_the_checks_and_undoes_what_they_were_about() {
    for (cancel, undone) in [
        (r#"{"cancel": true}"#, 1),
        (r#"{"cancel": true, "keep": true}"#, 0),
    ] {
        let mut world = world().tool("a.look", [give(json!({ "there": false }))]);
        let log = MemoryLog::default();
        world.journal = Some(log.clone());
        let text = checks_for_long("");
        let ran = cancelled(&world, &log, &text, cancel).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.calls("a.drop").len()),
            ("cancelled", undone)
        );
        assert!(ran.took < 60_000, "{}", ran.took);
        // Who looks sees the same.
        world.replay_only = true;
        let seen = world.run(&text).await;
        assert_eq!(seen.outcome.state.name(), "cancelled");
        let is_undone = |ran: &Ran| ran.step("one").attributes.contains(&"undone");
        assert_eq!(
            (is_undone(&ran), is_undone(&seen)),
            (undone == 1, undone == 1)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_cancel_after_the_end_of_the_plan_changes_nothing_of_it() {
    // While a listener on the end is at work.
    let mut world = world().tool("a.look", [after(60_000, give(json!({ "there": true })))]);
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let text = plan(
        "step one = a.make() undo a.drop(x: 1)
        listener over on plan is completed { step slow = a.look() }
        reply one",
    );
    let ran = cancelled(&world, &log, &text, r#"{"cancel": true}"#).await;
    assert_eq!(
        (
            ran.outcome.state.name(),
            ran.reply(),
            ran.calls("a.drop").len()
        ),
        ("completed", json!(7), 0)
    );
    assert_eq!(
        (ran.status("over[0].slow"), ran.took),
        ("cancelled".into(), 25_000)
    );

    // While a check is made again.
    let no = || give(json!({ "there": false }));
    let mut world = self::world().tool("a.look", [Fail("tool.failed", Answered), no()]);
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let text = checks_for_long("");
    assert_eq!(world.run(&text).await.class(), "validation.verify");
    let ran = cancelled(&world, &log, &text, r#"{"cancel": true}"#).await;
    assert_eq!(
        (
            ran.outcome.state.name(),
            ran.reply(),
            ran.calls("a.drop").len()
        ),
        ("failed", json!(7), 0)
    );
    assert!(ran.took < 60_000, "{}", ran.took);
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_retry_makes_only_the_looks_again() {
    let body = "step one = a.make() verify a.look(x: one) as found => found.there
        step two = a.make() verify a.look(x: two) as found => found.there
        listener over on plan is failed { step told = a.drop(x: \"failed\") }
        reply one";
    let (no, yes) = (
        || give(json!({ "there": false })),
        || give(json!({ "there": true })),
    );
    let mut world = world().tool("a.look", [yes(), no(), no(), yes()]);
    world.journal = Some(MemoryLog::default());
    for (state, lookups) in [("failed", 2), ("failed", 3), ("completed", 4)] {
        let ran = world.run(&plan(body)).await;
        assert_eq!(
            (
                ran.outcome.state.name(),
                ran.calls("a.make").len(),
                ran.calls("a.look").len()
            ),
            (state, 2, lookups)
        );
        assert_eq!(ran.reply(), json!(7));
    }
    let ran = world.run(&plan(body)).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.calls("a.look").len()),
        ("completed", 4)
    );
    assert_eq!(ran.outcome.verification().verified, 2);
    assert!(ran.step("one").attributes.contains(&"reused"));
}

#[tokio::test(start_paused = true)]
async fn r3_8_one_look_that_breaks_does_not_stop_the_others() {
    let ran = world()
        .tool(
            "a.look",
            [
                Fail("tool.failed", Answered),
                give(json!({ "there": true })),
            ],
        )
        .run(&plan(
            "step one = a.make() verify a.look(x: 1) as found => found.there
             step two = a.make() verify a.look(x: 2) as found => found.there",
        ))
        .await;
    let verification = ran.outcome.verification();
    assert_eq!(
        (
            verification.verified,
            verification.unverified,
            verification.failed,
            verification.inconclusive
        ),
        (1, 0, 0, 1)
    );
}

#[tokio::test(start_paused = true)]
async fn s3_29_a_look_that_could_not_be_made_is_no_failed_one_and_each_tells_what_it_used() {
    let lookups = [
        give(json!({ "there": true })),
        give(json!({ "there": false })),
        Fail("transient.network", Answered),
    ];
    let body = "step one = a.make() verify a.look(x: 1) as found => found.there
        step two = a.make() verify a.look(x: 2) as found => found.there
        step three = a.make() verify a.look(x: 3) as found => found.there
        step four = a.make()";
    let ran = world().tool("a.look", lookups).run(&plan(body)).await;
    let verification = ran.outcome.verification();
    assert_eq!(
        (
            verification.verified,
            verification.failed,
            verification.inconclusive,
            verification.unverified
        ),
        (1, 1, 1, 1)
    );
    let checks = serde_json::to_value(&verification.checks).unwrap();
    let check = |path: &str| {
        checks
            .as_array()
            .unwrap()
            .iter()
            .find(|check| check["path"] == path)
            .unwrap()
    };
    for (path, status) in [
        ("one", "verified"),
        ("two", "failed"),
        ("three", "inconclusive"),
    ] {
        assert_eq!(
            (&check(path)["status"], &check(path)["tools"]),
            (&json!(status), &json!(["a.look"])),
            "{path}"
        );
    }
    assert_eq!(
        (&check("four")["status"], check("four").get("tools")),
        (&json!("unverified"), None)
    );
    assert_eq!(
        check("three")["error"]["cause"]["class"],
        "transient.network"
    );
    assert_eq!(
        verification.counts(),
        "1 verified, 1 unverified, 1 failed, 1 inconclusive"
    );
    assert_eq!(
        (ran.outcome.state.name(), ran.class().as_str()),
        ("failed", "validation.verify")
    );
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_lost_answer_is_found_again() {
    let lost = || world().tool("a.make", [Fail("transient.timeout", Maybe), give(json!(9))]);
    let gives =
        "step one = a.make() verify a.look() as found => found.there gives found.id ?? 0 reply one";
    let ran = lost().run(&plan(gives)).await;
    assert_eq!(
        (
            ran.reply(),
            ran.calls("a.make").len(),
            ran.calls("a.look").len()
        ),
        (json!(5), 1, 1)
    );
    assert_eq!(
        ran.outcome.verification().verified,
        1,
        "it has been looked at already"
    );
    // It did not happen, so the same execution is sent again.
    let there = give(json!({ "there": true, "id": 5 }));
    let ran = lost()
        .tool("a.look", [give(json!({ "there": false })), there])
        .run(&plan(gives))
        .await;
    assert_eq!(ran.reply(), json!(9));
    let calls = ran.calls("a.make");
    assert_eq!((calls.len(), &calls[0].key), (2, &calls[1].key));
    assert_eq!(
        ran.status("one.verify[1]"),
        "completed",
        "and at the end it was looked at"
    );
    // The value is not read, so it is enough that it happened.
    let ran = lost()
        .run(&plan(
            "step one = a.make() verify a.look() as found => found.there",
        ))
        .await;
    assert_eq!(
        (ran.outcome.state.name(), ran.calls("a.make").len()),
        ("completed", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r3_8_without_a_value_the_run_waits_for_somebody_where_it_pauses() {
    let lost = || world().tool("a.make", [Fail("transient.timeout", Maybe), give(json!(9))]);
    let text = plan(
        "policy { on_failure: pause } step one = a.make() verify a.look() as found => found.there reply one",
    );
    for (answer, reply, sent) in [
        (json!({ "happened": true, "value": 4 }), 4, 1),
        (json!({ "happened": false }), 9, 2),
    ] {
        let mut world = lost();
        world.journal = Some(MemoryLog::default());
        let paused = world.run(&text).await;
        assert!(matches!(
            paused.outcome.interruption,
            Some(Interruption::Waiting { .. })
        ));
        assert_eq!(&*paused.outcome.questions[0].0, "one");
        world.answers = vec![("one", answer)];
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.reply(), ran.calls("a.make").len()),
            (json!(reply), sent),
            "{:?}",
            ran.outcome.error
        );
        assert_eq!(
            ran.calls("a.make")
                .iter()
                .map(|seen| &seen.key)
                .collect::<std::collections::BTreeSet<_>>()
                .len(),
            1
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r10_7_after_a_crash_an_effect_in_flight_waits_for_somebody_whatever_the_policy() {
    for policy in ["undo", "settle", "pause"] {
        let text = plan(&format!(
            "policy {{ on_failure: {policy} }} step one = a.make() undo a.drop(x: 1) reply one"
        ));
        let mut world = world().tool("a.make", [after(1000, give(json!(7))), give(json!(8))]);
        // The journal has the start of the run and of the step.
        world.journal = Some(MemoryLog::default().dying_after(2));
        assert!(
            world
                .run_until_it_dies(&text, std::collections::BTreeMap::new())
                .await
                .is_none()
        );
        let log = world.journal.take().unwrap().revived();
        world.journal = Some(log);
        let paused = world.run(&text).await;
        assert_eq!(
            (paused.outcome.state.name(), paused.calls("a.make").len()),
            ("paused", 1),
            "{policy}"
        );
        world.answers = vec![("one", json!({ "happened": true, "value": 4 }))];
        let ran = world.run(&text).await;
        assert_eq!(
            (ran.reply(), ran.calls("a.make").len()),
            (json!(4), 1),
            "{policy}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn time_in_which_no_process_looked_does_not_count_as_looked() {
    let text = plan(
        "step one = a.make() verify a.look() every 10s within 25s as found => found.there gives found.id ?? 0 reply one",
    );
    let mut world = World::new()
        .tool("a.make", [after(10, Fail("transient.timeout", Maybe))])
        .tool(
            "a.look",
            [
                after(5, give(json!({ "there": false }))),
                after(5, give(json!({ "there": true, "id": 7 }))),
            ],
        );
    // The journal has the call, its unknown outcome, the first check and its wait; then no process runs for an hour.
    world.journal = Some(MemoryLog::default().dying_after(5));
    assert!(
        world
            .run_until_it_dies(&text, std::collections::BTreeMap::new())
            .await
            .is_none()
    );
    world.host.advance(std::time::Duration::from_hours(1));
    let log = world.journal.take().unwrap().revived();
    world.journal = Some(log);
    let ran = world.run(&text).await;
    assert_eq!(
        (ran.reply(), ran.calls("a.make").len()),
        (json!(7), 1),
        "it was looked for again, and found"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_in_doubt_that_dies_after_any_event_never_acts_twice() {
    let text = plan(
        "step one = a.make() verify a.look() every 10s within 25s as found => found.there gives found.id ?? 0
         step two = a.make(x: one) reply two",
    );
    let no = || give(json!({ "there": false }));
    let world = || {
        World::new()
            .tool(
                "a.make",
                [
                    after(10, Fail("transient.timeout", Maybe)),
                    after(10, give(json!(7))),
                ],
            )
            .tool("a.drop", [give(json!(true))])
            .tool(
                "a.look",
                [
                    after(5, no()),
                    after(5, no()),
                    after(5, no()),
                    give(json!({ "there": true, "id": 7 })),
                ],
            )
    };
    let mut whole = world();
    let log = MemoryLog::default();
    whole.journal = Some(log.clone());
    let undisturbed = whole.run(&text).await;
    assert_eq!(
        (undisturbed.reply(), undisturbed.calls("a.make").len()),
        (json!(7), 3),
        "{:?}",
        undisturbed.outcome.error
    );
    for events in 1..log.lines().len() {
        let mut world = world();
        world.journal = Some(MemoryLog::default().dying_after(events));
        assert!(
            world
                .run_until_it_dies(&text, std::collections::BTreeMap::new())
                .await
                .is_none()
        );
        let log = world.journal.take().unwrap().revived();
        world.journal = Some(log);
        world.answers = vec![("two", json!({ "happened": true, "value": 7 }))];
        let ran = world.run(&text).await;
        assert_eq!(
            ran.outcome.state.name(),
            "completed",
            "killed after {events}: {:?}",
            ran.outcome.questions
        );
        assert_eq!(ran.reply(), json!(7), "killed after {events}");
        let keys: std::collections::BTreeSet<String> = ran
            .calls("a.make")
            .iter()
            .map(|seen| seen.key.clone())
            .collect();
        assert_eq!(keys.len(), 2, "killed after {events}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_retried_check_leaves_what_the_failure_of_the_plan_has_caused() {
    let there = |there: bool| give(json!({ "there": there, "id": 5 }));
    let mut world = world().tool("a.look", [there(false), there(false), there(true)]);
    world.journal = Some(MemoryLog::default());
    let text = plan(
        "step one = a.make() verify a.look() as found => found.there
         listener l on plan is failed { step pause = wait 1s step dropped = a.drop(x: one) }",
    );
    for (state, looks) in [("failed", 1), ("failed", 2), ("completed", 3)] {
        let ran = world.run(&text).await;
        assert_eq!(
            (
                ran.outcome.state.name(),
                ran.calls("a.look").len(),
                ran.calls("a.drop").len()
            ),
            (state, looks, 1)
        );
    }
    world.replay_only = true;
    let seen = world.run(&text).await;
    assert_eq!(seen.outcome.state.name(), "completed");
    assert_eq!(seen.status("l[0].dropped"), "completed");
}

#[tokio::test(start_paused = true)]
async fn r3_8_a_firing_that_undoes_what_it_has_done_does_not_disturb_the_verification_of_the_run() {
    let failing = "step two = a.make(x: 2) undo a.drop(x: 2) step bad = a.make(x: 3) reply two";
    let there = |there: bool| give(json!({ "there": there }));
    let made = || after(10, give(json!(7)));
    let mut world = world()
        .tool("a.make", [made(), made(), Fail("tool.busy", Answered)])
        .tool("a.look", [there(false), there(true)])
        .file("./q.plan", &plan(failing));
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    tokio::spawn(async move {
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        log.send(r#"{"signal": "go"}"#);
    });
    let body = "step one = a.make() verify a.look() every 10s within 1m as found => found.there
        listener l on signal \"go\" { step inner = q.p() recover _ => 0 }
        reply one";
    let ran = world
        .run(&format!("use \"./q.plan\" as q\n{}", plan(body)))
        .await;
    assert_eq!(
        (ran.reply(), ran.status("l[0].inner")),
        (json!(7), "completed".to_owned())
    );
    assert_eq!(ran.calls("a.drop").len(), 1);
    let verification = ran.outcome.verification();
    assert_eq!((verification.verified, ran.calls("a.look").len()), (1, 2));
}
