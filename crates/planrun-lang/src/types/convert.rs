//! Converts values to declared types.

use std::sync::Arc;

use super::alternatives::with_fields_of_others;
use super::check::{likeliest, type_of, wrong};
use super::{
    Field, Literal, MapType, Misfit, Mismatch, ObjectType, PathPart, Rest, Type, decode,
    error_object,
};
use super::{Fit, fit, result_union};
use crate::value::{Key, Map, Value};

/// Converts a value to a declared type, wherever a value is assigned to a place of that type.
///
/// An integer becomes a double where one is declared, and keeps its digits as long as it is only passed on; a double
/// without a fraction becomes an integer if its type is known only at run time; a string becomes a timestamp, a
/// duration or bytes, as in tool results. Fields that a closed object does not declare are removed.
///
/// # Errors
/// The first mismatch, if the value cannot be converted.
pub fn convert(value: Value, ty: &Type) -> Result<Value, Mismatch> {
    Ok(changed(&value, ty)?.unwrap_or(value))
}

/// Returns true if every value of type `from` fits `to` and is not changed by the conversion.
#[expect(
    clippy::match_same_arms,
    reason = "the order of the arms matters: the most certain ones come first"
)]
#[must_use]
pub fn keeps(from: &Type, to: &Type) -> bool {
    match (from, to) {
        _ if from == to => true,
        (Type::Never | Type::Invalid, _) | (_, Type::Any | Type::Invalid) => true,
        (Type::Union(members), _) => members.iter().all(|member| keeps(member, to)),
        (_, Type::Union(members)) => members.iter().any(|member| keeps(from, member)),
        (Type::Literal(literal), _) => literal.base() == *to,
        (Type::List(from), Type::List(to)) => keeps(from, to),
        (Type::Result(from), Type::Result(to)) => keeps(from, to),
        (Type::Map(from), Type::Map(to)) => {
            keeps(&from.key, &to.key) && keeps(&from.value, &to.value)
        }
        (Type::Object(from), Type::Map(to)) => object_keeps_as_map(from, to),
        (Type::Object(from), Type::Object(to)) => object_keeps(from, to),
        _ => false,
    }
}

/// Returns the type of a value of type `from` after its conversion to `to`.
#[must_use]
pub fn converted(from: &Type, to: &Type) -> Type {
    if keeps(from, to) {
        return from.clone();
    }
    match (from, to) {
        (Type::Union(members), _) => {
            Type::union(members.iter().map(|member| converted(member, to)))
        }
        (_, Type::Union(members)) => {
            let possible = members
                .iter()
                .filter(|member| !matches!(fit(from, member), Fit::Cannot(_)));
            Type::union(possible.map(|member| converted(from, member)))
        }
        (Type::List(from), Type::List(to)) => converted(from, to).list(),
        (Type::Object(from), Type::Object(to)) => converted_object(from, to),
        _ => to.clone(),
    }
}

fn converted_object(from: &ObjectType, to: &ObjectType) -> Type {
    let given = from.fields.iter().filter_map(|given| {
        let ty = match (to.field(&given.name), &to.rest) {
            (Some(target), _) if !target.required && given.ty.admits_null() => {
                Type::union([converted(&given.ty.without_null(), &target.ty), Type::Null])
            }
            (Some(target), _) => converted(&given.ty, &target.ty),
            (None, Rest::Typed(rest)) => converted(&given.ty, rest),
            (None, Rest::Open) => given.ty.clone(),
            (None, Rest::Closed) => return None,
        };
        Some(Field {
            ty,
            ..given.clone()
        })
    });
    let mut fields: Vec<Field> = given.collect();
    if from.rest != Rest::Closed {
        fields.extend(
            to.fields
                .iter()
                .filter(|target| from.field(&target.name).is_none())
                .cloned(),
        );
    }
    let rest = if to.rest == Rest::Closed {
        Rest::Closed
    } else {
        from.rest.clone()
    };
    Type::object(fields, rest)
}

fn object_keeps_as_map(from: &ObjectType, to: &MapType) -> bool {
    let rest = match &from.rest {
        Rest::Closed => true,
        Rest::Open => to.value == Type::Any,
        Rest::Typed(ty) => keeps(ty, &to.value),
    };
    rest && keeps(&Type::String, &to.key)
        && from.fields.iter().all(|field| keeps(&field.ty, &to.value))
}

fn object_keeps(from: &ObjectType, to: &ObjectType) -> bool {
    let declared = |target: &Field| match from.field(&target.name) {
        Some(given) if target.required => given.required && keeps(&given.ty, &target.ty),
        Some(given) => keeps(&given.ty.without_null(), &target.ty),
        None => !target.required && (from.rest == Rest::Closed || target.ty == Type::Any),
    };
    let extra = |given: &Field| match &to.rest {
        _ if to.field(&given.name).is_some() => true,
        Rest::Open => true,
        Rest::Closed => false,
        Rest::Typed(ty) => keeps(&given.ty, ty),
    };
    let rest = match (&from.rest, &to.rest) {
        (Rest::Closed, _) | (_, Rest::Open) | (Rest::Open, Rest::Typed(Type::Any)) => true,
        (Rest::Typed(from), Rest::Typed(to)) => keeps(from, to),
        (Rest::Open, Rest::Typed(_)) | (Rest::Open | Rest::Typed(_), Rest::Closed) => false,
    };
    rest && to.fields.iter().all(declared) && from.fields.iter().all(extra)
}

/// The converted value; `None` if the value stays unchanged.
type Change = Result<Option<Value>, Mismatch>;

fn changed(value: &Value, ty: &Type) -> Change {
    match (ty, value) {
        (Type::Any | Type::Invalid, _)
        | (Type::Null, Value::Null)
        | (Type::Bool, Value::Bool(_))
        | (Type::Int, Value::Int(_))
        | (Type::Uint, Value::Uint(_))
        | (Type::Double, Value::Double(_) | Value::Exact(_))
        | (Type::String, Value::String(_))
        | (Type::Bytes, Value::Bytes(_))
        | (Type::Timestamp, Value::Timestamp(_))
        | (Type::Duration, Value::Duration(_))
        | (Type::Type, Value::Type(_)) => Ok(None),
        (
            Type::Double | Type::Int | Type::Uint,
            Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Exact(_),
        ) => number_as(value, ty).map(Some),
        (Type::Bytes | Type::Timestamp | Type::Duration | Type::Type, Value::String(_)) => {
            decode(&value.to_json(), ty).map(Some)
        }
        (Type::Literal(literal), _) => literal_as(value, literal, ty),
        (Type::List(element), Value::List(items)) => list_as(items, element),
        (Type::Map(map), Value::Map(entries)) => map_as(entries, map),
        (Type::Object(object), Value::Map(entries)) => object_as(value, entries, object, ty),
        (Type::Result(inner), Value::Map(_)) => changed(value, &result_union(inner)),
        (Type::Error, Value::Map(_)) => changed(value, &error_object()),
        (Type::Union(members), _) => union_as(value, members, ty),
        _ => Err(wrong(value, ty)),
    }
}

/// Converts a number to another numeric type, as if it had been read as that type.
fn number_as(value: &Value, ty: &Type) -> Result<Value, Mismatch> {
    let out_of_range = || Mismatch::new(Misfit::OutOfRange, ty, &type_of(value));
    match (ty, value) {
        (Type::Int, Value::Uint(number)) => i64::try_from(*number)
            .map(Value::Int)
            .map_err(|_| out_of_range()),
        (Type::Uint, Value::Int(number)) => u64::try_from(*number)
            .map(Value::Uint)
            .map_err(|_| out_of_range()),
        _ => decode(&value.to_json(), ty),
    }
}

fn literal_as(value: &Value, literal: &Literal, ty: &Type) -> Change {
    match (literal, value) {
        (Literal::Bool(target), Value::Bool(given)) if target == given => Ok(None),
        (Literal::Int(target), Value::Int(given)) if target == given => Ok(None),
        (Literal::String(target), Value::String(given)) if target == given => Ok(None),
        (Literal::Int(target), Value::Uint(_) | Value::Double(_) | Value::Exact(_)) => {
            match number_as(value, &Type::Int) {
                Ok(Value::Int(given)) if given == *target => Ok(Some(Value::Int(given))),
                _ => Err(wrong(value, ty)),
            }
        }
        _ => Err(wrong(value, ty)),
    }
}

fn list_as(items: &Arc<Vec<Value>>, element: &Type) -> Change {
    let mut list: Option<Vec<Value>> = None;
    for (index, item) in items.iter().enumerate() {
        let change =
            changed(item, element).map_err(|mismatch| mismatch.within(PathPart::Index(index)))?;
        if let Some(change) = change
            && let Some(slot) = list.get_or_insert_with(|| items.to_vec()).get_mut(index)
        {
            *slot = change;
        }
    }
    Ok(list.map(|list| Value::List(Arc::new(list))))
}

fn map_as(entries: &Arc<Map>, map: &MapType) -> Change {
    let mut made: Option<Map> = None;
    for (key, value) in entries.iter() {
        let within = |mismatch: Mismatch| mismatch.within(PathPart::Field(key.to_string().into()));
        if !matches!(
            (key, &map.key),
            (Key::String(_), Type::String) | (_, Type::Any)
        ) {
            changed(&Value::from(key), &map.key).map_err(within)?;
        }
        if let Some(change) = changed(value, &map.value).map_err(within)? {
            made.get_or_insert_with(|| (**entries).clone())
                .insert(key.clone(), change);
        }
    }
    Ok(made.map(|made| Value::Map(Arc::new(made))))
}

fn object_as(value: &Value, entries: &Arc<Map>, object: &ObjectType, ty: &Type) -> Change {
    let missing =
        |field: &&Field| field.required && entries.get(&Key::String(field.name.clone())).is_none();
    if let Some(field) = object.fields.iter().find(missing) {
        return Err(Mismatch::new(
            Misfit::MissingField(field.name.clone()),
            ty,
            &type_of(value),
        ));
    }
    let mut made: Option<Map> = None;
    let mut left_out = false;
    for (key, given) in entries.iter() {
        let target = match (
            key.as_str().and_then(|name| object.field(name)),
            &object.rest,
        ) {
            (Some(field), _) if !field.required && given.is_null() => continue,
            (Some(field), _) => &field.ty,
            (None, Rest::Typed(rest)) => rest,
            (None, Rest::Open) => continue,
            (None, Rest::Closed) => {
                left_out = true;
                continue;
            }
        };
        let change = changed(given, target)
            .map_err(|mismatch| mismatch.within(PathPart::Field(key.to_string().into())))?;
        if let Some(change) = change {
            made.get_or_insert_with(|| (**entries).clone())
                .insert(key.clone(), change);
        }
    }
    if left_out {
        let all = made.get_or_insert_with(|| (**entries).clone());
        all.retain(|key, _| {
            key.as_str()
                .is_some_and(|name| object.field(name).is_some())
        });
    }
    Ok(made.map(|made| Value::Map(Arc::new(made))))
}

/// Prefers the alternative that leaves the value unchanged, then the one that keeps the most fields, then the first. So
/// fields are removed only if every alternative that fits removes some.
fn union_as(value: &Value, members: &[Type], ty: &Type) -> Change {
    let mut mismatches = Vec::new();
    let mut found: Option<(&Type, Option<Value>)> = None;
    for member in members {
        match changed(value, member) {
            Ok(None) => {
                found = Some((member, None));
                break;
            }
            Ok(change) => {
                let kept = found.as_ref().map(|(_, found)| found.as_ref().map(parts));
                if kept.is_none_or(|kept| kept < change.as_ref().map(parts)) {
                    found = Some((member, change));
                }
            }
            Err(mismatch) => mismatches.push(mismatch),
        }
    }
    let Some((chosen, change)) = found else {
        return Err(likeliest(mismatches).unwrap_or_else(|| wrong(value, ty)));
    };
    let read = |other: &Type| convert(value.clone(), other);
    let kept = change.as_ref().unwrap_or(value);
    Ok(with_fields_of_others(kept, chosen, members, read).or(change))
}

/// Returns the number of entries on the first level, to compare how much two conversions of one object keep.
fn parts(value: &Value) -> usize {
    if let Value::Map(entries) = value {
        entries.len()
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(name: &str, ty: Type, required: bool) -> Field {
        Field {
            name: name.into(),
            ty,
            required,
        }
    }

    fn closed(fields: Vec<Field>) -> Type {
        Type::object(fields, Rest::Closed)
    }

    #[expect(
        clippy::needless_pass_by_value,
        reason = "tests write the value in place"
    )]
    fn read(json: serde_json::Value) -> Value {
        Value::from_json(&json)
    }

    #[test]
    fn numbers_become_what_their_place_declares_at_every_depth() {
        assert!(matches!(
            convert(Value::Int(3), &Type::Double),
            Ok(Value::Double(_))
        ));
        assert!(matches!(
            convert(Value::Int(3), &Type::Uint),
            Ok(Value::Uint(3))
        ));
        assert!(convert(Value::Int(-3), &Type::Uint).is_err());
        assert!(matches!(
            convert(Value::Uint(3), &Type::Int),
            Ok(Value::Int(3))
        ));
        assert!(matches!(
            convert(Value::Int(3), &Type::Double.optional()),
            Ok(Value::Double(_))
        ));
        assert!(matches!(
            convert(Value::Int(3), &Type::union([Type::Double, Type::Int])),
            Ok(Value::Int(3))
        ));
        let place = closed(vec![
            field("a", Type::Double.list(), true),
            field("b", Type::Double.map(), false),
        ]);
        let value = convert(read(json!({"a": [1, 2], "b": {"x": 3}})), &place).unwrap();
        let Value::Map(entries) = &value else {
            panic!("{value}")
        };
        assert!(
            matches!(&entries[&Key::from("a")], Value::List(items) if matches!(items[1], Value::Double(_)))
        );
        assert_eq!(value.to_json_text(), r#"{"a":[1,2],"b":{"x":3}}"#);
    }

    #[test]
    fn a_whole_number_that_no_double_holds_keeps_its_digits() {
        let value = convert(Value::Int(9_007_199_254_740_993), &Type::Double).unwrap();
        assert!(matches!(value, Value::Exact(_)));
        assert_eq!(value.to_json_text(), "9007199254740993");
    }

    #[test]
    fn what_came_as_any_is_read_by_the_type_of_its_place() {
        assert!(matches!(
            convert(read(json!(1.0)), &Type::Int),
            Ok(Value::Int(1))
        ));
        assert!(convert(read(json!(1.5)), &Type::Int).is_err());
        assert!(matches!(
            convert(Value::from("5m"), &Type::Duration),
            Ok(Value::Duration(_))
        ));
        assert!(matches!(
            convert(
                Value::from("5m"),
                &Type::union([Type::Duration, Type::String])
            ),
            Ok(Value::String(_))
        ));
        assert!(convert(Value::Null, &Type::Int).is_err_and(|mismatch| mismatch.absent()));
    }

    #[test]
    fn a_closed_object_leaves_out_what_it_does_not_declare() {
        let narrow = closed(vec![field("a", Type::Int, true)]);
        let wide = closed(vec![
            field("a", Type::Int, true),
            field("b", Type::Int, true),
        ]);
        let given = read(json!({"a": 1, "b": 2, "c": 3}));
        assert_eq!(
            convert(given.clone(), &narrow).unwrap().to_json(),
            json!({"a": 1})
        );
        let either = Type::union([narrow.clone(), wide]);
        assert_eq!(
            convert(given.clone(), &either).unwrap().to_json(),
            json!({"a": 1, "b": 2})
        );
        assert_eq!(
            convert(read(json!([{"a": 1, "c": 3}])), &narrow.list())
                .unwrap()
                .to_json(),
            json!([{"a": 1}])
        );
        assert_eq!(
            convert(given.clone(), &Type::object(Vec::new(), Rest::Open)).unwrap(),
            given
        );
    }

    #[test]
    fn what_keeps_its_values_is_not_converted() {
        assert!(keeps(&Type::Int, &Type::union([Type::Double, Type::Int])));
        assert!(!keeps(&Type::Int, &Type::Double));
        assert!(!keeps(&Type::Int.list(), &Type::Double.list()));
        let open = Type::object(vec![field("a", Type::Int, true)], Rest::Open);
        let shut = closed(vec![field("a", Type::Int, true)]);
        assert!(keeps(&shut, &open) && !keeps(&open, &shut));
        assert!(fit(&Type::Int, &Type::Double).fits());
        assert_eq!(
            converted(&Type::Int, &Type::Double.optional()),
            Type::Double
        );
        let given = closed(vec![
            field("a", Type::Int, true),
            field("b", Type::Null, true),
        ]);
        let target = closed(vec![
            field("a", Type::Double, false),
            field("b", Type::Int, false),
            field("c", Type::Int, false),
        ]);
        assert_eq!(
            converted(&given, &target).to_string(),
            "{ a: double, b: null }"
        );
    }
}
