//! The shapes of the APIs that a double plays, each in its file.

use planrun_tools::project::ModelApi;
use serde_json::Value as Json;

use super::played::Event;
use super::requests::Asked;
use super::script::{Answer, Failure};
use super::{chat, messages, responses};

/// Where requests of each shape go.
pub(super) const PATHS: [(&str, ModelApi); 3] = [
    ("/v1/chat/completions", ModelApi::Chat),
    ("/v1/responses", ModelApi::Responses),
    ("/v1/messages", ModelApi::Messages),
];

/// What a request asks.
pub(super) fn asked(api: ModelApi, body: &Json) -> Asked {
    match api {
        ModelApi::Chat => chat::asked(body),
        ModelApi::Responses => responses::asked(body),
        ModelApi::Messages => messages::asked(body),
    }
}

/// The events of an answer to a request with this body.
pub(super) fn events(api: ModelApi, answer: &Answer, body: &Json) -> Vec<Event> {
    match api {
        ModelApi::Chat => chat::events(answer, body),
        ModelApi::Responses => responses::events(answer, body),
        ModelApi::Messages => messages::events(answer, body),
    }
}

/// The answer as one JSON.
pub(super) fn whole(api: ModelApi, answer: &Answer, body: &Json) -> Json {
    match api {
        ModelApi::Chat => chat::whole(answer, body),
        ModelApi::Responses => responses::whole(answer, body),
        ModelApi::Messages => messages::whole(answer, body),
    }
}

/// The body of a failure with this status.
pub(super) fn failure(api: ModelApi, failure: &Failure, status: u16) -> Json {
    match api {
        ModelApi::Chat | ModelApi::Responses => chat::failure(failure, status),
        ModelApi::Messages => messages::failure(failure, status),
    }
}
