//! Finds entries of a map that a closed object has no field for, and that a conversion would remove.

use super::{Misfit, Mismatch, PathPart, Rest, Type, check_value, convert};
use crate::value::{Key, Value};

/// Converts a value of the type `from`, as [`convert`] does, unless that would remove an entry of a map.
///
/// # Errors
/// The first mismatch, if the value cannot be converted, or the first entry that would be removed.
pub fn convert_from(value: Value, from: &Type, to: &Type) -> Result<Value, Mismatch> {
    match surplus_entry(&value, from, to) {
        Some(mismatch) => Err(mismatch),
        None => convert(value, to),
    }
}

/// Returns the first entry of a map in the value, which has the type `from`, that has no place in a closed object of the
/// type `to`.
///
/// Fields of objects are not such entries: a result of a tool may have more of them than its type declares. Neither are
/// the entries of a map of `any`, which is the type of a result that is not described.
fn surplus_entry(value: &Value, from: &Type, to: &Type) -> Option<Mismatch> {
    match (from, to, value) {
        (Type::Union(members), _, _) => {
            // If several alternatives describe the value, it is open which of them describes its entries.
            let own = members.iter().filter(|member| is_container(member));
            let own: Vec<_> = match own.clone().count() {
                1 => own.collect(),
                _ => own
                    .filter(|member| check_value(value, member).is_ok())
                    .collect(),
            };
            let (first, others) = own.split_first()?;
            let found = surplus_entry(value, first, to)?;
            others
                .iter()
                .all(|member| surplus_entry(value, member, to).is_some())
                .then_some(found)
        }
        (_, Type::Union(members), _) => {
            let mut possible = members
                .iter()
                .filter(|member| convert(value.clone(), member).is_ok());
            let first = surplus_entry(value, from, possible.next()?)?;
            possible
                .all(|member| surplus_entry(value, from, member).is_some())
                .then_some(first)
        }
        (Type::List(from), Type::List(to), Value::List(items)) => {
            items.iter().enumerate().find_map(|(index, item)| {
                let found = surplus_entry(item, from, to)?;
                Some(found.within(PathPart::Index(index)))
            })
        }
        (Type::Map(_) | Type::Object(_), Type::Map(_) | Type::Object(_), Value::Map(entries)) => {
            entries.iter().find_map(|(key, value)| {
                let given = part(from, key)?;
                let Some(target) = part(to, key) else {
                    return is_closed(to)
                        .then(|| entry_type(from, key))?
                        .filter(|ty| **ty != Type::Any)
                        .map(|_| extra(key, to, from));
                };
                let found = surplus_entry(value, given, target)?;
                Some(found.within(PathPart::Field(key.to_string().into())))
            })
        }
        _ => None,
    }
}

fn extra(key: &Key, to: &Type, from: &Type) -> Mismatch {
    Mismatch::new(Misfit::ExtraField(key.to_string().into()), to, from)
}

fn is_container(ty: &Type) -> bool {
    matches!(ty, Type::Map(_) | Type::Object(_) | Type::List(_))
}

fn is_closed(ty: &Type) -> bool {
    matches!(ty, Type::Object(object) if object.rest == Rest::Closed)
}

/// Returns the type of the value under a key; `None` if the type says nothing about it.
fn part<'t>(ty: &'t Type, key: &Key) -> Option<&'t Type> {
    let declared = match ty {
        Type::Object(object) => key.as_str().and_then(|name| object.field(name)),
        _ => None,
    };
    declared.map_or_else(|| entry_type(ty, key), |field| Some(&field.ty))
}

/// Returns the type of an entry whose key the type does not name; `None` if it names the key, or has no such entries.
fn entry_type<'t>(ty: &'t Type, key: &Key) -> Option<&'t Type> {
    match ty {
        Type::Map(map) => Some(&map.value),
        Type::Object(object) => match &object.rest {
            Rest::Typed(ty) if key.as_str().is_none_or(|name| object.field(name).is_none()) => {
                Some(ty)
            }
            Rest::Typed(_) | Rest::Open | Rest::Closed => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::types::{Field, from_schema};

    fn object(fields: &[(&str, Type)], rest: Rest) -> Type {
        let field = |(name, ty): &(&str, Type)| Field {
            name: (*name).into(),
            ty: ty.clone(),
            required: false,
        };
        Type::object(fields.iter().map(field).collect(), rest)
    }

    fn surplus(json: &serde_json::Value, from: &Type, to: &Type) -> Option<String> {
        surplus_entry(&Value::from_json(json), from, to).map(|found| found.to_string())
    }

    #[test]
    fn an_entry_without_a_field_is_found_wherever_it_is() {
        let value = json!({ "a": "1", "b": "2" });
        let map = Type::String.map();
        let closed = object(&[("a", Type::String)], Rest::Closed);
        let told = |path: &str| Some(format!("{path}there is no field b in {closed}"));
        assert_eq!(surplus(&value, &map, &closed), told(""));
        assert_eq!(
            surplus(
                &json!([{}, value]),
                &map.clone().list(),
                &closed.clone().list()
            ),
            told("at [1]: ")
        );
        assert_eq!(surplus(&value, &map.clone().optional(), &closed), told(""));
        assert_eq!(surplus(&value, &map, &closed.clone().optional()), told(""));
        let either = Type::union([map.clone(), closed.clone()]);
        assert_eq!(surplus(&value, &either, &closed), told(""));
        assert_eq!(surplus(&value, &either.optional(), &closed), told(""));
        let merged = object(&[("a", Type::String)], Rest::Typed(Type::String));
        assert_eq!(surplus(&value, &merged, &closed), told(""));
    }

    #[test]
    fn what_has_a_place_or_may_be_left_out_is_not() {
        let value = json!({ "a": "1", "b": "2" });
        let map = Type::String.map();
        let closed = object(&[("a", Type::String)], Rest::Closed);
        let open = object(&[("a", Type::String)], Rest::Open);
        let both = object(&[("a", Type::String), ("b", Type::String)], Rest::Closed);
        for (from, to) in [
            (&map, &open),
            (&map, &both),
            (&map, &map),
            (&open, &closed),
            (&both, &closed),
            (&Type::Any, &closed),
            (&Type::union([map.clone(), open.clone()]), &closed),
            (&Type::union([map.clone(), both.clone()]), &closed),
            (&from_schema(&json!({ "type": "object" })), &closed),
            (&map, &Type::union([closed.clone(), both.clone()])),
        ] {
            assert_eq!(surplus(&value, from, to), None, "{from} to {to}");
        }
    }
}
