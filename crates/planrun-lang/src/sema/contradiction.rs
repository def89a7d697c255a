//! Finds contradictions in JSON Schemas, by a fixed list of rules.

use serde_json::Value as Json;

/// Pairs of keywords of which the first must not exceed the second.
const BOUNDS: [(&str, &str); 5] = [
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
];

/// Returns why no value fits a JSON Schema; `None` if one may.
pub(super) fn contradiction(schema: &Json) -> Option<String> {
    let Json::Object(keywords) = schema else {
        return (*schema == Json::Bool(false))
            .then(|| "it is `false`, which accepts no value".to_owned());
    };
    if keywords
        .get("enum")
        .and_then(Json::as_array)
        .is_some_and(Vec::is_empty)
    {
        return Some("its `enum` is empty".to_owned());
    }
    // Fast path: most schemas have no bounds.
    let bounds = |side: &str| keywords.keys().any(|keyword| keyword.starts_with(side));
    if !bounds("min") || !bounds("max") {
        return None;
    }
    let number = |name: &str| keywords.get(name).and_then(Json::as_f64);
    let crossed = BOUNDS.iter().find(
        |(low, high)| matches!((number(low), number(high)), (Some(low), Some(high)) if low > high),
    );
    crossed.map(|(low, high)| format!("its `{low}` is greater than its `{high}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_crosses_is_told_and_what_touches_is_not() {
        assert!(contradiction(&json!(false)).is_some());
        assert!(contradiction(&json!({ "enum": [] })).is_some());
        assert!(contradiction(&json!({ "minimum": 5, "maximum": 3 })).is_some());
        assert!(contradiction(&json!({ "minimum": 3, "maximum": 3 })).is_none());
        assert!(contradiction(&json!({ "minLength": 3 })).is_none());
        assert!(contradiction(&json!(true)).is_none());
    }
}
