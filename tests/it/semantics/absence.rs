//! Section 2: guards, and the two kinds of absence.

use serde_json::json;

use crate::world::{Script, World, after, give};
use planrun_lang::protocol::Sent;

const TOOLS: &str = "
use a
tool a.read(x?: any) -> int read
tool a.text(x?: string, y?: string | null) -> string read
tool a.write(x?: any) -> int effect
";

fn world() -> World {
    World::new()
        .tool("a.read", [after(10, give(json!(1)))])
        .tool("a.text", [give(json!("t"))])
        .tool("a.write", [after(10, give(json!(3)))])
}

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

#[tokio::test(start_paused = true)]
async fn r2_1_an_if_is_its_statements_under_guards() {
    let body = "step r = a.read() if r == 1 { step x = a.write(x: 1) } else if r == 2 { step y = a.write(x: 2) } \
                else { step z = a.write(x: 3) } reply { x: x, y: y, z: z }";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.reply(), json!({"x": 3, "y": null, "z": null}));
    assert_eq!(
        (ran.status("x"), ran.status("y"), ran.status("z")),
        (
            "completed".into(),
            "skipped(guard)".into(),
            "skipped(guard)".into()
        )
    );
    assert_eq!(ran.calls("a.write").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn r2_2_a_guard_is_decided_before_other_arguments_are_there() {
    let body = "step fast = a.text() step slow = a.read() step x = a.write(x: slow) when fast == \"no\" reply x ?? 0";
    let ran = world().run(&plan(body)).await;
    let settled = ran
        .events
        .iter()
        .position(|(name, path, _)| *name == "step.settled" && path == "x")
        .unwrap();
    let slow = ran
        .events
        .iter()
        .position(|(name, path, _)| *name == "step.settled" && path == "slow")
        .unwrap();
    assert!(settled < slow, "skipped without waiting for `slow`");
}

#[tokio::test(start_paused = true)]
async fn r2_3_complementary_guards_make_a_coalesce_complete() {
    let body = "step r = a.read() step x = a.text() when r == 1 step y = a.text() when !(r == 1) reply x ?? y";
    let text = format!("{TOOLS}\nplan p() -> string {{ {body} }}");
    assert_eq!(world().run(&text).await.reply(), json!("t"));
}

#[tokio::test(start_paused = true)]
async fn r2_4_guard_false_is_null_and_upstream_failure_is_no_value() {
    let failing = || world().tool("a.read", [Script::Fail("tool.failed", Sent::Answered)]);
    let body = "policy { on_failure: settle } step bad = a.read() step x = a.text(x: \"${bad}\") step y = a.text(x: x) \
                step ok = a.write() reply ok";
    let ran = failing().run(&plan(body)).await;
    assert_eq!(
        (ran.status("bad"), ran.status("x"), ran.status("y")),
        (
            "failed".into(),
            "skipped(upstream)".into(),
            "skipped(upstream)".into()
        )
    );
    assert_eq!(
        (ran.reply(), ran.outcome.state.name()),
        (json!(3), "failed")
    );
    let body = "step none = a.text() when false step x = a.text(x: none ?? \"given\") reply x";
    assert_eq!(
        world().run(&plan(body)).await.calls("a.text")[0].arguments,
        json!({"x": "given"})
    );
}

#[tokio::test(start_paused = true)]
async fn r2_4_upstream_failure_stops_at_recover_and_at_a_status_test() {
    let failing = || world().tool("a.read", [Script::Fail("tool.failed", Sent::Answered)]);
    let body = "policy { on_failure: settle } step bad = a.read() recover tool => 7 reply bad";
    let ran = failing().run(&plan(body)).await;
    assert_eq!(
        (ran.reply(), ran.outcome.state.name()),
        (json!(7), "completed")
    );
    assert_eq!(ran.step("bad").attributes, ["recovered"]);
    let body = "policy { on_failure: settle } step bad = a.read() step x = a.write() when bad is failed reply x ?? 0";
    assert_eq!(failing().run(&plan(body)).await.reply(), json!(3));
}

#[tokio::test(start_paused = true)]
async fn r10_8_an_unknown_outcome_is_read_as_a_failure() {
    let lost = || world().tool("a.write", [Script::Fail("transient.timeout", Sent::Maybe)]);
    for policy in ["settle", "undo"] {
        let body = format!(
            "policy {{ on_failure: {policy} }} step bad = a.write() \
             listener l on bad is failed as e {{ step told = a.text(x: e.class) }} \
             listener never on bad is completed {{ step untold = a.text() }} \
             listener m on bad is unknown as e {{ step also = a.text(x: e.class) }} reply 1"
        );
        let ran = lost().run(&plan(&body)).await;
        let told = ran.calls("a.text");
        let told: Vec<_> = told
            .iter()
            .map(|call| call.arguments["x"].clone())
            .collect();
        let class = json!("unknown_outcome");
        assert_eq!(told, [class.clone(), class], "{policy}");
        assert_eq!(ran.status("bad"), "unknown", "{policy}");
    }
    let body = "policy { on_failure: settle } step bad = a.write() step x = a.read() when bad is failed step y = a.read() when !(bad is failed) reply [x ?? 0, y ?? 0]";
    let ran = lost().run(&plan(body)).await;
    assert_eq!(ran.status("x"), "completed");
    assert_eq!(ran.status("y"), "skipped(guard)");
}

#[tokio::test(start_paused = true)]
async fn r2_5_after_runs_on_completed_or_skipped_and_not_on_failed() {
    let body = "step none = a.read() when false step x = a.write() after none_of reply x";
    let body = body
        .replace("none_of", "none")
        .replace("step none", "step idle")
        .replace("after none", "after idle");
    assert_eq!(world().run(&plan(&body)).await.reply(), json!(3));
    let failing = world().tool("a.read", [Script::Fail("tool.failed", Sent::Answered)]);
    let body =
        "policy { on_failure: settle } step bad = a.read() step x = a.text() after bad reply 1";
    let ran = failing.run(&plan(body)).await;
    assert_eq!(ran.status("x"), "skipped(upstream)");
    let failing = world().tool("a.read", [Script::Fail("tool.failed", Sent::Answered)]);
    let body = "policy { on_failure: settle } step bad = a.read() step x = a.text() when bad is settled reply x ?? \"\"";
    assert_eq!(failing.run(&plan(body)).await.reply(), json!("t"));
}

#[tokio::test(start_paused = true)]
async fn r2_6_a_null_is_left_out_unless_the_schema_admits_it() {
    let body = "step none = a.text() when false step x = a.text(x: none, y: none) reply x";
    let ran = world().run(&plan(body)).await;
    assert_eq!(ran.calls("a.text")[0].arguments, json!({"y": null}));
}
