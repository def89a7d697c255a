//! Writes `multipart/form-data` bodies.

use std::fmt::Write as _;

use planrun_lang::value::Value;
use serde_json::Value as Json;

use super::body::BodyField;

use crate::tools::http::parameter::text;

/// A body that is being built.
pub(super) struct Multipart {
    parts: Vec<Vec<u8>>,
    key: String,
}

impl Multipart {
    /// Creates an empty body. Attempts with the same key send the same bytes.
    pub(super) fn new(key: &str) -> Self {
        Self {
            parts: Vec::new(),
            key: key.to_owned(),
        }
    }

    /// Adds a field: bytes as a file, each element of a list as a separate part, and objects as JSON.
    pub(super) fn add(&mut self, field: &BodyField, value: Option<&Value>, json: &Json) {
        match (value, json) {
            (Some(Value::Bytes(bytes)), _) => self.file(field, bytes),
            (Some(Value::List(items)), Json::Array(all)) => {
                for (item, json) in items.iter().zip(all) {
                    match item {
                        Value::Bytes(bytes) => self.file(field, bytes),
                        _ => self.plain(field, json),
                    }
                }
            }
            (_, Json::Null) => {}
            (_, json) => self.plain(field, json),
        }
    }

    /// Returns the media type with its boundary, and the body.
    pub(super) fn finish(self) -> (String, Vec<u8>) {
        let mut boundary = self.key;
        loop {
            boundary = format!("planrun-{}", blake3::hash(boundary.as_bytes()).to_hex());
            // The boundary must not occur in any part.
            let held = |part: &Vec<u8>| {
                let mut windows = part.windows(boundary.len());
                windows.any(|window| window == boundary.as_bytes())
            };
            if !self.parts.iter().any(held) {
                break;
            }
        }
        let mut body = Vec::new();
        for part in &self.parts {
            body.extend_from_slice(format!("--{boundary}\r\n").as_bytes());
            body.extend_from_slice(part);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        (format!("multipart/form-data; boundary={boundary}"), body)
    }

    fn file(&mut self, field: &BodyField, bytes: &[u8]) {
        let name = quoted(field.serialization.name.trim_end_matches("[]"));
        let media_type = field.media_type.as_deref();
        let media_type = media_type.unwrap_or("application/octet-stream");
        self.part(
            field,
            &format!("; filename=\"{name}\""),
            Some(media_type),
            bytes,
        );
    }

    fn plain(&mut self, field: &BodyField, json: &Json) {
        let usual = (json.is_object() || json.is_array()).then_some("application/json");
        let media_type = field.media_type.as_deref().or(usual);
        self.part(field, "", media_type, text(json).as_bytes());
    }

    fn part(&mut self, field: &BodyField, more: &str, media_type: Option<&str>, content: &[u8]) {
        let name = quoted(&field.serialization.name);
        let mut part = format!("Content-Disposition: form-data; name=\"{name}\"{more}\r\n");
        if let Some(media_type) = media_type {
            // Writing to a string cannot fail.
            let _ = write!(part, "Content-Type: {}\r\n", one_line(media_type));
        }
        part.push_str("\r\n");
        let mut part = part.into_bytes();
        part.extend_from_slice(content);
        self.parts.push(part);
    }
}

/// Escapes a name for quotes in the way browsers do.
fn quoted(name: &str) -> String {
    name.replace('"', "%22")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn one_line(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_control()).collect()
}
