//! Helpers that all tools over HTTP share: restricting redirects, and the detail message of a failed answer.

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::value::{Value, shortened};
use reqwest::Url;
use serde_json::{Map, Value as Json};

use crate::tools::denied;

/// Maximum length of a body in an error message, in characters.
const MAX_BODY_PREVIEW: usize = 200;

/// Checks that a redirect stays at the origin that the project configures. Fails with the error of the call if it does
/// not.
pub fn same_host(target: &Url, expected: &Url, path: &str) -> Result<(), CallError> {
    if target.origin() == expected.origin() {
        return Ok(());
    }
    let host = target.host_str().unwrap_or_default();
    let message = if target.host() == expected.host() {
        let origin = target.origin().ascii_serialization();
        let configured = expected.origin().ascii_serialization();
        format!(
            "{path} was redirected to {origin}, but the project configures {configured} on this host"
        )
    } else {
        format!(
            "{path} was redirected to {host}, which is not the host that the project configures"
        )
    };
    Err(denied(message, Sent::Answered))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_is_refused_with_the_part_of_the_address_that_differs() {
        let url = |text: &str| Url::parse(text).unwrap();
        let configured = url("http://127.0.0.1:8080/v1");
        let refused = |target: &str| {
            let refused = same_host(&url(target), &configured, "shop.find");
            refused.unwrap_err().message
        };
        assert!(same_host(&url("http://127.0.0.1:8080/v2"), &configured, "shop.find").is_ok());
        let other = "shop.find was redirected to 127.0.0.2, which is not the host that the project configures";
        assert_eq!(refused("http://127.0.0.2:8080/"), other);
        for target in ["http://127.0.0.1:9/x", "https://127.0.0.1:8080/x"] {
            let origin = target.trim_end_matches("/x");
            let message = format!(
                "shop.find was redirected to {origin}, but the project configures http://127.0.0.1:8080 on this host"
            );
            assert_eq!(refused(target), message);
        }
    }
}
