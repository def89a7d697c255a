//! The MCP App: a panel that a client shows beside the result of a run, with the question that the run asks.
//!
//! The panel opens the page of the question and answers nothing itself: a tool that answers could be called by a model.
//! It follows the extension `io.modelcontextprotocol/ui` as of 2026-01-26.

use rmcp::RoleServer;
use rmcp::model::{JsonObject, MetaObject, ResourceContents};
use rmcp::service::RequestContext;
use serde_json::{Value as Json, json};

use crate::asking::PutQuestion;

const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MIME: &str = "text/html;profile=mcp-app";
pub(super) const URI: &str = "ui://planrun/question";
const HTML: &str = include_str!("app.html");
/// Where a result has the question for the panel.
const QUESTION: &str = "planrun/question";

/// Whether the client of a request declares that it shows panels of HTML.
pub(super) fn is_shown(context: &RequestContext<RoleServer>) -> bool {
    let extensions = context
        .client_capabilities()
        .and_then(|declared| declared.extensions);
    extensions.is_some_and(|declared| declared.get(EXTENSION).is_some_and(takes_html))
}

/// A client that declares no types takes the only one that there is.
fn takes_html(declared: &JsonObject) -> bool {
    declared
        .get("mimeTypes")
        .and_then(Json::as_array)
        .is_none_or(|types| types.iter().any(|one| one == MIME))
}

/// What a tool says whose results are shown in the panel. Only models call it: the panel has no need to.
pub(super) fn of_tool() -> MetaObject {
    meta("ui", json!({ "resourceUri": URI, "visibility": ["model"] }))
}

/// What a result says of the question that its run asks; `page` is its address.
pub(super) fn of_result(question: &PutQuestion, page: Option<&str>) -> MetaObject {
    let asked = json!({ "text": question.text, "command": question.command(), "page": page });
    meta(QUESTION, asked)
}

/// The panel itself. It loads nothing and connects to nothing.
pub(super) fn contents() -> ResourceContents {
    ResourceContents::text(HTML, URI)
        .with_mime_type(MIME)
        .with_meta(meta("ui", json!({ "prefersBorder": true })))
}

fn meta(key: &str, value: Json) -> MetaObject {
    MetaObject(JsonObject::from_iter([(key.to_owned(), value)]))
}
