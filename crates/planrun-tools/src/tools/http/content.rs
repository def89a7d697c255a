//! The encodings of request and answer bodies by media type.

use planrun_lang::call::{Answer, CallOutcome};
use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::HttpResponse;
use crate::tools::{invalid_result, json};

/// The encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    Json,
    /// `application/x-www-form-urlencoded`
    Form,
    /// `multipart/form-data`
    Multipart,
    Text,
    Bytes,
}

impl Content {
    /// Returns the encoding of a media type.
    pub fn of(media_type: &str) -> Self {
        let plain = media_type.split(';').next().unwrap_or_default();
        match plain.trim().to_ascii_lowercase().as_str() {
            "application/json" => Self::Json,
            json if json.ends_with("+json") => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "multipart/form-data" => Self::Multipart,
            "application/xml" | "application/x-ndjson" | "application/jsonl" => Self::Text,
            text if text.starts_with("text/") || text.ends_with("+xml") => Self::Text,
            _ => Self::Bytes,
        }
    }

    /// Returns true if it consists of form fields.
    pub const fn is_form(self) -> bool {
        matches!(self, Self::Form | Self::Multipart)
    }
}

/// Decodes the value of a successful answer by its media type, or by the expected one if it has none. An empty body is
/// null. Returns an error if the body should be JSON and is not.
pub fn value(response: &HttpResponse, expected: Option<Content>, path: &str) -> CallOutcome {
    if response.body.is_empty() {
        return Ok(Answer::Json(Json::Null));
    }
    let media_type = response.media_type();
    let content = if media_type.is_empty() {
        expected.unwrap_or(Content::Bytes)
    } else {
        Content::of(&media_type)
    };
    match content {
        Content::Json => match json::parse(&response.body) {
            Ok(json) => Ok(Answer::Json(json)),
            Err(problem) => Err(invalid_result(format!("{path} answered with {problem}"))),
        },
        Content::Text => Ok(Answer::Json(String::from_utf8_lossy(&response.body).into())),
        Content::Bytes | Content::Form | Content::Multipart => {
            Ok(Answer::Value(Value::Bytes(response.body.as_slice().into())))
        }
    }
}
