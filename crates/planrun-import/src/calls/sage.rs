//! Step arrays of SAGE: tools and a reply in order, or a graph of steps with dependencies.

use std::collections::BTreeMap;

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, File};
use planrun_lang::yaml::{Content, Node};

use super::{Answer, Call, Listing, Value};
use crate::document::Refused;
use crate::draft::{Draft, excerpt};
use crate::tree;

/// The fields of the graph, each with its aliases.
const ACTION: [&str; 2] = ["action", "type"];
const TOOL: [&str; 3] = ["tool_id", "tool", "name"];
const INPUTS: [&str; 4] = ["inputs", "arguments", "params", "args"];
const NEEDS: [&str; 2] = ["depends_on", "dependencies"];

/// The keys of a document, one of which holds its steps.
const LISTS: [&str; 2] = ["steps", "plan"];

/// Returns the steps of a document: a list, or an object with one; `None` if there is none.
fn steps(root: &Node) -> Option<&[Node]> {
    let wrapped = LISTS.into_iter().find_map(|name| root.get(name));
    wrapped.unwrap_or(root).items()
}

fn first<'n>(step: &'n Node, names: &[&str]) -> Option<&'n Node> {
    step.get(first_name(step, names)?)
}

/// Returns the first of several names under which a step has a value.
fn first_name<'s>(step: &Node, names: &[&'s str]) -> Option<&'s str> {
    let mut names = names.iter().copied();
    names.find(|name| step.get(name).is_some_and(|node| !is_null(node)))
}

fn is_null(node: &Node) -> bool {
    matches!(node.content, Content::Null)
}

/// Returns true if a document looks like an array of tools and a reply.
pub fn recognizes_array(root: &Node) -> bool {
    let is_step = |step: &Node| {
        matches!(
            step.get("type").and_then(Node::text),
            Some("tool" | "reply")
        )
    };
    root.items().is_some_and(|steps| steps.iter().any(is_step)) && !recognizes_graph(root)
}

/// Returns true if a document looks like a graph of steps.
pub fn recognizes_graph(root: &Node) -> bool {
    let is_step = |step: &Node| first(step, &NEEDS).is_some() || step.get("tool_id").is_some();
    steps(root).is_some_and(|steps| steps.iter().any(is_step))
}

/// Returns the plan for an array.
pub fn import_array(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let (mut calls, mut reply) = (Vec::new(), None);
    let mut elements = root.items().unwrap_or_default().iter().enumerate();
    for (number, step) in elements.by_ref() {
        let known = match step.get("type").and_then(Node::text) {
            Some("reply") => Some("type text"),
            Some("tool") => Some("type name arguments description"),
            _ => None,
        };
        if let Some(known) = known {
            draft.report_keys(step, &format!("element {}", number + 1), known, &[]);
        }
        match element(step) {
            Ok(Element::Call(call)) => calls.push(*call),
            Ok(Element::Reply(text)) => {
                draft.carried(step.span, format!("element {}", number + 1), "the reply");
                reply = Some(Value::Plain(tree::text(text)));
                break;
            }
            Ok(Element::Nothing) => {
                let why = "is omitted: its text is empty";
                draft.changed(step.span, format!("element {}", number + 1), why);
            }
            Err((span, why)) => {
                let tool = step.get("name").and_then(Node::text);
                let tool = tool.filter(|tool| !tool.is_empty());
                let hole = draft.hole(span, format!("element {}", number + 1), why);
                let id = tool.unwrap_or("element");
                calls.push(Call::unread(id, step.span, tool, hole));
            }
        }
    }
    if let Some((_, behind)) = elements.next() {
        let why = "is omitted: it would never run";
        draft.changed(behind.span, "what follows the reply", why);
    }
    if reply.is_none() {
        let why =
            "is the list of all results; `planrun run --output observations` prints one per line";
        draft.changed(root.span, "the summary in place of a reply", why);
    }
    let listing = Listing {
        doc: None,
        calls,
        answer: reply.map_or(Answer::All, Answer::Value),
        is_parallel: false,
        settles: true,
    };
    listing.file(plan, draft)
}

/// An element of an array.
enum Element<'d> {
    Call(Box<Call>),
    Reply(&'d str),
    /// A reply with an empty text.
    Nothing,
}

/// Returns a span and a message if the element is invalid.
fn element(step: &Node) -> Result<Element<'_>, (Span, String)> {
    match step.get("type").and_then(Node::text) {
        Some("reply") => {
            let text = match step.get("text").map(|node| (node, &node.content)) {
                None | Some((_, Content::Null)) => "",
                Some((_, Content::Text(text))) => text.trim(),
                Some((node, _)) => {
                    return Err((node.span, "has a text that is not a string".to_owned()));
                }
            };
            Ok(if text.is_empty() {
                Element::Nothing
            } else {
                Element::Reply(text)
            })
        }
        Some("tool") => {
            let name = step.get("name").and_then(Node::text);
            let name = name.filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| (step.span, "has no tool name".to_owned()))?;
            let arguments = arguments(step.get("arguments"));
            let no_object = |span| (span, "has arguments that are not an object".to_owned());
            let call = call(name, step, name, arguments.map_err(no_object)?);
            Ok(Element::Call(Box::new(call)))
        }
        Some(other) => Err((
            step.span,
            format!("`{}` is not a step type", excerpt(other)),
        )),
        None => Err((step.span, "has no `type`".to_owned())),
    }
}

fn call(id: &str, step: &Node, tool: &str, arguments: Vec<(String, Value)>) -> Call {
    Call {
        id: id.to_owned(),
        span: step.span,
        tool: tool.to_owned(),
        tool_span: first(step, &TOOL).map_or(step.span, |node| node.span),
        arguments,
        after: Vec::new(),
        when: None,
        doc: step
            .get("description")
            .and_then(Node::text)
            .map(str::to_owned),
        round: None,
    }
}

/// Returns the arguments of a call; empty if there are none. Returns the span of a value that is not an object.
fn arguments(node: Option<&Node>) -> Result<Vec<(String, Value)>, Span> {
    let Some(node) = node.filter(|node| !is_null(node)) else {
        return Ok(Vec::new());
    };
    let entries = node.entries().ok_or(node.span)?;
    Ok(entries
        .iter()
        .map(|entry| {
            (
                entry.name.clone(),
                Value::of(&entry.value, &mut |_, _| None),
            )
        })
        .collect())
}

/// Returns the plan for a graph.
pub fn import_graph(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let steps = steps(root).unwrap_or_default();
    let (mut calls, mut kept) = (Vec::new(), Vec::new());
    let (mut places, mut reply) = (BTreeMap::new(), None);
    let list = LISTS.into_iter().find(|name| root.get(name).is_some());
    draft.report_keys(root, "the document", list.unwrap_or_default(), &[]);
    for (number, step) in steps.iter().enumerate() {
        let id = id(step, number, draft);
        let what = format!("step {}", excerpt(&id));
        let action = first(step, &ACTION).and_then(Node::text).unwrap_or("tool");
        let inputs = arguments(first(step, &INPUTS));
        let is_reply = matches!(action, "reply" | "finish" | "respond");
        let tool = first(step, &TOOL).and_then(Node::text);
        report_step(step, &what, tool.is_none() && is_reply, draft);
        match (tool.filter(|tool| !tool.is_empty()), inputs) {
            (Some(tool), Ok(inputs)) => {
                if action != "tool" {
                    let why = format!("is a call of `{}`", excerpt(tool));
                    let what = format!("the action `{}` of {what}", excerpt(action));
                    draft.changed(step.span, what, why);
                }
                if places.insert(id.clone(), calls.len()).is_some() {
                    let why = "has the same id as another step; dependencies on it are ambiguous";
                    draft.lost(step.span, what, why);
                }
                kept.push(step);
                calls.push(call(&format!("step_{id}"), step, tool, inputs));
            }
            (None, Ok(_)) if is_reply && reply.is_some() => {
                let why = "is another reply, but a plan has only one: the first is used";
                draft.lost(step.span, what, why);
            }
            (None, Ok(inputs)) if is_reply => reply = replied(step, inputs, &what, draft),
            (None, Ok(_)) => {
                let why = "names no tool, but a plan has only calls";
                draft.lost(step.span, what, format!("`{}` {why}", excerpt(action)));
            }
            (tool, Err(span)) => {
                let hole = draft.hole(span, what, "has inputs that are not an object");
                places.entry(id.clone()).or_insert(calls.len());
                kept.push(step);
                calls.push(Call::unread(&format!("step_{id}"), step.span, tool, hole));
            }
        }
    }
    for (number, step) in kept.into_iter().enumerate() {
        let (after, when) = needs(step, &places, draft);
        if let Some(call) = calls.get_mut(number) {
            (call.after, call.when) = (after, when);
        }
    }
    let listing = Listing {
        doc: None,
        calls,
        answer: reply.map_or(Answer::All, Answer::Value),
        is_parallel: true,
        settles: false,
    };
    listing.file(plan, draft)
}

/// Returns the id of a step: its number if it has none.
fn id(step: &Node, number: usize, draft: &mut Draft<'_>) -> String {
    let node = step.get("id");
    node.and_then(Node::scalar).unwrap_or_else(|| {
        if let Some(node) = node {
            let why = format!("is neither a text nor a number: the step is called `{number}`");
            draft.lost(node.span, "the id of a step", why);
        }
        number.to_string()
    })
}

/// Reports the keys of a step that are not read, such as a second alias of one that is.
fn report_step(step: &Node, what: &str, is_reply: bool, draft: &mut Draft<'_>) {
    let mut known = vec![if is_reply {
        "id description text"
    } else {
        "id description"
    }];
    for aliases in [&ACTION[..], &TOOL, &INPUTS, &NEEDS] {
        let used = first_name(step, aliases);
        for alias in aliases {
            let node = step.get(alias);
            let is_read = used.is_none_or(|used| used == *alias);
            match (node, used) {
                (Some(node), Some(used)) if !is_read && !is_null(node) => {
                    let why = format!("is omitted: the step also has `{used}`, which is used");
                    draft.changed(node.span, format!("the key `{alias}` of {what}"), why);
                }
                _ => {}
            }
            known.push(alias);
        }
    }
    let described = "it describes the step, and does not change what runs";
    draft.report_keys(
        step,
        what,
        &known.join(" "),
        &[("expected_outputs", described)],
    );
}

/// Returns the reply of a step: its text, or its only input.
fn replied(
    step: &Node,
    inputs: Vec<(String, Value)>,
    what: &str,
    draft: &mut Draft<'_>,
) -> Option<Value> {
    let text = step.get("text").and_then(Node::text);
    let text = text.map(|text| Value::Plain(tree::text(text)));
    let mut inputs = inputs.into_iter();
    let reply = text.or_else(|| Some(inputs.next()?.1));
    for (name, _) in inputs {
        let what = format!("the input `{}` of {what}", excerpt(&name));
        draft.lost(step.span, what, "a reply has only one value");
    }
    if reply.is_some() {
        draft.carried(step.span, what, "the reply");
    } else {
        draft.lost(step.span, what, "is a reply without a text");
    }
    reply
}

/// Returns the steps that a step waits for, and a guard that cannot hold if one of them does not exist.
fn needs(
    step: &Node,
    places: &BTreeMap<String, usize>,
    draft: &mut Draft<'_>,
) -> (Vec<usize>, Option<Expr>) {
    let Some(node) = first(step, &NEEDS) else {
        return (Vec::new(), None);
    };
    let (mut after, mut blocked) = (Vec::new(), None);
    for need in node.items().unwrap_or(std::slice::from_ref(node)) {
        let Some(id) = need.scalar() else {
            let why = "is neither a text nor a number, so it names no step";
            blocked = Some(draft.hole(need.span, "a dependency", why));
            continue;
        };
        if let Some(place) = places.get(&id) {
            after.push(*place);
            continue;
        }
        let near = closest(&id, places.keys().map(String::as_str));
        let help = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
        let what = format!("the dependency `{}`", excerpt(&id));
        let why = format!("unknown step{help}");
        blocked = Some(draft.hole(need.span, what, why));
    }
    (after, blocked)
}
