//! Section 1: the order of statements.

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
    let ran = world()
        .run(&plan(
            "step x = a.read() step y = b.read() step z = a.look(x: x + y) reply z",
        ))
        .await;
    assert_eq!(ran.order(), ["a.read", "b.read", "a.look"]);
    assert_eq!(
        ran.took, 50,
        "the first two at the same time, the third when both are there"
    );
    assert_eq!(ran.calls("a.look")[0].arguments, json!({"x": 5}));
}

fn at(ran: &crate::world::Ran, tool: &str) -> Vec<u128> {
    ran.calls(tool).iter().map(|seen| seen.at).collect()
}

#[tokio::test(start_paused = true)]
async fn r1_1_after_is_order_without_data() {
    let ran = world()
        .run(&plan("step x = a.read() step y = b.read() after x reply y"))
        .await;
    assert_eq!((ran.took, ran.reply()), (60, json!(4)));
}

#[tokio::test(start_paused = true)]
async fn c9_r1_2_effects_run_in_the_order_of_the_page_whatever_system_they_are_on() {
    let ran = world()
        .run(&plan(
            "step w = a.write(x: 1) step o = b.write() step v = a.write(x: 2)",
        ))
        .await;
    assert_eq!(
        (at(&ran, "a.write"), at(&ran, "b.write")),
        (vec![0, 20], vec![10])
    );
    let ran = world()
        .run(&plan(
            "step o = b.write() step smoke = a.read() reply smoke",
        ))
        .await;
    assert_eq!(
        at(&ran, "a.read"),
        [10],
        "a read below an effect waits for it, on another system too"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_reads_with_no_barrier_between_them_run_together() {
    let ran = world()
        .run(&plan(
            "step x = a.read() step y = b.read() step l = a.look() step w = a.write()",
        ))
        .await;
    assert_eq!(
        (at(&ran, "a.read"), at(&ran, "b.read"), at(&ran, "a.look")),
        (vec![0], vec![0], vec![0])
    );
    assert_eq!(
        at(&ran, "a.write"),
        [30],
        "an effect waits for every read above it"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_read_waits_for_the_barriers_above_it_and_for_no_other_read() {
    let ran = world()
        .run(&plan(
            "step w = a.write() step x = a.read() step y = b.read() step z = a.look(x: y)",
        ))
        .await;
    assert_eq!(
        (at(&ran, "a.read"), at(&ran, "b.read"), at(&ran, "a.look")),
        (vec![10], vec![10], vec![40])
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_pure_calls_wait_for_data_only() {
    let ran = world()
        .run(&format!(
            "use sys\n{}",
            plan("step w = a.write() step e = sys.echo(value: 1) reply e")
        ))
        .await;
    assert_eq!(
        (ran.step("w").started_at, ran.step("e").started_at.is_some()),
        (ran.step("e").started_at, true)
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_the_clock_waits_for_everything_above_and_holds_no_read_back() {
    let body = "step x = a.read() step w = a.write() step before = a.look() step now = sys.now() step y = b.read() reply string(now)";
    let ran = world().run(&format!("use sys\n{}", plan(body))).await;
    assert_eq!(
        at(&ran, "b.read"),
        [40],
        "it stands below the clock and does not wait for it"
    );
    let begun = |path: &str| ran.step(path).started_at.clone().unwrap();
    assert!(
        begun("now") > begun("y") && begun("now") > begun("before"),
        "the clock is read when all above has settled"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_waits_forms_polls_and_blocks_with_effects_are_barriers() {
    let barriers = [
        "step s = wait 10ms",
        "step s = do { step w = a.write() yield w }",
        "step s = each n in [1] max 1 { step w = a.write(x: n) yield w }",
        "step s = match 1 { 1 => a.write(), _ => 2 }",
        "step s = a.look() recover _ => a.write()",
        "step s = a.look() until s == 2 every 1s within 5s",
    ];
    for barrier in barriers {
        let ran = world()
            .run(&plan(&format!(
                "step x = a.read() {barrier} step y = b.read()"
            )))
            .await;
        let (first, later) = (at(&ran, "a.read")[0], at(&ran, "b.read")[0]);
        assert!(first == 0 && later >= 40, "{barrier}: {first}, {later}");
    }
    let reads = [
        "step s = do { step w = a.look() yield w }",
        "step s = race { one: a.look(), other: a.look(x: 1) }",
        "step s = each n in [1, 2] max 2 { step w = a.look(x: n) yield w }",
    ];
    for read in reads {
        let ran = world()
            .run(&plan(&format!(
                "step x = a.read() {read} step y = b.read()"
            )))
            .await;
        assert_eq!(
            (at(&ran, "b.read"), at(&ran, "a.look")[0]),
            (vec![0], 0),
            "{read}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_called_plan_is_a_barrier_where_it_holds_one() {
    for (effect, begins) in [("look", 0), ("write", 40)] {
        let inner = format!("{TOOLS}\nplan inner() -> int {{ step w = a.{effect}() reply w }}");
        let main = format!(
            "use \"./inner.plan\" as other\n{}",
            plan("step x = a.read() step s = other.inner() step y = b.read()")
        );
        let ran = world().file("./inner.plan", &inner).run(&main).await;
        assert_eq!(at(&ran, "b.read"), [begins], "{effect}");
    }
}

#[tokio::test(start_paused = true)]
async fn r1_2_waiting_for_a_place_means_waiting_for_an_end_and_carries_no_failure() {
    let text = format!(
        "{TOOLS}\nplan p() {{ policy {{ on_failure: settle }} step w = a.write() step v = b.write() step r = a.look() reply r }}"
    );
    let fails = [after(
        10,
        crate::world::Script::Fail("tool.failed", planrun_lang::protocol::Sent::Answered),
    )];
    let ran = world().tool("a.write", fails).run(&text).await;
    assert_eq!(
        (ran.status("w"), ran.status("v"), ran.reply()),
        ("failed".into(), "completed".into(), json!(2))
    );
    assert_eq!(
        (at(&ran, "b.write"), at(&ran, "a.look")),
        (vec![10], vec![20])
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_after_replaces_the_place_and_those_below_still_wait() {
    let body =
        "step x = a.look() step w = a.write(x: 1) step o = b.write() after x step y = b.read()";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (at(&ran, "a.write"), at(&ran, "b.write")),
        (vec![20], vec![20]),
        "beside `w`, as soon as `x` is there"
    );
    assert_eq!(at(&ran, "b.read"), [30], "below both");
}

#[tokio::test(start_paused = true)]
async fn r1_2_statements_of_a_parallel_have_no_place_among_each_other() {
    let body = "step x = a.look() parallel { step w = a.write(x: 1) step v = a.write(x: 2) step o = b.write() } \
                step y = b.read() reply [w, v, o, y]";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (at(&ran, "a.write"), at(&ran, "b.write")),
        (vec![20, 20], vec![20]),
        "as a whole it is a barrier"
    );
    assert_eq!(
        (at(&ran, "b.read"), ran.reply()),
        (vec![30], json!([3, 3, 5, 4])),
        "its names are visible below"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_reads_in_a_parallel_with_an_effect_have_the_place_of_the_whole() {
    let ran = world()
        .run(&plan(
            "step x = a.look() parallel { step r = a.read() step o = b.write() } step y = b.read()",
        ))
        .await;
    assert_eq!(
        (at(&ran, "a.read"), at(&ran, "b.read")),
        (vec![20], vec![50])
    );
    let ran = world()
        .run(&plan(
            "step x = a.look() parallel { step r = a.read() step o = b.read() }",
        ))
        .await;
    assert_eq!(
        (at(&ran, "a.read"), at(&ran, "b.read")),
        (vec![0], vec![0]),
        "without an effect it is a read"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_in_a_parallel_data_and_after_keep_their_order() {
    let ran = world()
        .run(&plan(
            "parallel { step w = a.write() step o = b.write(x: w) step v = a.write(x: 9) after o }",
        ))
        .await;
    assert_eq!(
        (at(&ran, "a.write"), at(&ran, "b.write")),
        (vec![0, 20], vec![10])
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_r2_1_an_if_in_a_parallel_is_one_statement_that_keeps_the_order_of_the_page() {
    let body = "step x = a.look() parallel { \
                  if x == 2 { step w = a.write(x: 1) step r = a.read() step v = a.write(x: 2) } else { step u = a.write(x: 3) } \
                  step o = b.write() } step y = b.read()";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (at(&ran, "a.write"), at(&ran, "a.read")),
        (vec![20, 60], vec![30])
    );
    assert_eq!(
        (at(&ran, "b.write"), at(&ran, "b.read"), ran.status("u")),
        (vec![20], vec![70], "skipped(guard)".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_elements_follow_each_other_where_the_body_changes_something() {
    let each = |width: &str, tool: &str| {
        format!("step s = each n in [1, 2, 3] max 3 {width} {{ step w = a.{tool}(x: n) yield w }}")
    };
    let starts = async |width: &str, tool: &str| {
        at(
            &world().run(&plan(&each(width, tool))).await,
            &format!("a.{tool}"),
        )
    };
    assert_eq!(starts("", "write").await, [0, 10, 20]);
    assert_eq!(starts("parallel 2", "write").await, [0, 0, 10]);
    assert_eq!(
        starts("", "look").await,
        [0, 0, 0],
        "as many as the plan's `concurrency`"
    );
    let narrow = world()
        .run(&plan(&format!(
            "policy {{ concurrency: 2 }} {}",
            each("", "look")
        )))
        .await;
    assert_eq!(at(&narrow, "a.look"), [0, 0, 20]);
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_step_that_is_skipped_keeps_nobody_waiting_and_lets_nobody_overtake() {
    for skipped in [
        "step v = a.write() when 1 > 2",
        "step v = a.write(x: w) when 1 > 2",
        "if 1 > 2 { step v = a.write(x: w) }",
    ] {
        let ran = world()
            .run(&plan(&format!(
                "step w = a.write(x: 1) {skipped} step u = a.write(x: 3)"
            )))
            .await;
        assert_eq!(
            (at(&ran, "a.write"), ran.status("v").as_str()),
            (vec![0, 10], "skipped(guard)"),
            "{skipped}"
        );
    }
    let ran = world()
        .run(&plan(
            "step r = a.read() step v = a.write() when 1 > 2 step u = a.write()",
        ))
        .await;
    assert_eq!(at(&ran, "a.write"), [30], "the read above it has settled");
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_set_keeps_its_place() {
    let body = "task t \"T\" { n: int } step r = a.read() set t running { n: r } set t failed when r > 5 step o = b.write() \
                set t done { n: 0 } after o reply t.n";
    let ran = world()
        .run(&plan(&body.replace("when r > 5", "when 1 > 2")))
        .await;
    assert_eq!(
        (&*ran.outcome.tasks[0].status, ran.reply()),
        ("done", json!(0))
    );
    let ran = world()
        .run(&plan(
            "task t \"T\" step r = a.read() set t done step y = b.read()",
        ))
        .await;
    assert_eq!(at(&ran, "b.read"), [30], "a barrier like any other");
}

#[tokio::test(start_paused = true)]
async fn many_skipped_steps_need_no_deep_stack() {
    let skipped = (0..20_000)
        .map(|number| format!("step v{number} = a.write() when 1 > 2"))
        .collect::<Vec<_>>()
        .join(" ");
    let ran = world()
        .run(&plan(&format!(
            "step w = a.write(x: 1) {skipped} step u = a.write(x: 3)"
        )))
        .await;
    assert_eq!(at(&ran, "a.write"), [0, 10]);
}

#[tokio::test(start_paused = true)]
async fn r1_2_a_failed_read_does_not_stop_a_later_effect_under_settle() {
    let text = format!(
        "{TOOLS}\nplan p() {{ policy {{ on_failure: settle }} step r = a.read() retry {{ attempts: 1 }} step w = a.write() reply w }}"
    );
    let world = world().tool(
        "a.read",
        [crate::world::Script::Fail(
            "tool.failed",
            planrun_lang::protocol::Sent::Answered,
        )],
    );
    let ran = world.run(&text).await;
    assert_eq!(ran.status("w"), "completed");
    assert_eq!(
        (ran.outcome.state.name(), ran.reply()),
        ("failed", json!(3))
    );
}

#[tokio::test(start_paused = true)]
async fn r1_2_everything_below_waits_for_the_decision_of_an_ensure() {
    let body = "step r = a.read() ensure r == 99 else \"no\" step w = b.write() step l = a.look()";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.class(), "validation.ensure");
    assert!(
        ran.calls("b.write").is_empty() && ran.calls("a.look").is_empty(),
        "nothing below started"
    );
    assert_eq!(
        (ran.status("w"), ran.status("l")),
        ("skipped(failed)".into(), "skipped(failed)".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r1_3_an_unguarded_fail_waits_for_everything_above() {
    let ran = world()
        .run(&plan(
            "step w = a.write() step v = b.write() fail tool.no \"stop\"",
        ))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("tool.no", 20));
    assert_eq!(
        (ran.status("w"), ran.status("v")),
        ("completed".to_owned(), "completed".to_owned())
    );
}

#[tokio::test(start_paused = true)]
async fn r1_3_an_end_is_decided_early_and_takes_effect_late() {
    for end in [
        "fail tool.no \"stop\" when l == 2",
        "ensure l != 2 else \"stop\"",
    ] {
        let body = format!("step r = a.read() step l = a.look() {end} step o = b.write() reply r");
        let ran = world().run(&plan(&body)).await;
        assert_eq!(
            (ran.took, ran.status("o")),
            (30, "skipped(failed)".to_owned()),
            "{end}"
        );
        assert_eq!(
            ran.status("r"),
            "completed",
            "what stands above it ends by itself"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r1_3_a_failure_above_a_taken_end_is_the_failure_of_the_run() {
    let fails = || {
        [after(
            25,
            crate::world::Script::Fail("tool.failed", planrun_lang::protocol::Sent::Answered),
        )]
    };
    for end in [
        "reply 1 when l == 2",
        "fail tool.no \"stop\" when l == 2",
        "ensure l != 2 else \"stop\"",
    ] {
        let body = format!(
            "step w = a.write() retry {{ attempts: 1 }} step l = a.look() after w {end} reply 0"
        );
        let body = body.replace(
            "step l = a.look() after w",
            "step s = sys.nothing() step l = a.look() after s",
        );
        let ran = world()
            .tool("a.write", fails())
            .run(&format!("use sys\n{}", plan(&body)))
            .await;
        assert_eq!(
            (ran.class().as_str(), ran.took),
            ("tool.failed", 25),
            "{end}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r1_3_an_end_whose_condition_has_no_value_counts_as_taken() {
    let fails = || {
        [after(
            5,
            crate::world::Script::Fail("tool.gone", planrun_lang::protocol::Sent::Answered),
        )]
    };
    for end in [
        "ensure r == 1 else \"no\"",
        "reply 7 when r == 1",
        "fail tool.no \"stop\" when r == 1",
    ] {
        let text = format!(
            "{TOOLS}\nplan p() {{ policy {{ on_failure: settle }} step r = a.read() retry {{ attempts: 1 }} {end} step w = b.write() reply w }}"
        );
        let ran = world().tool("a.read", fails()).run(&text).await;
        assert_eq!(ran.outcome.state.name(), "failed", "{end}");
        assert!(ran.class().starts_with("tool"), "{end}: {}", ran.class());
        assert!(
            ran.calls("b.write").is_empty() && ran.outcome.reply.is_none(),
            "{end}: it is never passed over"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r1_3_decisions_are_taken_in_the_order_of_the_page() {
    let body = "step r = a.read() step l = a.look() ensure r == 99 else \"first\" ensure l == 99 else \"second\"";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.outcome.error.as_ref().unwrap().message, "first".into());
}

#[tokio::test(start_paused = true)]
async fn r1_4_the_error_of_a_let_belongs_to_its_reader() {
    let body = "step r = a.read() let half = 10 / (r - 1) step bad = a.look(x: half) recover _ as e => 7 reply bad";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.reply(), json!(7));
    let caught = ran.step("bad").recovered.unwrap().to_json();
    assert_eq!(caught["class"], "validation.expression");
    assert!(ran.calls("a.look").is_empty());
    let unread = world()
        .run(&plan("step r = a.read() let half = 10 / (r - 1) reply r"))
        .await;
    assert_eq!(
        unread.reply(),
        json!(1),
        "nobody reads it, so nothing is wrong"
    );
}

#[tokio::test(start_paused = true)]
async fn r1_4_arguments_are_evaluated_once_for_all_attempts() {
    use crate::world::Script::Fail;
    use planrun_lang::protocol::Sent::No;
    let world = world().tool("b.write", [Fail("transient.network", No), give(json!(9))]);
    let body = "step u = sys.uuid() step w = b.write(x: u) retry { attempts: 2 }";
    let ran = world.run(&format!("use sys\n{}", plan(body))).await;
    let calls = ran.calls("b.write");
    assert_eq!(calls.len(), 2);
    assert_eq!(
        (&calls[0].arguments, &calls[0].key),
        (&calls[1].arguments, &calls[1].key)
    );
}

#[tokio::test(start_paused = true)]
async fn r1_5_a_guarded_reply_is_an_early_return() {
    let body = "step l = a.look() reply l when l == 2 step w = b.write() step r = a.read() reply 0";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (ran.reply(), ran.outcome.state.name()),
        (json!(2), "completed")
    );
    assert_eq!(ran.status("w"), "skipped(replied)");
    assert!(ran.calls("b.write").is_empty());
    let other = world()
        .run(&plan(
            "step l = a.look() reply l when l == 9 step w = b.write() reply w",
        ))
        .await;
    assert_eq!(other.reply(), json!(5));
}

#[tokio::test(start_paused = true)]
async fn r1_5_the_value_of_an_early_reply_is_frozen_when_everything_above_has_settled() {
    let body = "step r = a.read() step l = a.look() reply l when l == 2 step n = b.read() reply 0";
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
async fn r1_1_a_condition_that_cannot_be_evaluated_fails_in_its_place() {
    let late = [
        "step v = b.write() when 10 / n > 2",
        "if 10 / n > 2 { step v = b.write() }",
        "if 10 / n > 2 { let m = n }",
        "if 10 / n > 2 { if n > 0 { step v = b.write() } }",
        "parallel { step v = b.write() when 10 / n > 2 }",
    ];
    for statement in late {
        let body = format!("step w = a.write(x: 1) step u = a.write(x: 2) {statement}");
        let ran = world()
            .run(&format!("{TOOLS}\nplan p(n: int = 0) {{ {body} }}"))
            .await;
        assert_eq!(
            (at(&ran, "a.write"), ran.class().as_str()),
            (vec![0, 10], "validation.expression"),
            "{statement}"
        );
        assert!(ran.calls("b.write").is_empty(), "{statement}");
    }
}

#[tokio::test(start_paused = true)]
async fn r1_1_what_calls_nothing_and_fails_does_so_in_its_place() {
    let late = [
        "step v = do { ensure n > 3 else \"no\" yield n }",
        "step v = match n { 0 => fail validation.ensure \"no\", _ => n }",
        "parallel { step v = do { ensure n > 3 else \"no\" yield n } step x = b.write() }",
    ];
    for statement in late {
        let body =
            format!("step w = a.write(x: 1) step u = a.write(x: 2) undo b.write(x: 9) {statement}");
        let ran = world()
            .run(&format!("{TOOLS}\nplan p(n: int = 0) {{ {body} }}"))
            .await;
        assert_eq!(
            (at(&ran, "a.write"), ran.class().as_str()),
            (vec![0, 10], "validation.ensure"),
            "{statement}"
        );
        assert_eq!(
            (ran.status("v"), ran.step("u").attributes),
            ("failed".into(), vec!["undone"]),
            "{statement}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn r1_1_a_failure_above_comes_before_one_that_waited_for_its_place() {
    let fails = [after(
        10,
        crate::world::Script::Fail("tool.failed", planrun_lang::protocol::Sent::Answered),
    )];
    let body = "step w = a.write() step v = do { ensure n > 3 else \"no\" yield n }";
    let ran = world()
        .tool("a.write", fails)
        .run(&format!("{TOOLS}\nplan p(n: int = 0) {{ {body} }}"))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.status("v").as_str()),
        ("tool.failed", "cancelled")
    );
}

#[tokio::test(start_paused = true)]
async fn r1_abort_reads_are_cancelled_and_effects_in_flight_are_awaited() {
    let world = world().tool("a.write", [after(500, give(json!(1)))]).tool(
        "b.write",
        [after(
            100,
            crate::world::Script::Fail("tool.failed", planrun_lang::protocol::Sent::Answered),
        )],
    );
    let world = world.tool("a.look", [after(900, give(json!(1)))]);
    let ran = world
        .run(&plan("parallel { step l = a.look() step w = a.write() step n = b.write() } step o = a.write()"))
        .await;
    assert_eq!((ran.class().as_str(), ran.took), ("tool.failed", 500));
    assert_eq!(
        (ran.status("w"), ran.status("o"), ran.status("l")),
        ("completed".into(), "cancelled".into(), "cancelled".into())
    );
}
