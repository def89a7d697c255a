//! Classifies the errors that servers report.

use planrun_lang::value::shortened;
use serde_json::Value as Json;

use crate::model::{ErrorKind, ModelError};

/// Maximum number of characters of a server's message that are reported.
const MAX_MESSAGE_CHARS: usize = 500;

/// Error codes and types that are more specific than the status.
const NAMED: &[(&str, ErrorKind)] = &[
    ("insufficient_quota", ErrorKind::Quota),
    ("billing_error", ErrorKind::Quota),
    ("context_length_exceeded", ErrorKind::TooLong),
    ("request_too_large", ErrorKind::TooLong),
    ("rate_limit_error", ErrorKind::RateLimited),
    ("rate_limit_exceeded", ErrorKind::RateLimited),
    ("too_many_requests", ErrorKind::RateLimited),
    ("overloaded_error", ErrorKind::Unavailable),
    ("server_error", ErrorKind::Unavailable),
    ("internal_server_error", ErrorKind::Unavailable),
    ("api_error", ErrorKind::Unavailable),
    ("timeout_error", ErrorKind::Unavailable),
    ("authentication_error", ErrorKind::Authentication),
    ("invalid_api_key", ErrorKind::Authentication),
    ("permission_error", ErrorKind::Authorization),
    ("invalid_request_error", ErrorKind::InvalidRequest),
    ("not_found_error", ErrorKind::InvalidRequest),
    ("model_not_found", ErrorKind::InvalidRequest),
];

/// Phrases in messages about a conversation that is too long, from servers without a code for it.
const TOO_LONG: [&str; 4] = [
    "maximum context length",
    "context window",
    "context size",
    "prompt is too long",
];

/// Returns the error of a response without a success status.
pub fn failure(status: u16, body: &[u8]) -> ModelError {
    let json = serde_json::from_slice::<Json>(body).ok();
    let message = json.as_ref().and_then(message);
    let message = message.unwrap_or_else(|| String::from_utf8_lossy(body).into_owned());
    let by_status = match status {
        401 => ErrorKind::Authentication,
        402 => ErrorKind::Quota,
        403 => ErrorKind::Authorization,
        408 | 500..=599 => ErrorKind::Unavailable,
        413 => ErrorKind::TooLong,
        429 => ErrorKind::RateLimited,
        400..=499 => ErrorKind::InvalidRequest,
        _ => ErrorKind::Protocol,
    };
    // The status is more reliable than a general code, except for codes that distinguish errors with the same status.
    let kind = match json.as_ref().and_then(|json| named(json, &message)) {
        Some(kind @ (ErrorKind::Quota | ErrorKind::TooLong)) => kind,
        Some(_) | None => by_status,
    };
    let separator = if message.trim().is_empty() { "" } else { ": " };
    let message = format!(
        "it answered with status {status}{separator}{}",
        cut(&message)
    );
    ModelError {
        status: Some(status),
        ..ModelError::new(kind, message)
    }
}

/// Returns the error that an event of a stream, or an answer with a success status, describes.
pub(super) fn in_stream(json: &Json) -> ModelError {
    let message = message(json).unwrap_or_else(|| json.to_string());
    let code = inner(json).get("code").and_then(Json::as_u64);
    let status = code.and_then(|code| u16::try_from(code).ok());
    if let Some(status) = status.filter(|status| (400..=599).contains(status)) {
        return failure(status, json.to_string().as_bytes());
    }
    let kind = named(json, &message).unwrap_or(ErrorKind::Unavailable);
    ModelError::new(
        kind,
        format!("it reported an error in its answer: {}", cut(&message)),
    )
}

/// Returns the error about an unreadable answer, with an excerpt of it.
pub(super) fn unreadable(what: &str, received: &[u8]) -> ModelError {
    let received = cut(&String::from_utf8_lossy(received));
    ModelError::new(ErrorKind::Protocol, format!("{what}: {received}"))
}

fn inner(json: &Json) -> &Json {
    json.get("error").unwrap_or(json)
}

fn message(json: &Json) -> Option<String> {
    let inner = inner(json);
    let text = |json: &Json| json.as_str().map(str::to_owned);
    let names = ["message", "detail", "reason"];
    let under = |json: &Json| names.iter().find_map(|name| text(json.get(name)?));
    text(inner).or_else(|| under(inner))
}

fn named(json: &Json, message: &str) -> Option<ErrorKind> {
    let words = ["code", "type"].map(|name| inner(json).get(name).and_then(Json::as_str));
    let by_word = |word: &str| NAMED.iter().find(|(name, _)| *name == word);
    let kind = words.into_iter().flatten().find_map(by_word);
    let lower = message.to_lowercase();
    match kind.map(|(_, kind)| *kind) {
        None | Some(ErrorKind::InvalidRequest) if TOO_LONG.iter().any(|s| lower.contains(s)) => {
            Some(ErrorKind::TooLong)
        }
        kind => kind,
    }
}

/// Truncates a message of a server.
fn cut(text: &str) -> String {
    shortened(text.trim(), MAX_MESSAGE_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn statuses_and_codes_tell_kinds_apart() {
        let error = |code: &str| json!({"error": {"code": code, "message": "no"}}).to_string();
        let cases = [
            (400, error("x"), ErrorKind::InvalidRequest),
            (400, error("context_length_exceeded"), ErrorKind::TooLong),
            (
                400,
                json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 9 > 8"}}).to_string(),
                ErrorKind::TooLong,
            ),
            (401, String::new(), ErrorKind::Authentication),
            (403, error("x"), ErrorKind::Authorization),
            (404, "no such page".into(), ErrorKind::InvalidRequest),
            (429, error("rate_limit_exceeded"), ErrorKind::RateLimited),
            (429, error("insufficient_quota"), ErrorKind::Quota),
            (500, error("invalid_request_error"), ErrorKind::Unavailable),
            (529, error("overloaded_error"), ErrorKind::Unavailable),
            (304, String::new(), ErrorKind::Protocol),
        ];
        for (status, body, kind) in cases {
            assert_eq!(
                failure(status, body.as_bytes()).kind,
                kind,
                "{status} {body}"
            );
        }
    }

    #[test]
    fn messages_are_found_and_cut() {
        let message_of = |body: &str| failure(400, body.as_bytes()).message;
        let prefix = "it answered with status 400";
        assert_eq!(message_of(""), prefix);
        for body in [
            r#"{"error": {"message": "no"}}"#,
            r#"{"error": "no"}"#,
            r#"{"detail": "no"}"#,
            " no\n",
        ] {
            assert_eq!(message_of(body), format!("{prefix}: no"));
        }
        assert_eq!(
            message_of(&"é".repeat(9000)).chars().count(),
            prefix.len() + 503
        );
    }

    #[test]
    fn errors_of_streams_have_kinds() {
        let kind = |json: Json| in_stream(&json).kind;
        let overloaded = json!({"error": {"type": "overloaded_error", "message": "busy"}});
        assert_eq!(kind(overloaded), ErrorKind::Unavailable);
        assert_eq!(
            kind(json!({"error": {"code": 429, "message": "slow"}})),
            ErrorKind::RateLimited
        );
        assert_eq!(kind(json!({"error": "what?"})), ErrorKind::Unavailable);
    }
}
