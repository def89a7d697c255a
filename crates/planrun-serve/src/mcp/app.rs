//! The MCP App: a panel that a client displays next to the result of a run, with the run's question.
//!
//! The panel opens the page of the question and does not answer itself, because a model could call a tool that answers.
//! It follows the extension `io.modelcontextprotocol/ui` as of 2026-01-26.

use rmcp::RoleServer;
use rmcp::model::{JsonObject, MetaObject, ResourceContents};
use rmcp::service::RequestContext;
use serde_json::{Value as Json, json};

use crate::asking::PendingQuestion;

const EXTENSION: &str = "io.modelcontextprotocol/ui";
const MIME: &str = "text/html;profile=mcp-app";
pub(super) const URI: &str = "ui://planrun/question";
const HTML: &str = include_str!("app.html");
/// The key of the question in the metadata of a result.
const QUESTION: &str = "planrun/question";

/// Returns true if the client declares support for HTML panels.
pub(super) fn is_supported(context: &RequestContext<RoleServer>) -> bool {
    let extensions = context
        .client_capabilities()
        .and_then(|declared| declared.extensions);
    extensions.is_some_and(|declared| declared.get(EXTENSION).is_some_and(takes_html))
}

/// A client that declares no types accepts the only existing one.
fn takes_html(declared: &JsonObject) -> bool {
    declared
        .get("mimeTypes")
        .and_then(Json::as_array)
        .is_none_or(|types| types.iter().any(|one| one == MIME))
}

/// Returns the metadata of a tool whose results are displayed in the panel. Only models may call it, because the panel
/// does not have to.
pub(super) fn of_tool() -> MetaObject {
    meta("ui", json!({ "resourceUri": URI, "visibility": ["model"] }))
}

/// Returns the metadata of a result whose run asks a question; `page` is the address of the question.
pub(super) fn of_result(question: &PendingQuestion, page: Option<&str>) -> MetaObject {
    let content = json!({ "text": question.text, "command": question.command(), "page": page });
    meta(QUESTION, content)
}

/// Returns the panel. It loads nothing and connects to nothing.
pub(super) fn contents() -> ResourceContents {
    ResourceContents::text(HTML, URI)
        .with_mime_type(MIME)
        .with_meta(meta("ui", json!({ "prefersBorder": true })))
}

fn meta(key: &str, value: Json) -> MetaObject {
    MetaObject(JsonObject::from_iter([(key.to_owned(), value)]))
}
