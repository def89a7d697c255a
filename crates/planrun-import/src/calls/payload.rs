//! Payloads of the skeleton: steps with a tool, its arguments, dependencies and references such as
//! `$step_1.output.docs`.

use std::collections::BTreeMap;

use planrun_lang::diag::closest;
use planrun_lang::source::Span;
use planrun_lang::syntax::ast::{Expr, File};
use planrun_lang::yaml::Node;

use super::{Answer, Call, Listing, Value};
use crate::control_flow::inputs::INPUT;
use crate::document::{Refused, items};
use crate::draft::Draft;

/// Required fields of a payload.
const FIELDS: [&str; 4] = ["task_summary", "assumptions", "risks", "steps"];
/// Required fields of a step.
const STEP_FIELDS: [&str; 7] = [
    "step_id",
    "title",
    "description",
    "dependencies",
    "deliverable",
    "acceptance",
    "tool",
];
/// Fields that only describe a payload or a step.
const PROSE: [(&str, &str); 2] = [
    (
        "assumptions risks",
        "it describes the plan, and does not change what runs",
    ),
    (
        "description deliverable acceptance",
        "it describes the step, and does not change what runs",
    ),
];
/// Former names of tools, each with the current name.
const ALIASES: [(&str, &str); 6] = [
    ("time_tool", "get_time"),
    ("get_time_tool", "get_time"),
    ("search", "search_tool"),
    ("search_local", "search_tool"),
    ("summarize", "summarize_tool"),
    ("summary", "summarize_tool"),
];

/// Returns true if a document looks like a payload.
pub fn recognizes(root: &Node) -> bool {
    let is_step = |step: &Node| {
        step.get("tool")
            .is_some_and(|tool| tool.entries().is_some())
            || step.get("step_id").is_some()
    };
    let steps = root.get("steps");
    root.get("task_summary").is_some()
        || steps
            .and_then(Node::items)
            .is_some_and(|steps| !steps.is_empty() && steps.iter().all(is_step))
}

/// Returns the plan for a payload.
pub fn import(root: &Node, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    for field in FIELDS {
        if root.get(field).is_none() {
            fault(
                draft,
                root.span,
                format!("missing top-level field: {field}"),
            );
        }
    }
    draft.report_keys(root, "the payload", "task_summary steps", &PROSE);
    let steps = items(root, "steps");
    let place = root.get("steps").map_or(root.span, |steps| steps.span);
    if steps.is_empty() {
        fault(draft, place, "steps must be a non-empty array".to_owned());
    }
    let (ids, is_numbered) = ids(steps, draft);
    // Such a payload is refused before anything runs.
    let is_refused = steps.is_empty() || !is_numbered;
    let refused = is_refused.then(|| {
        let why = "are broken, so the original system would not run it";
        Value::Plain(draft.hole(place, "the rules of payloads", why))
    });
    let calls = steps
        .iter()
        .enumerate()
        .map(|(number, step)| call(step, number, &ids, draft));
    let calls = calls.collect();
    let listing = Listing {
        doc: root
            .get("task_summary")
            .and_then(Node::text)
            .map(str::to_owned),
        calls,
        answer: refused.map_or(Answer::Last, Answer::Value),
        is_parallel: false,
        settles: true,
    };
    listing.file(plan, draft)
}

/// Reports a violation of the rules of the format, in the words of its own checker.
fn fault(draft: &mut Draft<'_>, span: Span, message: String) {
    draft.lost(span, "the rules of payloads", message);
}

/// Returns the number of each step by its id, and whether the ids are those that the format requires; others are
/// reported.
fn ids(steps: &[Node], draft: &mut Draft<'_>) -> (BTreeMap<String, usize>, bool) {
    let mut ids = BTreeMap::new();
    let mut numbers = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let Some(node) = step.get("step_id") else {
            continue;
        };
        let Some(id) = node.text() else {
            fault(
                draft,
                node.span,
                format!("steps[{number}].step_id must be a string"),
            );
            continue;
        };
        if ids.insert(id.to_owned(), number).is_some() {
            fault(
                draft,
                node.span,
                "step_id must be unique across steps".to_owned(),
            );
        }
        // `step_01` is not a valid id of the first step.
        let place = id
            .strip_prefix("step_")
            .filter(|rest| !rest.starts_with('0'));
        numbers.push((place.and_then(|rest| rest.parse::<usize>().ok()), node.span));
    }
    let first = numbers.first().filter(|(place, _)| *place != Some(1));
    if let Some((_, span)) = first {
        fault(
            draft,
            *span,
            "step_id sequence must start from step_1".to_owned(),
        );
    }
    let gap = numbers
        .iter()
        .enumerate()
        .find(|(number, (place, _))| *place != Some(number + 1));
    if let (Some((_, (_, span))), None) = (gap, first) {
        fault(
            draft,
            *span,
            "step_id sequence must be contiguous: step_1..step_N".to_owned(),
        );
    }
    (ids, first.is_none() && gap.is_none())
}

/// Reports violations of the rules in one step.
fn shape(step: &Node, number: usize, draft: &mut Draft<'_>) {
    if step.entries().is_none() {
        fault(
            draft,
            step.span,
            format!("steps[{number}] must be an object"),
        );
        return;
    }
    for field in STEP_FIELDS
        .into_iter()
        .filter(|field| step.get(field).is_none())
    {
        fault(
            draft,
            step.span,
            format!("steps[{number}] missing field: {field}"),
        );
    }
    let of = format!("steps[{number}]");
    draft.report_keys(step, &of, "step_id title dependencies tool args", &PROSE);
    for (holder, place) in [(Some(step), "args"), (step.get("tool"), "tool.args")] {
        let arguments = holder.and_then(|holder| holder.get("args"));
        if let Some(node) = arguments.filter(|node| node.entries().is_none()) {
            fault(draft, node.span, format!("{of}.{place} must be an object"));
        }
    }
    let Some(tool) = step.get("tool") else { return };
    draft.report_keys(tool, &format!("{of}.tool"), "name args", &[]);
    if tool.entries().is_none() {
        let message =
            format!("steps[{number}].tool must be an object (string form is not allowed)");
        fault(draft, tool.span, message);
    }
    if let (Some(_), Some(other)) = (tool.get("args"), step.get("args")) {
        let message = format!("steps[{number}] must not provide both step.args and tool.args");
        fault(draft, other.span, message);
    }
}

fn call(step: &Node, number: usize, ids: &BTreeMap<String, usize>, draft: &mut Draft<'_>) -> Call {
    shape(step, number, draft);
    let (after, when) = dependencies(step, number, ids, draft);
    let tool = step.get("tool");
    let name = tool.and_then(|tool| tool.get("name").or(Some(tool)));
    let written = name.and_then(Node::text).unwrap_or_default();
    let what = format!("steps[{number}]");
    let id = step.get("step_id").and_then(Node::text);
    let id = id.map_or_else(|| format!("step_{}", number + 1), str::to_owned);
    if written.is_empty() {
        let hole = draft.hole(step.span, what, "calls no tool");
        return Call {
            after,
            when,
            ..Call::unread(&id, step.span, None, hole)
        };
    }
    let only = match after.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let mut read = |text: &str, span: Span| reference(text, span, only, ids);
    let given = tool
        .and_then(|tool| tool.get("args"))
        .or_else(|| step.get("args"));
    let entries = given.and_then(Node::entries).unwrap_or_default().iter();
    let arguments = entries.map(|entry| (entry.name.clone(), Value::of(&entry.value, &mut read)));
    let mut arguments: Vec<_> = arguments.collect();
    if let Some(node) = given.filter(|node| node.entries().is_none()) {
        let hole = draft.hole(node.span, what, "has arguments that are not an object");
        arguments.push((INPUT.to_owned(), Value::Plain(hole)));
    }
    let tool_span = name.map_or(step.span, |name| name.span);
    Call {
        id,
        span: step.span,
        tool: current(written, draft, tool_span),
        tool_span,
        arguments,
        after,
        when,
        doc: step.get("title").and_then(Node::text).map(str::to_owned),
        round: None,
    }
}

/// Returns the steps that a step waits for, and a guard that cannot hold if one of them does not exist.
fn dependencies(
    step: &Node,
    number: usize,
    ids: &BTreeMap<String, usize>,
    draft: &mut Draft<'_>,
) -> (Vec<usize>, Option<Expr>) {
    let (mut after, mut blocked) = (Vec::new(), None);
    let list = step.get("dependencies");
    if let Some(node) = list.filter(|node| node.items().is_none()) {
        let why = format!("steps[{number}].dependencies must be an array");
        blocked = Some(draft.hole(node.span, "the rules of payloads", why));
    }
    for node in items(step, "dependencies") {
        let Some(dependency) = node.text() else {
            let why = format!("steps[{number}] has a dependency that is not a string");
            blocked = Some(draft.hole(node.span, "the rules of payloads", why));
            continue;
        };
        match ids.get(dependency) {
            Some(other) if *other < number => after.push(*other),
            Some(other) => {
                fault(
                    draft,
                    node.span,
                    format!("steps[{number}] has forward dependency: {dependency}"),
                );
                if *other != number {
                    after.push(*other);
                }
            }
            None => {
                let earlier = ids.iter().filter(|(_, other)| **other < number);
                let near = closest(dependency, earlier.map(|(id, _)| id.as_str()));
                let help =
                    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                let why = format!("steps[{number}] has unknown dependency: {dependency}{help}");
                blocked = Some(draft.hole(node.span, "the rules of payloads", why));
            }
        }
    }
    (after, blocked)
}

/// Returns the current name of a tool.
fn current(written: &str, draft: &mut Draft<'_>, span: Span) -> String {
    let alias = ALIASES.into_iter().find(|(alias, _)| *alias == written);
    match alias {
        Some((_, name)) if draft.tools_named(written).is_empty() => {
            draft.changed(
                span,
                format!("the tool `{written}`"),
                format!("is now called `{name}`"),
            );
            name.to_owned()
        }
        _ => written.to_owned(),
    }
}

/// Parses a reference to the output of a step: `$step_1.output.docs[0]`, or one of the variants that models write.
/// `None` for any other text, even one that starts with `step_`.
fn reference(
    text: &str,
    span: Span,
    only: Option<usize>,
    ids: &BTreeMap<String, usize>,
) -> Option<Value> {
    let plain = text.trim();
    let dollar = plain.strip_prefix('$');
    let body = dollar.unwrap_or(plain);
    let relative = body
        .strip_prefix('.')
        .or(Some(body))
        .filter(|_| dollar.is_none());
    let drifted = relative
        .and_then(|rest| rest.strip_prefix("output."))
        .filter(|rest| rest.starts_with("step_"));
    let read = |step: usize, path: Vec<&str>| Value::Read {
        step,
        path: path.into_iter().map(str::to_owned).collect(),
        span,
        written: text.to_owned(),
    };
    if body.starts_with(".output") && drifted.is_none() && dollar.is_none() {
        let path = path(body)?.split_off(1);
        return Some(match only {
            Some(step) => read(step, path),
            None => lost(
                text,
                span,
                "it is relative, but the step does not have exactly one dependency".to_owned(),
            ),
        });
    }
    let body = drifted.unwrap_or(body);
    let end = body.find(|c: char| !is_letter(c)).unwrap_or(body.len());
    let (step, rest) = body.split_at(end);
    let number = step.strip_prefix("step_")?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    if !(is_number || ids.contains_key(step)) {
        return None;
    }
    let path = path(rest).filter(|path| match path.first() {
        Some(first) => *first == "output",
        None => dollar.is_some(),
    });
    let Some(mut path) = path else {
        let why = format!("it is not a path such as `${step}.output.docs`");
        return dollar.map(|_| lost(text, span, why));
    };
    Some(match ids.get(step) {
        Some(number) => read(*number, path.split_off(path.len().min(1))),
        None => lost(text, span, format!("there is no step `{step}`")),
    })
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Returns the parts of a path such as `.output.docs[0]`; `None` if it is not one.
fn path(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let (part, behind) = if let Some(inner) = rest.strip_prefix('[') {
            let (part, behind) = inner.split_once(']')?;
            (
                Some(part).filter(|part| part.chars().all(|c| c.is_ascii_digit()))?,
                behind,
            )
        } else {
            let inner = rest.strip_prefix('.')?;
            inner.split_at(inner.find(|c| !is_letter(c)).unwrap_or(inner.len()))
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        rest = behind;
    }
    Some(parts)
}

fn lost(text: &str, span: Span, why: String) -> Value {
    Value::Lost {
        span,
        written: text.to_owned(),
        why,
    }
}
