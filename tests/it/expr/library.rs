//! Every function of the library, called in every form of its descriptor: a call that passes the check has an overload
//! at run time, and its value has the checked type.

use planrun_lang::builtins::{self, FailureKind, Form, Function, Overload, Shape};
use planrun_lang::diag::Diagnostic;
use planrun_lang::types::{Type, check_value};
use planrun_lang::value::{MAX_DURATION, MIN_TIMESTAMP, Value};

use super::world::{World, describe, object, texts};

/// Maximum number of argument combinations per form of a call.
const MOST: usize = 400;

/// A name with its type and a value.
struct Known {
    name: String,
    ty: Type,
    value: Value,
}

/// Returns a value for every kind of argument, with an edge case where there is one.
fn known() -> Vec<Known> {
    let (int, text) = (Value::Int, |text: &str| Value::from(text));
    let object_type = object(&[("a", Type::Int), ("b?", Type::Int)]);
    let number = Type::union([Type::Int, Type::Double]);
    let mixed = Type::union([Type::Int, Type::String, Type::Int.list()]);
    let pool = [
        (Type::Null, Value::Null),
        (Type::Bool, Value::Bool(true)),
        (Type::Int, int(2)),
        (Type::Int, int(i64::MIN)),
        (Type::Uint, Value::Uint(u64::MAX)),
        (Type::Double, Value::Double(-0.5)),
        (Type::Double, Value::Double(1e300)),
        (number.clone(), Value::Double(2.5)),
        (number.clone(), int(0)),
        (Type::String, text("text,名")),
        (Type::String, text("")),
        (texts(&["12", "UTC"]), text("UTC")),
        (Type::Bytes, Value::Bytes(vec![255, 0].into())),
        (Type::Timestamp, Value::Timestamp(MIN_TIMESTAMP)),
        (Type::Duration, Value::Duration(MAX_DURATION)),
        (Type::Type, Value::Type("int".into())),
        (Type::Never.list(), Value::list([])),
        (Type::Int.list(), Value::list([int(3), int(1)])),
        (Type::Uint.list(), Value::list([Value::Uint(3)])),
        (
            Type::Double.list(),
            Value::list([Value::Double(1.5), Value::Double(f64::NAN)]),
        ),
        (number.list(), Value::list([Value::Double(1.5), int(1)])),
        (Type::String.list(), Value::list([text("b"), text("a")])),
        (texts(&["low", "high"]).list(), Value::list([text("low")])),
        (
            Type::Bool.list(),
            Value::list([Value::Bool(true), Value::Bool(false)]),
        ),
        (
            Type::Bytes.list(),
            Value::list([Value::Bytes(vec![1].into())]),
        ),
        (Type::Timestamp.list(), Value::list([Value::Timestamp(0)])),
        (
            Type::Duration.list(),
            Value::list([Value::Duration(1), Value::Duration(0)]),
        ),
        (
            Type::Int.list().list(),
            Value::list([Value::list([int(1)]), Value::list([])]),
        ),
        (
            Type::Int.optional().list(),
            Value::list([Value::Null, int(1)]),
        ),
        (Type::Int.map(), Value::object([("k", int(1))])),
        (object_type, Value::object([("a", int(1))])),
        (
            Type::Result(Type::Int.into()),
            Value::object([("ok", Value::Bool(true)), ("value", int(1))]),
        ),
        (mixed.clone(), int(4)),
        (mixed.clone(), text("four")),
        (mixed, Value::list([int(4)])),
        (Type::Int.optional(), Value::Null),
    ];
    let named = pool.into_iter().enumerate();
    named
        .map(|(number, (ty, value))| Known {
            name: format!("v{number}"),
            ty,
            value,
        })
        .collect()
}

fn world(pool: &[Known]) -> World {
    pool.iter().fold(World::default(), |world, known| {
        world.name(&known.name, known.ty.clone(), known.value.clone())
    })
}

/// A second implementation of the meaning of shapes in descriptors.
fn is_of(ty: &Type, shape: &Shape) -> bool {
    if let (Type::Union(members), false) = (ty, matches!(shape, Shape::Any | Shape::Variable(_))) {
        return members.iter().all(|member| is_of(member, shape));
    }
    match shape {
        Shape::Any | Shape::Variable(_) => true,
        Shape::Null => *ty == Type::Null,
        Shape::Bool => *ty == Type::Bool,
        Shape::Int => *ty == Type::Int,
        Shape::Uint => *ty == Type::Uint,
        Shape::Double => *ty == Type::Double,
        Shape::Number => matches!(ty, Type::Int | Type::Uint | Type::Double),
        Shape::String => matches!(ty, Type::String | Type::Literal(_)),
        Shape::Bytes => *ty == Type::Bytes,
        Shape::Timestamp => *ty == Type::Timestamp,
        Shape::Duration => *ty == Type::Duration,
        Shape::Type => *ty == Type::Type,
        Shape::List(inner) => {
            matches!(ty, Type::List(element) if **element == Type::Never || is_of(element, inner))
        }
        Shape::Map(key, value) => match ty {
            Type::Map(map) => is_of(&map.key, key) && is_of(&map.value, value),
            Type::Object(object) => object.fields.iter().all(|field| is_of(&field.ty, value)),
            _ => false,
        },
        Shape::Entry(_) | Shape::Optional(_) => false,
    }
}

/// Formats a call.
fn call(function: &Function, form: Form, arguments: &[&Known]) -> String {
    let names: Vec<&str> = arguments.iter().map(|known| known.name.as_str()).collect();
    match (form, names.split_first()) {
        (Form::Method, Some((receiver, rest))) => {
            format!("{receiver}.{}({})", function.name, rest.join(", "))
        }
        (Form::Namespace(namespace), _) => {
            format!("{namespace}.{}({})", function.name, names.join(", "))
        }
        (Form::Global | Form::Method, _) => format!("{}({})", function.name, names.join(", ")),
    }
}

/// Returns combinations of one element from each list, spread over all combinations.
fn choices<'a>(each: &[Vec<&'a Known>]) -> Vec<Vec<&'a Known>> {
    let all: usize = each.iter().map(Vec::len).product();
    let step = (all / MOST).max(1) | 1;
    let choice = |mut number: usize| {
        let one = |from: &Vec<&'a Known>| {
            let chosen = from[number % from.len()];
            number /= from.len();
            chosen
        };
        each.iter().map(one).collect()
    };
    (0..all).step_by(step).map(choice).collect()
}

/// Returns the fault of a call that passes the check, if there is one.
fn broken(world: &World, text: &str) -> Option<String> {
    let (code, diagnostics) = world.check(text);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    match planrun_lang::eval::evaluate(&code, world) {
        Ok(value) => check_value(&value, &code.ty)
            .err()
            .map(|mismatch| format!("{text}: {value} is no {}: {mismatch}", code.ty)),
        Err(error) if error.kind == FailureKind::NoOverload => Some(format!("{text}: {error}")),
        Err(_) => None,
    }
}

#[test]
fn every_form_takes_what_its_descriptor_says() {
    let pool = known();
    let world = world(&pool);
    let (mut tried, mut wrong) = (0, Vec::new());
    for function in builtins::all() {
        for Overload { parameters, .. } in function.overloads {
            let each: Vec<Vec<&Known>> = parameters
                .iter()
                .map(|shape| {
                    pool.iter()
                        .filter(|known| is_of(&known.ty, shape))
                        .collect()
                })
                .collect();
            assert!(
                each.iter().all(|fitting| !fitting.is_empty()),
                "{function:?}: no value for {parameters:?}"
            );
            for (arguments, form) in choices(&each)
                .iter()
                .flat_map(|one| function.forms.iter().map(move |form| (one, form)))
            {
                let text = call(function, *form, arguments);
                tried += 1;
                let diagnostics = world.check(&text).1;
                if diagnostics.iter().any(Diagnostic::is_error) {
                    wrong.push(format!(
                        "{text} of {parameters:?}: {}",
                        describe(&text, &diagnostics)
                    ));
                }
                wrong.extend(broken(&world, &text));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}: {}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
    assert!(tried > 3000, "{tried}");
}

#[test]
fn what_passes_the_check_has_a_form_whatever_it_is_called_with() {
    let pool = known();
    let world = world(&pool);
    let (mut passed, mut wrong) = (0, Vec::new());
    for function in builtins::all() {
        let mut counts: Vec<usize> = function
            .overloads
            .iter()
            .map(|form| form.parameters.len())
            .collect();
        counts.sort_unstable();
        counts.dedup();
        for count in counts {
            let any: Vec<Vec<&Known>> = vec![pool.iter().collect(); count];
            for arguments in choices(&any) {
                let text = call(function, function.forms[0], &arguments);
                passed += usize::from(!world.check(&text).1.iter().any(Diagnostic::is_error));
                wrong.extend(broken(&world, &text));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{}: {}",
        wrong.len(),
        wrong[..wrong.len().min(10)].join("\n")
    );
    assert!(passed > 300, "{passed}");
}

#[test]
fn distinct_elements_are_found_in_linear_time_and_compared_exactly() {
    let world = World::default();
    for (text, expected) in [
        ("[1, 1.0, 2u, 2, 1.5, 1.5].distinct()", "[1,2,1.5]"),
        (
            "[9007199254740993, 9007199254740992, 9007199254740992.0].distinct()",
            "[9007199254740993,9007199254740992]",
        ),
        (
            "[{ a: 1, b: [2] }, { b: [2.0], a: 1u }, { a: 1 }].distinct()",
            r#"[{"a":1,"b":[2]},{"a":1}]"#,
        ),
        ("size([double('NaN'), double('NaN')].distinct())", "2"),
        (
            "[null, false, 0, '', [], null].distinct()",
            r#"[null,false,0,"",[]]"#,
        ),
        (
            "size(lists.range(60000).map(x, [x % 30000]).distinct())",
            "30000",
        ),
    ] {
        assert_eq!(
            world.value(text).unwrap().to_json_text(),
            expected,
            "{text}"
        );
    }
}

#[test]
fn what_goes_through_a_function_stays_what_it_is() {
    let world = World::default().name("levels", texts(&["low", "high"]).list(), Value::list([]));
    for text in [
        "levels.reverse()",
        "levels.distinct()",
        "levels.slice(0, 1)",
        "[levels, levels].flatten()",
    ] {
        assert_eq!(world.ty(text), "(\"low\" | \"high\")[]", "{text}");
    }
    assert_eq!(
        world.ty("entries({ a: levels[0] })[0].value"),
        world.ty("levels[0]")
    );
    // A computed element does not have the type of the input.
    assert_eq!(world.ty("levels.map(level, level.reverse())"), "string[]");
}
