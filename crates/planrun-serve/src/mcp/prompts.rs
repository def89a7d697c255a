//! The prompt with which a person gives a model the language, and what completes its argument and the places of resources.

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

/// The name of the prompt, before which clients put that of the server.
const NAME: &str = "language";
/// The name of its argument.
const PAGE: &str = "page";

/// The only prompt.
pub(super) fn list() -> ListPromptsResult {
    let page = PromptArgument::new(PAGE)
        .with_description("A page of the language, or the code of a finding.")
        .with_required(false);
    let said = "How to write plans of planrun, for a model that shall write one.";
    let prompt =
        Prompt::new(NAME, Some(said), Some(vec![page])).with_title("The language of plans");
    ListPromptsResult::with_all_items(vec![prompt])
}

/// The card, and the page that is wanted.
///
/// # Errors
/// When there is no such prompt, argument or page.
pub(super) fn get(request: GetPromptRequestParams) -> Result<GetPromptResult, ErrorData> {
    let wrong = |why: String| ErrorData::invalid_params(why, None);
    if request.name != NAME {
        let name = &request.name;
        return Err(wrong(format!(
            "there is no prompt {name:?}; there is {NAME:?}"
        )));
    }
    let mut arguments = request.arguments.unwrap_or_default();
    let page = match arguments.remove(PAGE) {
        None | Some(Json::Null) => None,
        Some(Json::String(topic)) => Some(topic),
        Some(_) => return Err(wrong(format!("{PAGE:?} is a text"))),
    };
    if let Some(extra) = arguments.keys().next() {
        return Err(wrong(format!(
            "there is no argument {extra:?}; there is {PAGE:?}"
        )));
    }
    let mut messages = vec![PromptMessage::new_text(Role::User, CARD.trim_end())];
    // Clients send an empty text for an argument that nobody has filled in.
    if let Some(topic) = page.filter(|topic| !topic.trim().is_empty()) {
        let topic = topic.trim();
        let text = language_page(topic)
            .ok_or_else(|| wrong(format!("there is no page {topic:?}; completion lists them")))?;
        let page = ResourceContents::text(text, format!("{LANGUAGE}{topic}"));
        let page = ContentBlock::resource(page.with_mime_type("text/markdown"));
        messages.push(PromptMessage::new(Role::User, page));
    }
    Ok(GetPromptResult::new(messages).with_description("How to write plans of planrun."))
}

/// What an argument may be of the prompt, or of a template of resources, that contains what has been typed.
///
/// # Errors
/// When there is no such prompt, template or argument.
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
            let why = format!("nothing is known of an argument {argument:?} of {place:?}");
            return Err(ErrorData::invalid_params(why, None));
        }
    };
    let (all, shown) = (values.len(), CompletionInfo::MAX_VALUES);
    let values = values.into_iter().take(shown).collect();
    let total = u32::try_from(all).ok();
    let info = CompletionInfo::with_pagination(values, total, all > shown);
    let info = info.map_err(|why| ErrorData::internal_error(why, None))?;
    Ok(CompleteResult::new(info))
}

/// The topics that contain what has been typed, those that begin with it first.
fn topics(typed: &str) -> Vec<String> {
    let mut topics: Vec<&str> = language_topics()
        .filter(|topic| topic.contains(typed))
        .collect();
    topics.sort_by_key(|topic| !topic.starts_with(typed));
    topics.into_iter().map(str::to_owned).collect()
}

/// The ids of the latest runs that begin with what has been typed.
fn runs(planrun: &Planrun, typed: &str) -> Vec<String> {
    // Without a journal there are no runs yet.
    let runs = planrun.list(&RunFilter::default()).unwrap_or_default();
    let ids = runs.into_iter().map(|run| run.run.clone());
    ids.filter(|id| id.starts_with(typed)).collect()
}
