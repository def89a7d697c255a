//! Generated expressions: an expression that passes the check does not fail because of its types.

use planrun_lang::builtins::FailureKind;
use planrun_lang::types::{Type, check_value};
use planrun_lang::value::Value;
use proptest::prelude::*;

use super::world::{World, describe, object, texts};

fn world() -> World {
    let item = object(&[
        ("id", Type::String),
        ("price", Type::Double),
        ("size?", Type::Int),
    ]);
    let items = Value::list([
        Value::object([("id", Value::from("a")), ("price", Value::Double(1.5))]),
        Value::object([
            ("id", Value::from("名")),
            ("price", Value::Double(-2.0)),
            ("size", Value::Int(3)),
        ]),
    ]);
    World::default()
        .name("i", Type::Int, Value::Int(3))
        .name("d", Type::Double, Value::Double(0.25))
        .name("s", Type::String, Value::from("text"))
        .name("b", Type::Bool, Value::Bool(true))
        .name("t", Type::Timestamp, Value::Timestamp(0))
        .name("items", item.list(), items)
        .name("opt", Type::Int.optional(), Value::Null)
        .name("level", texts(&["low", "high"]), Value::from("low"))
        .name("m", Type::Int.map(), Value::object([("k", Value::Int(1))]))
        .name(
            "n",
            object(&[("z", Type::Int.optional())]),
            Value::object([("z", Value::Null)]),
        )
        .name(
            "mixed",
            Type::union([Type::Int, Type::String]),
            Value::from("x"),
        )
        .name(
            "r",
            Type::Result(Type::Int.into()),
            Value::object([("ok", Value::Bool(true)), ("value", Value::Int(1))]),
        )
}

/// Generates texts that may be expressions, with many operators whose overload depends on types.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(vec![
            "i",
            "d",
            "s",
            "b",
            "t",
            "items",
            "opt",
            "level",
            "m",
            "mixed",
            "r",
            "1",
            "2.5",
            "'a'",
            "true",
            "null",
            "[]",
            "{}",
            "10s",
            "items[0]",
            "items[1].size",
            "items[0].price",
            "m.k",
            "r.ok",
            "r.value",
            "\"low\"",
            "[1, 'a']",
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||", "??",
        ]);
        let function =
            prop::sample::select(vec!["size", "string", "int", "double", "json", "sum", "entries", "type", "dyn"]);
        let place = prop::sample::select(vec!["n.z", "items[1].size", "opt", "m.k", "r.value"]);
        let subject = prop::sample::select(vec!["i", "s", "opt", "items", "r", "mixed", "items[1].size"]);
        let makro = prop::sample::select(vec!["map", "filter", "all", "exists", "exists_one"]);
        prop_oneof![
            4 => (inner.clone(), binary, inner.clone()).prop_map(|(a, operator, b)| format!("({a} {operator} {b})")),
            1 => (place, inner.clone(), inner.clone())
                .prop_map(|(place, a, b)| format!("(has({place}) ? ({place}) + {a} : {b})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("math.greatest({a}, {b})")),
            2 => (function, inner.clone()).prop_map(|(name, a)| format!("{name}({a})")),
            1 => inner.clone().prop_map(|a| format!("!({a})")),
            1 => inner.clone().prop_map(|a| format!("-({a})")),
            2 => (inner.clone(), inner.clone(), inner.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ x: {a}, y: {b} }}")),
            1 => inner.clone().prop_map(|a| format!("({a})?.x")),
            1 => inner.clone().prop_map(|a| format!("\"<${{{a}}}>\"")),
            2 => (inner.clone(), makro, inner.clone()).prop_map(|(a, name, b)| format!("({a}).{name}(v, v == {b})")),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
            1 => (subject, inner.clone(), inner).prop_map(|(a, b, c)| format!("match {a} {{ null => {b}, _ => {c} }}")),
        ]
    })
}

fn knows_everything(ty: &Type) -> bool {
    match ty {
        Type::Any | Type::Invalid | Type::Never => false,
        Type::List(element) => **element == Type::Never || knows_everything(element),
        Type::Map(map) => knows_everything(&map.value),
        Type::Object(object) => object
            .fields
            .iter()
            .all(|field| knows_everything(&field.ty)),
        Type::Union(members) => members.iter().all(knows_everything),
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { max_shrink_iters: 4000, ..crate::support::on(2000) })]

    /// `dyn`, `m[…]` of an unknown value and the like have the type `any`, which only the run can check.
    #[test]
    fn what_passes_the_check_never_fails_for_its_types(text in expression()) {
        let world = world();
        let (code, diagnostics) = world.check(&text);
        if diagnostics.iter().any(planrun_lang::diag::Diagnostic::is_error) || text.contains("dyn(") {
            return Ok(());
        }
        match planrun_lang::eval::evaluate(&code, &world) {
            Ok(value) => {
                let fits = check_value(&value, &code.ty);
                prop_assert!(fits.is_ok(), "{text}: {value} is no {}: {}", code.ty, fits.unwrap_err());
            }
            Err(error) => prop_assert!(
                error.kind != FailureKind::NoOverload || !knows_everything(&code.ty),
                "{text}: {error} ({})", describe(&text, &diagnostics)
            ),
        }
    }

    #[test]
    fn no_text_brings_the_checker_or_the_evaluator_down(text in expression()) {
        let world = world();
        let (code, _) = world.check(&text);
        let _ = planrun_lang::eval::evaluate(&code, &world);
        let _ = world.against(&text, &object(&[("x", Type::Int), ("y?", Type::String)]));
        let _ = world.condition(&text);
    }
}
