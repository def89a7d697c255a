//! Types: the verdicts of `fit` against real values, JSON Schema in both directions, and the published schema cases.

#![expect(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;
use std::path::Path;

use planrun_lang::types::{
    Field, Fit, Rest, Type, Validator, check_value, convert, converted, decode, encode, fit,
    from_schema, keeps, to_schema,
};
use planrun_lang::value::{Key, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::support;

/// Generates types that a schema can express, with unions normalized by [`Type::union`].
fn any_type() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![
        Just(Type::Null),
        Just(Type::Bool),
        Just(Type::Int),
        Just(Type::Double),
        Just(Type::String),
        Just(Type::Uint),
        Just(Type::Timestamp),
        Just(Type::Duration),
        Just(Type::Any),
        prop_oneof![Just("a"), Just("b")].prop_map(Type::text),
        (0..3_i64).prop_map(|number| Type::Literal(planrun_lang::types::Literal::Int(number))),
        any::<bool>().prop_map(|truth| Type::Literal(planrun_lang::types::Literal::Bool(truth))),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let rest = prop_oneof![
            Just(Rest::Open),
            Just(Rest::Closed),
            inner.clone().prop_map(Rest::Typed)
        ];
        let field = (any::<bool>(), inner.clone());
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::map),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Type::union),
            (prop::collection::vec(field, 1..3), rest).prop_map(|(fields, rest)| {
                let named = fields.into_iter().zip(["x", "y", "z"]);
                let fields = named.map(|((required, ty), name)| Field {
                    name: name.into(),
                    ty,
                    required,
                });
                Type::object(fields.collect(), rest)
            }),
        ]
    })
}

/// Returns a value of a type, determined by the numbers in `choices`. A full value has no empty list, no null where
/// another value is possible, and no missing optional field.
fn value_of(ty: &Type, full: bool, choices: &mut impl Iterator<Item = usize>) -> Value {
    let mut choose = |count: usize| choices.next().unwrap_or(0) % count.max(1);
    match ty {
        Type::Null => Value::Null,
        Type::Bool => Value::Bool(choose(2) == 0),
        Type::Int => Value::Int([0, -7, i64::MAX][choose(3)]),
        Type::Uint => Value::Uint([0, 7, u64::MAX][choose(3)]),
        Type::Double => Value::Double([0.0, 1.5, -2.0][choose(3)]),
        Type::String => Value::from(["", "a", "b", "名字"][choose(4)]),
        Type::Timestamp => Value::Timestamp(1_000_000_000),
        Type::Duration => Value::Duration(1_500_000_000),
        Type::Literal(planrun_lang::types::Literal::Bool(truth)) => Value::Bool(*truth),
        Type::Literal(planrun_lang::types::Literal::Int(number)) => Value::Int(*number),
        Type::Literal(planrun_lang::types::Literal::String(text)) => Value::String(text.clone()),
        Type::List(element) => {
            let length = choose(3).max(usize::from(full));
            Value::list(
                (0..length)
                    .map(|_| value_of(element, full, choices))
                    .collect::<Vec<_>>(),
            )
        }
        Type::Map(map) => {
            let length = choose(3).max(usize::from(full));
            let names = ["x", "y", "w"].into_iter().take(length);
            Value::object(
                names
                    .map(|name| (name, value_of(&map.value, full, choices)))
                    .collect::<Vec<_>>(),
            )
        }
        Type::Object(object) => {
            let mut entries: Vec<(Key, Value)> = Vec::new();
            for field in &object.fields {
                if field.required || full || choices.next().unwrap_or(0).is_multiple_of(2) {
                    entries.push((
                        Key::String(field.name.clone()),
                        value_of(&field.ty, full, choices),
                    ));
                }
            }
            if full || choices.next().unwrap_or(0).is_multiple_of(2) {
                match &object.rest {
                    Rest::Closed => {}
                    Rest::Open => entries.push((Key::from("w"), Value::from("anything"))),
                    Rest::Typed(ty) => entries.push((Key::from("w"), value_of(ty, full, choices))),
                }
            }
            Value::object(entries)
        }
        Type::Union(members) => {
            let present: Vec<&Type> = members
                .iter()
                .filter(|member| !full || **member != Type::Null)
                .collect();
            let member = present[choose(present.len())];
            value_of(member, full, choices)
        }
        other => {
            assert_eq!(*other, Type::Any, "no values are made for {other}");
            [Value::from("of any type"), Value::Null, Value::Int(3)][choose(3)].clone()
        }
    }
}

proptest! {
    #![proptest_config(crate::support::on(2000))]

    #[test]
    fn every_value_of_a_type_that_fits_is_of_the_other(
        from in any_type(), to in any_type(), choices in prop::collection::vec(0..12_usize, 24),
    ) {
        let value = value_of(&from, false, &mut choices.iter().copied());
        let full = value_of(&from, true, &mut choices.into_iter());
        prop_assert_eq!(check_value(&value, &from), Ok(()));
        prop_assert!(fit(&from, &from).fits());
        match fit(&from, &to) {
            Fit::Fits => {
                let there = convert(value.clone(), &to);
                prop_assert!(there.is_ok(), "{} into {}: {:?}", from, to, there);
                let (there, ty) = (there.unwrap(), converted(&from, &to));
                prop_assert_eq!(check_value(&there, &to), Ok(()), "{} into {}", from, to);
                prop_assert_eq!(check_value(&there, &ty), Ok(()), "{} into {} is {}", from, to, ty);
            }
            // Reported as mistakes although some value may fit: absent values, and types that share only null, empty
            // lists or missing fields.
            Fit::Cannot(mismatch) if !mismatch.absent() => {
                prop_assert!(check_value(&full, &to).is_err(), "{} into {}: {}", from, to, mismatch);
            }
            Fit::Cannot(_) | Fit::Unknown => {}
        }
        // A converted value has the target type and stays the same when converted again; a value that needs no
        // conversion already had the target type.
        if let Ok(there) = convert(value.clone(), &to) {
            prop_assert_eq!(check_value(&there, &to), Ok(()), "{} of {} into {}", value, from, to);
            prop_assert_eq!(convert(there.clone(), &to).map(|again| again.to_typed_json()), Ok(there.to_typed_json()));
        }
        if keeps(&from, &to) {
            prop_assert_eq!(check_value(&value, &to), Ok(()), "{} of {} into {}", value, from, to);
        }
    }

    #[test]
    fn a_type_widened_by_null_or_a_member_takes_what_it_took(ty in any_type(), other in any_type()) {
        prop_assert!(fit(&ty, &ty.clone().optional()).fits());
        prop_assert!(fit(&ty, &Type::union([other, ty.clone()])).fits(), "{}", ty);
    }

    #[test]
    fn a_schema_made_of_a_type_is_that_type_again(ty in any_type()) {
        let schema = to_schema(&ty);
        prop_assert_eq!(from_schema(&schema), ty, "{}", schema);
    }

    #[test]
    fn the_schema_of_a_type_takes_its_values(ty in any_type(), choices in prop::collection::vec(0..12_usize, 24)) {
        let value = value_of(&ty, false, &mut choices.into_iter());
        let json = encode(&value, &ty);
        let violations = Validator::new(&to_schema(&ty)).unwrap().violations(&json);
        prop_assert_eq!(violations, vec![], "{} as {}", json, ty);
        prop_assert!(decode(&json, &ty).is_ok(), "{} as {}: {:?}", json, ty, decode(&json, &ty));
    }
}

fn read(path: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Generates JSON with keywords of schemas in right and wrong places.
fn any_schema() -> impl Strategy<Value = Json> {
    let words = prop::sample::select(vec![
        "type",
        "object",
        "string",
        "properties",
        "items",
        "$ref",
        "#",
        "#/$defs/a",
        "$defs",
        "a",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "required",
        "additionalProperties",
        "pattern",
        "(",
        "^a+$",
        "prefixItems",
        "nullable",
        "http://example.com/x",
        "$id",
        "$schema",
        "minimum",
        "format",
        "date-time",
        "x-planrun-type",
        "uint",
    ]);
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-2..9_i64).prop_map(Json::from),
        Just(json!(1.5)),
        words.clone().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 48, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((words.clone(), inner), 0..4).prop_map(|entries| entries
                .into_iter()
                .map(|(name, json)| (name.to_owned(), json))
                .collect()),
        ]
    })
}

proptest! {
    #![proptest_config(crate::support::on(3000))]

    #[test]
    fn no_schema_stops_the_program(schema in any_schema(), instance in any_schema()) {
        let ty = from_schema(&schema);
        let decoded = decode(&instance, &ty);
        if let Ok(value) = decoded {
            prop_assert_eq!(check_value(&value, &ty), Ok(()), "{} as {}", instance, ty);
        }
        if let Ok(validator) = Validator::new(&schema) {
            prop_assert_eq!(validator.violations(&instance).is_empty(), validator.is_valid(&instance));
        }
        prop_assert!(fit(&ty, &ty).fits());
        prop_assert!(!ty.to_string().is_empty());
    }
}

/// Returns the documents that the published cases of one draft refer to, with their addresses.
pub fn documents(folder: &Path, draft: &str) -> Vec<(String, Json)> {
    let mut documents = Vec::new();
    remotes(
        &folder.join("remotes"),
        &folder.join("remotes"),
        draft,
        &mut documents,
    );
    documents
}

fn remotes(folder: &Path, below: &Path, draft: &str, documents: &mut Vec<(String, Json)>) {
    for entry in std::fs::read_dir(below).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !(name.starts_with("draft") || name == "v1") || name == draft {
                remotes(folder, &entry.path(), draft, documents);
            }
        } else {
            let path = entry.path();
            let name = path
                .strip_prefix(folder)
                .unwrap()
                .to_string_lossy()
                .into_owned();
            documents.push((format!("http://localhost:1234/{name}"), read(&path)));
        }
    }
}

#[test]
fn published_schema_cases() {
    let Some(folder) = support::cases("json-schema") else {
        return;
    };
    for (draft, address) in [
        (
            "draft2020-12",
            "https://json-schema.org/draft/2020-12/schema",
        ),
        ("draft7", "http://json-schema.org/draft-07/schema#"),
    ] {
        let documents = documents(&folder, draft);
        let mut failed = BTreeMap::new();
        let (mut passed, mut typed) = (0, 0);
        for entry in std::fs::read_dir(folder.join(draft))
            .unwrap()
            .map(Result::unwrap)
        {
            for case in read(&entry.path()).as_array().unwrap() {
                let mut schema = case["schema"].clone();
                if let Some(object) = schema.as_object_mut() {
                    object.entry("$schema").or_insert_with(|| json!(address));
                }
                let validator = Validator::with_documents(&schema, &documents).unwrap();
                let ty = from_schema(&schema);
                for test in case["tests"].as_array().unwrap() {
                    let valid = test["valid"].as_bool().unwrap();
                    let name = format!(
                        "{}: {}: {}",
                        entry.path().display(),
                        case["description"],
                        test["description"]
                    );
                    let violations = validator.violations(&test["data"]);
                    if valid == violations.is_empty() {
                        passed += 1;
                    } else {
                        failed.insert(name.clone(), violations);
                    }
                    // A schema without `type` does not constrain other kinds of values, while the derived type does.
                    if valid && schema.get("type").is_some() {
                        let decoded = decode(&test["data"], &ty);
                        assert!(decoded.is_ok(), "{name}: {ty} refuses it: {decoded:?}");
                        typed += 1;
                    }
                }
            }
        }
        println!(
            "{draft}: {passed} passed, {} failed; {typed} valid values taken by the type",
            failed.len()
        );
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

#[test]
fn a_large_document_becomes_types() {
    let Some(path) = support::cases("openapi/openai.json") else {
        return;
    };
    let mut document = read(&path);
    let names: Vec<String> = document["components"]["schemas"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let mut any = 0;
    for name in &names {
        document["$ref"] = json!(format!("#/components/schemas/{name}"));
        let ty = from_schema(&document);
        assert!(fit(&ty, &ty).fits());
        any += usize::from(ty == Type::Any);
    }
    println!("{} schemas, {any} of them any", names.len());
    assert!(any * 10 < names.len());
}

#[test]
fn published_calls_fit_their_schemas() {
    let Some(path) = support::cases("bfcl/single-turn.jsonl") else {
        return;
    };
    let (mut fitting, mut refused, mut wrong) = (0, 0, Vec::new());
    for line in std::fs::read_to_string(&path).unwrap().lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        for call in case["calls"].as_array().unwrap() {
            let tools = case["tools"].as_array().unwrap();
            let Some(tool) = tools.iter().find(|tool| tool["name"] == call["name"]) else {
                continue;
            };
            let (schema, arguments) = (&tool["input_schema"], &call["arguments"]);
            let violations = Validator::new(schema).unwrap().violations(arguments);
            let decoded = decode(arguments, &from_schema(schema));
            match call["schema_ok"].as_bool().unwrap() {
                true if violations.is_empty() && decoded.is_ok() => fitting += 1,
                false if !violations.is_empty() => refused += 1,
                expected => wrong.push(format!(
                    "{} {expected}: {violations:?} {decoded:?}",
                    case["id"]
                )),
            }
        }
    }
    println!("bfcl: {fitting} calls fit, {refused} are refused");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
