//! Helpers shared by the API formats: stream events, and texts.

use serde_json::Value as Json;

/// One event of a stream.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub text: String,
    /// Whether the event contains output of the model.
    pub is_token: bool,
}

impl Event {
    pub(super) fn data(data: &Json) -> Self {
        Self {
            text: format!("data: {data}\n\n"),
            is_token: false,
        }
    }

    /// Returns an event whose name is the `type` of its data.
    pub(super) fn named(data: &Json) -> Self {
        let name = data.get("type").and_then(Json::as_str).unwrap_or_default();
        Self {
            text: format!("event: {name}\ndata: {data}\n\n"),
            is_token: false,
        }
    }

    pub(super) fn token(self) -> Self {
        Self {
            is_token: true,
            ..self
        }
    }
}

/// Splits a text into words, as a model streams it.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(char::is_whitespace)
}

/// Splits arguments into a few fragments, between any two characters.
pub(super) fn fragments(arguments: &str) -> Vec<String> {
    let characters: Vec<char> = arguments.chars().collect();
    let size = characters.len().div_ceil(3).max(1);
    let fragments = characters.chunks(size);
    fragments.map(|piece| piece.iter().collect()).collect()
}

/// Returns the name of the requested model.
pub(super) fn model(body: &Json) -> Json {
    body.get("model")
        .cloned()
        .unwrap_or_else(|| "double".into())
}

/// Returns the text of a content, which may consist of parts.
pub(super) fn text(content: Option<&Json>) -> String {
    match content {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    }
}
