//! Removes nulls that stand for absent fields before a value leaves the plan.

use std::sync::Arc;

use super::{Rest, Type, check_value};
use crate::value::{Key, Map, Value};

/// Returns the value without the nulls of optional fields whose types do not admit null, at every depth. Plans treat an
/// absent field and a null alike, but a reader that validates the reply against a schema does not.
#[must_use]
pub fn without_absent(value: &Value, ty: &Type) -> Value {
    if has_null(value) {
        stripped(value, ty)
    } else {
        value.clone()
    }
}

/// Returns true if a null is somewhere in the value: most values have none and need no copy.
fn has_null(value: &Value) -> bool {
    if let Value::List(items) = value {
        items.iter().any(has_null)
    } else if let Value::Map(entries) = value {
        entries.values().any(has_null)
    } else {
        value.is_null()
    }
}

fn stripped(value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::List(items), Type::List(element)) => Value::List(Arc::new(
            items.iter().map(|item| stripped(item, element)).collect(),
        )),
        (Value::Map(entries), Type::Map(map)) => {
            let entry = |(key, value): (&Key, &Value)| (key.clone(), stripped(value, &map.value));
            Value::Map(Arc::new(entries.iter().map(entry).collect()))
        }
        (Value::Map(entries), Type::Object(object)) => {
            let rest = if let Rest::Typed(ty) = &object.rest {
                ty
            } else {
                &Type::Any
            };
            let entry = |(key, value): (&Key, &Value)| {
                let field = key.as_str().and_then(|name| object.field(name));
                let left_out = value.is_null()
                    && field.is_some_and(|field| !field.required && !field.ty.admits_null());
                (!left_out).then(|| {
                    (
                        key.clone(),
                        stripped(value, field.map_or(rest, |field| &field.ty)),
                    )
                })
            };
            Value::Map(Arc::new(entries.iter().filter_map(entry).collect::<Map>()))
        }
        (Value::Map(_) | Value::List(_), Type::Union(members)) => {
            let fitting = members
                .iter()
                .find(|member| check_value(value, member).is_ok());
            fitting.map_or_else(|| value.clone(), |member| stripped(value, member))
        }
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Field;
    use super::*;

    #[test]
    fn only_nulls_that_the_type_does_not_know_are_left_out() {
        let field = |name: &str, ty: Type, required| Field {
            name: name.into(),
            ty,
            required,
        };
        let fields = vec![
            field("a", Type::String, false),
            field("b", Type::String.optional(), false),
            field("c", Type::Null, true),
            field("d", Type::Any, false),
        ];
        let object = Type::object(fields, Rest::Closed);
        let nulls = ["a", "b", "c", "d"].map(|name| (name, Value::Null));
        let given = Value::list([
            Value::object(nulls),
            Value::object([("a", "x".into()), ("c", Value::Null)]),
        ]);
        let kept = without_absent(&given, &Type::union([object.list(), Type::Null]));
        assert_eq!(
            kept.to_json().to_string(),
            r#"[{"b":null,"c":null,"d":null},{"a":"x","c":null}]"#
        );
    }
}
