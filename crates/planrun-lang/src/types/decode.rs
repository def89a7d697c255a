//! Decodes external JSON to values of declared types, and encodes values as JSON arguments.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;

use super::alternatives::with_fields_of_others;
use super::check::{likeliest, type_of, wrong};
use super::{
    Literal, Misfit, Mismatch, ObjectType, PathPart, Rest, Type, error_object, number, result_union,
};
use crate::value::{Key, Map, Value, parse_duration, parse_timestamp};

/// Decodes JSON as a value of a declared type: `1.0` is the integer 1 where `int` is declared, and a string is a
/// timestamp only where one is declared. JSON without a declared type is decoded by its own kind.
///
/// # Errors
/// The first mismatch, if the JSON does not fit.
pub fn decode(json: &Json, ty: &Type) -> Result<Value, Mismatch> {
    match (ty, json) {
        (Type::Any | Type::Invalid, _) => Ok(Value::from_json(json)),
        (Type::Null, Json::Null) => Ok(Value::Null),
        (Type::Bool, Json::Bool(truth)) => Ok(Value::Bool(*truth)),
        (Type::Int, Json::Number(given)) => match number::integer(given) {
            Some(integer) => Ok(Value::Int(integer)),
            None => Err(wrong_number(json, ty)),
        },
        (Type::Uint, Json::Number(given)) => match number::unsigned(given) {
            Some(integer) => Ok(Value::Uint(integer)),
            None => Err(wrong_number(json, ty)),
        },
        (Type::Double, Json::Number(given)) => Ok(number::double(given)),
        (Type::String, Json::String(text)) => Ok(Value::from(text.as_str())),
        (Type::Bytes | Type::Timestamp | Type::Duration | Type::Type, Json::String(text)) => {
            from_text(text, ty).ok_or_else(|| mismatch(json, ty))
        }
        (Type::Literal(literal), _) => {
            decode_literal(json, literal).ok_or_else(|| mismatch(json, ty))
        }
        (Type::List(element), Json::Array(items)) => decode_list(items, element),
        (Type::Map(map), Json::Object(entries))
            if map.key == Type::String || map.key == Type::Any =>
        {
            let entry = |(name, json): (&String, &Json)| {
                let value =
                    decode(json, &map.value).map_err(|mismatch| mismatch.within(field(name)))?;
                Ok((Key::from(name.as_str()), value))
            };
            Ok(Value::Map(Arc::new(
                entries
                    .iter()
                    .map(entry)
                    .collect::<Result<Map, Mismatch>>()?,
            )))
        }
        (Type::Object(object), Json::Object(entries)) => decode_object(entries, object, ty),
        (Type::Result(inner), Json::Object(_)) => decode(json, &result_union(inner)),
        (Type::Error, Json::Object(_)) => decode(json, &error_object()),
        (Type::Union(members), _) => decode_union(json, members, ty),
        _ => Err(mismatch(json, ty)),
    }
}

/// Encodes an argument or a field of this type as JSON. A null in an optional field whose type does not admit null is
/// left out, at every depth.
#[must_use]
pub fn encode(value: &Value, ty: &Type) -> Json {
    match (value, ty) {
        (Value::List(items), Type::List(element)) => {
            Json::Array(items.iter().map(|item| encode(item, element)).collect())
        }
        (Value::Map(entries), Type::Map(map)) => Json::Object(
            entries
                .iter()
                .map(|(key, value)| (key.to_string(), encode(value, &map.value)))
                .collect(),
        ),
        (Value::Map(entries), Type::Object(object)) => {
            let entry = |(key, value): (&Key, &Value)| {
                let field = key.as_str().and_then(|name| object.field(name));
                let left_out = value.is_null()
                    && field.is_some_and(|field| !field.required && !field.ty.admits_null());
                let rest = if let Rest::Typed(ty) = &object.rest {
                    ty
                } else {
                    &Type::Any
                };
                (!left_out).then(|| {
                    (
                        key.to_string(),
                        encode(value, field.map_or(rest, |field| &field.ty)),
                    )
                })
            };
            Json::Object(entries.iter().filter_map(entry).collect())
        }
        (Value::Map(_) | Value::List(_), Type::Union(members)) => {
            let fitting = members
                .iter()
                .find(|member| super::check_value(value, member).is_ok());
            fitting.map_or_else(|| value.to_json(), |member| encode(value, member))
        }
        _ => value.to_json(),
    }
}

fn mismatch(json: &Json, ty: &Type) -> Mismatch {
    wrong(&Value::from_json(json), ty)
}

/// Distinguishes a number that is out of range from one with a fraction.
fn wrong_number(json: &Json, ty: &Type) -> Mismatch {
    let value = Value::from_json(json);
    let whole = matches!(json, Json::Number(number) if number::is_plain_integer(number));
    if whole {
        Mismatch::new(Misfit::OutOfRange, ty, &type_of(&value))
    } else {
        wrong(&value, ty)
    }
}

fn field(name: &str) -> PathPart {
    PathPart::Field(name.into())
}

fn from_text(text: &str, ty: &Type) -> Option<Value> {
    match ty {
        Type::Bytes => STANDARD
            .decode(text)
            .ok()
            .map(|bytes| Value::Bytes(bytes.into())),
        Type::Timestamp => parse_timestamp(text).map(Value::Timestamp),
        Type::Duration => parse_duration(text).map(Value::Duration),
        Type::Type => Some(Value::Type(text.into())),
        _ => None,
    }
}

fn decode_literal(json: &Json, literal: &Literal) -> Option<Value> {
    match (literal, json) {
        (Literal::Bool(expected), Json::Bool(given)) => {
            (expected == given).then_some(Value::Bool(*given))
        }
        (Literal::Int(expected), Json::Number(given)) => number::integer(given)
            .filter(|given| given == expected)
            .map(Value::Int),
        (Literal::String(expected), Json::String(given)) => {
            (**expected == **given).then(|| Value::String(expected.clone()))
        }
        _ => None,
    }
}

fn decode_list(items: &[Json], element: &Type) -> Result<Value, Mismatch> {
    let item = |(index, item): (usize, &Json)| {
        decode(item, element).map_err(|mismatch| mismatch.within(PathPart::Index(index)))
    };
    Ok(Value::List(Arc::new(
        items
            .iter()
            .enumerate()
            .map(item)
            .collect::<Result<_, _>>()?,
    )))
}

fn decode_object(
    entries: &serde_json::Map<String, Json>,
    object: &ObjectType,
    ty: &Type,
) -> Result<Value, Mismatch> {
    let whole = || Type::Any.map();
    if let Some(missing) = object
        .fields
        .iter()
        .find(|field| field.required && !entries.contains_key(&*field.name))
    {
        return Err(Mismatch::new(
            Misfit::MissingField(missing.name.clone()),
            ty,
            &whole(),
        ));
    }
    let mut map = Map::with_capacity(entries.len());
    for (name, json) in entries {
        let value = match (object.field(name), &object.rest) {
            (Some(field), _) if !field.required && json.is_null() => Ok(Value::Null),
            (Some(field), _) => decode(json, &field.ty),
            (None, Rest::Typed(ty)) => decode(json, ty),
            (None, Rest::Open) => Ok(Value::from_json(json)),
            (None, Rest::Closed) => {
                return Err(Mismatch::new(
                    Misfit::ExtraField(name.as_str().into()),
                    ty,
                    &whole(),
                ));
            }
        };
        map.insert(
            Key::from(name.as_str()),
            value.map_err(|mismatch| mismatch.within(field(name)))?,
        );
    }
    Ok(Value::Map(Arc::new(map)))
}

/// Decodes as the first alternative that accepts the JSON; an integer stays an integer if `int` is an alternative.
fn decode_union(json: &Json, members: &[Type], ty: &Type) -> Result<Value, Mismatch> {
    if matches!(json, Json::Number(number) if number::is_plain_integer(number))
        && members.contains(&Type::Int)
        && let Ok(value) = decode(json, &Type::Int)
    {
        return Ok(value);
    }
    let mut mismatches = Vec::new();
    // A string is read as a timestamp, a duration, bytes or a type only if no other alternative accepts it.
    let special = |member: &&Type| {
        matches!(
            member,
            Type::Bytes | Type::Timestamp | Type::Duration | Type::Type
        )
    };
    let (late, early): (Vec<&Type>, Vec<&Type>) = members.iter().partition(special);
    for member in early.into_iter().chain(late) {
        match decode(json, member) {
            Ok(value) => {
                let read = |other: &Type| decode(json, other);
                let adapted = with_fields_of_others(&value, member, members, read);
                return Ok(adapted.unwrap_or(value));
            }
            Err(mismatch) => mismatches.push(mismatch),
        }
    }
    Err(likeliest(mismatches).unwrap_or_else(|| mismatch(json, ty)))
}

#[cfg(test)]
mod tests {
    use super::super::{Field, from_schema};
    use super::*;
    use serde_json::json;

    fn union(alternatives: &[Json]) -> Type {
        Type::union(alternatives.iter().map(|properties| {
            let schema = json!({"type": "object", "properties": properties});
            from_schema(&schema)
        }))
    }

    #[test]
    fn a_field_of_a_union_is_read_by_an_alternative_that_declares_it_and_accepts_the_object() {
        let both = union(&[
            json!({"name": {"type": "string"}}),
            json!({"share": {"type": "number"}}),
        ]);
        let value = decode(&json!({"share": 1, "more": 1}), &both).unwrap();
        let Value::Map(entries) = &value else {
            panic!("{value}")
        };
        assert!(matches!(entries[&Key::from("share")], Value::Double(_)));
        assert!(entries.contains_key(&Key::from("more")));

        let either = union(&[
            json!({"a": {"type": "string"}}),
            json!({"b": {"type": "integer"}}),
        ]);
        for given in [json!({"a": 5, "b": 1}), json!({"b": 1, "a": 5})] {
            let value = decode(&given, &either).unwrap();
            assert_eq!(value.to_json(), json!({"b": 1}));
            let again = super::super::convert(Value::from_json(&given), &either).unwrap();
            assert_eq!(again, value);
        }
        let whole = json!({"b": 1, "a": "x"});
        assert_eq!(decode(&whole, &either).unwrap().to_json(), whole);
    }

    #[test]
    fn numbers_follow_the_declared_type() {
        let one: Json = serde_json::from_str("1.0").unwrap();
        assert!(matches!(decode(&one, &Type::Int), Ok(Value::Int(1))));
        assert!(matches!(
            decode(&json!(1), &Type::Double),
            Ok(Value::Double(_))
        ));
        assert!(matches!(decode(&json!(1), &Type::Any), Ok(Value::Int(1))));
        assert!(matches!(
            decode(&json!(1), &Type::union([Type::Double, Type::Int])),
            Ok(Value::Int(1))
        ));
        let half = decode(&json!(1.5), &Type::Int).unwrap_err();
        assert_eq!(half.to_string(), "expected int, got double");
        let large: Json = serde_json::from_str("99999999999999999999").unwrap();
        assert_eq!(
            decode(&large, &Type::Int).unwrap_err().misfit,
            Misfit::OutOfRange
        );
    }

    #[test]
    fn places_are_told() {
        let schema = json!({"type": "object", "required": ["list"], "properties": {
            "list": {"type": "array", "items": {"type": "object", "required": ["a"],
                "properties": {"a": {"enum": ["x", "y"]}}}}}});
        let ty = from_schema(&schema);
        let error = decode(&json!({"list": [{"a": "x"}, {"a": "z"}]}), &ty).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"at list[1].a: expected "x" | "y", got another string"#
        );
        let error = decode(&json!({"list": [{}]}), &ty).unwrap_err();
        assert_eq!(error.to_string(), "at list[0]: the field a is missing");
        assert!(decode(&json!({}), &ty).is_err());
    }

    #[test]
    fn text_is_a_timestamp_only_where_declared() {
        let text = json!("2026-01-02T03:04:05Z");
        assert!(matches!(decode(&text, &Type::String), Ok(Value::String(_))));
        assert!(matches!(
            decode(&text, &Type::Timestamp),
            Ok(Value::Timestamp(_))
        ));
        assert!(matches!(
            decode(&text, &Type::union([Type::Timestamp, Type::String])),
            Ok(Value::String(_))
        ));
        assert!(decode(&json!("yesterday"), &Type::Timestamp).is_err());
        assert!(
            matches!(decode(&json!("AQI="), &Type::Bytes), Ok(Value::Bytes(bytes)) if *bytes == [1, 2])
        );
    }

    #[test]
    fn a_null_is_left_out_unless_it_may_be_sent() {
        let field = |name: &str, ty, required| Field {
            name: name.into(),
            ty,
            required,
        };
        let ty = Type::object(
            vec![
                field("a", Type::Int, false),
                field("b", Type::Int.optional(), false),
                field("c", Type::Null, true),
            ],
            Rest::Open,
        );
        let value = Value::object([
            ("a", Value::Null),
            ("b", Value::Null),
            ("c", Value::Null),
            ("d", Value::Null),
        ]);
        assert_eq!(
            encode(&value, &ty),
            json!({"b": null, "c": null, "d": null})
        );
        let nested = Value::list([value]);
        assert_eq!(
            encode(&nested, &ty.list().optional()),
            json!([{"b": null, "c": null, "d": null}])
        );
    }
}
