//! Section 4: `timeout`, `within`, `until` and the deadline.

use std::time::Duration;

use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{World, after, give};
use planrun_lang::protocol::Sent::No;

const TOOLS: &str = "
use a
tool a.read(x?: any) -> { done: bool } read
tool a.write(x?: any) -> int effect
";

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

fn state(done: bool) -> crate::world::Script {
    after(10, give(json!({"done": done})))
}

#[tokio::test(start_paused = true)]
async fn r4_1_timeout_bounds_one_attempt() {
    let world = World::new().tool("a.read", [after(900, state(false)), state(true)]);
    let ran = world
        .run(&plan(
            "step r = a.read() timeout 100ms retry { delay: 50ms, jitter: none } reply r.done",
        ))
        .await;
    assert_eq!((ran.reply(), ran.took), (json!(true), 160));
    assert_eq!(ran.cancelled, ["a.read"], "the transport is told");
    let world = World::new().tool("a.write", [after(900, give(json!(1)))]);
    let ran = world.run(&plan("step w = a.write() timeout 100ms")).await;
    assert_eq!((ran.class().as_str(), ran.took), ("unknown_outcome", 100));
}

#[tokio::test(start_paused = true)]
async fn r4_1_within_bounds_the_step_with_its_retries_and_is_not_retried() {
    let world = World::new().tool("a.read", [after(10, Fail("transient.network", No))]);
    let ran = world
        .run(&plan("step r = a.read() within 200ms retry { attempts: 50, delay: 50ms, factor: 1.0, jitter: none }"))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("transient.timeout", 200));
    assert_eq!(ran.calls("a.read").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn r4_1_within_ends_a_block() {
    let world = World::new().tool("a.read", [after(500, state(true))]);
    let ran = world
        .run(&plan(
            "step d = do { step r = a.read() yield r.done } within 100ms",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.took, ran.status("d.r")),
        ("transient.timeout", 100, "cancelled".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_deadline_ends_the_run_and_is_caught_by_nobody() {
    let world = World::new().tool("a.read", [after(5000, state(true))]);
    let ran = world
        .run(&plan(
            "policy { deadline: 1s } step r = a.read() recover _ => { done: false } reply r.done",
        ))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("budget.time", 1000));
}

#[tokio::test(start_paused = true)]
async fn r4_4_until_polls_with_fresh_executions() {
    let world = World::new().tool("a.read", [state(false), state(false), state(true)]);
    let ran = world
        .run(&plan(
            "step r = a.read() until r.done every 1s within 1m reply r.done",
        ))
        .await;
    let calls = ran.calls("a.read");
    assert_eq!((ran.reply(), calls.len()), (json!(true), 3));
    assert_eq!(
        calls.iter().map(|seen| seen.at).collect::<Vec<_>>(),
        [0, 1010, 2020]
    );
    assert!(calls[0].key != calls[1].key && calls[1].key != calls[2].key);
    assert_eq!(ran.step("r").attempts, 3);
}

#[tokio::test(start_paused = true)]
async fn r4_4_the_end_of_a_poll_is_validation_until() {
    let world = World::new().tool("a.read", [state(false)]);
    let ran = world
        .run(&plan("step r = a.read() until r.done every 1s within 3s"))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("validation.until", 3000));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_can_be_stopped() {
    let mut world = World::new().tool("a.read", [state(false)]);
    world.stop_after = Some(Duration::from_millis(1500));
    let ran = world
        .run(&plan("step r = a.read() until r.done every 1s within 1h"))
        .await;
    assert_eq!((ran.outcome.state.name(), ran.took), ("cancelled", 1500));
}

#[tokio::test(start_paused = true)]
async fn r4_1_an_arm_catches_the_end_of_within_and_one_at_work_ends_with_it() {
    let world = World::new().tool("a.read", [state(false)]);
    let ran = world.run(&plan("step r = a.read() until r.done every 1s within 3s recover validation.until => { done: false } reply r.done")).await;
    assert_eq!((ran.reply(), ran.took), (json!(false), 3000));
    let world = World::new()
        .tool(
            "a.write",
            [Fail("tool.no", planrun_lang::protocol::Sent::Answered)],
        )
        .tool("a.read", [after(900, state(true))]);
    let ran = world
        .run(&plan(
            "step w = a.write() within 100ms recover tool.no => do { step r = a.read() yield 1 }",
        ))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("transient.timeout", 100));
}
