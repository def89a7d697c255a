//! Normalizes schemas: replaces OpenAPI's `nullable`, and adds the `type` that other keywords imply.

use std::borrow::Cow;

use serde_json::{Map, Value as Json, json};

/// Maximum nesting depth; deeper schemas are left unchanged.
const MAX_DEPTH: usize = 64;
/// Keywords that identify or describe a schema, or hold definitions. They stay outside when a schema is moved into an
/// alternative.
const AROUND: [&str; 6] = [
    "$schema",
    "$id",
    "$defs",
    "definitions",
    "$comment",
    "description",
];
/// Keywords that state which kind of value a schema describes.
const KIND_KEYWORDS: [&str; 6] = [
    "type",
    "$ref",
    "$dynamicRef",
    "enum",
    "const",
    super::TYPE_KEYWORD,
];

/// Returns the schema with `nullable` in JSON Schema's own form, and with the `type` that is implied where a schema
/// constrains only the fields of an object or the elements of a list: a schema with `properties` describes an object.
pub(super) fn normalized(schema: &Json) -> Cow<'_, Json> {
    if !needs_rewrite(schema, 0) {
        return Cow::Borrowed(schema);
    }
    let mut normalized = schema.clone();
    rewrite(&mut normalized, Place::Value, 0);
    Cow::Owned(normalized)
}

/// Role of a schema within the schema that contains it.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// It alone describes a value.
    Value,
    /// It is a condition or one of several descriptions of a value; an implied type is not added.
    Part,
}

/// Returns true if anything in the document may have to be rewritten.
fn needs_rewrite(schema: &Json, depth: usize) -> bool {
    match schema {
        _ if depth > MAX_DEPTH => false,
        Json::Object(object) => {
            object.get("nullable") == Some(&Json::Bool(true))
                || implied(object).is_some()
                || object.values().any(|inner| needs_rewrite(inner, depth + 1))
        }
        Json::Array(items) => items.iter().any(|inner| needs_rewrite(inner, depth + 1)),
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

/// Returns the implied kind of value; `None` if the kind is stated or no keyword implies one.
pub(super) fn implied(schema: &Map<String, Json>) -> Option<&'static str> {
    if states_kind(schema, 0) {
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

/// Returns true if a schema, or one of its parts or alternatives, states the kind of its values.
fn states_kind(schema: &Map<String, Json>, depth: usize) -> bool {
    let inner = ["allOf", "anyOf", "oneOf"]
        .iter()
        .filter_map(|keyword| schema.get(*keyword)?.as_array())
        .flatten();
    depth > MAX_DEPTH
        || KIND_KEYWORDS
            .iter()
            .any(|keyword| schema.contains_key(*keyword))
        || inner
            .filter_map(Json::as_object)
            .any(|part| states_kind(part, depth + 1))
}

fn nullable(schema: &mut Map<String, Json>) {
    let only_type = !["$ref", "allOf", "anyOf", "oneOf", "not", "if", "const"]
        .iter()
        .any(|word| schema.contains_key(*word));
    let kinds = match schema.get("type") {
        Some(Json::String(kind)) if only_type => vec![Json::from(kind.as_str())],
        Some(Json::Array(kinds)) if only_type => kinds.clone(),
        _ => return or_null(schema),
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

/// Replaces the schema by two alternatives: itself and null.
fn or_null(schema: &mut Map<String, Json>) {
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
            assert_eq!(*normalized(&written), expected, "{written}");
        }
    }

    #[test]
    fn who_lists_fields_means_an_object_unless_something_else_says_the_kind() {
        let bare = json!({"properties": {"a": {"items": {"type": "string"}}}});
        let expected = json!({"properties": {"a": {"items": {"type": "string"}, "type": "array"}}, "type": "object"});
        assert_eq!(*normalized(&bare), expected);
        for same in [
            json!({"type": ["object", "null"], "allOf": [{"properties": {"a": {"type": "string"}}}]}),
            json!({"not": {"properties": {"a": {"type": "string"}}}}),
            json!({"type": "object", "if": {"properties": {"a": {"const": 1}}}}),
            json!({"$ref": "#/$defs/a", "properties": {}}),
        ] {
            assert_eq!(*normalized(&same), same);
        }
    }
}
