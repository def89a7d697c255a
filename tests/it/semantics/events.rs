//! The values of events (6.2), and `winner` after a recovered race (5.1).

use serde_json::json;

use super::names::{errors_of, findings};
use crate::world::{Script, World, after, give};
use planrun_lang::protocol::Sent;

const TOOLS: &str = "
use a
tool a.get(x?: any) -> { id: string } read
tool a.text(x: string) -> string read
tool a.write(x?: any) -> { id: string } effect
";

fn plan(body: &str) -> String {
    format!("{TOOLS}\nplan p() {{ {body} }}")
}

fn hold(cases: &[(&str, &[&str])]) {
    for (body, expected) in cases {
        assert_eq!(errors_of(&plan(body)), *expected, "{body}");
    }
}

const FINE: &[&str] = &[];
const ABSENT: &[&str] = &["maybe-absent"];
const TASKS: &str = "task t \"T\" { note: string } task u \"U\" { size: int }";

#[test]
fn b3_an_event_brings_a_union_by_its_kind() {
    let wait = |on: &str, value: &str| {
        format!(
            "{TASKS} set t done {{ note: \"n\" }} set u done {{ size: 1 }} step w = wait for {on} within 1h reply {value}"
        )
    };
    for (on, value, expected) in [
        ("t is done", "w.note.size()", FINE),
        (
            "t is done || signal \"x\" -> { by: string }",
            "w.note.size()",
            ABSENT,
        ),
        (
            "t is done || signal \"x\" -> { by: string }",
            "w.by.size()",
            ABSENT,
        ),
        (
            "t is done || signal \"x\" -> { by: string }",
            "has(w.by) ? w.by.size() : w.note?.size()",
            FINE,
        ),
        (
            "t is done || signal \"x\" -> { by: string }",
            "w.other",
            &["unknown-field"],
        ),
        (
            "t is done && signal \"x\" -> { by: string }",
            "w.by.size()",
            FINE,
        ),
        ("t is done || u is done", "w.note?.size() ?? w.size", FINE),
        ("t is done || u is done", "w.note.size()", ABSENT),
        ("!(t is pending)", "w.note.size()", FINE),
        ("!(t is done)", "w.note.size()", ABSENT),
        ("!(t is pending || u is pending)", "w.note.size()", FINE),
        ("!!(t is done)", "w.note.size()", FINE),
        ("signal \"x\" -> { by: string }", "w.by.size()", FINE),
        ("signal \"x\"", "w.by", FINE),
    ] {
        assert_eq!(
            errors_of(&plan(&wait(on, value))),
            expected,
            "{on}: {value}"
        );
    }
}

#[test]
fn b3_a_step_brings_its_value_its_error_or_nothing() {
    let on = |test: &str, value: &str| {
        format!(
            "step s = a.get() listener l on s is {test} as e {{ step w = a.write(x: {value}) }}"
        )
    };
    for (test, value, expected) in [
        ("completed", "e.id.size()", FINE),
        ("failed", "e.message.size()", FINE),
        ("failed", "e.id", &["unknown-field"][..]),
        ("settled", "e.id.size()", ABSENT),
        ("settled", "e?.id", FINE),
        ("settled", "e != null ? e.message.size() : 0", ABSENT),
        (
            "settled",
            "e != null && has(e.message) ? e.message.size() : 0",
            FINE,
        ),
        ("running", "e.id", &["always-absent"]),
        ("running", "e == null", FINE),
    ] {
        assert_eq!(
            errors_of(&plan(&on(test, value))),
            expected,
            "{test}: {value}"
        );
    }
    hold(&[
        (
            "step s = a.get() listener l on plan is failed as e { step w = a.write(x: e.message.size()) }",
            FINE,
        ),
        (
            "step s = a.get() listener l on plan is settled as e { step w = a.write(x: e.message.size()) }",
            ABSENT,
        ),
        (
            "step s = a.get() listener l on s as e { step w = a.write(x: e.id) }",
            ABSENT,
        ),
        (
            "step s = a.get() step v = a.get() listener l on s is completed || v is failed as e { step w = a.write(x: e.id) }",
            FINE,
        ),
        (
            "step s = a.get() step v = a.get() listener l on s is completed || v is failed as e { step w = a.write(x: e.id.size()) }",
            ABSENT,
        ),
    ]);
}

#[tokio::test(start_paused = true)]
async fn b3_what_comes_is_what_the_type_says() {
    let world = || {
        World::new()
            .tool("a.get", [after(10, give(json!({"id": "got"})))])
            .tool("a.write", [give(json!({"id": "w"}))])
            .tool("a.text", [give(json!("t"))])
    };
    let body = format!(
        "{TASKS} step g = a.get() set t running {{ note: g.id }} \
         step w = wait for !(t is pending) || signal \"x\" -> {{ by: string }} within 1h reply w.note ?? w.by ?? \"\""
    );
    assert_eq!(world().run(&plan(&body)).await.reply(), json!("got"));
    for (test, expected) in [
        ("running", json!(null)),
        ("completed", json!({"id": "got"})),
        ("settled", json!({"id": "got"})),
    ] {
        let body =
            format!("step s = a.get() listener l on s is {test} as e {{ step w = a.write(x: e) }}");
        let ran = world().run(&plan(&body)).await;
        assert_eq!(ran.calls("a.write")[0].arguments["x"], expected, "{test}");
    }
    let failing = world().tool("a.get", [Script::Fail("tool.failed", Sent::Answered)]);
    let body = "step s = a.get() listener l on s is settled as e { step w = a.write(x: e != null && has(e.message)) }";
    let ran = failing.run(&plan(body)).await;
    assert_eq!(ran.calls("a.write")[0].arguments["x"], json!(true));
    let body = "step g = a.get() step s = a.get() when g.id == \"no\" \
                listener l on s is settled as e { step w = a.write(x: e == null) }";
    assert_eq!(
        world().run(&plan(body)).await.calls("a.write")[0].arguments["x"],
        json!(true)
    );
}

#[test]
fn b2_nobody_has_won_a_race_that_was_recovered() {
    let race = |arm: &str, value: &str| {
        plan(&format!(
            "step r = race {{ one: a.get(x: 1), two: a.get(x: 2) }} {arm} reply {value}"
        ))
    };
    let arm = "recover _ => { id: \"none\" }";
    assert_eq!(
        errors_of(&race("", "match winner(r) { \"one\" => 1, \"two\" => 2 }")),
        FINE
    );
    assert_eq!(
        errors_of(&race(arm, "match winner(r) { \"one\" => 1, \"two\" => 2 }")),
        ["non-exhaustive-match"]
    );
    assert_eq!(
        errors_of(&race(
            arm,
            "match winner(r) { \"one\" => 1, \"two\" => 2, null => 3 }"
        )),
        FINE
    );
    assert_eq!(errors_of(&race(arm, "winner(r).size()")), ABSENT);
    assert_eq!(errors_of(&race(arm, "winner(r)?.size() ?? 0")), FINE);
}

#[test]
fn c5_lists_of_classes_may_stand_in_brackets() {
    for classes in [
        "[auth, transient.timeout]",
        "[auth]",
        "[auth, transient.timeout,]",
        "auth, transient.timeout",
    ] {
        let text = plan(&format!(
            "step s = a.get() recover {classes} as e => {{ id: e.message }} reply s.id"
        ));
        assert_eq!(errors_of(&text), FINE, "{classes}");
        let text = "use b tool b.do(x: int) -> int effect fails [busy, gone] plan p() { step s = b.do(x: 1) reply s }"
            .to_string();
        assert_eq!(errors_of(&text), FINE);
    }
    let wrong =
        plan("step s = a.get() recover [auth, transiet.timeout] => { id: \"\" } reply s.id");
    assert_eq!(errors_of(&wrong), ["unknown-error-class"]);
    assert!(
        !findings(&plan(
            "step s = a.get() recover [] => { id: \"\" } reply s.id"
        ))
        .is_empty()
    );
}
