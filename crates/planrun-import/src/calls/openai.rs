//! Tool calls in the format of the OpenAI API and similar ones: arrays, messages and whole conversations.

use planrun_lang::syntax::ast::File;
use planrun_lang::yaml::{Content, Node};

use super::{Answer, Call, Listing, Value};
use crate::document;
use crate::document::{Refused, items};
use crate::draft::Draft;
use crate::tree;

/// Returns true if a document looks like calls, or messages with calls.
pub fn recognizes(root: &Node) -> bool {
    let is_call = |node: &Node| {
        function(node).is_some() && node.get("type").and_then(Node::text) != Some("tool")
    };
    let is_message = |node: &Node| node.get("tool_calls").is_some();
    messages(root)
        .iter()
        .any(|node| is_call(node) || is_message(node))
}

/// Returns the elements of the document: messages or calls.
fn messages(root: &Node) -> &[Node] {
    let inner = ["messages", "context", "output", "choices"]
        .into_iter()
        .find_map(|name| root.get(name)?.items());
    inner
        .or_else(|| root.items())
        .unwrap_or(std::slice::from_ref(root))
}

/// Returns the name and the arguments of a call; `None` if the node is not a call.
fn function(node: &Node) -> Option<(&Node, Option<&Node>)> {
    let function = node
        .get("function")
        .filter(|function| function.entries().is_some());
    let is_bare = node.get("type").and_then(Node::text) == Some("function_call");
    let holder = function.or_else(|| is_bare.then_some(node))?;
    Some((holder.get("name")?, holder.get("arguments")))
}

/// Returns the plan that makes these calls.
///
/// # Errors
/// Returns an error if there are too many calls.
pub fn import(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let (mut calls, mut rounds, mut reply) = (Vec::new(), 0, None);
    let mut bare = false;
    for message in messages(root) {
        let message = message.get("message").unwrap_or(message);
        if let Some((name, arguments)) = function(message) {
            rounds += usize::from(!bare);
            bare = true;
            calls.extend(call(message, name, arguments, draft));
            continue;
        }
        let listed = items(message, "tool_calls");
        rounds += usize::from(!listed.is_empty());
        for one in listed {
            match function(one) {
                Some((name, arguments)) => calls.extend(call(one, name, arguments, draft)),
                None => draft.lost(one.span, "a call", "has no function name"),
            }
        }
        let is_answer =
            message.get("role").and_then(Node::text) == Some("assistant") && listed.is_empty();
        let text = message
            .get("content")
            .and_then(Node::text)
            .filter(|text| is_answer && !text.trim().is_empty());
        if let Some(text) = text {
            draft.carried(message.span, "the last message", "the reply");
            reply = Some(Value::Plain(tree::text(text)));
        }
    }
    if rounds > 1 {
        let why =
            "were chosen by the model after it saw earlier results; they are constants in the plan";
        draft.changed(root.span, "the arguments of later rounds", why);
    }
    let listing = Listing {
        doc: None,
        calls,
        answer: reply.map_or(Answer::All, Answer::Value),
        // The calls of one message are independent; those of the next message wait for them.
        is_parallel: rounds == 1,
        settles: false,
    };
    listing.file(plan, draft)
}

fn call(node: &Node, name: &Node, arguments: Option<&Node>, draft: &mut Draft<'_>) -> Option<Call> {
    let tool = name.text()?;
    let plain = |node: &Node| -> Option<Vec<(String, Value)>> {
        let entries = node.entries()?;
        Some(
            entries
                .iter()
                .map(|entry| {
                    (
                        entry.name.clone(),
                        Value::of(&entry.value, &mut |_, _| None),
                    )
                })
                .collect(),
        )
    };
    let read = match arguments.map(|node| (node, &node.content)) {
        None | Some((_, Content::Null)) => Some(Vec::new()),
        Some((_, Content::Text(text))) if text.trim().is_empty() => Some(Vec::new()),
        Some((_, Content::Text(text))) => document::json(text, 0..text.len())
            .ok()
            .and_then(|node| plain(&node)),
        Some((node, _)) => plain(node),
    };
    let Some(arguments) = read else {
        let span = arguments.map_or(node.span, |node| node.span);
        let what = format!("the call of `{}`", crate::draft::excerpt(tool));
        draft.lost(span, what, "its arguments are not a JSON object");
        return None;
    };
    Some(Call {
        id: tool.rsplit(['.', '/']).next().unwrap_or(tool).to_owned(),
        span: node.span,
        tool: tool.to_owned(),
        tool_span: name.span,
        arguments,
        after: Vec::new(),
        when: None,
        doc: None,
    })
}
