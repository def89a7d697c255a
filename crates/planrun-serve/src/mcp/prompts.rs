//! The prompt that gives a model the language, and the completion of its argument and of resource templates.

use planrun_runs::runs::{Planrun, RunFilter};
use rmcp::ErrorData;
use rmcp::model::{
    ArgumentInfo, CompleteResult, CompletionInfo, ContentBlock, GetPromptRequestParams,
    GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference,
    ResourceContents, Role,
};
use serde_json::Value as Json;

use super::resources::{LANGUAGE, LANGUAGE_TEMPLATE, RUN_TEMPLATE};
use crate::discovery::{CARD, language_page, language_topics};

/// The name of the prompt. Clients prefix it with the name of the server.
const NAME: &str = "language";
/// The name of its argument.
const PAGE: &str = "page";

/// Returns the only prompt.
pub(super) fn list() -> ListPromptsResult {
    let page = PromptArgument::new(PAGE)
        .with_description("A page of the language, or the code of a finding.")
        .with_required(false);
    let description = "How to write planrun plans, for a model that has to write one.";
    let prompt =
        Prompt::new(NAME, Some(description), Some(vec![page])).with_title("The language of plans");
    ListPromptsResult::with_all_items(vec![prompt])
}

/// Returns the card and the requested page. Returns an error if there is no such prompt, argument or page.
pub(super) fn get(request: GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let invalid = |why: String| ErrorData::invalid_params(why, None);
    if request.name != NAME {
        let name = &request.name;
        return Err(invalid(format!(
            "there is no prompt {name:?}; the only one is {NAME:?}"
        )));
    }
    let mut arguments = request.arguments.unwrap_or_default();
    let page = match arguments.remove(PAGE) {
        None | Some(Json::Null) => None,
        Some(Json::String(topic)) => Some(topic),
        Some(_) => return Err(invalid(format!("{PAGE:?} must be a string"))),
    };
    if let Some(extra) = arguments.keys().next() {
        return Err(invalid(format!(
            "there is no argument {extra:?}; the only one is {PAGE:?}"
        )));
    }
    let mut messages = vec![PromptMessage::new_text(Role::User, CARD.trim_end())];
    // Clients send an empty text for an argument that was not filled in.
    if let Some(topic) = page.filter(|topic| !topic.trim().is_empty()) {
        let topic = topic.trim();
        let text = language_page(topic)
            .ok_or_else(|| invalid(format!("there is no page {topic:?}; completion lists them")))?;
        let page = ResourceContents::text(text, format!("{LANGUAGE}{topic}"));
        let page = ContentBlock::resource(page.with_mime_type("text/markdown"));
        messages.push(PromptMessage::new(Role::User, page));
    }
    Ok(GetPromptResult::new(messages).with_description("How to write planrun plans."))
}

/// Completes an argument of the prompt or of a resource template. Returns an error if there is no such prompt, template
/// or argument.
pub(super) fn complete(
    planrun: &Planrun,
    (of, argument): (&Reference, &ArgumentInfo),
) -> Result<CompleteResult, ErrorData> {
    let place = match of {
        Reference::Prompt(prompt) => &prompt.name,
        Reference::Resource(template) => &template.uri,
        _ => "",
    };
    let values = match (place, &*argument.name) {
        (NAME, PAGE) | (LANGUAGE_TEMPLATE, "topic") => topics(&argument.value),
        (RUN_TEMPLATE, "id") => runs(planrun, &argument.value),
        (place, argument) => {
            let why = format!("{place:?} has no argument {argument:?}");
            return Err(ErrorData::invalid_params(why, None));
        }
    };
    let (all, limit) = (values.len(), CompletionInfo::MAX_VALUES);
    let values = values.into_iter().take(limit).collect();
    let total = u32::try_from(all).ok();
    let info = CompletionInfo::with_pagination(values, total, all > limit);
    let info = info.map_err(|why| ErrorData::internal_error(why, None))?;
    Ok(CompleteResult::new(info))
}

/// Returns the topics that contain the typed text. Those that start with it are first.
fn topics(typed: &str) -> Vec<String> {
    let mut topics: Vec<&str> = language_topics()
        .filter(|topic| topic.contains(typed))
        .collect();
    topics.sort_by_key(|topic| !topic.starts_with(typed));
    topics.into_iter().map(str::to_owned).collect()
}

/// Returns the ids of the latest runs that start with the typed text.
fn runs(planrun: &Planrun, typed: &str) -> Vec<String> {
    // Without a journal there are no runs yet.
    let runs = planrun.list(&RunFilter::default()).unwrap_or_default();
    let ids = runs.into_iter().map(|run| run.run.clone());
    ids.filter(|id| id.starts_with(typed)).collect()
}
