//! `match`: exhaustiveness, unreachable arms, and narrowing in the arms.

use planrun_lang::types::{Type, result_union};
use planrun_lang::value::Value;

use super::world::{World, describe, object, texts};

fn world() -> World {
    let event = Type::union([
        object(&[("kind", texts(&["paid"])), ("amount", Type::Int)]),
        object(&[("kind", texts(&["failed"])), ("reason", Type::String)]),
    ]);
    World::default()
        .name("level", texts(&["L1", "L2", "L3"]), Value::from("L2"))
        .name("maybe", Type::Int.optional(), Value::Null)
        .name("flag", Type::Bool, Value::Bool(true))
        .name(
            "event",
            event,
            Value::object([("kind", Value::from("paid")), ("amount", Value::Int(5))]),
        )
        .name(
            "r",
            Type::Result(Type::Int.into()),
            Value::object([("ok", Value::Bool(true)), ("value", Value::Int(1))]),
        )
        .name("text", Type::String, Value::from("x"))
        .name(
            "pair",
            object(&[("a", Type::Bool), ("b", Type::Bool)]),
            Value::Null,
        )
        .name("plain", result_union(&Type::Int), Value::Null)
}

#[test]
fn every_value_needs_an_arm() {
    assert_eq!(
        world().ty(r#"match level { "L1" => 1, "L2" | "L3" => 2 }"#),
        "1 | 2"
    );
    assert_eq!(world().ty(r"match flag { true => 1, false => 2 }"), "1 | 2");
    assert_eq!(world().ty(r"match maybe { null => 0, _ => 1 }"), "0 | 1");
    assert_eq!(
        world().codes(r#"match level { "L1" => 1, "L2" => 2 }"#),
        ["non-exhaustive-match"]
    );
    assert_eq!(
        world().codes(r"match flag { true => 1 }"),
        ["non-exhaustive-match"]
    );
    assert_eq!(
        world().codes(r"match maybe { null => 1 }"),
        ["non-exhaustive-match"]
    );
    assert_eq!(
        world().codes(r#"match text { "a" => 1 }"#),
        ["non-exhaustive-match"]
    );
    assert_eq!(
        world().ty("match pair { { a: true } => 1, { a: false, b: true } => 2, { a: false, b: false } => 3 }"),
        "1 | 2 | 3"
    );
    assert_eq!(
        world().codes("match pair { { a: true } => 1, { b: true } => 2 }"),
        ["non-exhaustive-match"]
    );
}

#[test]
fn an_arm_that_nothing_reaches_is_told() {
    assert_eq!(
        world().codes(r#"match level { "L1" => 1, _ => 2, "L2" => 3 }"#),
        ["unreachable-arm"]
    );
    assert_eq!(
        world().codes(r"match flag { true => 1, false => 2, _ => 3 }"),
        ["unreachable-arm"]
    );
    assert_eq!(
        world().codes(r#"match level { "L9" => 1, _ => 2 }"#),
        ["wrong-type"]
    );
}

#[test]
fn arms_know_what_their_pattern_says() {
    assert_eq!(
        world().ty("match maybe { null => 0, _ => maybe + 1 }"),
        "int"
    );
    assert_eq!(
        world().ty(r#"match event { { kind: "paid" } => event.amount, _ => size(event.reason) }"#),
        "int"
    );
    assert_eq!(
        world().ty("match r { { ok: true } => r.value, { ok: false } => size(r.error.message) }"),
        "int"
    );
    assert_eq!(
        world().ty("match r.ok { true => r.value, false => 0 }"),
        "int"
    );
    assert_eq!(
        world().ty("match plain { { ok: true } => plain.value, _ => 0 }"),
        "int"
    );
}

#[test]
fn the_first_pattern_that_takes_the_value_decides() {
    let value = |text: &str| world().value(text).unwrap();
    assert_eq!(
        value(r#"match level { "L1" => 1, "L2" | "L3" => 2 }"#),
        Value::Int(2)
    );
    assert_eq!(
        value("match maybe { null => 0, _ => maybe + 1 }"),
        Value::Int(0)
    );
    assert_eq!(
        value(r#"match event { { kind: "paid" } => event.amount, _ => 0 }"#),
        Value::Int(5)
    );
    assert_eq!(
        value("match r { { ok: false } => 0, { value: 1 } => 7, _ => 8 }"),
        Value::Int(7)
    );
}

#[test]
fn findings_about_arms() {
    let mut all = String::new();
    for text in [
        r#"match level { "L1" => 1 }"#,
        r"match flag { true => 1, }",
        r#"match level { "L4" => 1, _ => 2 }"#,
        r#"match level { "L1" => 1, _ => 2, "L2" => 3 }"#,
        "match pair { { a: true } => 1, { c: true } => 2, _ => 3 }",
        "match event { { kind: \"paid\" } => event.reason, _ => '' }",
    ] {
        all = all + text + "\n" + &describe(text, &world().check(text).1) + "\n";
    }
    super::world::snapshot("arms", &all);
}
