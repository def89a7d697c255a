//! Schemas as they are meant: `OpenAPI`'s `nullable`, and keywords of one kind of value without a `type`.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

/// Schemas nested deeper are left as they are.
const MAX_DEPTH: usize = 64;
/// What names or holds other schemas, and stays beside a schema that is put into an alternative.
const AROUND: [&str; 6] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "description",
];
/// With one of these a schema says of which kind its values are.
const SAYS_KIND: [&str; 6] = [
    "type",
    "$ref",
    "$dynamicRef",
    "enum",
    "const",
    super::TYPE_KEYWORD,
];

/// The schema in which `nullable` is written as JSON Schema writes it, and what only speaks of the fields of an object
/// or of the elements of a list has that `type`: whoever writes `properties` means an object.
pub(super) fn meant(schema: &Json) -> Cow<'_, Json> {
    if !concerns(schema, 0) {
        return Cow::Borrowed(schema);
    }
    let mut meant = schema.clone();
    rewrite(&mut meant, Place::Value, 0);
    Cow::Owned(meant)
}

/// Where a schema stands.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// It alone says what a value is.
    Value,
    /// It is a part of what is said of a value, or a condition: a type that it does not name is not added.
    Part,
}

/// Whether anything in a document could have to be written otherwise.
fn concerns(schema: &Json, depth: usize) -> bool {
    match schema {
        _ if depth > MAX_DEPTH => false,
        Json::Object(object) => {
            object.get("nullable") == Some(&Json::Bool(true))
                || implied(object).is_some()
                || object.values().any(|inner| concerns(inner, depth + 1))
        }
        Json::Array(items) => items.iter().any(|inner| concerns(inner, depth + 1)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => false,
    }
}

fn rewrite(schema: &mut Json, place: Place, depth: usize) {
    let Json::Object(object) = schema else { return };
    if depth > MAX_DEPTH {
        return;
    }
    for (keyword, inner) in object.iter_mut() {
        let place = match keyword.as_str() {
            "allOf" | "not" | "if" | "then" | "else" | "contains" | "propertyNames"
            | "dependentSchemas" | "dependencies" => Place::Part,
            _ => Place::Value,
        };
        match (keyword.as_str(), inner) {
            (
                "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas"
                | "dependencies",
                Json::Object(named),
            ) => named
                .values_mut()
                .for_each(|inner| rewrite(inner, place, depth + 1)),
            ("prefixItems" | "items" | "allOf" | "anyOf" | "oneOf", Json::Array(all)) => {
                for inner in all.iter_mut() {
                    rewrite(inner, place, depth + 1);
                }
            }
            (
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                inner,
            ) => rewrite(inner, place, depth + 1),
            _ => {}
        }
    }
    if place == Place::Value
        && let Some(kind) = implied(object)
    {
        object.insert("type".to_owned(), kind.into());
    }
    if object.get("nullable") == Some(&Json::Bool(true)) {
        object.remove("nullable");
        nullable(object);
    }
}

/// The kind of value that is meant, where only keywords of that kind tell it.
pub(super) fn implied(schema: &Map<String, Json>) -> Option<&'static str> {
    if says_kind(schema, 0) {
        return None;
    }
    if schema.get("properties").is_some_and(Json::is_object) {
        return Some("object");
    }
    let listed = schema
        .get("items")
        .is_some_and(|items| items.is_object() || items.is_array());
    if listed || schema.get("prefixItems").is_some_and(Json::is_array) {
        return Some("array");
    }
    let parts = schema.get("allOf").and_then(Json::as_array)?;
    parts.iter().filter_map(Json::as_object).find_map(implied)
}

/// Whether a schema, or a part or an alternative of it, says of which kind its values are.
fn says_kind(schema: &Map<String, Json>, depth: usize) -> bool {
    let inner = ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| schema.get(*keyword)?.as_array())
        .flatten();
    depth > MAX_DEPTH
        || SAYS_KIND
            .iter()
            .any(|keyword| schema.contains_key(*keyword))
        || inner
            .filter_map(Json::as_object)
            .any(|part| says_kind(part, depth + 1))
}

fn nullable(schema: &mut Map<String, Json>) {
    let only_type = !["$ref", "allOf", "anyOf", "oneOf", "not", "if", "const"]
        .iter()
        .any(|word| schema.contains_key(*word));
    let kinds = match schema.get("type") {
        Some(Json::String(kind)) if only_type => vec![Json::from(kind.as_str())],
        Some(Json::Array(kinds)) if only_type => kinds.clone(),
        _ => return beside_null(schema),
    };
    let mut kinds = kinds;
    if !kinds.contains(&json!("null")) {
        kinds.push("null".into());
    }
    schema.insert("type".to_owned(), Json::Array(kinds));
    if let Some(Json::Array(listed)) = schema.get_mut("enum")
        && !listed.contains(&Json::Null)
    {
        listed.push(Json::Null);
    }
}

/// The schema as one of two alternatives, the other of which is null.
fn beside_null(schema: &mut Map<String, Json>) {
    let (around, own): (Map<String, Json>, Map<String, Json>) = std::mem::take(schema)
        .into_iter()
        .partition(|(keyword, _)| AROUND.contains(&keyword.as_str()));
    *schema = around;
    schema.insert(
        "anyOf".to_owned(),
        json!([Json::Object(own), { "type": "null" }]),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nullable_is_written_as_a_type() {
        let cases = [
            (
                json!({"type": "string", "nullable": true}),
                json!({"type": ["string", "null"]}),
            ),
            (
                json!({"type": "string", "enum": ["a"], "nullable": true}),
                json!({"type": ["string", "null"], "enum": ["a", null]}),
            ),
            (
                json!({"$ref": "#/$defs/a", "nullable": true, "$defs": {}}),
                json!({"$defs": {}, "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}),
            ),
            (
                json!({"type": "object", "properties": {"nullable": {"type": "integer", "nullable": true}}}),
                json!({"type": "object", "properties": {"nullable": {"type": ["integer", "null"]}}}),
            ),
            (
                json!({"type": "string", "nullable": false}),
                json!({"type": "string", "nullable": false}),
            ),
            (
                json!({"const": {"nullable": true}}),
                json!({"const": {"nullable": true}}),
            ),
        ];
        for (written, expected) in cases {
            assert_eq!(*meant(&written), expected, "{written}");
        }
    }

    #[test]
    fn who_lists_fields_means_an_object_unless_something_else_says_the_kind() {
        let bare = json!({"properties": {"a": {"items": {"type": "string"}}}});
        let expected = json!({"properties": {"a": {"items": {"type": "string"}, "type": "array"}}, "type": "object"});
        assert_eq!(*meant(&bare), expected);
        for same in [
            json!({"type": ["object", "null"], "allOf": [{"properties": {"a": {"type": "string"}}}]}),
            json!({"not": {"properties": {"a": {"type": "string"}}}}),
            json!({"type": "object", "if": {"properties": {"a": {"const": 1}}}}),
            json!({"$ref": "#/$defs/a", "properties": {}}),
        ] {
            assert_eq!(*meant(&same), same);
        }
    }
}
