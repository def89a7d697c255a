//! Sections 3.1 to 3.8: effects that may have happened are undone and never overtaken, idempotency keys belong to
//! executions, and an `undo` reads the result of its call.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_core::run::Interruption;
use planrun_lang::protocol::Sent::{Answered, Maybe, No, Refused};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a, sys
tool a.put(x?: any) -> int idempotent fails busy
tool a.keyed(x?: any, request?: string) -> int key request
tool a.make(x?: any) -> int effect fails busy
tool a.drop(x?: any) -> bool effect
tool a.log(x?: any) -> bool effect
tool a.look(x?: any) -> { there: bool, id?: int } read
tool a.bad(x?: any) -> int effect fails busy
";

fn world() -> World {
    World::new()
        .tool("a.put", [after(10, give(json!(2)))])
        .tool("a.keyed", [after(10, give(json!(3)))])
        .tool("a.make", [after(10, give(json!(7)))])
        .tool("a.drop", [after(10, give(json!(true)))])
        .tool("a.log", [give(json!(true))])
        .tool("a.look", [give(json!({ "there": true, "id": 5 }))])
        .tool("a.bad", [after(100, Fail("tool.busy", Refused))])
}

fn durable(mut world: World) -> World {
    world.journal = Some(MemoryLog::default());
    world
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

/// Returns a plan in which this step runs concurrently with `a.bad`, which fails after 100 ms.
fn concurrently_with_failure(step: &str) -> String {
    plan(&format!(
        "step all = each x in [1, 2] max 2 parallel 2 {{
             if x == 1 {{ {step} }}
             if x == 2 {{ step bad = a.bad() }}
             yield x
         }}"
    ))
}

fn dropped(ran: &Ran) -> Vec<serde_json::Value> {
    ran.calls("a.drop")
        .iter()
        .map(|seen| seen.arguments["x"].clone())
        .collect()
}

fn keys<'a>(ran: &'a Ran, tool: &str) -> Vec<&'a str> {
    ran.calls(tool)
        .iter()
        .map(|seen| seen.key.as_str())
        .collect()
}

/// Sets the answer to a question.
fn with_answer(mut world: World, path: &'static str, answer: serde_json::Value) -> World {
    world.answers = vec![(path, answer)];
    world
}

async fn until_it_dies(mut world: World, text: &str, events: usize) -> World {
    world.journal = Some(MemoryLog::default().dying_after(events));
    assert!(
        world
            .run_until_it_dies(text, BTreeMap::new())
            .await
            .is_none()
    );
    world.journal = Some(world.journal.take().unwrap().revived());
    world
}

#[tokio::test(start_paused = true)]
async fn a1_an_idempotent_call_whose_answer_was_lost_is_taken_back() {
    let lost = || world().tool("a.put", [Fail("transient.network", Maybe)]);
    let ran = lost()
        .run(&plan("step w = a.put() undo a.drop(x: \"w\")"))
        .await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("transient.network", vec![json!("w")])
    );
    // The last attempt was not sent, but the one before may have arrived.
    let ran = world()
        .tool(
            "a.put",
            [
                Fail("transient.timeout", Maybe),
                Fail("transient.network", No),
            ],
        )
        .run(&plan("step w = a.put() undo a.drop(x: \"w\")"))
        .await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("transient.network", vec![json!("w")])
    );
    let never = world().tool("a.put", [Fail("transient.network", No)]);
    assert!(
        dropped(
            &never
                .run(&plan("step w = a.put() undo a.drop(x: \"w\")"))
                .await
        )
        .is_empty(),
        "it never left"
    );
}

#[tokio::test(start_paused = true)]
async fn a1_an_idempotent_call_that_timed_out_and_recovered_is_taken_back_when_the_plan_fails_later()
 {
    let slow = world().tool("a.put", [after(60_000, give(json!(2)))]);
    let text = plan(
        "step w = a.put() timeout 1s recover transient => 0 undo a.drop(x: \"w\") step bad = a.bad()",
    );
    let ran = slow.run(&text).await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("tool.busy", vec![json!("w")])
    );
    let refused = world().tool("a.put", [Fail("tool.busy", Refused)]);
    let text = text.replace("recover transient", "recover tool");
    assert!(
        dropped(&refused.run(&text).await).is_empty(),
        "nothing has happened"
    );
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_timeout_has_no_value_is_not_made() {
    let world = world().tool("a.put", [give(json!(2))]);
    let text = "use a\nplan p(n: int) -> any { let none = size(\"\") step w = a.put() timeout 1s / none reply w }";
    let ran = world.run(text).await;
    assert_eq!(ran.class(), "validation.expression");
    assert!(ran.calls("a.put").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a1_an_idempotent_call_that_backs_off_when_another_step_fails_is_taken_back() {
    let text = concurrently_with_failure(
        "step w = a.put() retry { delay: 10s, jitter: none } undo a.drop(x: \"w\")",
    );
    let ran = world()
        .tool("a.put", [Fail("transient.unavailable", Maybe)])
        .run(&text)
        .await;
    assert_eq!(
        (dropped(&ran), ran.calls("a.put").len()),
        (vec![json!("w")], 1)
    );
    let ran = world()
        .tool("a.put", [Fail("transient.unavailable", No)])
        .run(&text)
        .await;
    assert!(dropped(&ran).is_empty(), "it never arrived");
}

#[tokio::test(start_paused = true)]
async fn a1_an_idempotent_call_that_was_killed_in_mid_call_is_taken_back_by_a_cancel() {
    let text = plan("step w = a.put() undo a.drop(x: \"w\")");
    for (command, expected) in [
        (r#"{"cancel": true}"#, 1),
        (r#"{"cancel": true, "keep": true}"#, 0),
    ] {
        let slow = || world().tool("a.put", [after(60_000, give(json!(2)))]);
        let dead = until_it_dies(slow(), &text, 2).await;
        assert_eq!(dead.seen().len(), 1, "it was in flight");
        dead.journal.as_ref().unwrap().send(command);
        let ran = dead.run(&text).await;
        assert_eq!(
            (ran.outcome.state.name(), dropped(&ran).len()),
            ("cancelled", expected),
            "{command}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a2_an_undo_never_overtakes_its_call() {
    let text = concurrently_with_failure("step w = a.put() undo a.drop(x: w)");
    let ran = world()
        .tool("a.put", [after(5_000, give(json!(2)))])
        .run(&text)
        .await;
    assert!(
        ran.cancelled.is_empty(),
        "what changes something is awaited: {:?}",
        ran.cancelled
    );
    assert_eq!(
        (ran.status("all[0].w"), dropped(&ran)),
        ("completed".to_owned(), vec![json!(2)])
    );
    assert!(ran.calls("a.drop")[0].at >= 5_000);
    // It is awaited until its `timeout`.
    let text = concurrently_with_failure(
        "step w = a.put() timeout 3s retry { attempts: 1 } undo a.drop(x: \"w\")",
    );
    let ran = world()
        .tool("a.put", [after(60_000, give(json!(2)))])
        .run(&text)
        .await;
    assert_eq!(
        (ran.status("all[0].w"), dropped(&ran)),
        ("failed".to_owned(), vec![json!("w")])
    );
    assert!(
        (3_000..10_000).contains(&ran.calls("a.drop")[0].at),
        "{:?}",
        ran.calls("a.drop")
    );
}

#[tokio::test(start_paused = true)]
async fn a2_a_process_that_dies_while_it_awaits_a_call_changes_nothing() {
    let text = concurrently_with_failure("step w = a.put() undo a.drop(x: \"w\")");
    let world = || world().tool("a.put", [after(5_000, give(json!(2)))]);
    let whole = durable(world());
    let undisturbed = whole.run(&text).await;
    assert_eq!(dropped(&undisturbed), [json!("w")]);
    for events in 1..whole.journal.as_ref().unwrap().lines().len() {
        let dead = until_it_dies(world(), &text, events).await;
        let ran = dead.run(&text).await;
        if ran.outcome.state.name() == "paused" {
            continue;
        }
        assert_eq!(ran.class(), undisturbed.class(), "killed after {events}");
        let keys: std::collections::BTreeSet<&str> = keys(&ran, "a.drop").into_iter().collect();
        assert_eq!(keys.len(), 1, "killed after {events}: taken back once");
    }
}

#[tokio::test(start_paused = true)]
async fn a3_an_expired_key_is_not_sent_again() {
    let lost = || {
        durable(world().tool(
            "a.keyed",
            [after(50, Fail("transient.network", Maybe)), give(json!(3))],
        ))
    };
    let text = plan(
        "policy { on_failure: pause } step w = a.keyed() retry { delay: 1h, jitter: none } reply w",
    );
    for (age, sent) in [(23, 2), (25, 1)] {
        let world = lost();
        let stopped = world.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stopped.cancel();
        });
        world.run(&text).await;
        let mut next = world;
        next.cancel = tokio_util::sync::CancellationToken::new();
        next.host.advance(Duration::from_hours(age));
        let ran = next.run(&text).await;
        assert_eq!(ran.calls("a.keyed").len(), sent, "after {age} hours");
        if sent == 2 {
            assert_eq!(ran.reply(), json!(3));
            assert_eq!(keys(&ran, "a.keyed")[0], keys(&ran, "a.keyed")[1]);
            continue;
        }
        assert_eq!(ran.outcome.state.name(), "paused");
        assert_eq!(
            &*ran.outcome.questions[0].0, "w",
            "nobody knows whether it happened"
        );
        let answered = with_answer(next, "w", json!({ "happened": true, "value": 9 }));
        assert_eq!(answered.run(&text).await.reply(), json!(9));
    }
}

#[tokio::test(start_paused = true)]
async fn a3_a_call_that_was_lost_with_its_process_is_unknown_when_its_key_has_expired() {
    let slow = || world().tool("a.keyed", [after(60_000, give(json!(3))), give(json!(4))]);
    for (age, state, sent) in [(1, "completed", 2), (30, "paused", 1)] {
        let dead = until_it_dies(slow(), &plan("step w = a.keyed() reply w"), 2).await;
        dead.host.advance(Duration::from_hours(age));
        let ran = dead.run(&plan("step w = a.keyed() reply w")).await;
        assert_eq!(
            (ran.outcome.state.name(), ran.calls("a.keyed").len()),
            (state, sent),
            "after {age} hours"
        );
    }
    // It did not happen, so no server knows its key, and it may be sent.
    let dead = until_it_dies(slow(), &plan("step w = a.keyed() reply w"), 2).await;
    dead.host.advance(Duration::from_hours(30));
    let ran = with_answer(dead, "w", json!({ "happened": false }))
        .run(&plan("step w = a.keyed() reply w"))
        .await;
    assert_eq!((ran.reply(), ran.calls("a.keyed").len()), (json!(4), 2));
}

#[tokio::test(start_paused = true)]
async fn r3_3_a_call_that_is_done_again_goes_on_with_its_execution_until_that_has_ended() {
    let text = plan(
        "policy { on_failure: pause }
         step at = sys.now()
         step w = a.put(x: string(at)) retry { attempts: 1 }
         reply w",
    );
    for (sent, same) in [(Maybe, true), (No, true), (Refused, false)] {
        let class = if sent == Refused {
            "tool.busy"
        } else {
            "transient.unavailable"
        };
        let world = durable(world().tool("a.put", [Fail(class, sent), give(json!(2))]));
        assert!(matches!(
            world.run(&text).await.outcome.interruption,
            Some(Interruption::Failed(_))
        ));
        let ran = world.run(&text).await;
        let keys = keys(&ran, "a.put");
        assert_eq!(
            (ran.reply(), keys[0] == keys[1]),
            (json!(2), same),
            "{sent:?}"
        );
        assert_eq!(
            ran.calls("a.put")[0].arguments,
            ran.calls("a.put")[1].arguments
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r3_3_the_calls_inside_a_step_that_is_done_again_keep_their_executions_too() {
    let text = plan(
        "policy { on_failure: pause }
         step d = do {
             step one = a.make()
             step w = a.put(x: one) retry { attempts: 1 }
             yield w
         }
             recover transient => fail tool.busy \"again\"
         reply d",
    );
    let lost = Fail("transient.unavailable", Maybe);
    let world = durable(
        world()
            .tool("a.make", [give(json!(1)), give(json!(2))])
            .tool("a.put", [lost, give(json!(2))]),
    );
    assert_eq!(world.run(&text).await.class(), "tool.busy");
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.calls("a.make").len()), (json!(2), 1));
    let keys = keys(&ran, "a.put");
    assert_eq!((keys.len(), &keys[0]), (2, &keys[1]));
}

#[tokio::test(start_paused = true)]
async fn r3_3_a_refusal_here_does_not_end_an_execution_that_may_have_happened() {
    let text = plan(
        "policy { on_failure: pause }
         step w = a.put(x: 1) retry { attempts: 2 }
         reply w",
    );
    let lost = Fail("transient.unavailable", Maybe);
    let world = durable(world().tool("a.put", [lost, Fail("denied.contract", No), give(json!(2))]));
    assert_eq!(world.run(&text).await.class(), "denied.contract");
    let ran = world.run(&text).await;
    let keys: std::collections::BTreeSet<_> = keys(&ran, "a.put").into_iter().collect();
    assert_eq!((ran.reply(), keys.len()), (json!(2), 1));
}

#[tokio::test(start_paused = true)]
async fn r3_7_the_own_name_in_an_undo_is_what_the_call_gave() {
    let text = plan("step w = a.make() recover tool => 0 undo a.drop(x: w + 1) step bad = a.bad()");
    assert_eq!(dropped(&world().run(&text).await), [json!(8)]);
    let each = plan(
        "step all = each x in [1, 2] max 2 { step w = a.make(x: x) yield w } undo a.drop(x: sum(all)) step bad = a.bad()",
    );
    assert_eq!(dropped(&world().run(&each).await), [json!(14)]);
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_may_be_several_steps() {
    let text = plan(
        "step other = a.make()
         step w = a.make() undo do {
             step first = a.drop(x: w)
             step then = a.log(x: \"${w} ${other} ${first}\") when first
         }
         step bad = a.bad()",
    );
    let ran = world().run(&text).await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("tool.busy", vec![json!(7)])
    );
    assert_eq!(ran.calls("a.log")[0].arguments, json!({ "x": "7 7 true" }));
    assert_eq!(
        (ran.status("w.undo.then"), ran.step("w").attributes),
        ("completed".to_owned(), vec!["undone"])
    );
    // Each of its calls has up to three attempts. If one fails, the rest is not executed, and the step is marked.
    let broken = world().tool("a.drop", [Fail("transient.network", No)]);
    let ran = broken.run(&text).await;
    assert_eq!(
        (ran.calls("a.drop").len(), ran.calls("a.log").len()),
        (3, 0)
    );
    assert_eq!(ran.step("w").attributes, ["undo_failed"]);
}

#[tokio::test(start_paused = true)]
async fn r3_7_an_undo_that_reads_what_nobody_knows_waits_for_somebody_who_does() {
    let lost = || durable(world().tool("a.make", [Fail("transient.timeout", Maybe)]));
    let text = plan("step one = a.make(x: 1) undo a.drop(x: one)");
    for (answer, expected) in [
        (json!({ "happened": true, "value": 4 }), vec![json!(4)]),
        (json!({ "happened": false }), vec![]),
    ] {
        let world = lost();
        let paused = world.run(&text).await;
        assert_eq!(
            (paused.outcome.state.name(), dropped(&paused).len()),
            ("paused", 0)
        );
        let (path, question) = &paused.outcome.questions[0];
        assert_eq!((&**path, &*question.tool), ("one", "a.make"));
        let ran = with_answer(world, "one", answer).run(&text).await;
        assert_eq!(
            (ran.class().as_str(), dropped(&ran)),
            ("unknown_outcome", expected)
        );
        assert_eq!(ran.status("one"), "unknown");
    }
    // An undo that does not read the result runs immediately.
    let ran = lost().run(&text.replace("x: one)", "x: \"it\")")).await;
    assert_eq!(
        (ran.outcome.state.name(), dropped(&ran)),
        ("failed", vec![json!("it")])
    );
    // A wrong value is refused, and the question stays open.
    let world = with_answer(lost(), "one", json!({ "happened": true, "value": "four" }));
    let ran = world.run(&text).await;
    assert_eq!((ran.outcome.state.name(), ran.refused.len()), ("paused", 1));
}

#[tokio::test(start_paused = true)]
async fn r3_7_the_other_undos_go_on_once_somebody_has_told() {
    let text = plan(
        "step one = a.make(x: 1) undo a.drop(x: \"one\")
         step two = a.put(x: 2) retry { attempts: 1 } undo a.drop(x: two)",
    );
    let world = durable(world().tool("a.put", [Fail("transient.timeout", Maybe)]));
    let paused = world.run(&text).await;
    assert_eq!(
        (paused.outcome.state.name(), dropped(&paused).len()),
        ("paused", 0),
        "last first"
    );
    let world = with_answer(world, "two", json!({ "happened": true, "value": 4 }));
    let ran = world.run(&text).await;
    assert_eq!(dropped(&ran), [json!(4), json!("one")]);
    let again = world.run(&text).await;
    assert_eq!(
        (again.outcome.state.name(), dropped(&again).len()),
        ("failed", 2),
        "and that is its end"
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_without_a_journal_an_undo_that_reads_what_nobody_knows_fails() {
    let ran = world()
        .tool("a.make", [Fail("transient.timeout", Maybe)])
        .run(&plan(
            "step one = a.put() undo a.drop(x: 1) step two = a.make() undo a.drop(x: two)",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), dropped(&ran)),
        ("unknown_outcome", vec![json!(1)])
    );
    assert_eq!(
        (ran.step("one").attributes, ran.step("two").attributes),
        (vec!["undone"], vec!["undo_failed"])
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_the_undo_of_what_holds_others_stands_for_theirs_only_where_it_has_worked() {
    let each = "step all = each x in [1, 2] max 2 {
            step w = a.make(x: x) undo a.drop(x: w)
            fail tool.busy when x == 2 && FAILS
            yield w
        } RECOVER undo a.drop(x: \"all\")
        step bad = a.bad()";
    let run = |fails: &str, recover: &str| {
        plan(&each.replace("FAILS", fails).replace("RECOVER", recover))
    };
    let world = || world().tool("a.make", [give(json!(7)), give(json!(8))]);
    assert_eq!(
        dropped(&world().run(&run("x > 2", "")).await),
        [json!("all")]
    );
    assert_eq!(
        dropped(&world().run(&run("x > 1", "")).await),
        [json!(8), json!(7)]
    );
    assert_eq!(
        dropped(&world().run(&run("x > 1", "recover tool => [0]")).await),
        [json!(8), json!(7)]
    );
}

#[tokio::test(start_paused = true)]
async fn r3_7_what_can_tell_gives_the_undo_what_it_reads() {
    let text = |arm: &str| {
        plan(&format!(
            "step one = a.put() retry {{ attempts: 1 }} verify a.look() as found => found.there gives found.id ?? 0
                 {arm} undo a.drop(x: one)
             step bad = a.bad()"
        ))
    };
    let lost = || world().tool("a.put", [Fail("transient.timeout", Maybe)]);
    assert_eq!(dropped(&lost().run(&text("")).await), [json!(5)]);
    assert_eq!(
        dropped(&lost().run(&text("recover transient => 1")).await),
        [json!(5)],
        "not what the arm gave"
    );
    let none = lost().tool("a.look", [give(json!({ "there": false }))]);
    assert!(
        dropped(&none.run(&text("")).await).is_empty(),
        "it did not happen"
    );
}

#[tokio::test(start_paused = true)]
async fn a11_a_transient_failure_of_a_poll_is_a_poll_that_said_no() {
    let text = |within: &str| {
        plan(&format!(
            "step r = a.look() until r.there every 1s within {within} reply r.id"
        ))
    };
    let failures = || std::iter::repeat_n(Fail("transient.unavailable", Maybe), 9);
    let yes = || give(json!({ "there": true, "id": 5 }));
    let ran = world()
        .tool("a.look", failures().chain([yes()]))
        .run(&text("1m"))
        .await;
    assert_eq!((ran.reply(), ran.calls("a.look").len()), (json!(5), 10));
    let keys: std::collections::BTreeSet<&str> = keys(&ran, "a.look").into_iter().collect();
    assert_eq!(keys.len(), 10, "each poll is an execution of its own");
    let ran = world().tool("a.look", failures()).run(&text("5s")).await;
    assert_eq!(
        (ran.class().as_str(), ran.took),
        ("validation.until", 5_000)
    );
    let error = ran.outcome.error.as_ref().unwrap().to_value().to_json();
    assert_eq!(
        error["cause"]["class"], "transient.unavailable",
        "and why nobody could tell"
    );
    let ran = world()
        .tool("a.look", [Fail("tool.failed", Answered)])
        .run(&text("1m"))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.look").len()),
        ("tool.failed", 1),
        "any other failure is an end"
    );
}

#[tokio::test(start_paused = true)]
async fn a11_a_poll_goes_on_where_it_was_after_a_crash() {
    let text = plan("step r = a.look() until r.there every 1s within 1m reply r.id");
    let world = || {
        let failures = std::iter::repeat_n(Fail("transient.unavailable", No), 3);
        world().tool(
            "a.look",
            failures.chain([give(json!({ "there": true, "id": 5 }))]),
        )
    };
    let whole = durable(world());
    assert_eq!(whole.run(&text).await.reply(), json!(5));
    for events in 1..whole.journal.as_ref().unwrap().lines().len() {
        let ran = until_it_dies(world(), &text, events).await.run(&text).await;
        assert_eq!(ran.reply(), json!(5), "killed after {events}");
    }
}

#[tokio::test(start_paused = true)]
async fn a11_r3_8_a_look_that_nobody_could_make_is_not_a_no() {
    let lost = |lookups: Vec<crate::world::Script>| {
        world()
            .tool("a.make", [Fail("transient.timeout", Maybe), give(json!(9))])
            .tool("a.look", lookups)
    };
    let text = plan(
        "step one = a.make() verify a.look() every 1s within 5s as found => found.there gives 5 reply one",
    );
    for broken in [
        Fail("transient.network", No),
        after(60_000, give(json!({ "there": false }))),
    ] {
        let ran = lost(vec![broken]).run(&text).await;
        assert_eq!(
            (ran.class().as_str(), ran.calls("a.make").len()),
            ("unknown_outcome", 1),
            "it is not sent again"
        );
    }
    let ran = lost(vec![
        Fail("transient.network", No),
        give(json!({ "there": false })),
    ])
    .run(&text)
    .await;
    assert!(
        ran.calls("a.make").len() > 1,
        "the whole time was looked at, and it is not there"
    );
}

#[tokio::test(start_paused = true)]
async fn a12_r10_15_a_listener_on_a_listener_gets_the_error_and_a_failure_of_its_own_is_told() {
    let text = plan(
        "task t \"T\" { why: string }
         task gone \"Gone\"
         listener work on t is running { step one = a.bad() }
         listener err on work is failed as e { set t failed { why: e.message } }
         set t running { why: \"\" }
         step end = wait for t is failed
         reply t.why",
    );
    let text = text.replace("plan p() {", "plan p() { policy { on_failure: settle }");
    let ran = world().run(&text).await;
    assert_eq!(
        ran.outcome.state.name(),
        "failed",
        "{:?}",
        ran.outcome.error
    );
    assert_eq!(ran.class(), "tool.busy");
    assert_eq!(ran.reply(), json!("scripted tool.busy"));
}
