//! Whole numbers with a fraction where no type is declared: `5.0` in a mock is the answer `5.0`, not `5`.

use std::sync::Arc;

use planrun_lang::types::{Rest, Type, check_value};
use planrun_lang::value::{Map, Value};
use serde_json::Value as Json;

/// Returns a value in which each double of type `any` is sent with its fraction.
pub fn with_fractions(value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Double(number), Type::Any) if number.fract() == 0.0 => {
            let json: Option<Json> = serde_json::from_str(&format!("{number:.1}")).ok();
            json.map_or_else(|| value.clone(), |json| Value::from_json(&json))
        }
        (Value::List(items), Type::List(element)) => list(items, element),
        (Value::List(items), Type::Any) => list(items, &Type::Any),
        (Value::Map(entries), Type::Map(map)) => object(entries, &|_| &map.value),
        (Value::Map(entries), Type::Any) => object(entries, &|_| &Type::Any),
        (Value::Map(entries), Type::Object(declared)) => {
            let rest = match &declared.rest {
                Rest::Typed(ty) => ty,
                Rest::Open | Rest::Closed => &Type::Any,
            };
            object(entries, &|name| {
                declared.field(name).map_or(rest, |field| &field.ty)
            })
        }
        (_, Type::Union(members)) => {
            let fits = |member: &&Type| check_value(value, member).is_ok();
            let member = members.iter().find(fits);
            member.map_or_else(|| value.clone(), |member| with_fractions(value, member))
        }
        _ => value.clone(),
    }
}

fn list(items: &[Value], ty: &Type) -> Value {
    let items = items.iter().map(|item| with_fractions(item, ty));
    Value::List(Arc::new(items.collect()))
}

fn object<'t>(entries: &Map, type_of: &dyn Fn(&str) -> &'t Type) -> Value {
    let entries = entries.iter().map(|(key, value)| {
        let ty = key.as_str().map_or(&Type::Any, type_of);
        (key.clone(), with_fractions(value, ty))
    });
    Value::Map(Arc::new(entries.collect()))
}
