//! Resources: the language in pages, the journals of runs, and the panel.

use planrun_runs::runs::{EventOptions, Planrun};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::app;
use crate::discovery::{language_page, language_topics};

/// Before the topic of a page.
pub(super) const LANGUAGE: &str = "planrun://language/";
pub(super) const LANGUAGE_TEMPLATE: &str = "planrun://language/{+topic}";
/// Before the id of a run.
const RUNS: &str = "planrun://runs/";
pub(super) const RUN_TEMPLATE: &str = "planrun://runs/{id}";
/// Bytes of a journal; the rest is read with `planrun runs events`.
const MAX_JOURNAL: usize = 256 * 1024;

/// The pages of the language. The panel is found by the tools that name it.
pub(super) fn list() -> ListResourcesResult {
    let page = |topic: &str| {
        Resource::new(format!("{LANGUAGE}{topic}"), format!("language/{topic}"))
            .with_mime_type("text/markdown")
    };
    ListResourcesResult::with_all_items(language_topics().map(page).collect())
}

pub(super) fn templates() -> ListResourceTemplatesResult {
    let language = ResourceTemplate::new(LANGUAGE_TEMPLATE, "language")
        .with_description("A page of the language, or what a finding means, by its code.")
        .with_mime_type("text/markdown");
    let runs = ResourceTemplate::new(RUN_TEMPLATE, "run")
        .with_description("The events of a run, a line of JSON each.")
        .with_mime_type("application/x-ndjson");
    ListResourceTemplatesResult::with_all_items(vec![language, runs])
}

/// The id of the run behind an address.
pub(super) fn run_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(RUNS)
}

/// What stands behind an address.
///
/// # Errors
/// When there is nothing.
pub(super) fn read(planrun: &Planrun, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let nothing = || {
        let place = json!({ "uri": uri });
        ErrorData::resource_not_found(format!("there is no resource {uri}"), Some(place))
    };
    if uri == app::URI {
        return Ok(ReadResourceResult::new(vec![app::contents()]));
    }
    let (text, mime) = if let Some(topic) = uri.strip_prefix(LANGUAGE) {
        let page = language_page(topic).ok_or_else(nothing)?;
        (page, "text/markdown")
    } else if let Some(run) = run_of(uri) {
        (
            journal(planrun, run).ok_or_else(nothing)?,
            "application/x-ndjson",
        )
    } else {
        return Err(nothing());
    };
    let contents = ResourceContents::text(text, uri).with_mime_type(mime);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// The events of a run, from the first one on, as far as there is room for them.
fn journal(planrun: &Planrun, run: &str) -> Option<String> {
    let mut text = String::new();
    for event in planrun.events(run, EventOptions::default()).ok()? {
        let line = event.ok()?.line;
        if text.len() + line.len() > MAX_JOURNAL {
            break;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    Some(text)
}
