//! The formats of model APIs: writes requests and reads answers, independent of a connection.

mod chat;
mod fault;
mod messages;
mod reader;
mod responses;

use planrun_tools::project::ModelApi;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue, InvalidHeaderValue};
use serde_json::Value as Json;
use url::Url;

use crate::model::{ModelError, Part, Request};

pub use fault::failure;
pub use reader::{MAX_ANSWER_BYTES, MAX_EVENT_BYTES, Reader};

/// The target of a request.
#[derive(Clone, Copy, Debug)]
pub struct Addressee<'a> {
    /// The name of the model at the server.
    pub model: &'a str,
    /// The URL that requests are sent to. The names of some fields depend on its host.
    pub endpoint: &'a Url,
}

/// Returns the headers for authentication and content type. The key is marked as sensitive. Returns an error if the key
/// has characters that a header cannot contain.
pub fn headers(api: ModelApi, key: Option<&str>) -> Result<HeaderMap, InvalidHeaderValue> {
    let mut headers = HeaderMap::new();
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    let (name, prefix) = match api {
        ModelApi::Chat | ModelApi::Responses => (header::AUTHORIZATION, "Bearer "),
        ModelApi::Messages => {
            let version = HeaderValue::from_static("2023-06-01");
            headers.insert("anthropic-version", version);
            (HeaderName::from_static("x-api-key"), "")
        }
    };
    if let Some(key) = key {
        let mut value = HeaderValue::from_str(&format!("{prefix}{key}"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Decodes the events of a stream, or an answer that is not streamed.
trait Decoder: Send {
    /// Adds the parts of an event.
    fn event(&mut self, data: &[u8], parts: &mut Vec<Part>) -> Result<(), ModelError>;
    /// Adds the parts of an answer that is one JSON document.
    fn whole(&mut self, body: &Json, parts: &mut Vec<Part>) -> Result<(), ModelError>;
    /// Returns true if the answer is complete, so that nothing more has to be read.
    fn is_complete(&self) -> bool;
    /// Ends the stream, and returns true if the answer is complete.
    fn end(&mut self, parts: &mut Vec<Part>) -> bool;
}

/// Returns the body of a request for a streamed answer.
pub fn body(api: ModelApi, addressee: Addressee, request: &Request) -> Json {
    match api {
        ModelApi::Chat => chat::body(addressee, request),
        ModelApi::Responses => responses::body(addressee, request),
        ModelApi::Messages => messages::body(addressee, request),
    }
}

/// Returns the URL for requests. `base` is a base URL with or without an API version, or the URL of the endpoint
/// itself.
pub fn endpoint(api: ModelApi, base: &Url) -> Url {
    let path = match api {
        ModelApi::Chat => "chat/completions",
        ModelApi::Responses => "responses",
        ModelApi::Messages => "messages",
    };
    let mut endpoint = base.clone();
    let own = base.path().trim_end_matches('/');
    if own.ends_with(&format!("/{path}")) {
        endpoint.set_path(own);
        return endpoint;
    }
    let is_version = |segment: &str| {
        let digits = segment.strip_prefix('v');
        digits.is_some_and(|digits| digits.starts_with(|first: char| first.is_ascii_digit()))
    };
    let version = if own.split('/').any(is_version) {
        ""
    } else {
        "/v1"
    };
    endpoint.set_path(&format!("{own}{version}/{path}"));
    endpoint
}

fn decoder(api: ModelApi) -> Box<dyn Decoder> {
    match api {
        ModelApi::Chat => Box::new(chat::ChatDecoder::default()),
        ModelApi::Responses => Box::new(responses::ResponsesDecoder::default()),
        ModelApi::Messages => Box::new(messages::MessagesDecoder::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_come_with_and_without_their_version() {
        let cases = [
            ("http://a", "http://a/v1/chat/completions"),
            ("http://a/", "http://a/v1/chat/completions"),
            ("http://a/v1", "http://a/v1/chat/completions"),
            ("http://a/v1/", "http://a/v1/chat/completions"),
            ("http://a/llm/", "http://a/llm/v1/chat/completions"),
            ("http://a/api/v3", "http://a/api/v3/chat/completions"),
            (
                "http://a/v1beta/openai/",
                "http://a/v1beta/openai/chat/completions",
            ),
            (
                "http://a/openai/v1?api-version=1",
                "http://a/openai/v1/chat/completions?api-version=1",
            ),
            ("http://a/chat/completions", "http://a/chat/completions"),
        ];
        for (base, expected) in cases {
            let url = endpoint(ModelApi::Chat, &Url::parse(base).unwrap());
            assert_eq!(url.as_str(), expected, "{base}");
        }
    }
}
