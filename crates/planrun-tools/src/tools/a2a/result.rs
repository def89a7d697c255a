//! Converts an agent's answer to a value of the plan.
//!
//! A single part becomes its value: the data itself, or a text as a string unless it is the JSON of an object or array,
//! which is parsed. Everything else becomes `{ text, parts }`. Consecutive texts of an artifact are joined, because
//! streaming agents send them in pieces.

use std::sync::Arc;

use planrun_lang::call::Answer;
use planrun_lang::value::{Key, Map, Value};
use serde_json::{Number, Value as Json};

use super::wire::{Artifact, Content, Message, Part};

/// A part of a result with the name of its artifact.
type Named<'a> = (Option<&'a str>, Part);

/// Returns the value of a completed task: its artifacts, or its final message if it has none.
pub(super) fn of_task(artifacts: &[Artifact], final_message: Option<&Message>) -> Answer {
    if artifacts.is_empty() {
        return final_message.map_or(Answer::Value(Value::Null), of_message);
    }
    let parts = artifacts.iter().flat_map(|artifact| {
        let name = artifact.name.as_deref().filter(|name| !name.is_empty());
        joined(&artifact.parts)
            .into_iter()
            .map(move |part| (name, part))
    });
    value(parts.collect())
}

/// Returns the value of a message.
pub(super) fn of_message(message: &Message) -> Answer {
    value(
        message
            .parts
            .iter()
            .map(|part| (None, part.clone()))
            .collect(),
    )
}

/// Returns all texts of a message, one per line, with its data as JSON.
pub(super) fn text_of(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.clone()),
        Content::Url(url) => Some(url.clone()),
        Content::Data(data) => Some(data.to_string()),
        Content::Bytes(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the texts of a message, or all of its content if it has no text.
pub(super) fn words_of(message: &Message) -> String {
    let mut words = message.clone();
    words
        .parts
        .retain(|part| matches!(part.content, Content::Text(_)));
    text_of(if words.parts.is_empty() {
        message
    } else {
        &words
    })
}

/// Returns the data of a message: the data of one part, a list if several parts have data, or null.
pub(super) fn data_of(message: &Message) -> Json {
    let data = message.parts.iter().filter_map(|part| match &part.content {
        Content::Data(data) => Some(whole_numbers(data.clone())),
        Content::Text(_) | Content::Bytes(_) | Content::Url(_) => None,
    });
    let mut data: Vec<Json> = data.collect();
    match &mut *data {
        [] => Json::Null,
        [only] => only.take(),
        _ => data.into(),
    }
}

/// Joins consecutive texts.
fn joined(parts: &[Part]) -> Vec<Part> {
    let mut whole: Vec<Part> = Vec::new();
    for part in parts {
        if let (Content::Text(more), Some(last)) = (&part.content, whole.last_mut())
            && (&last.filename, &last.media_type) == (&part.filename, &part.media_type)
            && let Content::Text(text) = &mut last.content
        {
            text.push_str(more);
            continue;
        }
        whole.push(part.clone());
    }
    whole
}

fn value(mut parts: Vec<Named>) -> Answer {
    if let [(_, part)] = &mut *parts {
        match &mut part.content {
            Content::Data(data) => return Answer::Json(whole_numbers(data.take())),
            Content::Text(text) => {
                let json = serde_json::from_str::<Json>(text).ok();
                return match json.filter(|json| json.is_object() || json.is_array()) {
                    Some(json) => Answer::Json(json),
                    None => Answer::Value(Value::from(std::mem::take(text))),
                };
            }
            Content::Bytes(_) | Content::Url(_) => {}
        }
    }
    let texts = parts.iter().filter_map(|(_, part)| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        Content::Bytes(_) | Content::Url(_) | Content::Data(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    let parts = parts.into_iter().map(listed).collect();
    Answer::Value(Value::object([
        ("text", Value::from(text)),
        ("parts", Value::List(Arc::new(parts))),
    ]))
}

/// Returns a part as an object without the fields that have no value.
fn listed((artifact, part): Named) -> Value {
    let (kind, field, content) = match part.content {
        Content::Text(text) => ("text", "text", Value::from(text)),
        Content::Bytes(bytes) => ("file", "bytes", Value::Bytes(bytes.into())),
        Content::Url(url) => ("file", "url", Value::from(url)),
        Content::Data(data) => ("data", "data", Value::from_json(&whole_numbers(data))),
    };
    let fields = [
        ("kind", Some(Value::from(kind))),
        (field, Some(content)),
        ("name", part.filename.map(Value::from)),
        ("mime", part.media_type.map(Value::from)),
        ("artifact", artifact.map(Value::from)),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((Key::String(name.into()), value?)));
    Value::Map(Arc::new(fields.collect::<Map>()))
}

/// Converts whole doubles to integers. Numbers are doubles in the protocol, and agents write `3.0` for `3`.
fn whole_numbers(json: Json) -> Json {
    match json {
        Json::Number(number) => Json::Number(whole(&number).unwrap_or(number)),
        Json::Array(items) => items.into_iter().map(whole_numbers).collect(),
        Json::Object(fields) => {
            let fields = fields.into_iter();
            fields
                .map(|(name, value)| (name, whole_numbers(value)))
                .collect()
        }
        other @ (Json::Null | Json::Bool(_) | Json::String(_)) => other,
    }
}

fn whole(number: &Number) -> Option<Number> {
    /// Above this, doubles cannot represent every integer.
    const MAX: f64 = 9_007_199_254_740_992.0;
    let double = number
        .as_f64()
        .filter(|double| double.fract() == 0.0 && double.abs() <= MAX)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the double is an integer within bounds"
    )]
    let integer = double as i64;
    Some(integer.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value_of(artifacts: Json) -> Json {
        let artifacts: Vec<Artifact> = serde_json::from_value(artifacts).unwrap();
        match of_task(&artifacts, None) {
            Answer::Json(json) => json,
            Answer::Value(value) => value.to_json(),
        }
    }

    #[test]
    fn one_part_is_its_value_and_several_are_listed() {
        let one = |part: Json| json!([{ "artifactId": "a", "name": "out", "parts": [part] }]);
        let cases = [
            (one(json!({ "text": "你好" })), json!("你好")),
            (one(json!({ "text": "42" })), json!("42")),
            (one(json!({ "text": "[1, 2]" })), json!([1, 2])),
            (
                one(json!({ "data": { "n": 3.0, "half": 0.5, "all": [1e3] } })),
                json!({ "n": 3, "half": 0.5, "all": [1000] }),
            ),
            (one(json!({ "data": null })), json!(null)),
            (json!([]), json!(null)),
            (
                one(json!({ "raw": "AQI=", "filename": "a.bin", "mediaType": "x/y" })),
                json!({ "text": "", "parts": [
                    { "kind": "file", "bytes": "AQI=", "name": "a.bin", "mime": "x/y", "artifact": "out" }] }),
            ),
            (
                json!([{ "parts": [{ "text": "Hel" }, { "text": "lo" }] }]),
                json!("Hello"),
            ),
            (
                json!([{ "parts": [{ "text": "a" }, { "url": "https://x/y" }] }, { "parts": [{ "text": "b" }] }]),
                json!({ "text": "a\nb", "parts": [
                    { "kind": "text", "text": "a" }, { "kind": "file", "url": "https://x/y" }, { "kind": "text", "text": "b" }] }),
            ),
        ];
        for (artifacts, expected) in cases {
            assert_eq!(value_of(artifacts.clone()), expected, "{artifacts}");
        }
    }

    #[test]
    fn what_is_no_part_is_no_artifact() {
        for part in [json!({}), json!({ "raw": "?" }), json!({ "kind": "text" })] {
            let artifact = json!({ "artifactId": "a", "parts": [part] });
            assert!(serde_json::from_value::<Artifact>(artifact).is_err());
        }
        let empty: Artifact = serde_json::from_value(json!({ "parts": null })).unwrap();
        assert!(empty.parts.is_empty());
    }
}
