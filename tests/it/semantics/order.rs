//! Section 1: what waits for what.

use serde_json::json;

use crate::world::{World, after, give};

const TOOLS: &str = "
use a, b
tool a.read(x?: any) -> int read
tool a.look(x?: any) -> int read
tool a.write(x?: any) -> int effect
tool b.read(x?: any) -> int read
tool b.write(x?: any) -> int effect
";

fn world() -> World {
    let slow = |millis, value| [after(millis, give(json!(value)))];
    World::new()
        .tool("a.read", slow(30, 1))
        .tool("a.look", slow(20, 2))
        .tool("a.write", slow(10, 3))
        .tool("b.read", slow(30, 4))
        .tool("b.write", slow(10, 5))
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

#[tokio::test(start_paused = true)]
async fn r1_1_a_statement_waits_for_what_it_reads_and_for_nothing_else() {
    let ran = world().run(&plan("step x = a.read() step y = b.read() step z = a.look(x: x + y) reply z")).await;
    assert_eq!(ran.order(), ["a.read", "b.read", "a.look"]);
    assert_eq!(ran.took, 50, "the first two at the same time, the third when both are there");
    assert_eq!(ran.calls("a.look")[0].arguments, json!({"x": 5}));
}

#[tokio::test(start_paused = true)]
async fn r1_1_after_is_order_without_data() {
    let ran = world().run(&plan("step x = a.read() step y = b.read() after x reply y")).await;
    assert_eq!((ran.took, ran.reply()), (60, json!(4)));
}

#[tokio::test(start_paused = true)]
async fn r1_2_effects_on_one_state_keep_their_order_and_reads_float() {
    let ran =
        world().run(&plan("step w = a.write(x: 1) step v = a.write(x: 2) step o = b.write() step r = b.read()")).await;
    let at = |tool: &str| ran.calls(tool).iter().map(|seen| seen.at).collect::<Vec<_>>();
    assert_eq!(at("a.write"), [0, 10], "one after the other");
    assert_eq!(at("b.write"), [0], "another state does not wait");
    assert_eq!(at("b.read"), [10], "a read waits for earlier effects on its state");
}

#[tokio::test(start_paused = true)]
async fn r1_2_an_effect_waits_until_earlier_reads_of_its_state_have_settled() {
    let ran = world().run(&plan("step r = a.read() step w = a.write() step o = b.write()")).await;
    assert_eq!(ran.calls("a.write")[0].at, 30);
    assert_eq!(ran.calls("b.write")[0].at, 0);
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_step_that_is_skipped_keeps_the_order_of_those_around_it() {
    let at = |ran: &crate::world::Ran, tool: &str| ran.calls(tool).iter().map(|seen| seen.at).collect::<Vec<_>>();
    for skipped in
        ["step v = a.write() when 1 > 2", "step v = a.write(x: w) when 1 > 2", "if 1 > 2 { step v = a.write(x: w) }"]
    {
        let ran = world().run(&plan(&format!("step w = a.write(x: 1) {skipped} step u = a.write(x: 3)"))).await;
        assert_eq!((at(&ran, "a.write"), ran.status("v").as_str()), (vec![0, 10], "skipped(guard)"), "{skipped}");
    }
    let ran = world().run(&plan("step r = a.read() step v = a.write() when 1 > 2 step u = a.write()")).await;
    assert_eq!(at(&ran, "a.write"), [30], "the read above it has settled");
    let ran = world().run(&plan("step o = b.read() step v = a.write(x: o) when 1 > 2 step u = a.write()")).await;
    assert_eq!(at(&ran, "a.write"), [0], "what only the skipped one reads is not waited for");
}

#[tokio::test(start_paused = true)]
async fn r1_3_a_set_that_is_skipped_keeps_the_order_of_those_around_it() {
    let body = "task t \"T\" { n: int } step r = a.read() set t running { n: r } set t failed when r > 5 step o = b.write() \
                set t done { n: 0 } after o reply t.n";
    let ran = world().run(&plan(&body.replace("when r > 5", "when 1 > 2"))).await;
    assert_eq!((&*ran.outcome.tasks[0].status, ran.reply()), ("done", json!(0)));
}

#[tokio::test(start_paused = true)]
async fn many_skipped_steps_need_no_deep_stack() {
    let skipped =
        (0..20_000).map(|number| format!("step v{number} = a.write() when 1 > 2")).collect::<Vec<_>>().join(" ");
    let ran = world().run(&plan(&format!("step w = a.write(x: 1) {skipped} step u = a.write(x: 3)"))).await;
    assert_eq!(ran.calls("a.write").iter().map(|seen| seen.at).collect::<Vec<_>>(), [0, 10]);
}

#[tokio::test(start_paused = true)]
async fn r1_2_after_none_drops_the_order_of_effects() {
    let ran = world().run(&plan("step w = a.write(x: 1) step v = a.write(x: 2) after none")).await;
    assert_eq!(ran.calls("a.write").iter().map(|seen| seen.at).collect::<Vec<_>>(), [0, 0]);
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_failed_read_does_not_stop_a_later_effect_under_settle() {
    let text = format!(
        "{TOOLS}\nplan p() {{ policy {{ on_failure: settle }} step r = a.read() retry {{ attempts: 1 }} step w = a.write() reply w }}"
    );
    let world = world().tool("a.read", [crate::world::Script::Fail("tool.failed", planrun::protocol::Sent::Answered)]);
    let ran = world.run(&text).await;
    assert_eq!(ran.status("w"), "completed");
    assert_eq!((ran.outcome.state.name(), ran.reply()), ("failed", json!(3)));
}

#[tokio::test(start_paused = true)]
async fn r1_2_r10_8_effects_wait_for_the_decision_of_an_ensure_and_reads_do_not() {
    let ran =
        world().run(&plan("step r = a.read() ensure r == 99 else \"no\" step w = b.write() step l = a.look()")).await;
    assert_eq!(ran.class(), "validation.ensure");
    assert!(ran.calls("b.write").is_empty(), "the effect below never started");
    assert_eq!(ran.calls("a.look")[0].at, 0, "the read did not wait");
    assert_eq!(ran.status("w"), "cancelled");
}

#[tokio::test(start_paused = true)]
async fn r1_3_an_unguarded_fail_waits_for_everything_above() {
    let ran = world().run(&plan("step w = a.write() step v = b.write() fail tool.no \"stop\"")).await;
    assert_eq!((ran.class().as_str(), ran.took), ("tool.no", 10));
    assert_eq!((ran.status("w"), ran.status("v")), ("completed".to_owned(), "completed".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn r1_3_a_guarded_fail_is_decided_as_soon_as_what_it_reads_is_there() {
    let ran = world().run(&plan("step l = a.look() fail tool.no \"stop\" when l == 2 step r = b.read() reply r")).await;
    assert_eq!((ran.class().as_str(), ran.took), ("tool.no", 20));
    assert_eq!(ran.status("r"), "cancelled");
    assert_eq!(ran.cancelled, ["b.read"]);
}

#[tokio::test(start_paused = true)]
async fn r1_4_the_error_of_a_let_belongs_to_its_reader() {
    let body = "step r = a.read() let half = 10 / (r - 1) step bad = a.look(x: half) recover _ as e => 7 reply bad";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.reply(), json!(7));
    let caught = ran.step("bad").recovered.unwrap().to_json();
    assert_eq!(caught["class"], "validation.expression");
    assert!(ran.calls("a.look").is_empty());
    let unread = world().run(&plan("step r = a.read() let half = 10 / (r - 1) reply r")).await;
    assert_eq!(unread.reply(), json!(1), "nobody reads it, so nothing is wrong");
}

#[tokio::test(start_paused = true)]
async fn r1_4_arguments_are_evaluated_once_for_all_attempts() {
    use crate::world::Script::Fail;
    use planrun::protocol::Sent::No;
    let world = world().tool("b.write", [Fail("transient.network", No), give(json!(9))]);
    let body = "step u = sys.uuid() step w = b.write(x: u) retry { attempts: 2 }";
    let ran = world.run(&format!("use sys\n{}", plan(body))).await;
    let calls = ran.calls("b.write");
    assert_eq!(calls.len(), 2);
    assert_eq!((&calls[0].arguments, &calls[0].key), (&calls[1].arguments, &calls[1].key));
}

#[tokio::test(start_paused = true)]
async fn r1_5_a_guarded_reply_is_an_early_return() {
    let body = "step l = a.look() reply l when l == 2 step w = b.write() step r = a.read() reply 0";
    let ran = world().run(&plan(body)).await;
    assert_eq!((ran.reply(), ran.outcome.state.name()), (json!(2), "completed"));
    assert_eq!(ran.status("w"), "skipped(replied)");
    assert!(ran.calls("b.write").is_empty());
    let other = world().run(&plan("step l = a.look() reply l when l == 9 step w = b.write() reply w")).await;
    assert_eq!(other.reply(), json!(5));
}

#[tokio::test(start_paused = true)]
async fn r1_5_the_value_of_an_early_reply_is_frozen_when_everything_above_has_settled() {
    let body = "step r = a.read() step l = b.write() reply l when l == 5 step n = b.read() reply 0";
    let ran = world().run(&plan(body)).await;
    assert_eq!((ran.took, ran.status("r")), (30, "completed".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn r1_6_ready_steps_start_in_source_order() {
    let body = "policy { concurrency: 1 } step x = a.read() step y = b.read() step z = a.look()";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.order(), ["a.read", "b.read", "a.look"]);
    assert_eq!(ran.took, 80, "one slot");
}

#[tokio::test(start_paused = true)]
async fn r1_abort_reads_are_cancelled_and_effects_in_flight_are_awaited() {
    let world = world()
        .tool("a.write", [after(500, give(json!(1)))])
        .tool("b.read", [after(100, crate::world::Script::Fail("tool.failed", planrun::protocol::Sent::Answered))]);
    let world = world.tool("a.look", [after(900, give(json!(1)))]);
    let ran = world
        .run(&plan("step l = a.look() after none step w = a.write() after none step r = b.read() step n = b.write()"))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("tool.failed", 500));
    assert_eq!(
        (ran.status("w"), ran.status("n"), ran.status("l")),
        ("completed".into(), "cancelled".into(), "cancelled".into())
    );
}
