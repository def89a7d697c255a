//! Numbered plans of LLMCompiler: `1. search("x")`, `$1`, `join()`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use planrun_lang::source::Span;
use planrun_lang::syntax::ast::File;

use super::literals::Reader;
use super::{Answer, Call, Listing, Value, tool};
use crate::document::Refused;
use crate::draft::{Draft, excerpt};

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
    end: usize,
}

impl Line<'_> {
    /// Returns the call of the line, without its arguments; it ends at `behind`.
    fn call(&self, behind: usize) -> Call {
        Call {
            id: format!("step_{}", self.number),
            span: Span::new(self.start, behind),
            tool: self.tool.to_owned(),
            tool_span: Span::new(self.tool_at, self.tool_at + self.tool.len()),
            arguments: Vec::new(),
            after: Vec::new(),
            when: None,
            doc: None,
            round: None,
        }
    }
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
        end: start + line.len(),
    })
}

/// Reports the lines of a range that contain anything: a numbered line that is no call, or prose.
fn report_prose(text: &str, range: Range<usize>, draft: &mut Draft<'_>) {
    let mut start = range.start;
    for line in text.get(range).unwrap_or("").split_inclusive('\n') {
        let plain = line.trim();
        let from = start + (line.len() - line.trim_start().len());
        let span = Span::new(from, from + plain.len());
        start += line.len();
        let number = plain.split_once(['.', ')']).map(|(number, _)| number);
        let is_numbered = number
            .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()));
        if is_numbered {
            let why = "is not a call such as `1. search(\"x\")`";
            draft.lost(span, format!("the line `{}`", excerpt(plain)), why);
        } else if plain.chars().any(char::is_alphanumeric) {
            let why = "is omitted: only numbered lines are calls";
            draft.changed(span, format!("the text `{}`", excerpt(plain)), why);
        }
    }
}

/// Returns the plan for a numbered plan.
pub fn import(text: &str, plan: &str, draft: &mut Draft<'_>) -> Result<File, Refused> {
    let (mut calls, mut places) = (Vec::new(), BTreeMap::new());
    let (mut end, mut behind_last) = (None, 0);
    for line in lines(text) {
        if line.start < behind_last {
            // The line is inside an argument of the call before it.
            continue;
        }
        report_prose(text, behind_last..line.start, draft);
        behind_last = line.end;
        let span = Span::new(line.start, line.inside);
        let what = format!("line {}", line.number);
        if JOIN.contains(&line.tool) {
            end = Some(span);
            continue;
        }
        let arguments = Reader::new(text.get(line.inside..).unwrap_or(""), line.inside).arguments();
        let number = line.number.parse::<usize>().unwrap_or(usize::MAX);
        if places.insert(number, calls.len()).is_some() {
            let why = "has the same number as another line; references to it are ambiguous";
            draft.lost(span, &*what, why);
        }
        calls.push(match arguments {
            Ok((arguments, behind)) => {
                behind_last = behind;
                let mut call = line.call(behind);
                call.arguments = named(arguments, &call, draft);
                call
            }
            Err(why) => {
                let hole = draft.hole(span, &*what, why);
                let id = format!("step_{}", line.number);
                Call::unread(&id, span, Some(line.tool), hole)
            }
        });
    }
    report_prose(text, behind_last..text.len(), draft);
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
    let mut arguments: Vec<(String, Value)> = arguments.collect();
    let mut taken = BTreeSet::new();
    arguments.retain(|(name, _)| {
        let is_new = taken.insert(name.clone());
        if !is_new {
            let what = format!("a further argument `{}` of `{}`", excerpt(name), call.tool);
            draft.lost(call.tool_span, what, "a call takes each argument once");
        }
        is_new
    });
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
