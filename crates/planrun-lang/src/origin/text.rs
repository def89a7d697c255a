//! Decides which values can hold arbitrary text.

use super::Origin;
use crate::types::{FieldLookup, Type, field};

/// Returns true if a value of this type can be arbitrary text; choices, numbers and bools cannot.
pub(crate) fn is_free_text(ty: &Type) -> bool {
    match ty {
        Type::String | Type::Any | Type::Bytes => true,
        Type::List(element) | Type::Result(element) => is_free_text(element),
        Type::Map(map) => is_free_text(&map.value),
        Type::Union(members) => members.iter().any(is_free_text),
        Type::Object(object) => object.fields.iter().any(|field| is_free_text(&field.ty)),
        _ => false,
    }
}

/// Returns true if the part of the result is text that the contract does not restrict by a pattern or a list of values.
pub(crate) fn gives_free_text(origin: &Origin<'_>) -> bool {
    let mut ty = without_lists(&origin.signature.returns);
    let mut schema = origin
        .signature
        .output_schema
        .as_ref()
        .map(|contract| contract.normalized());
    for name in &origin.path {
        ty = match field(&ty, name) {
            FieldLookup::Found { ty, .. } => without_lists(&ty),
            FieldLookup::Any => Type::Any,
            FieldLookup::Missing | FieldLookup::NotAnObject => return false,
        };
        schema = schema
            .map(elements)
            .and_then(|schema| schema.get("properties")?.get(&**name));
    }
    let narrowed = schema.map(elements).is_some_and(|schema| {
        ["pattern", "enum", "const"]
            .iter()
            .any(|key| schema.get(key).is_some())
    });
    is_free_text(&ty) && !narrowed
}

fn without_lists(ty: &Type) -> Type {
    match ty.without_null() {
        Type::List(element) => without_lists(&element),
        other => other,
    }
}

fn elements(schema: &serde_json::Value) -> &serde_json::Value {
    let mut schema = schema;
    while let Some(items) = schema.get("items") {
        schema = items;
    }
    schema
}
