//! Section 4: `timeout`, `within`, `until` and the deadline.

use std::future::Future;
use std::time::Duration;

use planrun_core::run::Interruption;
use planrun_runs::journal::MemoryLog;
use planrun_tools::host::Host as _;
use proptest::prelude::*;
use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{Ran, World, after, give};
use planrun_lang::protocol::Sent::No;
use planrun_lang::value::{MAX_TIMESTAMP, parse_timestamp, timestamp_text};

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
async fn r4_1_the_deadline_of_a_called_plan_bounds_neither_its_caller_nor_its_undo() {
    for (called, replies) in [
        ("completes()", 1),
        ("fails() recover _ => 7", 7),
        ("ends() recover _ => 7", 7),
    ] {
        let world = World::new()
            .tool("a.read", [after(5000, state(true))])
            .tool("a.write", [give(json!(1)), after(5000, give(json!(2)))]);
        let world = world.file(
            "./inner.plan",
            &format!(
                "{TOOLS}
                plan completes() -> int {{ policy {{ deadline: 1s }} step w = a.write() reply w }}
                plan fails() -> int {{
                    policy {{ deadline: 1s }}
                    step w = a.write() undo a.write(x: w)
                    ensure w > 1 else \"too few\"
                    reply w
                }}
                plan ends() -> int {{
                    policy {{ deadline: 1s }}
                    step w = a.write()
                    parallel {{
                        step v = a.write()
                        step u = a.write(x: [w][w])
                    }}
                    reply u
                }}"
            ),
        );
        let text = format!(
            "use a use \"./inner.plan\" as inner
            tool a.read(x?: any) -> {{ done: bool }} read
            plan p() -> int {{ step i = inner.{called} step r = a.read() after i reply r.done ? i : 0 }}"
        );
        let ran = world.run(&text).await;
        assert_eq!(
            ran.reply(),
            json!(replies),
            "{called}: {:?}",
            ran.outcome.error
        );
        assert!(ran.took >= 5000);
    }
}

#[tokio::test(start_paused = true)]
async fn r4_1_the_deadline_of_a_called_plan_names_the_step_that_calls_it() {
    let inner = format!(
        "{TOOLS} plan inner() -> bool {{ policy {{ deadline: 1s }} step r = a.read() reply r.done }}"
    );
    let mut world = World::new()
        .tool("a.read", [after(5000, state(true))])
        .file("./inner.plan", &inner);
    world.journal = Some(MemoryLog::default());
    let text = "use \"./inner.plan\" as other
        plan p() -> bool { step i = other.inner() recover _ => false reply i }";
    for replay_only in [false, true] {
        world.replay_only = replay_only;
        let ran = world.run(text).await;
        let error = ran.outcome.error.as_ref().unwrap();
        assert_eq!(
            (ran.class().as_str(), &*error.message),
            (
                "budget.time",
                "the deadline of the plan that `i` calls has passed"
            )
        );
    }
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
async fn r4_1_within_ends_a_poll_that_waits_for_a_slot() {
    let world = World::new()
        .tool("a.read", [state(false)])
        .tool("a.write", [after(60_000, give(json!(1)))]);
    let text = format!(
        "{TOOLS}\nplan p() {{
            policy {{ concurrency: 1 }}
            parallel {{
                step r = a.read() until r.done every 1s within 10s recover validation.until => {{ done: true }}
                step w = a.write()
            }}
            reply [r.done, w]
        }}"
    );
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.took), (json!([true, 1]), 60_010));
    assert_eq!(
        (ran.step("r").attempts, ran.step("r").duration_ms),
        (1, 10_000)
    );
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

const DAY: i128 = 86_400_000_000_000;

/// Runs a future on paused time.
fn on_paused_time<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(future)
}

/// A world in which a run may take ten thousand years.
fn patient() -> World {
    let mut world = World::new().tool("a.read", [state(true)]);
    world.limit = Duration::from_hours(24 * 366 * 10_000);
    world
}

/// Returns the time at which a suspended run resumes.
fn wake(ran: &Ran) -> Option<i128> {
    match &ran.outcome.interruption {
        Some(Interruption::Waiting { wake, .. }) => *wake,
        _ => None,
    }
}

/// Waits until a time, first in one process, then across processes that resume the run a day before and at that time.
async fn waits_until(until: i128) {
    let text = plan(&format!(
        "step w = wait until timestamp(\"{}\") step r = a.read() after w reply r.done",
        timestamp_text(until)
    ));
    let live = patient();
    let left = u128::try_from(until - live.host.now()).unwrap();
    let whole = left
        .div_ceil(1_000_000)
        .min(u128::try_from(MAX_TIMESTAMP - live.host.now()).unwrap() / 1_000_000);
    assert_eq!(live.run(&text).await.took, whole + 10);

    let mut world = patient();
    let log = MemoryLog::default();
    world.journal = Some(log.clone());
    let paused = world.run(&text).await;
    let woken = wake(&paused).expect("the run waits");
    assert_eq!(
        woken - world.host.now(),
        i128::try_from(whole).unwrap() * 1_000_000
    );
    let slept = log
        .lines()
        .into_iter()
        .find(|line| line.contains("\"until\""))
        .unwrap();
    let slept: serde_json::Value = serde_json::from_str(&slept).unwrap();
    assert_eq!(
        parse_timestamp(slept["until"].as_str().unwrap()),
        Some(woken)
    );
    world.host.set_now(woken - DAY);
    assert_eq!(wake(&world.run(&text).await), Some(woken), "a day before");
    assert!(world.seen().is_empty());
    world.host.set_now(woken);
    let ran = world.run(&text).await;
    assert_eq!((ran.reply(), ran.took), (json!(true), 10));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_wait_ends_at_its_time_however_far_away_it_is(
        until in parse_timestamp("2026-02-01T00:00:00Z").unwrap()..=MAX_TIMESTAMP,
    ) {
        on_paused_time(waits_until(until));
    }
}

#[test]
fn a_wait_until_the_last_moment_does_not_end_before() {
    on_paused_time(waits_until(MAX_TIMESTAMP));
    on_paused_time(waits_until(
        parse_timestamp("9999-12-31T23:59:59Z").unwrap(),
    ));
}

/// A duration of 821 years that is known only at run time.
const LONG: &str = "step known = a.read() let d = duration(known.done ? \"300000d\" : \"1s\")";

#[tokio::test(start_paused = true)]
async fn a_step_has_as_much_time_as_its_bounds_say_however_long_they_are() {
    for bound in ["timeout d", "within d"] {
        let world = patient().tool("a.write", [after(900, give(json!(1)))]);
        let ran = world
            .run(&plan(&format!("{LONG} step w = a.write() {bound} reply w")))
            .await;
        assert_eq!((ran.reply(), ran.took), (json!(1), 910), "{bound}");
    }
    let world = patient().tool("a.write", [give(json!(1))]);
    let text = format!("{LONG} step s = wait d step w = a.write() after s reply w");
    let ran = world.run(&plan(&text)).await;
    assert_eq!(
        (ran.reply(), ran.took),
        (json!(1), 300_000 * 86_400_000 + 10)
    );
    let text = format!("{LONG} step r = a.read() until !r.done every d within d");
    let ran = patient().run(&plan(&text)).await;
    assert_eq!(
        (ran.class().as_str(), ran.took),
        ("validation.until", 300_000 * 86_400_000 + 10)
    );
}

#[tokio::test(start_paused = true)]
async fn a_question_stays_open_as_long_as_it_says_however_long_that_is() {
    for question in [
        "step w = a.write() confirm \"Write?\" expires d",
        "step w = input \"Which?\" -> { n: int } within d",
    ] {
        let mut world = patient().tool("a.write", [give(json!(1))]);
        world.journal = Some(MemoryLog::default());
        let text = plan(&format!("{LONG} {question}"));
        let began = world.host.now();
        let far = began + 300_000 * DAY;
        for now in [began, far - DAY] {
            world.host.set_now(now);
            assert_eq!(wake(&world.run(&text).await), Some(far), "{question}");
        }
        world.host.set_now(far);
        assert_eq!(world.run(&text).await.class(), "expired", "{question}");
    }
}
