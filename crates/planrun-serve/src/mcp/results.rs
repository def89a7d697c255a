//! Replies of plan mode as results of the protocol.

use std::collections::BTreeMap;

use rmcp::model::{
    CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, InputRequest,
    InputRequiredResult,
};

use super::elicitation::form;
use super::state::ANSWER;
use crate::asking::PutQuestion;
use crate::mode::Reply;

/// The result of a call. `seal` makes what the client carries of a question.
///
/// What is wrong is told as text within a result, since clients show a model nothing of protocol errors.
pub(super) fn response(
    reply: Reply,
    seal: impl Fn(&PutQuestion) -> Option<String>,
) -> CallToolResponse {
    match reply {
        Reply::Told { text, value } => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
            result.structured_content = value;
            result.into()
        }
        Reply::Failed(text) => CallToolResult::error(vec![ContentBlock::text(text)]).into(),
        Reply::Asks(question) => match form(&question).zip(seal(&question)) {
            Some((form, state)) => {
                let request = InputRequest::Elicitation(ElicitRequest::new(form));
                let requests = BTreeMap::from([(ANSWER.to_owned(), request)]);
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
