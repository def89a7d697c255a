//! Prints literals in the author's spelling, with double quotes where possible and text blocks at the current
//! indentation.

use super::document::Break;
use super::printer::Printer;
use std::borrow::Cow;

use crate::characters::is_invisible;
use crate::source::Span;
use crate::syntax::ast::{ExprKind, Literal, TemplatePart, Text};
use crate::syntax::precedence::is_negative;
use crate::syntax::print::{Style, print_value};
use crate::syntax::spelling::{write_escaped, write_literal, write_text};
use crate::syntax::{ast::Expr, canonical};

const BLOCK: &str = "\"\"\"";

/// Returns true if the text as written is a text block, whose common indentation is insignificant.
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
            // There may be spaces and comments between the minus and the number.
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

/// Prints a text that is not an expression.
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
                    // Formatted like an expression that the author wrote.
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

/// Returns true if a text in the expression would be printed as a block, which cannot be on one line.
fn has_block(value: &Expr) -> bool {
    let mut found =
        matches!(&value.kind, ExprKind::Literal(Literal::String(text)) if fits_block(text));
    value.parts(&mut |part| found |= has_block(part));
    found
}

/// Prints a text of a tree without source, as a block if that displays its lines.
fn print_spelled_text(out: &mut Printer<'_>, text: &str) {
    if !fits_block(text) {
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

/// Splits a text into its pieces. The quotes belong to the first and last piece; `from` is the end of the opening ones.
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

/// Prints `${…}` on one line, or verbatim if its content cannot be on one line.
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

/// Prints a text block with its lines at the current indentation.
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

/// Returns the offset of the next `${` of a text.
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

/// Returns the indentation that all lines of a block share. Blank lines and the line of the closing quotes do not
/// count.
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

/// Returns a one-line text in double quotes, unless that would require additional escapes.
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

/// Returns true if the text has several lines and a text block reproduces them exactly.
fn fits_block(text: &str) -> bool {
    let lines = || text.split('\n').filter(|line| !line.is_empty());
    let sound = |line: &str| {
        !line.trim().is_empty()
            && !line.ends_with([' ', '\t'])
            && !line.contains(|c: char| c.is_control() || is_invisible(c))
    };
    text.contains('\n') && lines().all(sound) && lines().any(|line| !line.starts_with([' ', '\t']))
}

/// Prints the documentation of a tree without source. A comment has no escapes, so characters that nobody can see are
/// replaced by how they are written elsewhere.
pub(super) fn print_doc(out: &mut Printer<'_>, marker: &'static str, doc: Option<&str>) {
    for line in doc.iter().flat_map(|doc| doc.split('\n')) {
        let mut written = marker.to_owned();
        for c in line.trim_end().chars() {
            if c != '\t' && (c.is_control() || is_invisible(c)) {
                written.extend(c.escape_unicode());
            } else {
                written.push(c);
            }
        }
        out.word(written.trim_end().to_owned());
        out.line(Break::Hard);
    }
}
