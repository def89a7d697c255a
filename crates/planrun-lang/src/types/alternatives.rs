//! Values of unions of objects, in which a field may be declared by some alternatives only.

use std::sync::Arc;

use indexmap::IndexMap;

use super::{FieldLookup, Mismatch, Rest, Type, field};
use crate::value::{Key, Value};

/// Adapts the fields of an object that its alternative `chosen` does not declare and others of `members` do: a field
/// gets the value that another alternative `read`s, if that accepts the object, and is left out otherwise. So every
/// field of a union that a plan can read has the type that the plan was checked with. Returns `None` if there are no
/// such fields.
pub(super) fn with_fields_of_others(
    value: &Value,
    chosen: &Type,
    members: &[Type],
    read: impl Fn(&Type) -> Result<Value, Mismatch>,
) -> Option<Value> {
    let (Type::Object(object), Value::Map(entries)) = (chosen, value) else {
        return None;
    };
    if object.rest != Rest::Open {
        return None;
    }
    let mut found: IndexMap<&Key, Option<Value>> = IndexMap::new();
    for member in members {
        let only_there = |key: &&Key| {
            key.as_str().is_some_and(|name| {
                object.field(name).is_none()
                    && matches!(field(member, name), FieldLookup::Found { .. })
            })
        };
        let keys: Vec<&Key> = entries.keys().filter(only_there).collect();
        if keys.is_empty() {
            continue;
        }
        let other = read(member).ok();
        for key in keys {
            let known = found.entry(key).or_default();
            if let (None, Some(Value::Map(other))) = (&known, &other) {
                *known = other.get(key).cloned();
            }
        }
    }
    let kept = entries.iter().filter_map(|(key, value)| {
        let value = found
            .get(key)
            .map_or_else(|| Some(value.clone()), Clone::clone);
        Some((key.clone(), value?))
    });
    (!found.is_empty()).then(|| Value::Map(Arc::new(kept.collect())))
}
