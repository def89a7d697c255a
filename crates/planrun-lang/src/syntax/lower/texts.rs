//! Lowers text literals: prefixes and quotes, interpolation, text blocks.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::escapes::{self, BadEscape};
use super::expressions::next_expression;
use super::{Children, Lowering, Node};
use crate::diag::codes::text as codes;
use crate::source::Span;
use crate::syntax::ast::{Expr, TemplatePart};

/// The value of a text literal.
pub(super) enum TextValue {
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
    /// A text with at least one `${…}`.
    Template(Vec<TemplatePart>),
    /// Invalid text; already reported.
    Error,
}

/// The prefix and quotes of a text.
#[expect(
    clippy::struct_excessive_bools,
    reason = "a prefix and its quotes are independent of each other"
)]
struct Shape {
    raw: bool,
    bytes: bool,
    /// True if the common indentation has to be removed.
    block: bool,
    interpolated: bool,
    /// The range between the quotes.
    content: Range<usize>,
}

/// A part of the content: plain text, or the expression of a `${…}`.
enum Segment {
    Raw(Range<usize>),
    Value(Expr),
}

/// Lowers a `text` node.
pub(super) fn lower_text_value(cx: &mut Lowering<'_>, node: Node<'_>) -> TextValue {
    let whole = cx.span(&node);
    let Some(shape) = shape(node.text(), whole) else {
        return TextValue::Error;
    };
    if shape.bytes {
        return lower_bytes(cx, &shape);
    }
    let nodes = node.inner();
    if nodes.len() == 0 && !shape.block {
        let raw = cx.text.get(shape.content.clone()).unwrap_or("");
        return TextValue::Text(Arc::from(resolved(
            cx,
            raw,
            raw,
            shape.content.start,
            &shape,
        )));
    }
    let mut segments = Vec::with_capacity(2 * nodes.len() + 1);
    let mut from = shape.content.start;
    for node in nodes {
        let place = cx.span(&node);
        segments.push(Segment::Raw(from..place.start as usize));
        segments.push(Segment::Value(next_expression(cx, &mut Children::of(node))));
        from = place.end as usize;
    }
    segments.push(Segment::Raw(from..shape.content.end));
    joined_segments(cx, segments, &shape)
}

fn lower_bytes(cx: &mut Lowering<'_>, shape: &Shape) -> TextValue {
    let raw = line_breaks(cx.text.get(shape.content.clone()).unwrap_or(""));
    if shape.raw {
        return TextValue::Bytes(Arc::from(raw.as_bytes()));
    }
    let mut problems = Vec::new();
    let bytes = escapes::unescape_bytes(&raw, &mut problems);
    bad_escapes(cx, shape.content.start, problems);
    TextValue::Bytes(Arc::from(bytes))
}

fn joined_segments(cx: &mut Lowering<'_>, segments: Vec<Segment>, shape: &Shape) -> TextValue {
    let text = cx.text;
    let margin = if shape.block {
        margin(text, &segments)
    } else {
        0
    };
    let last = segments.len() - 1;
    let mut parts = Vec::new();
    let mut line_start = false;
    for (index, segment) in segments.into_iter().enumerate() {
        match segment {
            Segment::Value(value) => {
                parts.push(TemplatePart::Expr(value));
                line_start = false;
            }
            Segment::Raw(range) => {
                let raw = text.get(range.clone()).unwrap_or("");
                let cut = if shape.block {
                    Cow::Owned(without_margin(
                        raw,
                        margin,
                        &mut line_start,
                        index == 0,
                        index == last,
                    ))
                } else {
                    line_breaks(raw)
                };
                let resolved = resolved(cx, raw, &cut, range.start, shape);
                if !resolved.is_empty() || last == 0 {
                    parts.push(TemplatePart::Text(Arc::from(resolved)));
                }
            }
        }
    }
    match parts.as_slice() {
        [] => TextValue::Text(Arc::from("")),
        [TemplatePart::Text(text)] => TextValue::Text(text.clone()),
        _ => TextValue::Template(parts),
    }
}

/// Resolves the escapes of one segment. Invalid ones are reported at their positions in the text as written (`raw`);
/// the text without its margin (`cut`) is what is resolved.
fn resolved<'t>(
    cx: &mut Lowering<'_>,
    raw: &str,
    cut: &'t str,
    start: usize,
    shape: &Shape,
) -> Cow<'t, str> {
    if shape.raw || !raw.contains('\\') {
        return Cow::Borrowed(cut);
    }
    let mut problems = Vec::new();
    escapes::unescape(raw, shape.interpolated, &mut problems);
    bad_escapes(cx, start, problems);
    Cow::Owned(escapes::unescape(cut, shape.interpolated, &mut Vec::new()))
}

fn bad_escapes(cx: &mut Lowering<'_>, start: usize, problems: Vec<BadEscape>) {
    for problem in problems {
        let span = Span::new(start + problem.start, start + problem.end);
        let written = cx.text.get(span.range()).unwrap_or("\\");
        let message = format!("`{written}` is not an escape");
        cx.report(codes::BAD_ESCAPE.at(span, message).help(problem.help));
    }
}

/// Normalizes line breaks to `\n`, whatever line endings the file has.
fn line_breaks(raw: &str) -> Cow<'_, str> {
    if raw.contains("\r\n") {
        Cow::Owned(raw.replace("\r\n", "\n"))
    } else {
        Cow::Borrowed(raw)
    }
}

fn shape(text: &str, whole: Span) -> Option<Shape> {
    let quote_at = text.find(['"', '\''])?;
    let (prefix, rest) = text.split_at(quote_at);
    let raw = prefix.contains(['r', 'R']);
    let bytes = prefix.contains(['b', 'B']);
    let quotes = if rest.len() >= 6 && (rest.starts_with("\"\"\"") || rest.starts_with("'''")) {
        3
    } else {
        1
    };
    let content =
        whole.start as usize + quote_at + quotes..(whole.end as usize).checked_sub(quotes)?;
    let interpolated = prefix.is_empty() && rest.starts_with('"');
    let opens_block = rest
        .strip_prefix("\"\"\"")
        .is_some_and(|content| content.starts_with(['\n', '\r']));
    Some(Shape {
        raw,
        bytes,
        block: interpolated && quotes == 3 && opens_block,
        interpolated,
        content,
    })
}

/// Returns the number of spaces and tabs that all lines of a text block start with. Blank lines and the line of the
/// closing quotes do not count.
fn margin(text: &str, segments: &[Segment]) -> usize {
    let mut margin = usize::MAX;
    for (index, segment) in segments.iter().enumerate() {
        let Segment::Raw(range) = segment else {
            continue;
        };
        let lines = text.get(range.clone()).unwrap_or("").split('\n').skip(1);
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            let ends_segment = lines.peek().is_none();
            let value_follows = ends_segment && index + 1 < segments.len();
            if !line.trim().is_empty() || value_follows {
                margin = margin.min(line.len() - line.trim_start_matches([' ', '\t']).len());
            }
        }
    }
    if margin == usize::MAX { 0 } else { margin }
}

/// Returns one segment of a text block without its margin, the line break after the opening quotes, and the line of the
/// closing ones. Line breaks become `\n`.
fn without_margin(
    raw: &str,
    margin: usize,
    line_start: &mut bool,
    first: bool,
    last: bool,
) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut lines = raw.split('\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let ends_segment = lines.peek().is_none();
        let begins_line = number > 0 || *line_start;
        if number > 1 || (number == 1 && !first) {
            if ends_segment && last && line.trim().is_empty() {
                break;
            }
            text.push('\n');
        } else if number == 0 && first {
            continue;
        } else if number == 1 && ends_segment && last && line.trim().is_empty() {
            break;
        }
        let line = line
            .strip_suffix('\r')
            .filter(|_| !ends_segment)
            .unwrap_or(line);
        if !begins_line {
            text.push_str(line);
        } else if line.trim().is_empty() && !ends_segment {
            // A blank line has no indentation worth keeping.
        } else {
            text.push_str(line.get(margin.min(line.len())..).unwrap_or(""));
        }
    }
    *line_start = false;
    text
}
