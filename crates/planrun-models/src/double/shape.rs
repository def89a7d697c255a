//! The API formats that a test double speaks; each is in a file of its own.

use serde_json::Value as Json;

use super::event::Event;
use super::requests::RequestSummary;
use super::script::{Answer, Failure};
use super::{chat, messages, responses};

/// One API: its path, and how its requests and answers are written.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub path: &'static str,
    pub parse_request: fn(&Json) -> RequestSummary,
    /// Returns the streamed events of an answer to a request with this body.
    pub events: fn(&Answer, &Json) -> Vec<Event>,
    /// Returns the answer as one JSON document.
    pub whole: fn(&Answer, &Json) -> Json,
    /// Returns the body of an error response with this status.
    pub failure: fn(&Failure, u16) -> Json,
}

pub(super) const SHAPES: [Shape; 3] = [
    Shape {
        path: "/v1/chat/completions",
        parse_request: chat::parse_request,
        events: chat::events,
        whole: chat::whole,
        failure: chat::failure,
    },
    Shape {
        path: "/v1/responses",
        parse_request: responses::parse_request,
        events: responses::events,
        whole: responses::whole,
        failure: chat::failure,
    },
    Shape {
        path: "/v1/messages",
        parse_request: messages::parse_request,
        events: messages::events,
        whole: messages::whole,
        failure: messages::failure,
    },
];
