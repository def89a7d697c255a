//! Section 5: `each`, `repeat`, `race`, `match`, `do` and their bounds.

use std::collections::BTreeMap;

use serde_json::json;

use crate::world::Script::Fail;
use crate::world::{World, after, give};
use planrun_lang::protocol::Sent::{Answered, No};
use planrun_runs::journal::MemoryLog;

const TOOLS: &str = "
use a, sys
tool a.fast(x?: any) -> int read
tool a.slow(x?: any) -> int read
tool a.write(x?: any) -> int effect
tool a.page(n: int) -> { items: int[], next: int? } read
";

fn world() -> World {
    World::new()
        .tool("a.fast", [after(10, give(json!(1)))])
        .tool("a.slow", [after(50, give(json!(2)))])
        .tool("a.write", [after(10, give(json!(3)))])
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

#[tokio::test(start_paused = true)]
async fn r5_1_the_first_success_of_a_race_wins_and_the_rest_is_cancelled() {
    let ran = world()
        .run(&plan(
            "step x = race { s: a.slow(), f: a.fast() } reply { x: x, by: winner(x) }",
        ))
        .await;
    assert_eq!((ran.reply(), ran.took), (json!({"x": 1, "by": "f"}), 10));
    assert_eq!(ran.cancelled, ["a.slow"]);
    assert_eq!(
        (ran.status("x.s"), ran.status("x.f")),
        ("cancelled".into(), "completed".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r5_1_a_race_fails_when_all_fail() {
    let failing = world().tool("a.fast", [Fail("tool.failed", Answered)]);
    let ran = failing
        .run(&plan("step x = race { s: a.slow(), f: a.fast() } reply x"))
        .await;
    assert_eq!(ran.reply(), json!(2), "one failure is no end");
    let both = world()
        .tool("a.fast", [Fail("tool.failed", Answered)])
        .tool("a.slow", [after(5, Fail("auth.authorization", Answered))]);
    let ran = both
        .run(&plan("step x = race { s: a.slow(), f: a.fast() } reply x"))
        .await;
    assert!(ran.outcome.error.as_ref().unwrap().message.contains("x.s"));
}

#[tokio::test(start_paused = true)]
async fn r5_2_at_least_one_body_runs_at_once() {
    let text = format!(
        "{TOOLS}\nplan p(width: int = -1) {{ step xs = each v in [1, 2] max 5 parallel width {{ step w = a.write(x: v) yield w }} reply xs }}"
    );
    let ran = world().run(&text).await;
    assert_eq!((ran.reply(), ran.took), (json!([3, 3]), 20));
}

#[tokio::test(start_paused = true)]
async fn r5_2_each_gives_results_in_source_order_within_its_width() {
    let body = "step xs = each v, i in [3, 1, 2] max 5 parallel 2 { step w = a.write(x: v) yield { v: v, i: i, w: w } } reply xs";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        ran.reply(),
        json!([{"v": 3, "i": 0, "w": 3}, {"v": 1, "i": 1, "w": 3}, {"v": 2, "i": 2, "w": 3}])
    );
    let at = ran
        .calls("a.write")
        .iter()
        .map(|seen| seen.at)
        .collect::<Vec<_>>();
    assert_eq!(at, [0, 0, 10]);
    assert_eq!(ran.status("xs[1].w"), "completed");
}

#[tokio::test(start_paused = true)]
async fn r5_2_elements_keep_their_width_when_another_process_goes_on() {
    let body = "step xs = each v in [1, 2, 3, 4, 5] max 5 parallel 2 { step w = a.fast(x: v) yield w } reply size(xs)";
    for place in ["xs[1].w", "xs[2].w"] {
        let mut world = world();
        let log = MemoryLog::default();
        let announced = move |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            line.contains("step.running") && line.contains(place)
        };
        log.dies_at(announced);
        world.journal = Some(log.clone());
        let text = plan(body);
        let died = world.run_until_it_dies(&text, BTreeMap::new()).await;
        assert!(died.is_none());
        let before = world.seen().len();
        world.journal = Some(log.revived());
        let ran = world.run(&text).await;
        assert_eq!(ran.reply(), json!(5));
        let begun: Vec<u128> = world.seen()[before..].iter().map(|seen| seen.at).collect();
        let at_once = |at: &u128| begun.iter().filter(|other| *other == at).count();
        assert!(
            begun.iter().all(|at| at_once(at) <= 2),
            "{place}: {begun:?}"
        );
        assert!(begun.len() >= 3, "{place}: {begun:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r5_2_a_list_beyond_max_and_a_repeated_key_are_expression_errors() {
    let ran = world()
        .run(&plan(
            "let l = [1, 2, 3] step xs = each v in l max 2 { step w = a.write(x: v) yield w }",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.seen.len()),
        ("validation.expression", 0)
    );
    let ran = world()
        .run(&plan(
            "step xs = each v in [1, 1] max 2 by v { step w = a.write(x: v) yield w }",
        ))
        .await;
    assert_eq!(
        (ran.class().as_str(), ran.seen.len()),
        ("validation.expression", 0)
    );
    let ran = world()
        .run(&plan("step xs = each v in [\"a\", \"b\"] max 2 by v { step w = a.write(x: v) yield w } reply xs"))
        .await;
    assert_eq!(
        (ran.status("xs[\"a\"].w"), ran.reply()),
        ("completed".into(), json!([3, 3]))
    );
}

#[tokio::test(start_paused = true)]
async fn r5_2_settle_gives_results_and_without_it_the_first_failure_ends_the_rest() {
    let failing = || {
        world().tool(
            "a.write",
            [
                give(json!(1)),
                Fail("tool.failed", Answered),
                give(json!(2)),
            ],
        )
    };
    let body =
        "step xs = each v in [1, 2, 3] max 5 parallel 1 SETTLE { step w = a.write(x: v) yield w }";
    let ran = failing()
        .run(&plan(&format!(
            "{} reply xs.map(r, r.ok ? r.value : 0)",
            body.replace("SETTLE", "settle")
        )))
        .await;
    assert_eq!(
        (ran.reply(), ran.outcome.state.name()),
        (json!([1, 0, 2]), "completed")
    );
    let ran = failing().run(&plan(&body.replace("SETTLE", ""))).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.write").len()),
        ("tool.failed", 2)
    );
}

#[tokio::test(start_paused = true)]
async fn r5_2_a_path_without_yield_gives_null_and_a_guarded_yield_ends_the_element() {
    let body =
        "step xs = each v in [1, 2] max 5 { yield 9 when v == 1 step w = a.write(x: v) } reply xs";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (ran.reply(), ran.calls("a.write").len()),
        (json!([9, null]), 1)
    );
    assert_eq!(
        (ran.status("xs[0].w"), ran.status("xs[1].w")),
        ("skipped(replied)".into(), "completed".into())
    );
}

#[tokio::test(start_paused = true)]
async fn r5_2_r10_13_s1_5_max_steps_bounds_what_a_run_executes() {
    let each =
        "step xs = each v in [1, 2, 3, 4] max 5 parallel 1 { step w = a.write(x: v) yield w }";
    let written = "step a1 = a.write(x: 1) step a2 = a.write(x: a1) step a3 = a.write(x: a2) step a4 = a.write(x: a3)";
    for (body, most, calls) in [
        (each, 3, 2),
        (each, 5, 4),
        (written, 1, 1),
        (written, 3, 3),
        (written, 4, 4),
    ] {
        let ran = world()
            .run(&plan(&format!(
                "policy {{ max_steps: {most} }} {body} reply \"over\""
            )))
            .await;
        assert_eq!(ran.calls("a.write").len(), calls, "{body} {most}");
        let class = if calls == 4 { "" } else { "budget.calls" };
        assert_eq!(ran.class(), class, "{body} {most}");
    }
}

#[tokio::test(start_paused = true)]
async fn r10_13_a_called_plan_has_a_bound_of_its_own_within_that_of_its_caller() {
    let inner = format!(
        "{TOOLS}\nplan q() -> int {{ policy {{ max_steps: 2 }} step a1 = a.write(x: 1) step a2 = a.write(x: a1) reply 1 }}"
    );
    let calls = |most: u32| {
        format!(
            "{TOOLS}\nuse \"./q.plan\" as q\nplan p() {{ policy {{ max_steps: {most} }} step w = a.write(x: 1) step one = q.q() step two = q.q() after one }}"
        )
    };
    for (most, writes, class) in [(7, 5, ""), (6, 4, "budget.calls"), (3, 2, "budget.calls")] {
        let ran = world().file("./q.plan", &inner).run(&calls(most)).await;
        assert_eq!(
            (ran.calls("a.write").len(), ran.class().as_str()),
            (writes, class),
            "{most}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn repeat_carries_state_and_next_null_ends_it() {
    let pages = [
        json!({"items": [1, 2], "next": 2}),
        json!({"items": [3], "next": null}),
    ]
    .map(give);
    let body = "step pages = repeat n = 1 max 5 { step page = a.page(n: n) yield page.items next page.next } reply pages";
    let ran = world().tool("a.page", pages).run(&plan(body)).await;
    assert_eq!(ran.reply(), json!([[1, 2], [3]]));
    assert_eq!(
        ran.calls("a.page")
            .iter()
            .map(|seen| seen.arguments["n"].clone())
            .collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(ran.status("pages[1].page"), "completed");
    let endless = world().tool("a.page", [give(json!({"items": [], "next": 1}))]);
    let ran = endless.run(&plan(body)).await;
    assert_eq!(
        (ran.class().as_str(), ran.calls("a.page").len()),
        ("validation.expression", 5)
    );
}

#[tokio::test(start_paused = true)]
async fn match_takes_the_first_arm_and_only_that_one() {
    let body = "step r = a.fast() step x = match r { 1 => a.write(x: \"one\"), 2 => 7, _ => do { step s = a.slow() yield s } } reply x";
    let ran = world().run(&plan(body)).await;
    assert_eq!(
        (ran.reply(), ran.order()),
        (json!(3), vec!["a.fast", "a.write"])
    );
    assert_eq!(ran.status("x.match"), "completed");
    let two = world().tool("a.fast", [give(json!(2))]);
    assert_eq!(two.run(&plan(body)).await.reply(), json!(7));
}

#[tokio::test(start_paused = true)]
async fn do_gives_one_value_and_its_steps_have_paths() {
    let body = "step d = do { step f = a.fast() step s = a.slow() yield f + s } within 1s step w = a.write(x: d) reply w";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.calls("a.write")[0].arguments, json!({"x": 3}));
    assert_eq!(
        (ran.status("d.f"), ran.status("d.s"), ran.took),
        ("completed".into(), "completed".into(), 60)
    );
}

#[tokio::test(start_paused = true)]
async fn a_failure_in_a_block_is_recovered_by_the_block() {
    let failing = world().tool("a.slow", [Fail("tool.failed", Answered)]);
    let body = "step d = do { step s = a.slow() step w = a.write(x: s) yield w } recover tool => 0 reply d";
    let ran = failing.run(&plan(body)).await;
    assert_eq!(
        (ran.reply(), ran.status("d.w")),
        (json!(0), "cancelled".into())
    );
}

#[tokio::test(start_paused = true)]
async fn only_attempts_hold_slots_so_a_backoff_lets_others_run() {
    let failing = world().tool("a.slow", [Fail("transient.network", No), give(json!(2))]);
    let body = "policy { concurrency: 1 } step s = a.slow() retry { delay: 100ms, jitter: none } step f = a.fast() step g = a.fast()";
    let ran = failing.run(&plan(body)).await;
    assert_eq!(ran.took, 100);
}
