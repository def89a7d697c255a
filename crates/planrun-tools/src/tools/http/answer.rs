//! What the tools behind HTTP have in common: where a redirect may lead, and what a failed answer says.

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass};
use planrun_lang::value::Value;
use reqwest::Url;
use serde_json::{Map, Value as Json};

/// What a failure tells of an answer's body, in characters.
const TOLD_OF_BODY: usize = 200;

/// A tool is called where the project says. A redirect may not lead elsewhere.
///
/// # Errors
/// What the call ends with where it does.
pub fn same_host(target: &Url, home: &Url, path: &str) -> Result<(), CallError> {
    if target.origin() == home.origin() {
        return Ok(());
    }
    let host = target.host_str().unwrap_or_default();
    let message =
        format!("{path} was redirected to {host}, which is not the host that the project names");
    Err(CallError::new(
        ErrorClass::Denied(Denied::Policy),
        message,
        Sent::Answered,
    ))
}

/// What the answer says of its failure: its `error`, else `message`, else `detail`, else `reason`, else its text.
#[must_use]
pub fn told(object: Option<&Map<String, Json>>, body: &[u8]) -> String {
    let text = |name: &str| object?.get(name)?.as_str().filter(|text| !text.is_empty());
    let words = ["error", "message", "detail", "reason"];
    match words.into_iter().find_map(text) {
        Some(text) => shortened(text),
        None if body.is_empty() => "an empty body".into(),
        None => Value::from(&*String::from_utf8_lossy(body)).preview(TOLD_OF_BODY),
    }
}

fn shortened(text: &str) -> String {
    let mut characters = text.chars();
    let mut short: String = characters.by_ref().take(4 * TOLD_OF_BODY).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}
