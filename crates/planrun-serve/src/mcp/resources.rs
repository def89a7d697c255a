//! Resources: the pages of the language, the journals of runs, and the panel.

use planrun_runs::runs::{EventOptions, Planrun};
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};
use serde_json::json;

use super::app;
use crate::discovery::{language_page, language_topics};

/// The prefix of a page's address, before its topic.
pub(super) const LANGUAGE: &str = "planrun://language/";
pub(super) const LANGUAGE_TEMPLATE: &str = "planrun://language/{+topic}";
/// The prefix of a run's address, before its id.
const RUNS: &str = "planrun://runs/";
pub(super) const RUN_TEMPLATE: &str = "planrun://runs/{id}";
/// Maximum size of a journal resource, in bytes. The rest can be read with `planrun runs events`.
const MAX_JOURNAL: usize = 256 * 1024;

/// Lists the pages of the language. The panel is not listed, because the tools refer to it.
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
        .with_description("The events of a run, one JSON object per line.")
        .with_mime_type("application/x-ndjson");
    ListResourceTemplatesResult::with_all_items(vec![language, runs])
}

/// Returns the id of the run at an address; `None` if it is not the address of a run.
pub(super) fn run_of(uri: &str) -> Option<&str> {
    uri.strip_prefix(RUNS)
}

/// Reads the resource at an address. Returns an error if there is no such resource.
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

/// Returns the first events of a run, as many as fit.
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
