//! Removes the parts of a JSON Schema that only document it. They can change without a change of what a tool accepts or
//! returns.

use planrun_lang::value::sorted_json;
use serde_json::Value as Json;

/// Keywords that no value is validated against.
const DESCRIBING: [&str; 5] = ["title", "description", "examples", "$comment", "deprecated"];
/// Keywords whose value is a schema, or a list of schemas.
pub(super) const SCHEMAS: [&str; 16] = [
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
pub(super) const NAMED: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// Returns the schema without documentation keywords, with sorted keys.
pub(super) fn without_documentation(schema: &Json) -> Json {
    sorted_json(&stripped(schema))
}

fn stripped(schema: &Json) -> Json {
    let Json::Object(keywords) = schema else {
        return schema.clone();
    };
    let kept = keywords
        .iter()
        .filter(|(keyword, _)| !DESCRIBING.contains(&keyword.as_str()));
    kept.map(|(keyword, value)| (keyword.clone(), reduced(keyword, value)))
        .collect()
}

/// Returns the value of a keyword with the documentation removed from the schemas in it.
fn reduced(keyword: &str, value: &Json) -> Json {
    match value {
        Json::Object(named) if NAMED.contains(&keyword) => named
            .iter()
            .map(|(name, schema)| (name.clone(), stripped(schema)))
            .collect(),
        Json::Array(list) if SCHEMAS.contains(&keyword) => list.iter().map(stripped).collect(),
        _ if SCHEMAS.contains(&keyword) => stripped(value),
        _ => value.clone(),
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
