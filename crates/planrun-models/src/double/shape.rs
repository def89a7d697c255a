//! Selects the API format that a test double speaks; each is in a file of its own.

use planrun_tools::project::ModelApi;
use serde_json::Value as Json;

use super::event::Event;
use super::requests::RequestSummary;
use super::script::{Answer, Failure};
use super::{chat, messages, responses};

/// The paths of the APIs.
pub(super) const PATHS: [(&str, ModelApi); 3] = [
    ("/v1/chat/completions", ModelApi::Chat),
    ("/v1/responses", ModelApi::Responses),
    ("/v1/messages", ModelApi::Messages),
];

/// Parses a request.
pub(super) fn parse_request(api: ModelApi, body: &Json) -> RequestSummary {
    match api {
        ModelApi::Chat => chat::parse_request(body),
        ModelApi::Responses => responses::parse_request(body),
        ModelApi::Messages => messages::parse_request(body),
    }
}

/// Returns the streamed events of an answer to a request with this body.
pub(super) fn events(api: ModelApi, answer: &Answer, body: &Json) -> Vec<Event> {
    match api {
        ModelApi::Chat => chat::events(answer, body),
        ModelApi::Responses => responses::events(answer, body),
        ModelApi::Messages => messages::events(answer, body),
    }
}

/// Returns the answer as one JSON document.
pub(super) fn whole(api: ModelApi, answer: &Answer, body: &Json) -> Json {
    match api {
        ModelApi::Chat => chat::whole(answer, body),
        ModelApi::Responses => responses::whole(answer, body),
        ModelApi::Messages => messages::whole(answer, body),
    }
}

/// Returns the body of an error response with this status.
pub(super) fn failure(api: ModelApi, failure: &Failure, status: u16) -> Json {
    match api {
        ModelApi::Chat | ModelApi::Responses => chat::failure(failure, status),
        ModelApi::Messages => messages::failure(failure, status),
    }
}
