//! Replies of plan mode as results of the protocol.

use std::collections::BTreeMap;

use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, InputRequest,
    InputRequiredResult, Resource, ResourceContents,
};

use super::elicitation::form;
use crate::asking::PutQuestion;
use crate::mode::Reply;
use crate::report::Block;

/// The result of a call. `seal` makes what the client carries of a question.
///
/// What is wrong is told as text within a result, since clients show a model nothing of protocol errors.
pub(super) fn response(
    reply: Reply,
    seal: impl Fn(&PutQuestion) -> Option<String>,
) -> CallToolResponse {
    match reply {
        Reply::Told {
            text,
            value,
            blocks,
        } => {
            let blocks = blocks.into_iter().map(content);
            let content = std::iter::once(ContentBlock::text(text)).chain(blocks);
            let mut result = CallToolResult::success(content.collect());
            result.structured_content = value;
            result.into()
        }
        Reply::Failed(text) => CallToolResult::error(vec![ContentBlock::text(text)]).into(),
        Reply::Asks(question) => match form(&question).zip(seal(&question)) {
            Some((form, state)) => {
                let request = InputRequest::Elicitation(ElicitRequest::new(form));
                let requests = BTreeMap::from([(question.path.to_string(), request)]);
                InputRequiredResult::new(Some(requests), Some(state)).into()
            }
            None => CallToolResult::error(vec![ContentBlock::text(format!(
                "run {} waits for the person, whom this client cannot ask: `{}`",
                question.run,
                question.command()
            ))])
            .into(),
        },
    }
}

fn content(block: Block) -> ContentBlock {
    match block {
        Block::Image { mime, data } => ContentBlock::image(data, mime),
        Block::Audio { mime, data } => ContentBlock::audio(data, mime),
        Block::Link { uri, name } => ContentBlock::resource_link(Resource::new(uri, name)),
        Block::Text { uri, mime, text } => resource(ResourceContents::text(text, uri), mime),
        Block::Blob { uri, mime, data } => resource(ResourceContents::blob(data, uri), mime),
    }
}

fn resource(contents: ResourceContents, mime: Option<String>) -> ContentBlock {
    ContentBlock::resource(match mime {
        Some(mime) => contents.with_mime_type(mime),
        None => contents,
    })
}
