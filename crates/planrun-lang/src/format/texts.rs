//! Prints literals: as the author spelled them, with one kind of quotes, and text blocks at the indentation of their place.

use super::document::Break;
use super::printer::Printer;
use std::borrow::Cow;

use crate::source::Span;
use crate::syntax::ast::{ExprKind, Literal, TemplatePart, Text};
use crate::syntax::precedence::is_negative;
use crate::syntax::print::{Style, print_value};
use crate::syntax::spelling::{turns, write_escaped, write_literal, write_text};
use crate::syntax::{ast::Expr, canonical};

const BLOCK: &str = "\"\"\"";

/// Whether the text as written is a block, whose indentation has no meaning.
pub(super) fn opens_block(written: &str) -> bool {
    let content = written.strip_prefix(BLOCK).unwrap_or("");
    content.starts_with('\n') || content.starts_with("\r\n")
}

/// A part of a text block as written.
enum Piece<'a> {
    Raw(&'a str),
    Value(&'a Expr, Span),
}

pub(super) fn print_literal<'a>(out: &mut Printer<'a>, literal: &'a Literal, span: Span) {
    let written = out.written(span);
    match (literal, written) {
        (Literal::String(_) | Literal::Bytes(_), Some(written)) => {
            print_quoted(out, written, &[], span);
        }
        (Literal::String(text), None) => print_spelled_text(out, text),
        (
            Literal::Int(_) | Literal::Uint(_) | Literal::Double(_) | Literal::Duration(_),
            Some(written),
        ) => {
            // Between a minus and its number may be spaces and comments, but none in the number.
            let number = written
                .rsplit(char::is_whitespace)
                .next()
                .unwrap_or(written)
                .trim_start_matches('-');
            if is_negative(literal) {
                out.word("-");
            }
            out.word(number);
        }
        (
            Literal::Null
            | Literal::Bool(_)
            | Literal::Int(_)
            | Literal::Uint(_)
            | Literal::Double(_)
            | Literal::Duration(_)
            | Literal::Bytes(_),
            _,
        ) => {
            let mut text = String::new();
            write_literal(&mut text, literal);
            out.word(text);
        }
    }
}

/// A text that is no expression.
pub(super) fn print_plain_text<'a>(out: &mut Printer<'a>, text: &'a Text) {
    match out.written(text.span) {
        Some(written) => print_quoted(out, written, &[], text.span),
        None => print_spelled_text(out, &text.text),
    }
}

pub(super) fn print_template<'a>(out: &mut Printer<'a>, parts: &'a [TemplatePart], span: Span) {
    if let Some(written) = out.written(span) {
        print_quoted(out, written, parts, span);
        return;
    }
    let mut text = String::from("\"");
    for part in parts {
        match part {
            TemplatePart::Text(part) => write_escaped(&mut text, part),
            TemplatePart::Expr(value) => {
                text.push_str("${");
                if has_block(value) {
                    text.push_str(&canonical(value));
                } else {
                    // As it is printed where somebody has written it.
                    out.word(std::mem::take(&mut text));
                    let mark = out.mark();
                    print_value(out, value);
                    out.flatten(mark);
                }
                text.push('}');
            }
        }
    }
    text.push('"');
    out.word(text);
}

/// Whether a text in an expression would stand as a block, which cannot be on one line.
fn has_block(value: &Expr) -> bool {
    let mut found =
        matches!(&value.kind, ExprKind::Literal(Literal::String(text)) if stands_as_block(text));
    value.parts(&mut |part| found |= has_block(part));
    found
}

/// A text that nobody has written yet: as a block where that shows its lines.
fn print_spelled_text(out: &mut Printer<'_>, text: &str) {
    if !stands_as_block(text) {
        let mut spelled = String::new();
        write_text(&mut spelled, text);
        out.word(spelled);
        return;
    }
    out.word(BLOCK);
    out.indented(|out| {
        for line in text.split('\n') {
            out.line(Break::Always);
            out.word(
                line.replace('\\', "\\\\")
                    .replace(BLOCK, "\\\"\"\"")
                    .replace("${", "\\${"),
            );
        }
        out.line(Break::Always);
        out.word(BLOCK);
    });
}

fn print_quoted<'a>(
    out: &mut Printer<'a>,
    written: &'a str,
    parts: &'a [TemplatePart],
    span: Span,
) {
    if opens_block(written) {
        print_block_text(out, written, parts, span);
    } else if written.starts_with('"') && !written.starts_with(BLOCK) {
        for piece in pieces(out, parts, span.start + 1, span) {
            print_piece(out, &piece);
        }
    } else if written.contains('\n') {
        out.comments.take(span.start, span.end);
        let written = if written.contains("\r\n") {
            Cow::Owned(written.replace("\r\n", "\n"))
        } else {
            written.into()
        };
        out.lines(written);
    } else {
        out.comments.take(span.start, span.end);
        out.word(one_kind_of_quotes(written));
    }
}

/// The content of a text between its quotes, which belong to the first and last piece; `from` is behind them.
fn pieces<'a>(
    out: &Printer<'a>,
    parts: &'a [TemplatePart],
    from: u32,
    span: Span,
) -> Vec<Piece<'a>> {
    let (mut start, mut from) = (span.start, from);
    let mut pieces = Vec::new();
    for part in parts {
        let TemplatePart::Expr(value) = part else {
            continue;
        };
        let open = interpolation_start(out, from);
        let end = out.comments.seek(value.span.end, b'}') + 1;
        pieces.push(Piece::Raw(slice(out, start, open)));
        pieces.push(Piece::Value(value, Span::from(open..end)));
        (start, from) = (end, end);
    }
    pieces.push(Piece::Raw(slice(out, start, span.end)));
    pieces
}

fn print_piece<'a>(out: &mut Printer<'a>, piece: &Piece<'a>) {
    match piece {
        Piece::Raw(text) => out.word(*text),
        Piece::Value(value, place) => print_interpolated(out, value, *place),
    }
}

/// `${…}`, on one line unless something in it cannot be.
fn print_interpolated<'a>(out: &mut Printer<'a>, value: &'a Expr, place: Span) {
    let written = slice(out, place.start, place.end);
    let several = written.contains(BLOCK) || written.contains("'''");
    if several || out.comments.any(place.start, place.end) {
        out.comments.take(place.start, place.end);
        out.lines(written.replace("\r\n", "\n"));
        return;
    }
    out.word("${");
    let mark = out.mark();
    print_value(out, value);
    out.flatten(mark);
    out.word("}");
}

/// A text block with its lines moved to where it stands.
fn print_block_text<'a>(
    out: &mut Printer<'a>,
    written: &'a str,
    parts: &'a [TemplatePart],
    span: Span,
) {
    let pieces = pieces(out, parts, span.start + 3, span);
    let margin = margin(&pieces);
    let last = pieces.len() - 1;
    out.word(&written[..BLOCK.len()]);
    out.indented(|out| {
        for (index, piece) in pieces.into_iter().enumerate() {
            let Piece::Raw(raw) = piece else {
                print_piece(out, &piece);
                continue;
            };
            let raw = if index == 0 {
                raw.strip_prefix(BLOCK).unwrap_or(raw)
            } else {
                raw
            };
            let raw = if index == last {
                raw.strip_suffix(BLOCK).unwrap_or(raw)
            } else {
                raw
            };
            print_block_lines(out, raw, margin, index == 0, index == last);
        }
        out.line(Break::Always);
        out.word(BLOCK);
    });
}

fn print_block_lines<'a>(
    out: &mut Printer<'a>,
    raw: &'a str,
    margin: usize,
    first: bool,
    last: bool,
) {
    let mut lines = raw.split('\n').enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let ends = lines.peek().is_none();
        let blank = line.trim().is_empty();
        if number == 0 {
            if !first {
                print_raw_line(out, line, ends);
            }
            continue;
        }
        if ends && last && blank {
            break;
        }
        out.line(Break::Always);
        if !blank || ends {
            print_raw_line(out, line.get(margin.min(line.len())..).unwrap_or(""), ends);
        }
    }
}

fn print_raw_line<'a>(out: &mut Printer<'a>, line: &'a str, ends: bool) {
    let line = if ends {
        line
    } else {
        line.strip_suffix('\r').unwrap_or(line)
    };
    if line.contains('\r') {
        out.word(line.replace('\r', "\\r"));
    } else {
        out.word(line);
    }
}

/// Where the next `${` of a text begins.
fn interpolation_start(out: &Printer<'_>, from: u32) -> u32 {
    let text = slice(out, from, u32::MAX);
    let mut bytes = text.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'$' if text.as_bytes().get(at + 1) == Some(&b'{') => {
                return Span::at(from as usize + at).start;
            }
            _ => {}
        }
    }
    from
}

fn slice<'a>(out: &Printer<'a>, start: u32, end: u32) -> &'a str {
    let text = out.text.unwrap_or("");
    text.get(start as usize..(end as usize).min(text.len()))
        .unwrap_or("")
}

/// The indentation that all lines of a block share; blank lines and the line of the closing quotes do not count.
fn margin(pieces: &[Piece<'_>]) -> usize {
    let mut margin = usize::MAX;
    for (index, piece) in pieces.iter().enumerate() {
        let Piece::Raw(raw) = piece else { continue };
        let last = index + 1 == pieces.len();
        let raw = if last {
            raw.strip_suffix(BLOCK).unwrap_or(raw)
        } else {
            raw
        };
        let mut lines = raw.split('\n').skip(1).peekable();
        while let Some(line) = lines.next() {
            let value_follows = lines.peek().is_none() && !last;
            if !line.trim().is_empty() || value_follows {
                margin = margin.min(line.len() - line.trim_start_matches([' ', '\t']).len());
            }
        }
    }
    if margin == usize::MAX { 0 } else { margin }
}

/// A text on one line with double quotes, where these need no more escapes than those that it has.
fn one_kind_of_quotes(written: &str) -> Cow<'_, str> {
    let Some(quote) = written.find(['"', '\'']) else {
        return written.into();
    };
    let (prefix, text) = written.split_at(quote);
    let lower = prefix.to_ascii_lowercase();
    let single = text.starts_with('\'') && !text.starts_with("'''");
    let content = text
        .strip_prefix('\'')
        .and_then(|text| text.strip_suffix('\''))
        .filter(|_| single);
    let plain = content.filter(|content| {
        let interpolates = prefix.is_empty() && content.contains("${");
        let quotes = content.contains('"') || (lower.contains('r') && content.ends_with('\\'));
        !interpolates && !quotes
    });
    match plain {
        Some(content) if lower.contains('r') => format!("{lower}\"{content}\"").into(),
        Some(content) => format!("{lower}\"{}\"", content.replace("\\'", "'")).into(),
        None if lower == prefix => written.into(),
        None => format!("{lower}{text}").into(),
    }
}

/// Whether the text has several lines and a block can show them with nothing but its indentation changed.
fn stands_as_block(text: &str) -> bool {
    let lines = || text.split('\n').filter(|line| !line.is_empty());
    let sound = |line: &str| {
        !line.trim().is_empty()
            && !line.ends_with([' ', '\t'])
            && !line.contains(|c: char| c.is_control() || turns(c))
    };
    text.contains('\n') && lines().all(sound) && lines().any(|line| !line.starts_with([' ', '\t']))
}

/// Documentation that a tree without a text brings along.
pub(super) fn print_doc(out: &mut Printer<'_>, marker: &'static str, doc: Option<&str>) {
    for line in doc.iter().flat_map(|doc| doc.split('\n')) {
        out.word(format!("{marker}{line}").trim_end().to_owned());
        out.line(Break::Hard);
    }
}
