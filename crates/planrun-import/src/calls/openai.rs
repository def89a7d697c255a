//! Tool calls in the format of the OpenAI API and similar ones: arrays, messages and whole conversations.

use std::collections::BTreeSet;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::File;
use planrun_lang::yaml::{Content, Node};

use super::{Answer, Call, Listing, Value};
use crate::document;
use crate::document::{Refused, items};
use crate::draft::{Draft, excerpt};
use crate::tree;

/// The keys of a document, one of which holds its elements.
const LISTS: [&str; 4] = ["messages", "context", "output", "choices"];

/// Returns true if a document looks like calls, or messages with calls.
pub fn recognizes(root: &Node) -> bool {
    let is_call = |node: &Node| {
        function(node).is_some() && node.get("type").and_then(Node::text) != Some("tool")
    };
    let is_message =
        |node: &Node| node.get("tool_calls").is_some() || node.get("function_call").is_some();
    messages(root)
        .iter()
        .map(inner)
        .any(|node| is_call(node) || is_message(node))
}

/// Returns the elements of the document: messages or calls.
fn messages(root: &Node) -> &[Node] {
    let inner = LISTS.into_iter().find_map(|name| root.get(name)?.items());
    inner
        .or_else(|| root.items())
        .unwrap_or(std::slice::from_ref(root))
}

/// Returns the message of a choice; any other element is returned unchanged.
fn inner(element: &Node) -> &Node {
    element.get("message").unwrap_or(element)
}

/// Returns the name and the arguments of a call; `None` if the node is not a call.
fn function(node: &Node) -> Option<(Option<&Node>, Option<&Node>)> {
    let function = node
        .get("function")
        .filter(|function| function.entries().is_some());
    let is_bare = node.get("type").and_then(Node::text) == Some("function_call");
    let holder = function.or_else(|| is_bare.then_some(node))?;
    Some((holder.get("name"), holder.get("arguments")))
}

/// Returns the plan that makes these calls.
pub fn import(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let mut elements = messages(root);
    if let (true, [first, others @ ..]) = (root.get("choices").is_some(), elements) {
        for other in others {
            let why = "is omitted: it is an alternative to the first one";
            draft.lost(other.span, "a further choice", why);
        }
        elements = std::slice::from_ref(first);
    }
    report_beside(root, draft);
    let mut conversation = Conversation::default();
    for element in elements {
        conversation.read(inner(element), draft);
    }
    conversation.report(root.span, draft);
    let Conversation {
        calls,
        reply,
        round,
        ..
    } = conversation;
    let reply = reply.map(|(_, text)| Value::Plain(tree::text(&text)));
    let listing = Listing {
        doc: None,
        calls,
        answer: reply.map_or(Answer::All, Answer::Value),
        // The calls of one round are independent; those of the next round wait for them.
        is_parallel: round == 1,
        settles: false,
    };
    listing.file(plan, draft)
}

/// Reports what a document has beside its elements.
fn report_beside(root: &Node, draft: &mut Draft<'_>) {
    let is_list = |name: &&str| root.get(name).is_some_and(|node| node.items().is_some());
    let Some(list) = LISTS.into_iter().find(is_list) else {
        return;
    };
    let entries = root.entries().unwrap_or_default().iter();
    for entry in entries.filter(|entry| entry.name != list) {
        let what = format!("the key `{}` of the document", excerpt(&entry.name));
        let why = format!("is omitted: only the elements of `{list}` are imported");
        draft.changed(entry.span, what, why);
    }
}

/// A conversation as far as it was read.
#[derive(Default)]
struct Conversation {
    calls: Vec<Call>,
    /// The id of each call, if it has one.
    ids: Vec<Option<String>>,
    /// Number of rounds; calls of one round were made at the same time.
    round: usize,
    /// Whether the last round may have further calls.
    is_open: bool,
    /// The last text of the model, with its span.
    reply: Option<(Span, String)>,
    /// The ids of the calls whose results the document contains.
    answered: BTreeSet<String>,
    /// Span of the first result.
    results: Option<Span>,
}

impl Conversation {
    fn read(&mut self, message: &Node, draft: &mut Draft<'_>) {
        let text = |field: &str| message.get(field).and_then(Node::text);
        if function(message).is_some() {
            self.called(message, draft);
            return;
        }
        let listed = items(message, "tool_calls");
        let legacy = message
            .get("function_call")
            .filter(|node| node.entries().is_some());
        let answers_to = text("call_id").or(text("tool_call_id"));
        match (text("type"), text("role")) {
            (Some("function_call_output"), _) | (_, Some("tool" | "function")) => {
                self.is_open = false;
                self.results.get_or_insert(message.span);
                self.answered.extend(answers_to.map(str::to_owned));
            }
            (None, None) if listed.is_empty() && legacy.is_none() => {
                draft.lost(
                    message.span,
                    "an element",
                    "is neither a message nor a call",
                );
            }
            (_, Some("assistant")) | (None, None) => {
                self.said(message, draft);
                if !listed.is_empty() || legacy.is_some() {
                    self.is_open = false;
                }
                for call in listed {
                    self.called(call, draft);
                }
                if let Some(call) = legacy {
                    let named = (call.get("name"), call.get("arguments"));
                    self.called_as(call, named, draft);
                }
            }
            (_, Some(role)) => {
                self.is_open = false;
                let what = format!("a message of the role `{}`", excerpt(role));
                let why = "is omitted: a plan contains only the calls and the reply";
                draft.changed(message.span, what, why);
            }
            (Some("reasoning"), None) => {
                let why = "are omitted: a plan contains only the calls and the reply";
                draft.changed(message.span, "the thoughts of the model", why);
            }
            (Some(kind), None) => {
                let what = format!("an element of the type `{}`", excerpt(kind));
                draft.lost(
                    message.span,
                    what,
                    "is neither a message nor a call of a function",
                );
            }
        }
    }

    /// Reads a call of the present round, or begins another round with it.
    fn called(&mut self, node: &Node, draft: &mut Draft<'_>) {
        let named = function(node).unwrap_or_default();
        self.called_as(node, named, draft);
    }

    fn called_as(
        &mut self,
        node: &Node,
        (name, arguments): (Option<&Node>, Option<&Node>),
        draft: &mut Draft<'_>,
    ) {
        self.round += usize::from(!self.is_open);
        self.is_open = true;
        self.report_said(draft);
        let tool = name.and_then(Node::text).filter(|tool| !tool.is_empty());
        let mut call = if let (Some(name), Some(tool)) = (name, tool) {
            call(node, name, tool, arguments, draft)
        } else {
            let hole = draft.hole(node.span, "a call", "has no function name");
            Call::unread("call", node.span, None, hole)
        };
        call.round = Some(self.round);
        let id = node.get("call_id").or(node.get("id"));
        self.ids.push(id.and_then(Node::scalar));
        self.calls.push(call);
    }

    /// Reads the text of a message of the model.
    fn said(&mut self, message: &Node, draft: &mut Draft<'_>) {
        let content = message.get("content");
        let text = match content.map(|node| &node.content) {
            None | Some(Content::Null) => String::new(),
            Some(Content::Text(text)) => text.clone(),
            Some(_) => {
                let parts = items(message, "content").iter().filter_map(|part| {
                    let text = part.get("text").and_then(Node::text);
                    if text.is_none() {
                        draft.lost(part.span, "a part of a message", "is not a text");
                    }
                    text
                });
                parts.collect::<Vec<_>>().join("\n")
            }
        };
        if !text.trim().is_empty() {
            self.report_said(draft);
            self.reply = Some((message.span, text));
        }
    }

    /// Reports that the last text is not the reply, since the conversation continues after it.
    fn report_said(&mut self, draft: &mut Draft<'_>) {
        if let Some((span, text)) = self.reply.take() {
            let what = format!("the text `{}`", excerpt(&text));
            let why = "is omitted: only a text after all calls is the reply";
            draft.changed(span, what, why);
        }
    }

    /// Reports what the conversation as a whole loses.
    fn report(&self, span: Span, draft: &mut Draft<'_>) {
        if let Some((span, _)) = &self.reply {
            draft.carried(*span, "the last message", "the reply");
        }
        if self.round > 1 {
            let why = "were chosen by the model after it saw earlier results; they are constants in the plan";
            draft.changed(span, "the arguments of later rounds", why);
        }
        let Some(results) = self.results else { return };
        let why = "are omitted: the plan calls the tools again";
        draft.changed(results, "the results of the calls", why);
        for (call, id) in self.calls.iter().zip(&self.ids) {
            if id.as_ref().is_some_and(|id| !self.answered.contains(id)) {
                let what = format!("the call of `{}`", excerpt(&call.tool));
                let why = "has no result in the document: it may not have run";
                draft.changed(call.span, what, why);
            }
        }
    }
}

/// Returns a call. Invalid arguments are reported and become a hole.
fn call(
    node: &Node,
    name: &Node,
    tool: &str,
    arguments: Option<&Node>,
    draft: &mut Draft<'_>,
) -> Call {
    let id = tool.rsplit(['.', '/']).next().unwrap_or(tool);
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
        Some((whole, Content::Text(text))) => {
            let read = document::json(text, 0..text.len()).ok();
            if let Some(node) = &read {
                draft.report_rounded(node, text, Some(whole.span));
            }
            read.and_then(|node| plain(&node))
        }
        Some((node, _)) => plain(node),
    };
    let Some(arguments) = read else {
        let span = arguments.map_or(node.span, |node| node.span);
        let what = format!("the call of `{}`", excerpt(tool));
        let hole = draft.hole(span, what, "its arguments are not a JSON object");
        return Call::unread(id, node.span, Some(tool), hole);
    };
    Call {
        id: id.to_owned(),
        span: node.span,
        tool: tool.to_owned(),
        tool_span: name.span,
        arguments,
        after: Vec::new(),
        when: None,
        doc: None,
        round: None,
    }
}
