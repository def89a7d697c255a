//! Numbered plans of LLMCompiler: `1. search("x")`, `$1`, `join()`.

use std::collections::BTreeMap;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::File;

use super::literals::Reader;
use super::{Answer, Call, Listing, Value, tool};
use crate::document::Refused;
use crate::draft::Draft;

/// The names of the call that ends a plan.
const JOIN: [&str; 2] = ["join", "finish"];

/// A line such as `1. search("x")`.
struct Line<'t> {
    number: &'t str,
    tool: &'t str,
    tool_at: usize,
    /// Offset of the arguments, after the parenthesis.
    inside: usize,
    start: usize,
}

/// Returns true if a text looks like a numbered plan.
pub fn recognizes(text: &str) -> bool {
    !text.trim_start().starts_with(['{', '[']) && !lines(text).is_empty()
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut start = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        found.extend(read(line, start));
        start += line.len();
    }
    found
}

fn read(line: &str, start: usize) -> Option<Line<'_>> {
    let trimmed = line.trim_start();
    let indent = line.len() - trimmed.len();
    let (number, rest) = trimmed.split_once(['.', ')'])?;
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    let open = rest.find('(')?;
    let tool = rest.get(..open)?;
    let name = tool.trim();
    let is_name = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'));
    let tool_at = start + indent + number.len() + 1 + (tool.len() - tool.trim_start().len());
    is_name.then_some(Line {
        number,
        tool: name,
        tool_at,
        inside: start + indent + number.len() + 1 + open + 1,
        start: start + indent,
    })
}

/// Returns the plan for a numbered plan.
///
/// # Errors
/// Returns an error if it has too many calls.
pub fn import(text: &str, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let (mut calls, mut places) = (Vec::new(), BTreeMap::new());
    let mut end = None;
    for line in lines(text) {
        let span = Span::new(line.start, line.inside);
        let what = format!("line {}", line.number);
        if JOIN.contains(&line.tool) {
            end = Some(span);
            continue;
        }
        let arguments = Reader::new(text.get(line.inside..).unwrap_or(""), line.inside).arguments();
        let (arguments, behind) = match arguments {
            Ok(read) => read,
            Err(why) => {
                draft.lost(span, what, why);
                continue;
            }
        };
        places.insert(
            line.number.parse::<usize>().unwrap_or(usize::MAX),
            calls.len(),
        );
        let mut call = Call {
            id: format!("step_{}", line.number),
            span: Span::new(line.start, behind),
            tool: line.tool.to_owned(),
            tool_span: Span::new(line.tool_at, line.tool_at + line.tool.len()),
            arguments: Vec::new(),
            after: Vec::new(),
            when: None,
            doc: None,
        };
        call.arguments = named(arguments, &call, draft);
        calls.push(call);
    }
    for call in &mut calls {
        call.arguments
            .iter_mut()
            .for_each(|(_, value)| placed(value, &places));
    }
    if let Some(span) = end {
        let why =
            "is the list of all results; the document does not contain what a model made of them";
        draft.changed(span, "`join`", why);
    }
    let listing = Listing {
        doc: None,
        calls,
        answer: Answer::All,
        is_parallel: true,
        settles: false,
    };
    listing.file(plan, draft)
}

/// Names positional arguments after the parameters of the tool.
fn named(
    arguments: Vec<(Option<String>, Value)>,
    call: &Call,
    draft: &mut Draft<'_>,
) -> Vec<(String, Value)> {
    let (namespace, name) = tool(call, draft);
    let known: Vec<String> =
        draft
            .signature(&namespace, &name)
            .map_or_else(Vec::new, |signature| {
                // Required parameters come first, as in a function signature.
                let (needed, rest): (Vec<_>, Vec<_>) = signature
                    .parameters
                    .iter()
                    .partition(|parameter| parameter.required);
                needed
                    .into_iter()
                    .chain(rest)
                    .map(|parameter| parameter.name.to_string())
                    .collect()
            });
    let mut is_unnamed = false;
    let arguments = arguments
        .into_iter()
        .enumerate()
        .map(|(number, (given, value))| {
            let name = given
                .or_else(|| known.get(number).cloned())
                .unwrap_or_else(|| {
                    is_unnamed = true;
                    format!("argument_{}", number + 1)
                });
            (name, value)
        });
    let arguments = arguments.collect();
    if is_unnamed {
        let why =
            "have no names in the document, and the project has no such tool: they are numbered";
        draft.changed(
            call.tool_span,
            format!("the arguments of `{}`", call.tool),
            why,
        );
    }
    arguments
}

/// Converts the step numbers of the document to indices.
fn placed(value: &mut Value, places: &BTreeMap<usize, usize>) {
    match value {
        Value::Read {
            step,
            span,
            written,
            ..
        } => match places.get(step) {
            Some(place) => *step = *place,
            None => {
                *value = Value::Lost {
                    span: *span,
                    written: std::mem::take(written),
                    why: "there is no step with this number".to_owned(),
                };
            }
        },
        Value::List(values) | Value::Text(values) => {
            for value in values {
                placed(value, places);
            }
        }
        Value::Object(fields) => {
            for (_, value) in fields {
                placed(value, places);
            }
        }
        Value::Plain(_) | Value::Lost { .. } => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_prose() {
        let text = "Thought: look\n1. search(\"a (b)\")\n 2) math(x=$1)\nThe 3. place\n3. join()<END_OF_PLAN>";
        let found: Vec<(&str, &str)> = lines(text)
            .iter()
            .map(|line| (line.number, line.tool))
            .collect();
        assert_eq!(found, [("1", "search"), ("2", "math"), ("3", "join")]);
        assert!(!recognizes("Nothing (here)"));
    }
}
