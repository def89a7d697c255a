//! Constraints of JSON Schemas that types do not express, such as patterns, ranges and lengths: which values a schema
//! accepts no longer, or in addition.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

/// Keywords with a bound that accepts more values the higher it is.
const UPPER: [&str; 6] = [
    "maximum",
    "exclusiveMaximum",
    "maxLength",
    "maxItems",
    "maxContains",
    "maxProperties",
];
/// Keywords with a bound that accepts more values the lower it is.
const LOWER: [&str; 6] = [
    "minimum",
    "exclusiveMinimum",
    "minLength",
    "minItems",
    "minContains",
    "minProperties",
];
/// Keywords whose changes cannot be decided without a value.
const OTHER: [&str; 14] = [
    "pattern",
    "format",
    "multipleOf",
    "uniqueItems",
    "contains",
    "propertyNames",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "not",
    "if",
    "then",
    "else",
];
/// Keywords with a schema for parts of a value, and the text that they add to the path.
const PARTS: [(&str, &str); 3] = [
    ("items", "[]"),
    ("additionalProperties", ".*"),
    ("prefixItems", "[]"),
];
/// Maximum depth of a schema that is compared.
const MAX_DEPTH: usize = 32;

/// A changed constraint of one part of a value.
pub(super) struct Changed {
    /// The path of the part, such as `customer.emails[]`; empty for the whole value.
    pub path: String,
    /// The change: `has another `maximum`: 10 instead of 100`.
    pub text: String,
    /// Whether every value that was accepted is still accepted.
    pub is_looser: bool,
    /// Whether every value that is accepted was accepted before.
    pub is_tighter: bool,
}

/// Returns the changed constraints of parts that both schemas describe.
pub(super) fn changed(was: &Json, is: &Json) -> Vec<Changed> {
    let [mut before, mut after] = [BTreeMap::new(), BTreeMap::new()];
    collect(was, "", 0, &mut before);
    collect(is, "", 0, &mut after);
    let mut found = Vec::new();
    for (path, was) in &before {
        let Some(is) = after.get(path) else { continue };
        let keywords = UPPER.iter().chain(&LOWER).chain(&OTHER);
        for keyword in keywords {
            found.extend(change(path, keyword, was.get(*keyword), is.get(*keyword)));
        }
    }
    found
}

fn change(path: &str, keyword: &str, was: Option<&Json>, is: Option<&Json>) -> Option<Changed> {
    // The only bound with a default that refuses a value.
    let default = (keyword == "minContains").then(|| Json::from(1));
    let (was, is) = (was.or(default.as_ref()), is.or(default.as_ref()));
    let (text, is_looser, is_tighter) = match (was, is) {
        (None, None) => return None,
        (Some(was), None) => (format!("no longer has `{keyword}`: {was}"), true, false),
        (None, Some(is)) => (format!("now has `{keyword}`: {is}"), false, true),
        (Some(was), Some(is)) if was == is => return None,
        (Some(was), Some(is)) => {
            let rises = was.as_f64().zip(is.as_f64()).map(|(was, is)| is > was);
            let (upper, lower) = (UPPER.contains(&keyword), LOWER.contains(&keyword));
            let text = format!("has `{keyword}`: {is} instead of {was}");
            let is_looser = upper && rises == Some(true) || lower && rises == Some(false);
            let is_tighter = upper && rises == Some(false) || lower && rises == Some(true);
            (text, is_looser, is_tighter)
        }
    };
    Some(Changed {
        path: path.trim_start_matches('.').to_owned(),
        text,
        is_looser,
        is_tighter,
    })
}

/// Collects the keywords of each part of a value. Several schemas of one part, such as those of `allOf`, are told apart
/// by their positions.
fn collect<'j>(
    schema: &'j Json,
    path: &str,
    depth: usize,
    found: &mut BTreeMap<String, &'j Map<String, Json>>,
) {
    let Some(keywords) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
        return;
    };
    found.insert(path.to_owned(), keywords);
    for (name, part) in keywords
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        collect(part, &format!("{path}.{name}"), depth + 1, found);
    }
    for (keyword, step) in PARTS {
        if let Some(part) = keywords.get(keyword) {
            collect(part, &format!("{path}{step}"), depth + 1, found);
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        let several = keywords.get(keyword).and_then(Json::as_array);
        for (position, part) in several.into_iter().flatten().enumerate() {
            collect(part, &format!("{path}<{position}>"), depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn texts(was: &Json, is: &Json) -> Vec<(String, bool, bool)> {
        let changes = changed(was, is).into_iter();
        let text = |one: &Changed| format!("{} {}", one.path, one.text);
        changes
            .map(|one| (text(&one), one.is_looser, one.is_tighter))
            .collect()
    }

    #[test]
    fn bounds_are_looser_or_tighter_and_everything_else_is_open() {
        let schema = |keywords: Json| json!({ "properties": { "a": { "items": keywords } } });
        let cases = [
            (
                json!({ "maximum": 1 }),
                json!({ "maximum": 2 }),
                (true, false),
            ),
            (
                json!({ "maximum": 2 }),
                json!({ "maximum": 1 }),
                (false, true),
            ),
            (
                json!({ "minLength": 1 }),
                json!({ "minLength": 2 }),
                (false, true),
            ),
            (json!({ "minLength": 2 }), json!({}), (true, false)),
            (json!({ "minContains": 0 }), json!({}), (false, true)),
            (json!({}), json!({ "pattern": "a" }), (false, true)),
            (
                json!({ "pattern": "a" }),
                json!({ "pattern": "b" }),
                (false, false),
            ),
        ];
        for (was, is, expected) in cases {
            let found = texts(&schema(was.clone()), &schema(is.clone()));
            let [(text, looser, tighter)] = found.as_slice() else {
                panic!("{was} {is}: {found:?}");
            };
            assert!(text.starts_with("a[] "), "{text}");
            assert_eq!((*looser, *tighter), expected, "{was} {is}");
        }
    }

    #[test]
    fn parts_that_only_one_schema_has_are_left_to_the_types() {
        let was = json!({ "properties": { "a": { "maximum": 1, "description": "x" } } });
        let is = json!({ "properties": { "b": { "maximum": 1 } } });
        assert!(texts(&was, &is).is_empty());
        assert!(texts(&was, &was).is_empty());
    }
}
