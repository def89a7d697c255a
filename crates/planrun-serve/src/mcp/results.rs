//! Converts replies of plan mode to results of the protocol.

use std::collections::BTreeMap;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, InputRequest,
    InputRequiredResult, Resource, ResourceContents,
};

use super::app;
use super::elicitation::request;
use crate::asking::{AskChannel, PendingQuestion};
use crate::mode::Reply;
use crate::report::Block;

/// Returns the result of a call. `seal` creates the request state of a question, which the client returns with the
/// answer.
///
/// Failures are reported as text within a result, because clients do not pass protocol errors on to the model. Returns
/// an error if there is no such tool.
pub(super) fn response(
    reply: Reply,
    seal: impl Fn(&PendingQuestion, &AskChannel) -> Option<String>,
) -> Result<CallToolResponse, ErrorData> {
    Ok(match reply {
        Reply::Success {
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
        Reply::Waits {
            text,
            question,
            page,
        } => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.meta = Some(app::of_result(&question, page.as_deref()));
            result.into()
        }
        Reply::Failed(text) => CallToolResult::error(vec![ContentBlock::text(text)]).into(),
        Reply::Unknown(why) => return Err(ErrorData::invalid_params(why, None)),
        Reply::Asks(question, channel) => {
            match request(&question, &channel).zip(seal(&question, &channel)) {
                Some((request, state)) => {
                    let request = InputRequest::Elicitation(ElicitRequest::new(request));
                    let requests = BTreeMap::from([(question.path.to_string(), request)]);
                    InputRequiredResult::new(Some(requests), Some(state)).into()
                }
                None => CallToolResult::error(vec![ContentBlock::text(format!(
                    "run {} waits for the person, but this client cannot ask: `{}`",
                    question.run,
                    question.command()
                ))])
                .into(),
            }
        }
    })
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

#[cfg(test)]
mod tests {
    use serde_json::{json, to_value};

    use super::*;

    #[test]
    fn blocks_stand_behind_the_text() {
        let data = || "AQI=".to_owned();
        let mime = || "image/png".to_owned();
        let uri = || "note://one".to_owned();
        let reply = Reply::Success {
            text: "{}".to_owned(),
            value: None,
            blocks: vec![
                Block::Image {
                    mime: mime(),
                    data: data(),
                },
                Block::Audio {
                    mime: mime(),
                    data: data(),
                },
                Block::Link {
                    uri: uri(),
                    name: "one".to_owned(),
                },
                Block::Text {
                    uri: uri(),
                    mime: None,
                    text: "first".to_owned(),
                },
                Block::Blob {
                    uri: uri(),
                    mime: Some(mime()),
                    data: data(),
                },
            ],
        };
        let Ok(CallToolResponse::Complete(result)) = response(reply, |_, _| None) else {
            panic!("it is a result");
        };
        let result = to_value(result).unwrap();
        let expected = json!([
            { "type": "text", "text": "{}" },
            { "type": "image", "data": "AQI=", "mimeType": "image/png" },
            { "type": "audio", "data": "AQI=", "mimeType": "image/png" },
            { "type": "resource_link", "uri": "note://one", "name": "one" },
            { "type": "resource", "resource": { "uri": "note://one", "mimeType": "text/plain", "text": "first" } },
            { "type": "resource", "resource": { "uri": "note://one", "mimeType": "image/png", "blob": "AQI=" } },
        ]);
        for (index, block) in expected.as_array().unwrap().iter().enumerate() {
            for (key, value) in block.as_object().unwrap() {
                assert_eq!(&result["content"][index][key], value, "{index}");
            }
        }
    }
}
