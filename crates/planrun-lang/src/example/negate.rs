//! Negates schemas, with one schema for each way to violate the original.

use serde_json::{Map, Value as Json, json};

/// Returns schemas for the ways to violate a schema. Empty if everything conforms or no way is known. Some of them also
/// allow values that conform, which the validator then rejects.
pub(super) fn negate(schema: &Json) -> Vec<Json> {
    match schema {
        Json::Bool(false) => vec![json!({})],
        Json::Object(object) => object
            .iter()
            .flat_map(|(keyword, value)| broken(keyword, value, object))
            .collect(),
        _ => Vec::new(),
    }
}

fn broken(keyword: &str, value: &Json, schema: &Map<String, Json>) -> Vec<Json> {
    let each =
        |make: &dyn Fn(&Json) -> Json| value.as_array().into_iter().flatten().map(make).collect();
    let count = |more: i64| {
        value
            .as_i64()
            .and_then(|count| count.checked_add(more))
            .filter(|count| *count >= 0)
    };
    let counted = |kind: &str, bound: &str, more| {
        count(more)
            .map(|count| json!({"type": kind, bound: count}))
            .into_iter()
            .collect::<Vec<_>>()
    };
    match keyword {
        "type" => vec![json!({"type": others(value)})],
        "const" => vec![json!({"not": {"const": value}})],
        "enum" => vec![json!({"not": {"enum": value}})],
        "minimum" => vec![json!({"type": "number", "exclusiveMaximum": value})],
        "maximum" => vec![json!({"type": "number", "exclusiveMinimum": value})],
        "exclusiveMinimum" => vec![json!({"type": "number", "maximum": value})],
        "exclusiveMaximum" => vec![json!({"type": "number", "minimum": value})],
        "multipleOf" => vec![json!({"type": "number"})],
        "minLength" => counted("string", "maxLength", -1),
        "maxLength" => counted("string", "minLength", 1),
        "pattern" | "format" => vec![json!({"type": "string"})],
        "minItems" => counted("array", "maxItems", -1),
        "maxItems" => counted("array", "minItems", 1),
        "minProperties" => counted("object", "maxProperties", -1),
        "maxProperties" => counted("object", "minProperties", 1),
        "uniqueItems" if value == &Json::Bool(true) => {
            vec![json!({"type": "array", "minItems": 2, "prefixItems": [{"const": 1}, {"const": 1}]})]
        }
        "items" if !value.is_array() => vec![json!({"type": "array", "contains": {"not": value}})],
        "contains" => vec![json!({"type": "array", "items": {"not": value}})],
        "prefixItems" => placed(value),
        "required" => each(&|name| {
            let name = name.as_str().unwrap_or_default();
            json!({"type": "object", "properties": {name: false}})
        }),
        "properties" => value.as_object().into_iter().flatten().map(|(name, property)| {
            json!({"type": "object", "required": [name], "properties": {name: {"not": property}}})
        }).collect(),
        "unevaluatedItems" if value == &Json::Bool(false) => vec![json!({"type": "array", "minItems": 3})],
        "additionalProperties" | "unevaluatedProperties" | "propertyNames" => {
            vec![json!({"type": "object", "required": ["something-else"], "properties": {"something-else": {"not": value}}})]
        }
        "allOf" => each(&|part| json!({"not": part})),
        "anyOf" | "oneOf" => {
            vec![json!({"allOf": each(&|part| json!({"not": part})) as Vec<Json>})]
        }
        "not" => vec![value.clone()],
        "if" => conditional(value, schema),
        _ => Vec::new(),
    }
}

fn conditional(condition: &Json, schema: &Map<String, Json>) -> Vec<Json> {
    let then = schema
        .get("then")
        .map(|then| json!({"allOf": [condition, {"not": then}]}));
    let otherwise = schema
        .get("else")
        .map(|otherwise| json!({"allOf": [{"not": condition}, {"not": otherwise}]}));
    then.into_iter().chain(otherwise).collect()
}

fn placed(value: &Json) -> Vec<Json> {
    let schemas = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let broken = |(index, schema): (usize, &Json)| {
        let mut prefix = vec![json!(true); index];
        prefix.push(json!({"not": schema}));
        json!({"type": "array", "minItems": index + 1, "prefixItems": prefix})
    };
    schemas.iter().enumerate().map(broken).collect()
}

fn others(value: &Json) -> Vec<&'static str> {
    let excluded: Vec<&str> = match value {
        Json::String(name) => vec![name],
        Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    };
    let all = ["string", "integer", "boolean", "object", "array", "null"];
    let kept = all.into_iter().filter(|name| !excluded.contains(name));
    let kept: Vec<_> = kept
        .filter(|name| *name != "integer" || !excluded.contains(&"number"))
        .collect();
    // A value that is not an integer may still be a number with a fraction, for which JSON Schema has no type.
    if excluded.contains(&"integer") && !excluded.contains(&"number") {
        return [kept, vec!["fraction"]].concat();
    }
    kept
}
