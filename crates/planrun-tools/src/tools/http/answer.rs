//! Helpers that all tools over HTTP share: restricting redirects, and the detail message of a failed answer.

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::{Value, shortened};
use reqwest::Url;
use serde_json::{Map, Value as Json};

/// Maximum length of a body in an error message, in characters.
const MAX_BODY_PREVIEW: usize = 200;

/// Checks that a redirect stays at the origin that the project configures. Fails with the error of the call if it does
/// not.
pub fn same_host(target: &Url, expected: &Url, path: &str) -> Result<(), CallError> {
    if target.origin() == expected.origin() {
        return Ok(());
    }
    let host = target.host_str().unwrap_or_default();
    let message = format!(
        "{path} was redirected to {host}, which is not the host that the project configures"
    );
    Err(CallError::new(
        ErrorClass::Denied(Denied::Policy),
        message,
        Sent::Answered,
    ))
}

/// Returns the detail of a failed answer: its `error`, `message`, `detail` or `reason`, whichever is present first,
/// otherwise its text.
pub fn failure_detail(object: Option<&Map<String, Json>>, body: &[u8]) -> String {
    let text = |name: &str| object?.get(name)?.as_str().filter(|text| !text.is_empty());
    let words = ["error", "message", "detail", "reason"];
    match words.into_iter().find_map(text) {
        Some(text) => shortened(text, 4 * MAX_BODY_PREVIEW),
        None if body.is_empty() => "an empty body".into(),
        None => Value::from(&*String::from_utf8_lossy(body)).preview(MAX_BODY_PREVIEW),
    }
}
