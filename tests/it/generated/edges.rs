//! Generates values that a JSON Schema allows, preferably edge cases.

use serde_json::{Map, Value as Json, json};

use crate::generate::Dice;

/// Strings that break common assumptions.
const TEXTS: [&str; 9] = [
    "",
    "a",
    "WZ001",
    "名字",
    "e\u{301}",
    "😀😀",
    "${x}",
    "a,b,,c",
    "2026-01-31T09:00:00Z",
];
/// Maximum number of elements.
const MOST: usize = 3;

/// Returns a value for a schema with the keywords that generated contracts and types use.
pub fn answer(schema: &Json, dice: &mut Dice) -> Json {
    if let Some(special) = schema.get("x-planrun-type").and_then(Json::as_str) {
        return special_value(special, dice);
    }
    if let Some(constant) = schema.get("const") {
        return constant.clone();
    }
    if let Some(choices) = schema.get("enum").and_then(Json::as_array) {
        return dice.pick(choices).clone();
    }
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(keyword).and_then(Json::as_array) {
            let choice = dice.pick(choices).clone();
            return answer(&choice, dice);
        }
    }
    let name = match schema.get("type") {
        Some(Json::Array(names)) => dice.pick(names).as_str().unwrap_or("null").to_owned(),
        Some(Json::String(name)) => name.clone(),
        _ if schema.get("properties").is_some() => "object".to_owned(),
        _ => (*dice.pick(&["null", "string", "integer", "boolean"])).to_owned(),
    };
    match name.as_str() {
        "string" => text(schema, dice),
        "integer" => integer(schema, dice),
        "number" => dice
            .pick(&[
                json!(0.0),
                json!(-1.5),
                json!(1e300),
                json!(3),
                json!(5e-324),
                json!(100.25),
            ])
            .clone(),
        "boolean" => json!(dice.one_in(2)),
        "array" => {
            let element = schema.get("items").cloned().unwrap_or(json!({}));
            let count = if element == json!(false) {
                0
            } else {
                dice.below(MOST + 1)
            };
            (0..count).map(|_| answer(&element, dice)).collect()
        }
        "object" => object(schema, dice),
        _ => Json::Null,
    }
}

fn special_value(name: &str, dice: &mut Dice) -> Json {
    match name {
        "timestamp" => json!(dice.pick(&[
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59Z",
            "2024-02-29T12:00:00+14:00"
        ])),
        "duration" => json!(dice.pick(&["0s", "-1.5s", "3600s", "315576000000s"])),
        "bytes" => json!("AP8="),
        "uint" => json!(dice.pick(&[0_u64, 1, u64::MAX])),
        _ => json!({"class": "tool.failed", "message": "", "retryable": false}),
    }
}

fn text(schema: &Json, dice: &mut Dice) -> Json {
    match schema.get("format").and_then(Json::as_str) {
        Some("email") => json!("a@example.com"),
        Some("uri") => json!("https://example.com/%E5%90%8D"),
        Some("date") => json!("2024-02-29"),
        Some("uuid") => json!("01234567-89ab-cdef-0123-456789abcdef"),
        _ => json!(dice.pick(&TEXTS)),
    }
}

fn integer(schema: &Json, dice: &mut Dice) -> Json {
    let bound = |name: &str| schema.get(name).and_then(Json::as_i64);
    match (bound("minimum"), bound("maximum")) {
        (Some(least), Some(most)) => json!(dice.pick(&[least, most])),
        _ => json!(dice.pick(&[0, 1, -1, 7, 100, i64::MAX, i64::MIN])),
    }
}

fn object(schema: &Json, dice: &mut Dice) -> Json {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    let mut made = Map::new();
    for (name, property) in schema
        .get("properties")
        .and_then(Json::as_object)
        .into_iter()
        .flatten()
    {
        if required.contains(&name.as_str()) || dice.one_in(2) {
            made.insert(name.clone(), answer(property, dice));
        }
    }
    match schema.get("additionalProperties") {
        Some(Json::Bool(false)) => {}
        Some(rest @ Json::Object(_)) => {
            for name in ["a", "b c", "键"].iter().take(dice.below(4)) {
                made.insert((*name).to_owned(), answer(rest, dice));
            }
        }
        // Fields beyond the contract are allowed, but cannot be read.
        _ if dice.one_in(3) => drop(made.insert(
            "beyond the contract".to_owned(),
            json!([null, { "deep": 1 }]),
        )),
        _ => {}
    }
    Json::Object(made)
}
