//! Section 3: failures, retries, whether a request was sent, and which arm recovers which failure.

use std::time::Duration;

use serde_json::json;

use crate::world::Script::{Fail, Limited};
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::{Answered, Maybe, No, Refused};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a, sys
tool a.read(x?: any) -> int read fails busy
tool a.put(x?: any) -> int idempotent
tool a.write(x?: any) -> int effect fails busy
tool a.other(x?: any) -> int effect
";

fn world() -> World {
    let one = |value| [after(10, give(json!(value)))];
    World::new()
        .tool("a.read", one(1))
        .tool("a.put", one(2))
        .tool("a.write", one(3))
        .tool("a.other", one(4))
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

#[tokio::test(start_paused = true)]
async fn r3_1_an_effect_that_may_have_happened_is_unknown_and_is_never_retried() {
    let world = world().tool("a.write", [Fail("transient.timeout", Maybe)]);
    let ran = world
        .run(&plan(
            "step w = a.write() retry { attempts: 5, on: [transient] }",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.write").len()),
        ("unknown_outcome", 1)
    );
    assert_eq!(ran.status("w"), "unknown");
    let error = ran.step("w").error.unwrap().to_json();
    assert_eq!(error["cause"]["class"], "transient.timeout");
}

#[tokio::test(start_paused = true)]
async fn r3_1_an_effect_that_never_left_stays_transient_and_may_be_retried() {
    let world = world().tool(
        "a.write",
        [
            Fail("transient.network", No),
            Fail("transient.unavailable", No),
            give(json!(3)),
        ],
    );
    let ran = world
        .run(&plan("step w = a.write() retry { attempts: 3 } reply w"))
        .await;
    assert_eq!((ran.reply(), ran.calls("a.write").len()), (json!(3), 3));
}

#[tokio::test(start_paused = true)]
async fn r3_1_a_read_that_may_have_arrived_is_simply_made_again() {
    let world = world().tool("a.read", [Fail("transient.timeout", Maybe), give(json!(1))]);
    let ran = world.run(&plan("step r = a.read() reply r")).await;
    assert_eq!((ran.reply(), ran.calls("a.read").len()), (json!(1), 2));
}

#[tokio::test(start_paused = true)]
async fn r3_1_only_an_arm_that_names_it_catches_an_unknown_outcome() {
    let unknown = || world().tool("a.write", [Fail("transient.timeout", Maybe)]);
    let ran = unknown()
        .run(&plan("step w = a.write() recover _ => 0 reply w"))
        .await;
    assert_eq!(ran.class(), "unknown_outcome");
    let ran = unknown()
        .run(&plan(
            "step w = a.write() recover transient => 1 recover unknown_outcome => 0 reply w",
        ))
        .await;
    assert_eq!(ran.reply(), json!(0));
}

#[tokio::test(start_paused = true)]
async fn r3_1_an_unknown_outcome_decides_with_what_its_block_fails_whichever_failure_is_first() {
    let lost = |millis| {
        world()
            .tool("a.read", [after(20, Fail("tool.busy", Answered))])
            .tool("a.write", [after(millis, Fail("transient.network", Maybe))])
    };
    let both = "parallel { step r = a.read() step w = a.write() }";
    let in_a_block = |arms: &str| format!("step b = do {{ {both} }} {arms} reply 7");
    for millis in [10, 30] {
        let ran = lost(millis)
            .run(&plan(&in_a_block("recover tool.busy => 2")))
            .await;
        assert_eq!(ran.class(), "unknown_outcome", "{millis}");
        let named = in_a_block("recover tool.busy => 2 recover unknown_outcome => 3");
        let ran = lost(millis).run(&plan(&named)).await;
        assert_eq!(ran.reply(), json!(7), "{millis}");
        assert_eq!(
            ran.step("b").recovered.unwrap().get("class"),
            Some(&"unknown_outcome".into())
        );
        // An element tells what is unknown about it.
        let settled = format!(
            "step b = each x in [1] max 1 settle {{ {both} }} reply b.map(x, x.ok ? \"\" : x.error.class)"
        );
        let ran = lost(millis).run(&plan(&settled)).await;
        assert_eq!(ran.reply(), json!(["unknown_outcome"]), "{millis}");
    }
}

#[tokio::test(start_paused = true)]
async fn r3_2_retries_by_default_belong_to_what_may_be_repeated() {
    let failing = |tool: &str| world().tool(tool, [Fail("transient.network", No)]);
    for (tool, attempts) in [("a.read", 3), ("a.put", 3), ("a.write", 1)] {
        let ran = failing(tool)
            .run(&plan(&format!("step x = {tool}()")))
            .await;
        assert_eq!(ran.calls(tool).len(), attempts, "{tool}");
        assert_eq!(ran.class(), "transient.network");
    }
    let policy = "policy { retry: { attempts: 5, delay: 1ms } }";
    let ran = failing("a.read")
        .run(&plan(&format!("{policy} step x = a.read()")))
        .await;
    assert_eq!(ran.calls("a.read").len(), 5);
    let ran = failing("a.write")
        .run(&plan(&format!("{policy} step x = a.write()")))
        .await;
    assert_eq!(
        ran.calls("a.write").len(),
        1,
        "the policy sets parameters, it switches nothing on"
    );
    let ran = failing("a.write")
        .run(&plan(&format!(
            "{policy} step x = a.write() retry {{ delay: 2ms }}"
        )))
        .await;
    assert_eq!(
        ran.calls("a.write").len(),
        5,
        "what the step leaves out comes from the policy"
    );
}

#[tokio::test(start_paused = true)]
async fn r3_the_wait_follows_the_formula_and_a_server_that_asks_is_heard() {
    let policy = "retry { attempts: 6, delay: 100ms, factor: 3.0, max_delay: 1s, jitter: none }";
    let ran = world()
        .tool("a.read", [Fail("transient.network", No)])
        .run(&plan(&format!("step r = a.read() {policy}")))
        .await;
    assert_eq!(ran.waits("r"), [100, 300, 900, 1000, 1000]);
    let world = world().tool("a.read", [Limited(Duration::from_secs(7)), give(json!(1))]);
    let ran = world
        .run(&plan(&format!("step r = a.read() {policy} reply r")))
        .await;
    assert_eq!(ran.waits("r"), [7000]);
    assert_eq!(ran.took, 7000);
}

#[tokio::test(start_paused = true)]
async fn r3_full_jitter_is_seeded() {
    let failing = || world().tool("a.read", [Fail("transient.network", No)]);
    let (one, two) = (
        failing().run(&plan("step r = a.read()")).await,
        failing().run(&plan("step r = a.read()")).await,
    );
    assert_eq!(
        one.waits("r"),
        two.waits("r"),
        "the same run, step and attempt wait the same"
    );
    assert!(one.waits("r")[0] <= 1000 && one.waits("r")[1] <= 2000);
}

#[tokio::test(start_paused = true)]
async fn r3_on_names_what_is_retried() {
    let busy = || world().tool("a.write", [Fail("tool.busy", Answered), give(json!(3))]);
    let ran = busy()
        .run(&plan(
            "step w = a.write() retry { attempts: 3, on: [transient, tool.busy] } reply w",
        ))
        .await;
    assert_eq!(ran.reply(), json!(3));
    let ran = busy()
        .run(&plan("step w = a.write() retry { attempts: 3 } reply w"))
        .await;
    assert_eq!(ran.class(), "tool.busy");
}

#[tokio::test(start_paused = true)]
async fn r3_3_a4_an_execution_keeps_its_key_until_the_contract_says_that_nothing_happened() {
    let world = world().tool(
        "a.put",
        [
            Fail("transient.network", No),
            Fail("transient.unavailable", Maybe),
            Fail("tool.failed", Answered),
            Fail("tool.busy", Refused),
            give(json!(2)),
        ],
    );
    let ran = world
        .run(&plan(
            "step w = a.put() retry { attempts: 5, on: [transient, tool] } reply w",
        ))
        .await;
    let keys = ran
        .calls("a.put")
        .iter()
        .map(|seen| seen.key.clone())
        .collect::<Vec<_>>();
    assert_eq!(keys.len(), 5);
    assert!(
        keys[..4].iter().all(|key| *key == keys[0]),
        "nothing told that it has not happened: {keys:?}"
    );
    assert_ne!(keys[3], keys[4], "the contract ended it: a new one");
    assert!(keys.iter().all(|key| key.len() == 32));
}

#[tokio::test(start_paused = true)]
async fn r3_4_a_result_that_breaks_its_type_is_not_retried() {
    let world = world().tool("a.read", [give(json!("text"))]);
    let ran = world.run(&plan("step r = a.read()")).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.read").len()),
        ("validation.result", 1)
    );
}

#[tokio::test(start_paused = true)]
async fn r3_5_the_first_arm_that_matches_recovers_and_a_call_in_it_has_a_path() {
    let world = world().tool("a.write", [Fail("tool.busy", Answered)]);
    let body = "step w = a.write() recover auth => 0 recover tool.busy as e => a.other(x: e.message) recover _ => 1 reply w";
    let ran = world.run(&plan(body)).await;
    assert_eq!(ran.reply(), json!(4));
    assert_eq!(
        ran.calls("a.other")[0].arguments,
        json!({"x": "scripted tool.busy"})
    );
    assert_eq!(
        (ran.status("w"), ran.status("w.recover")),
        ("completed".into(), "completed".into())
    );
    let step = ran.step("w");
    assert_eq!(step.attributes, ["recovered"]);
    let caught = step.recovered.unwrap().to_json();
    assert_eq!(
        (&caught["class"], &caught["step"], &caught["attempt"]),
        (&json!("tool.busy"), &json!("w"), &json!(1))
    );
}

#[tokio::test(start_paused = true)]
async fn r3_5_an_arm_can_hold_steps_or_fail_with_another_class() {
    let busy = || world().tool("a.write", [Fail("tool.busy", Answered)]);
    let ran = busy()
        .run(&plan(
            "step w = a.write() recover _ as e => do { step o = a.other() yield o * 10 } reply w",
        ))
        .await;
    assert_eq!(ran.reply(), json!(40));
    assert_eq!(ran.status("w.recover.o"), "completed");
    let ran = busy()
        .run(&plan(
            "step w = a.write() recover _ => fail tool.gone \"it is gone\" reply w",
        ))
        .await;
    assert_eq!(ran.class(), "tool.gone");
}

#[tokio::test(start_paused = true)]
async fn r3_5_budgets_are_no_error_values() {
    let body = "policy { budget: { calls: 1 } } step r = a.read() step w = a.write() after r recover _ => 0 reply w";
    let ran = world().run(&plan(body)).await;
    assert_eq!((ran.class().as_str(), ran.seen.len()), ("budget.calls", 1));
}

#[tokio::test(start_paused = true)]
async fn r3_6_settle_goes_on_and_the_reply_is_there() {
    let world = world().tool("a.read", [Fail("tool.failed", Answered)]);
    let body = "policy { on_failure: settle } step r = a.read() step w = a.put() reply w";
    let ran = world.run(&plan(body)).await;
    assert_eq!(
        (ran.outcome.state.name(), ran.reply(), ran.class()),
        ("failed", json!(2), "tool.failed".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r3_6_ensure_aborts_under_settle_too() {
    let body = "policy { on_failure: settle } step r = a.read() ensure r == 2 else \"not two\" step w = a.write() reply w";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (ran.class().as_str(), ran.reply()),
        ("validation.ensure", json!(null))
    );
    assert_eq!(&*ran.outcome.error.as_ref().unwrap().message, "not two");
}

#[tokio::test(start_paused = true)]
async fn r3_pause_when_exhausted_says_that_it_cannot() {
    let world = world().tool("a.read", [Fail("transient.network", No)]);
    let ran = world
        .run(&plan(
            "step r = a.read() retry { attempts: 2, delay: 1ms, on_exhausted: pause }",
        ))
        .await;
    assert_eq!(ran.class(), "transient.network");
    assert!(
        ran.outcome
            .error
            .as_ref()
            .unwrap()
            .message
            .contains("would be paused")
    );
}

#[tokio::test(start_paused = true)]
async fn r3_9_an_inner_failure_keeps_its_class_and_is_the_cause() {
    let world = world().tool("a.write", [Fail("tool.busy", Answered)]);
    let ran = world
        .run(&plan("step d = do { step w = a.write() yield w } reply d"))
        .await;
    let error = ran.outcome.error.as_ref().unwrap().to_value().to_json();
    assert_eq!(
        (&error["class"], &error["step"], &error["cause"]["step"]),
        (&json!("tool.busy"), &json!("d"), &json!("d.w"))
    );
}

#[tokio::test(start_paused = true)]
async fn cancelling_awaits_effects_and_starts_nothing() {
    let mut world = world().tool("a.write", [after(100, give(json!(3)))]);
    world.stop_after = Some(Duration::from_millis(50));
    let ran = world
        .run(&plan("step w = a.write() step o = a.other() reply o"))
        .await;
    assert_eq!((ran.outcome.state.name(), ran.took), ("cancelled", 100));
    assert_eq!(
        (ran.status("w"), ran.status("o")),
        ("completed".into(), "cancelled".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r1_3_a_failure_that_waits_for_the_effects_above_it_is_recorded_when_it_occurs() {
    let text = format!(
        "{TOOLS}\ntool a.compute(x?: any) -> int pure fails wrong, busy\nplan p() {{
            step w = a.write() confirm \"Write?\"
            step c = a.compute() recover tool.wrong => a.compute(x: 1)
            reply c
        }}"
    );
    let failing = [Fail("tool.wrong", Answered), Fail("tool.busy", Answered)];
    let log = MemoryLog::default();
    let mut world = world().tool("a.compute", failing);
    world.journal = Some(log.clone());
    let paused = world.run(&text).await;
    let seen = |ran: &Ran| {
        let step = ran.step("c");
        let class = step.error.map(|error| error.to_json()["class"].clone());
        (ran.status("c"), class, ran.calls("a.compute").len())
    };
    let waiting = (String::from("waiting"), Some(json!("tool.busy")), 2);
    assert_eq!(seen(&paused), waiting);
    world.replay_only = true;
    assert_eq!(seen(&world.run(&text).await), waiting);
    world.replay_only = false;
    log.send(r#"{"answer": "w.confirm", "value": true}"#);
    let ran = world.run(&text).await;
    let failed = (String::from("failed"), Some(json!("tool.busy")), 2);
    assert_eq!((seen(&ran), ran.class()), (failed, "tool.busy".to_owned()));
    assert_eq!(ran.status("w"), "completed");
}

#[tokio::test(start_paused = true)]
async fn a_step_that_fails_after_it_has_waited_for_a_slot_does_so_in_a_replay() {
    let text = plan(
        "policy { concurrency: 1 }
         step zero = a.put()
         parallel {
             step r = a.read()
             step c = a.other(x: 1 / zero)
         }",
    );
    let mut world = world().tool("a.put", [give(json!(0))]);
    world.journal = Some(MemoryLog::default());
    let seen = |ran: &Ran| (ran.class(), ran.status("r"), ran.status("c"));
    let expected: (String, String, String) = (
        "validation.expression".into(),
        "completed".into(),
        "failed".into(),
    );
    assert_eq!(seen(&world.run(&text).await), expected);
    world.replay_only = true;
    assert_eq!(seen(&world.run(&text).await), expected);
}
