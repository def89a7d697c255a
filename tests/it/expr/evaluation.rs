//! Evaluation of expressions.

use std::sync::Arc;

use planrun_lang::builtins::FailureKind;
use planrun_lang::eval::{evaluate, evaluate_within};
use planrun_lang::protocol::StepState;
use planrun_lang::types::Type;
use planrun_lang::value::{Exact, Value};

use super::world::{World, object};

fn world() -> World {
    let person = Value::object([
        ("name", Value::from("张伟")),
        ("tags", Value::list([Value::from("a")])),
    ]);
    World::default()
        .name("x", Type::Int, Value::Int(7))
        .name("n", Type::Any, Value::Null)
        .name("p", Type::Any, person)
        .name(
            "e",
            Type::Double,
            Value::Exact(Arc::new(Exact {
                value: 1.1,
                text: "1.10".into(),
            })),
        )
        .name(
            "o",
            object(&[("a?", Type::Int), ("b", Type::Int)]),
            Value::object([("b", Value::Int(2))]),
        )
        .name(
            "big",
            Type::Int.list(),
            Value::list((0..100_000).map(Value::Int)),
        )
        .race("quick", &["a", "b"])
        .state("x", StepState::Failed)
}

fn value(text: &str) -> Value {
    world()
        .value(text)
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn failure(text: &str) -> FailureKind {
    match world().value(text) {
        Ok(value) => panic!("{text} is {value}"),
        Err(error) => error.kind,
    }
}

#[test]
fn absence_reads_as_null_where_it_may() {
    assert_eq!(value("n?.a.b.c[0]"), Value::Null);
    assert_eq!(value("n?.[0]"), Value::Null);
    assert_eq!(value("p.missing ?? 1"), Value::Int(1));
    assert_eq!(value("p.tags[7] ?? 'none'"), Value::from("none"));
    assert_eq!(value("n.a.b ?? n.c ?? 3"), Value::Int(3));
    assert_eq!(value("o.a"), Value::Null);
    assert_eq!(value("has(o.a)"), Value::Bool(false));
    assert_eq!(
        value("has(o.b) && has(p.name) && !has(p.nope) && !has(n) && !has(n.a)"),
        Value::Bool(true)
    );
    assert_eq!(failure("p.missing"), FailureKind::NoSuchField);
    assert_eq!(failure("p.missing.x ?? p.nope"), FailureKind::NoSuchField);
    assert_eq!(failure("n.a"), FailureKind::NoOverload);
    assert_eq!(failure("p.tags[1]"), FailureKind::IndexOutOfRange);
    assert_eq!(failure("(1 / 0) ?? 3"), FailureKind::DivideByZero);
}

#[test]
fn text_holds_values() {
    assert_eq!(
        value(r#""${p.name} 有 ${x} ${1.5} ${true} ${e}""#),
        Value::from("张伟 有 7 1.5 true 1.10")
    );
    assert_eq!(failure(r#""${p}""#), FailureKind::NoOverload);
}

#[test]
fn states_and_winners_come_from_the_run() {
    assert_eq!(value("x is failed"), Value::Bool(true));
    assert_eq!(value("!x is completed && x is settled"), Value::Bool(true));
    assert_eq!(value("winner(quick)"), Value::from("a"));
}

#[test]
fn a_value_that_is_only_passed_on_keeps_its_literal() {
    assert_eq!(value("[e]").to_json_text(), "[1.10]");
    assert_eq!(value("e + 0.0").to_json_text(), "1.1");
}

#[test]
fn what_is_known_now_is_folded() {
    let constant = |text: &str| world().check(text).0.constant().cloned();
    assert_eq!(constant("1 + 2 * 3"), Some(Value::Int(7)));
    assert_eq!(
        constant("[1, { a: -2 }]")
            .map(|value| value.to_json_text())
            .as_deref(),
        Some(r#"[1,{"a":-2}]"#)
    );
    assert_eq!(
        constant("duration('90s') + 30s"),
        Some(Value::Duration(120_000_000_000))
    );
    assert_eq!(constant("x + 1"), None);
    assert_eq!(constant("1 / 0"), None);
}

#[test]
fn work_is_bounded() {
    assert_eq!(
        failure("big.map(a, big.exists(b, b == -1))"),
        FailureKind::CostLimit
    );
    assert_eq!(
        failure("big.all(a, big.all(b, true)) || true"),
        FailureKind::CostLimit
    );
    assert_eq!(
        failure("big.map(a, big)[0] + big.map(a, big + big)[0]"),
        FailureKind::CostLimit
    );
    // A value that doubles at each level shares its parts, but every traversal visits each copy.
    let doubled = format!("[1]{}", ".map(x, [x, x])".repeat(60));
    for text in ["", " == [1]", ".flatten(100)", ".distinct()"] {
        assert_eq!(
            failure(&format!("{doubled}{text}")),
            FailureKind::CostLimit,
            "{text}"
        );
    }
    assert_eq!(failure(&format!("json({doubled})")), FailureKind::CostLimit);
    assert_eq!(
        failure(&format!("'%s'.format([{doubled}])")),
        FailureKind::CostLimit
    );
    assert_eq!(
        failure(&format!("{doubled} in [{doubled}]")),
        FailureKind::CostLimit
    );
    // A string that doubles at each level: the cost of each concatenation is a sixteenth of its length.
    let text = (0..40).fold("'0123456789abcdef'".to_owned(), |text, level| {
        format!("cel.bind(t{level}, {text}, t{level} + t{level})")
    });
    assert_eq!(failure(&text), FailureKind::CostLimit);
    assert_eq!(
        failure("lists.range(1000000).map(a, lists.range(1000000))"),
        FailureKind::CostLimit
    );
    let (code, _) = world().check("[1, 2, 3].map(a, a + 1)");
    assert!(evaluate_within(&code, &world(), 5).is_err());
    assert!(evaluate(&code, &world()).is_ok());
}

#[test]
fn an_error_names_its_place() {
    let text = "1 + (x / (x - 7))";
    let error = world().value(text).unwrap_err();
    assert_eq!(
        text.get(error.span.range()),
        Some("x / (x - 7"),
        "up to the parenthesis that leaves no node"
    );
    assert_eq!(error.class().to_string(), "validation.expression");
}
