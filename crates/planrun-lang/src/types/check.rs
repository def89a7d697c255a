//! Checks values against types at run time without converting them. A successful check allocates only for unions,
//! `Result` and `Error`.

use super::{
    Literal, MapType, Misfit, Mismatch, ObjectType, PathPart, Rest, Type, error_object,
    result_union,
};
use crate::value::{Key, Value};

/// Checks a value against a type. A value that is assigned to a declared type is converted first; see
/// [`super::convert()`].
///
/// # Errors
/// The first mismatch, if the value does not fit.
pub fn check_value(value: &Value, ty: &Type) -> Result<(), Mismatch> {
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
        | (Type::Type, Value::Type(_)) => Ok(()),
        (Type::Literal(literal), _) if is_literal(value, literal) => Ok(()),
        (Type::List(element), Value::List(items)) => {
            items.iter().enumerate().try_for_each(|(index, item)| {
                check_value(item, element)
                    .map_err(|mismatch| mismatch.within(PathPart::Index(index)))
            })
        }
        (Type::Map(map), Value::Map(entries)) => check_map(entries, map),
        (Type::Object(object), Value::Map(entries)) => check_object(value, entries, object, ty),
        (Type::Result(inner), Value::Map(_)) => check_value(value, &result_union(inner)),
        (Type::Error, Value::Map(_)) => check_value(value, &error_object()),
        (Type::Union(members), _) => check_union(value, members, ty),
        _ => Err(wrong(value, ty)),
    }
}

/// Returns the most specific type of a value: its literal type if it has one, otherwise its kind.
#[must_use]
pub fn type_of(value: &Value) -> Type {
    /// Maximum length of a string literal in bytes; a longer string has the type `string`.
    const MAX_LITERAL: usize = 60;
    match value {
        Value::Null => Type::Null,
        Value::Bool(truth) => Type::Literal(Literal::Bool(*truth)),
        Value::Int(number) => Type::Literal(Literal::Int(*number)),
        Value::Uint(_) => Type::Uint,
        Value::Double(_) | Value::Exact(_) => Type::Double,
        Value::String(text) if text.len() <= MAX_LITERAL => {
            Type::Literal(Literal::String(text.clone()))
        }
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::List(_) => Type::Any.list(),
        Value::Map(_) => Type::Any.map(),
        Value::Timestamp(_) => Type::Timestamp,
        Value::Duration(_) => Type::Duration,
        Value::Type(_) => Type::Type,
    }
}

/// Creates a mismatch that names the kind of a value but not the value, which may be a misplaced secret.
pub(super) fn wrong(value: &Value, ty: &Type) -> Mismatch {
    let misfit = if matches!(value, Value::Null) {
        Misfit::Absent
    } else {
        Misfit::Type
    };
    let actual = match type_of(value) {
        Type::Literal(literal) => literal.base(),
        actual => actual,
    };
    Mismatch::new(misfit, ty, &actual)
}

fn is_literal(value: &Value, literal: &Literal) -> bool {
    match (literal, value) {
        (Literal::Bool(expected), Value::Bool(given)) => expected == given,
        (Literal::Int(expected), Value::Int(given)) => expected == given,
        (Literal::String(expected), Value::String(given)) => expected == given,
        _ => false,
    }
}

fn check_map(entries: &crate::value::Map, map: &MapType) -> Result<(), Mismatch> {
    entries.iter().try_for_each(|(key, value)| {
        let name = || PathPart::Field(key.to_string().into());
        check_key(key, &map.key).map_err(|mismatch| mismatch.within(name()))?;
        check_value(value, &map.value).map_err(|mismatch| mismatch.within(name()))
    })
}

fn check_key(key: &Key, ty: &Type) -> Result<(), Mismatch> {
    // Nearly all keys are strings; they are checked without creating a value.
    if matches!((key, ty), (Key::String(_), Type::String) | (_, Type::Any)) {
        return Ok(());
    }
    check_value(&Value::from(key), ty)
}

fn check_object(
    value: &Value,
    entries: &crate::value::Map,
    object: &ObjectType,
    ty: &Type,
) -> Result<(), Mismatch> {
    let mut known = 0;
    for field in &object.fields {
        match entries.get(&Key::String(field.name.clone())) {
            Some(Value::Null) if !field.required => known += 1,
            Some(given) => {
                known += 1;
                check_value(given, &field.ty)
                    .map_err(|mismatch| mismatch.within(PathPart::Field(field.name.clone())))?;
            }
            None if !field.required => {}
            None => {
                return Err(Mismatch::new(
                    Misfit::MissingField(field.name.clone()),
                    ty,
                    &type_of(value),
                ));
            }
        }
    }
    if known == entries.len() || object.rest == Rest::Open {
        return Ok(());
    }
    let extra = entries
        .iter()
        .filter(|(key, _)| key.as_str().is_none_or(|name| object.field(name).is_none()));
    for (key, given) in extra {
        match &object.rest {
            Rest::Open => {}
            Rest::Closed => {
                return Err(Mismatch::new(
                    Misfit::ExtraField(key.to_string().into()),
                    ty,
                    &type_of(value),
                ));
            }
            Rest::Typed(rest) => {
                check_value(given, rest)
                    .map_err(|mismatch| mismatch.within(PathPart::Field(key.to_string().into())))?;
            }
        }
    }
    Ok(())
}

fn check_union(value: &Value, members: &[Type], ty: &Type) -> Result<(), Mismatch> {
    let mut mismatches = Vec::new();
    for member in members {
        match check_value(value, member) {
            Ok(()) => return Ok(()),
            Err(mismatch) => mismatches.push(mismatch),
        }
    }
    Err(likeliest(mismatches).unwrap_or_else(|| wrong(value, ty)))
}

/// Returns the mismatch of the alternative that was probably intended: the only one that has the right kind. `None` if
/// there is no such alternative or more than one.
pub(super) fn likeliest(mismatches: Vec<Mismatch>) -> Option<Mismatch> {
    let inner = |mismatch: &Mismatch| {
        !mismatch.path.is_empty() || !matches!(mismatch.misfit, Misfit::Type | Misfit::Absent)
    };
    let mut inside = mismatches.into_iter().filter(inner);
    let first = inside.next();
    if inside.next().is_some() { None } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Field;
    use std::sync::Arc;

    fn map(entries: &[(&str, Value)]) -> Value {
        Value::Map(Arc::new(
            entries
                .iter()
                .map(|(key, value)| (Key::from(*key), value.clone()))
                .collect(),
        ))
    }

    #[test]
    fn the_place_of_a_mismatch_is_told() {
        let field = |name: &str, ty, required| Field {
            name: name.into(),
            ty,
            required,
        };
        let manager = Type::object(
            vec![
                field("email", Type::String, true),
                field("level", Type::Int, false),
            ],
            Rest::Closed,
        );
        let list = manager.list();
        let good = map(&[("email", Value::String("a".into())), ("level", Value::Null)]);
        let bad = map(&[("email", Value::Int(3))]);
        assert_eq!(
            check_value(&Value::List(Arc::new(vec![good.clone()])), &list),
            Ok(())
        );
        let error = check_value(&Value::List(Arc::new(vec![good, bad])), &list)
            .map_err(|error| error.to_string());
        assert_eq!(error, Err("at [1].email: expected string, got int".into()));
    }

    #[test]
    fn a_union_tells_of_the_alternative_that_was_meant() {
        let field = Field {
            name: "a".into(),
            ty: Type::String,
            required: true,
        };
        let union = Type::object(vec![field], Rest::Open).optional();
        let error = check_value(&map(&[("a", Value::Bool(true))]), &union)
            .map_err(|error| error.to_string());
        assert_eq!(error, Err("at a: expected string, got bool".into()));
        assert!(check_value(&Value::Null, &Type::Int).is_err_and(|mismatch| mismatch.absent()));
    }
}
