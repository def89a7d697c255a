//! Removes the parts of a JSON Schema that only document it. They can change without a change of what a tool accepts or
//! returns.

use serde_json::{Map, Value as Json};

/// Keywords that no value is validated against.
const DESCRIBING: [&str; 5] = ["title", "description", "examples", "$comment", "deprecated"];
/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: [&str; 16] = [
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value maps names to schemas.
const NAMED: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Returns the schema without documentation keywords, with sorted keys.
pub(super) fn without_documentation(schema: &Json) -> Json {
    let Json::Object(keywords) = schema else {
        return sorted(schema);
    };
    let mut kept: Vec<_> = keywords
        .iter()
        .filter(|(keyword, _)| !DESCRIBING.contains(&keyword.as_str()))
        .map(|(keyword, value)| (keyword.clone(), reduced(keyword, value)))
        .collect();
    kept.sort_by(|(one, _), (other, _)| one.cmp(other));
    Json::Object(kept.into_iter().collect())
}

/// Returns the value of a keyword with the documentation removed from the schemas in it.
fn reduced(keyword: &str, value: &Json) -> Json {
    match value {
        Json::Object(named) if NAMED.contains(&keyword) => {
            let mut named: Vec<_> = named
                .iter()
                .map(|(name, schema)| (name.clone(), without_documentation(schema)))
                .collect();
            named.sort_by(|(one, _), (other, _)| one.cmp(other));
            Json::Object(named.into_iter().collect())
        }
        Json::Array(list) if SCHEMAS.contains(&keyword) => {
            Json::Array(list.iter().map(without_documentation).collect())
        }
        _ if SCHEMAS.contains(&keyword) => without_documentation(value),
        _ => sorted(value),
    }
}

/// Returns a value with sorted object keys, because their order has no meaning.
pub(super) fn sorted(value: &Json) -> Json {
    match value {
        Json::Object(fields) => {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(name, value)| (name.clone(), sorted(value)))
                .collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            Json::Object(fields.into_iter().collect::<Map<_, _>>())
        }
        Json::Array(list) => Json::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_describes_is_left_out() {
        let schema = json!({
            "type": "object",
            "title": "Order",
            "properties": {
                "title": { "type": "string", "description": "shown on top" },
                "description": { "enum": ["title", { "title": 1 }] },
            },
            "$defs": { "examples": { "examples": [1], "type": "integer" } },
            "anyOf": [{ "$comment": "why", "required": ["title"] }],
            "default": { "title": "kept: it is a value" },
        });
        let expected = json!({
            "$defs": { "examples": { "type": "integer" } },
            "anyOf": [{ "required": ["title"] }],
            "default": { "title": "kept: it is a value" },
            "properties": {
                "description": { "enum": ["title", { "title": 1 }] },
                "title": { "type": "string" },
            },
            "type": "object",
        });
        assert_eq!(
            without_documentation(&schema).to_string(),
            expected.to_string()
        );
        assert_eq!(without_documentation(&json!(true)), json!(true));
    }
}
