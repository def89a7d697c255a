//! Parses JSON text and reports syntax errors as diagnostics.

use jsonc_parser::ast::Value;
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::{ParseError, ParseErrorKind};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::Span;

/// Strict JSON: no extensions that other parsers would reject.
const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Parses a text as one JSON value.
///
/// # Errors
/// Returns the diagnostic of the first syntax error.
pub(super) fn value(text: &str) -> Result<Value<'_>, Box<Diagnostic>> {
    if text.starts_with(BYTE_ORDER_MARK) {
        let span = Span::new(0, BYTE_ORDER_MARK.len_utf8());
        let message = "the file begins with a byte order mark, which JSON does not allow";
        let found = codes::BAD_JSON.at(span, message);
        return Err(Box::new(
            found.help("save it as UTF-8 without a byte order mark"),
        ));
    }
    if let Some(found) = control_in_string(text) {
        return Err(Box::new(found));
    }
    match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(parsed) => parsed.value.ok_or_else(|| {
            Box::new(
                codes::BAD_JSON
                    .at(
                        Span::at(0),
                        "the file is empty, but a plan must be a JSON object",
                    )
                    .help("write at least `{ \"items\": [] }`"),
            )
        }),
        Err(error) => Err(Box::new(finding(text, &error))),
    }
}

/// Returns the span of a value in its text.
pub(super) fn span(value: &impl Ranged) -> Span {
    Span::new(value.start(), value.end())
}

/// Returns the maximum nesting depth of the brackets in a text.
pub(super) fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text.bytes() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Reports the first unescaped control character inside a string.
fn control_in_string(text: &str) -> Option<Diagnostic> {
    let mut inside = false;
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => inside = !inside,
            0..=0x1f if inside => {
                let (found, written) = match byte {
                    b'\n' => ("a line break".to_owned(), "\\n".to_owned()),
                    b'\r' => ("a carriage return".to_owned(), "\\r".to_owned()),
                    b'\t' => ("a tab".to_owned(), "\\t".to_owned()),
                    other => (
                        format!("the control character U+{other:04X}"),
                        format!("\\u{other:04x}"),
                    ),
                };
                let span = Span::new(at, at + 1);
                let message = format!("{found} is not allowed inside a JSON string");
                let finding = codes::BAD_JSON.at(span, message);
                let help = format!("close the string on the same line, or write `{written}`");
                return Some(finding.help(help));
            }
            _ => {}
        }
    }
    None
}

fn finding(text: &str, error: &ParseError) -> Diagnostic {
    let range = error.range();
    let span =
        crate::syntax::lower::within(text, Span::new(range.start, range.end.max(range.start)));
    if matches!(error.kind(), ParseErrorKind::NestingDepthExceeded) {
        return codes::TOO_DEEP
            .at(Span::at(range.start), "the file is nested too deeply")
            .help("split the plan into several that call each other");
    }
    let (message, help) = words(error.kind());
    codes::BAD_JSON.at(span, message).help(help)
}

fn words(kind: &ParseErrorKind) -> (&'static str, &'static str) {
    use ParseErrorKind as Kind;
    match kind {
        Kind::CommentsNotAllowed | Kind::UnterminatedCommentBlock => (
            "JSON has no comments",
            "remove it, or move its text to the key `doc` of an item or statement",
        ),
        Kind::TrailingCommasNotAllowed | Kind::UnexpectedComma => {
            ("unexpected comma", "remove the comma")
        }
        Kind::ExpectedComma => (
            "a comma is missing before this",
            "write `,` between the two",
        ),
        Kind::ExpectedColonAfterObjectKey => {
            ("a key is not followed by a colon", "write `\"key\": value`")
        }
        Kind::ExpectedObjectValue => ("a key has no value", "write a value after the colon"),
        Kind::ExpectedStringObjectProperty | Kind::UnexpectedTokenInObject => (
            "a key in double quotes is expected here",
            "write `\"key\": value`",
        ),
        Kind::UnterminatedArray => ("this list is not closed", "write `]` at its end"),
        Kind::UnterminatedObject => ("this object is not closed", "write `}` at its end"),
        Kind::UnexpectedCloseBrace => ("unmatched `}`", "remove it, or open the object with `{`"),
        Kind::UnexpectedCloseBracket => ("unmatched `]`", "remove it, or open the list with `[`"),
        Kind::UnexpectedColon => (
            "this colon does not follow a key",
            "write `\"key\": value` inside `{ … }`",
        ),
        Kind::MultipleRootJsonValues => (
            "unexpected text after the end of the plan's object",
            "write only one object in a file",
        ),
        _ => value_words(kind),
    }
}

/// Like [`words`], for errors in place of a value.
fn value_words(kind: &ParseErrorKind) -> (&'static str, &'static str) {
    use ParseErrorKind as Kind;
    match kind {
        Kind::SingleQuotedStringsNotAllowed => (
            "JSON strings cannot be in single quotes",
            "use double quotes",
        ),
        Kind::UnexpectedWord => (
            "a bare word is not a JSON value",
            "put it in double quotes; only `true`, `false` and `null` are written without them",
        ),
        Kind::String(_) => (
            "this string is not closed, or has an invalid escape",
            "close it with `\"`; the escapes are `\\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` and `\\u00e9`",
        ),
        Kind::ExpectedDigit
        | Kind::ExpectedDigitFollowingNegativeSign
        | Kind::ExpectedPlusMinusOrDigitInNumberLiteral
        | Kind::BareDecimalPointNumbersNotAllowed
        | Kind::HexadecimalNumbersNotAllowed
        | Kind::NonFiniteNumbersNotAllowed
        | Kind::UnaryPlusNumbersNotAllowed => (
            "this is not a valid JSON number",
            "write digits such as `3`, `-3` or `2.5`, or an expression in quotes",
        ),
        _ => (
            "this is not valid JSON",
            "write a value: a string, a number, `true`, `false`, an object or a list",
        ),
    }
}
