//! Converts a server's answer to a call into a value of the plan.
//!
//! Structured content is the value. Without it, a single text that is a JSON object or array becomes that value, any
//! other single text becomes a string, and everything else becomes `{ text, parts }`. A result that is marked as an
//! error fails the step with the class `tool.failed`.

use std::sync::Arc;

use crate::tools::{failed, invalid_result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use planrun_lang::call::{Answer, CallError, CallOutcome, sensitive_result};
use planrun_lang::protocol::Sent;
use planrun_lang::secrets::{Redactor, redact_json_paths};
use planrun_lang::types::Signature;
use planrun_lang::value::{Key, Map, Value};
use rmcp::model::{CallToolResult, ContentBlock, ReadResourceResult, ResourceContents};
use serde_json::Value as Json;

/// Returns the outcome of a call of a tool with this contract.
pub(super) fn outcome(result: CallToolResult, signature: &Signature) -> CallOutcome {
    if result.is_error == Some(true) {
        return Err(failure(result, signature));
    }
    if let Some(structured) = result.structured_content {
        return Ok(Answer::Json(structured));
    }
    if let Some(contract) = &signature.output_schema {
        let json = only_text(&result.content)
            .and_then(|text| serde_json::from_str::<Json>(text).ok())
            .filter(|json| contract.violations(json).is_empty());
        return json.map(Answer::Json).ok_or_else(|| {
            let message = "the server declares a structured result, but sent none".to_owned();
            invalid_result(message)
        });
    }
    if let Some(text) = only_text(&result.content) {
        let json = serde_json::from_str::<Json>(text).ok();
        return Ok(
            match json.filter(|json| json.is_object() || json.is_array()) {
                Some(json) => Answer::Json(json),
                None => Answer::Value(Value::from(text.to_owned())),
            },
        );
    }
    parts(&result.content).map(Answer::Value)
}

/// Returns the text of a result that consists of a single text.
fn only_text(content: &[ContentBlock]) -> Option<&str> {
    match content {
        [ContentBlock::Text(text)] => Some(&text.text),
        _ => None,
    }
}

/// Adds the data of a protocol error to the error of the step.
pub(super) fn with_data(error: CallError, data: Option<&Json>) -> CallError {
    match data {
        Some(data) => error.with_details(data),
        None => error,
    }
}

/// Returns the error of a call that the server reports as failed, without what the contract of the result declares
/// secret: only a result keeps its secrets for the plan.
fn failure(mut result: CallToolResult, signature: &Signature) -> CallError {
    let structured = result.structured_content.as_mut();
    let secrets = structured.map_or_else(Redactor::default, |structured| {
        let paths = sensitive_result(signature, &Value::from_json(structured));
        redact_json_paths(structured, &paths)
    });
    let texts = texts(&result.content);
    let message = match (&*texts, &result.structured_content) {
        ("", Some(structured)) => structured.to_string(),
        ("", None) => format!("{} failed without a reason", signature.path()),
        (texts, _) => secrets.text(texts).into_owned(),
    };
    let error = failed(message, Sent::Answered);
    with_data(error, result.structured_content.as_ref())
}

/// Returns all texts of a result, one per line.
fn texts(content: &[ContentBlock]) -> String {
    let texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// Returns the value of several blocks, or of one that is not a text.
fn parts(content: &[ContentBlock]) -> Result<Value, CallError> {
    let parts = content.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    Ok(object([
        ("text", Some(Value::from(texts(content)))),
        ("parts", Some(Value::List(Arc::new(parts)))),
    ]))
}

fn part(block: &ContentBlock) -> Result<Value, CallError> {
    let text = |text: &str| Some(Value::from(text.to_owned()));
    Ok(match block {
        ContentBlock::Text(block) => object([("kind", text("text")), ("text", text(&block.text))]),
        ContentBlock::Image(image) => object([
            ("kind", text("image")),
            ("mime", text(&image.mime_type)),
            ("bytes", Some(bytes(&image.data)?)),
        ]),
        ContentBlock::Audio(audio) => object([
            ("kind", text("audio")),
            ("mime", text(&audio.mime_type)),
            ("bytes", Some(bytes(&audio.data)?)),
        ]),
        ContentBlock::ResourceLink(link) => object([
            ("kind", text("link")),
            ("uri", text(&link.uri)),
            ("name", text(&link.name)),
        ]),
        ContentBlock::Resource(embedded) => return resource(&embedded.resource),
        _ => return Err(unknown_block()),
    })
}

/// Converts the content of a resource.
fn resource(contents: &ResourceContents) -> Result<Value, CallError> {
    let text = |text: &str| Some(Value::from(text.to_owned()));
    let (uri, mime, key, content) = match contents {
        ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text: content,
            ..
        } => (uri, mime_type, "text", text(content)),
        ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob,
            ..
        } => (uri, mime_type, "bytes", Some(bytes(blob)?)),
        _ => return Err(unknown_block()),
    };
    Ok(object([
        ("kind", text("resource")),
        ("uri", text(uri)),
        ("mime", mime.as_deref().and_then(text)),
        (key, content),
    ]))
}

/// Returns the outcome of reading a resource: its texts, one per line, and its parts.
pub(super) fn contents(result: &ReadResourceResult) -> CallOutcome {
    let parts = result.contents.iter().map(resource);
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let texts = result.contents.iter().filter_map(|part| match part {
        ResourceContents::TextResourceContents { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    Ok(Answer::Value(object([
        ("text", Some(Value::from(text))),
        ("parts", Some(Value::List(Arc::new(parts)))),
    ])))
}

/// Returns an object without the fields that have no value.
fn object<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let fields = fields
        .into_iter()
        .filter_map(|(name, value)| Some((Key::String(name.into()), value?)));
    Value::Map(Arc::new(fields.collect::<Map>()))
}

fn bytes(base64: &str) -> Result<Value, CallError> {
    let decoded = STANDARD.decode(base64);
    decoded
        .map(|bytes| Value::Bytes(bytes.into()))
        .map_err(|_| {
            let message = "the result has binary content that is not valid base64".to_owned();
            invalid_result(message)
        })
}

fn unknown_block() -> CallError {
    let message = "the result has content of an unknown kind".to_owned();
    invalid_result(message)
}

#[cfg(test)]
mod tests {
    use planrun_lang::call::Details;
    use planrun_lang::types::Contract;
    use serde_json::json;

    use super::*;

    fn unwrapped(result: Json, output: Option<Json>) -> Result<Json, String> {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        let signature = Signature {
            output_schema: output.map(|schema| Arc::new(Contract::of_result(schema))),
            ..Signature::unknown("notes".into(), "search".into())
        };
        match outcome(result, &signature) {
            Ok(Answer::Json(json)) => Ok(json),
            Ok(Answer::Value(value)) => Ok(value.to_json()),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_failure_has_no_secrets_of_the_result() {
        let structured = json!({ "pin": "s3cret-0815", "left": 2, "note": "it was s3cret-0815" });
        let result = json!({
            "isError": true,
            "content": [{ "type": "text", "text": structured.to_string() }],
            "structuredContent": structured,
        });
        let signature = Signature {
            sensitive: vec!["result.pin".into()],
            ..Signature::unknown("notes".into(), "search".into())
        };
        let error = outcome(serde_json::from_value(result).unwrap(), &signature).unwrap_err();
        let redacted = json!({ "pin": "[redacted]", "left": 2, "note": "it was [redacted]" });
        assert_eq!(error.details.unwrap().json(), &redacted);
        assert!(error.message.contains("[redacted]"), "{}", error.message);
        assert!(!error.message.contains("s3cret"), "{}", error.message);
    }

    #[test]
    fn every_kind_of_result_is_a_value() {
        let text = |text: &str| json!({ "type": "text", "text": text });
        let cases = [
            (
                json!({ "content": [text("x")], "structuredContent": { "a": 1 } }),
                json!({ "a": 1 }),
            ),
            (
                json!({ "content": [], "structuredContent": [1] }),
                json!([1]),
            ),
            (
                json!({ "content": [text("{\"a\": 1}")] }),
                json!({ "a": 1 }),
            ),
            (json!({ "content": [text("42")] }), json!("42")),
            (json!({ "content": [text("true")] }), json!("true")),
            (json!({ "content": [text("\"q\"")] }), json!("\"q\"")),
            (json!({ "content": [text("你好")] }), json!("你好")),
            (
                json!({ "content": [text("a"), text("b")] }),
                json!({ "text": "a\nb", "parts": [{ "kind": "text", "text": "a" }, { "kind": "text", "text": "b" }] }),
            ),
            (json!({ "content": [] }), json!({ "text": "", "parts": [] })),
            (
                json!({ "content": [{ "type": "image", "data": "AQI=", "mimeType": "image/png" }] }),
                json!({ "text": "", "parts": [{ "kind": "image", "mime": "image/png", "bytes": "AQI=" }] }),
            ),
            (
                json!({ "content": [{ "type": "resource_link", "uri": "file:///a", "name": "a" }] }),
                json!({ "text": "", "parts": [{ "kind": "link", "uri": "file:///a", "name": "a" }] }),
            ),
            (
                json!({ "content": [{ "type": "resource", "resource": { "uri": "x:1", "text": "t" } }] }),
                json!({ "text": "", "parts": [{ "kind": "resource", "uri": "x:1", "text": "t" }] }),
            ),
        ];
        for (result, expected) in cases {
            assert_eq!(unwrapped(result.clone(), None), Ok(expected), "{result}");
        }
    }

    #[test]
    fn a_declared_result_has_to_come() {
        let declared = || Some(json!({ "type": "object", "required": ["a"] }));
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        assert_eq!(
            unwrapped(text("{\"a\": 1}"), declared()),
            Ok(json!({ "a": 1 }))
        );
        for missing in ["{\"b\": 1}", "words"] {
            let error = unwrapped(text(missing), declared()).unwrap_err();
            assert!(error.starts_with("validation.result: "), "{error}");
        }
    }

    #[test]
    fn an_error_fails_the_call() {
        let failed =
            json!({ "isError": true, "content": [{ "type": "text", "text": "no such note" }] });
        assert_eq!(
            unwrapped(failed, None),
            Err("tool.failed: no such note".to_owned())
        );
        let failed = json!({ "isError": true, "content": [{ "type": "text", "text": "no" }], "structuredContent": { "code": 7 } });
        let signature = Signature::unknown("notes".into(), "search".into());
        let error = outcome(serde_json::from_value(failed).unwrap(), &signature).unwrap_err();
        assert_eq!(
            (&*error.message, error.details),
            ("no", Details::new(&json!({ "code": 7 })).unwrap())
        );
        let silent = json!({ "isError": true, "content": [] });
        let expected = "tool.failed: notes.search failed without a reason";
        assert_eq!(unwrapped(silent, None), Err(expected.to_owned()));
        let broken =
            json!({ "content": [{ "type": "image", "data": "?", "mimeType": "image/png" }] });
        assert!(unwrapped(broken, None).is_err());
    }
}
