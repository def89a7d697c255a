//! Parses documents of other systems into trees with spans, within limits.

use std::collections::BTreeSet;
use std::ops::Range;

use jsonc_parser::ast::{Object, ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use planrun_lang::source::Span;
use planrun_lang::yaml::{self, Content, Entry, Node};
use serde_json::Number;

/// The maximum size of a document, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;
/// The deepest nesting of a document.
const MAX_DEPTH: usize = 96;
/// The most values of a document.
const MAX_VALUES: usize = 200_000;

/// A document that cannot be parsed or imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Refused {
    pub span: Span,
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl Refused {
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: help.into(),
        }
    }
}

/// Parses YAML or JSON; comments and trailing commas in JSON are allowed. Returns an error if the text is neither, or
/// if it exceeds a limit.
pub fn read(text: &str) -> Result<Node, Refused> {
    within_bounds(text)?;
    if text.trim_start().starts_with(['{', '[']) {
        return json(text, 0..text.len());
    }
    yaml::parse(text).map_err(|error| {
        Refused::new(
            error.span,
            error.message,
            "pass a single YAML or JSON document",
        )
    })
}

/// Parses the JSON in a part of a text; spans refer to the whole text. Returns an error if the part is not JSON, or if
/// it exceeds a limit.
pub fn json(text: &str, part: Range<usize>) -> Result<Node, Refused> {
    within_bounds(text)?;
    let offset = part.start;
    let inner = text.get(part).unwrap_or("");
    if let Some(at) = too_deep(inner) {
        let message = format!("the document is nested more than {MAX_DEPTH} levels deep");
        let span = Span::new(offset + at, offset + at + 1);
        return Err(Refused::new(span, message, "reduce the nesting"));
    }
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(inner, &CollectOptions::default(), &options).map_err(|error| {
        let range = error.range();
        let span = Span::new(offset + range.start, offset + range.end);
        Refused::new(
            span,
            format!("this is not valid JSON: {}", error.kind()),
            "fix the JSON here",
        )
    })?;
    let value = parsed.value.ok_or_else(|| {
        Refused::new(
            Span::at(offset),
            "the document is empty",
            "pass a document with a plan",
        )
    })?;
    let mut left = MAX_VALUES;
    node(&value, offset, &mut left)
}

/// Returns the elements under a key; empty if there is no list.
pub fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::items).unwrap_or_default()
}

/// Returns the entries under a key; empty if there is no mapping.
pub fn entries<'n>(node: &'n Node, key: &str) -> &'n [Entry] {
    node.get(key).and_then(Node::entries).unwrap_or_default()
}

/// Returns an error if the text is larger than [`MAX_BYTES`].
pub fn within_bounds(text: &str) -> Result<(), Refused> {
    if text.len() <= MAX_BYTES {
        return Ok(());
    }
    let message = format!(
        "the document has {} bytes, but at most {MAX_BYTES} are supported",
        text.len()
    );
    Err(Refused::new(
        Span::at(0),
        message,
        "split it into several plans",
    ))
}

/// Returns the offset of the first bracket that opens more than [`MAX_DEPTH`] levels. Brackets in texts and comments
/// do not count.
fn too_deep(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate().peekable();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => {
                while let Some((_, byte)) = bytes.next() {
                    match byte {
                        b'\\' => {
                            bytes.next();
                        }
                        b'"' => break,
                        _ => {}
                    }
                }
            }
            b'/' => {
                let rest = text.get(at..).unwrap_or("");
                let length = if rest.starts_with("//") {
                    rest.find('\n').unwrap_or(rest.len())
                } else if let Some(inner) = rest.strip_prefix("/*") {
                    inner.find("*/").map_or(rest.len(), |end| end + 4)
                } else {
                    1
                };
                while bytes.next_if(|(next, _)| *next < at + length).is_some() {}
            }
            b'{' | b'[' if depth == MAX_DEPTH => return Some(at),
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

fn node(value: &Value<'_>, offset: usize, left: &mut usize) -> Result<Node, Refused> {
    let span = Span::new(offset + value.start(), offset + value.end());
    *left = left.checked_sub(1).ok_or_else(|| {
        let message = format!("the document has more than {MAX_VALUES} values");
        Refused::new(span, message, "split it")
    })?;
    let content = match value {
        Value::NullKeyword(_) => Content::Null,
        Value::BooleanLit(truth) => Content::Bool(truth.value),
        Value::NumberLit(number) => {
            let parsed = number.value.parse::<Number>().ok();
            // A number keeps its digits, so one beyond every float is parsed as well.
            let finite = parsed.filter(|parsed| parsed.as_f64().is_some());
            Content::Number(finite.ok_or_else(|| {
                let message = format!(
                    "`{}` is not a number of JSON, or is too large",
                    number.value
                );
                Refused::new(span, message, "write it as a string, or correct it")
            })?)
        }
        Value::StringLit(text) => Content::Text(text.value.to_string()),
        Value::Array(array) => {
            let items = array.elements.iter().map(|item| node(item, offset, left));
            Content::List(items.collect::<Result<_, _>>()?)
        }
        Value::Object(object) => Content::Map(fields_of(object, offset, left)?),
    };
    Ok(Node { span, content })
}

fn fields_of(object: &Object<'_>, offset: usize, left: &mut usize) -> Result<Vec<Entry>, Refused> {
    let mut names = BTreeSet::new();
    let entries = object.properties.iter().map(|property| {
        let name = match &property.name {
            ObjectPropName::String(text) => text.value.to_string(),
            ObjectPropName::Word(word) => word.value.to_owned(),
        };
        let range = property.name.range();
        let span = Span::new(offset + range.start, offset + range.end);
        if !names.insert(name.clone()) {
            let message = format!("duplicate key `{name}`");
            return Err(Refused::new(span, message, "remove one of them"));
        }
        let value = node(&property.value, offset, left)?;
        Ok(Entry { name, span, value })
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_places_within_bounds() {
        let text = "note: [{\"a\": [1, \"\\ud83d\\ude00\"],}] // c";
        let node = json(text, 6..text.len()).unwrap();
        let list = node.items().unwrap()[0].get("a").unwrap();
        assert_eq!(&text[list.span.range()], "[1, \"\\ud83d\\ude00\"]");
        assert_eq!(list.items().unwrap()[1].text(), Some("😀"));
        let deep = "[".repeat(200) + &"]".repeat(200);
        // A quote in a comment does not begin a text in which brackets would not count.
        for deep in [
            deep.clone(),
            format!("[// \"\n{deep}]"),
            format!("[/* \" */ {deep}]"),
        ] {
            let refused = read(&deep).unwrap_err();
            assert!(refused.message.contains("96 levels"), "{refused}");
            assert_eq!(&deep[refused.span.range()], "[");
        }
        let flat = format!("[{}1]", r#""[\"[", /* [ */ "#.repeat(200));
        assert!(read(&flat).is_ok());
        assert!(read("[1e999]").unwrap_err().message.contains("`1e999`"));
        let wide = format!("[{}1]", "1,".repeat(MAX_VALUES));
        assert!(read(&wide).unwrap_err().message.contains("200000 values"));
        assert!(
            read("{\"a\": 1, \"a\": 2}")
                .unwrap_err()
                .message
                .contains("duplicate key `a`")
        );
        assert!(read(&" ".repeat(MAX_BYTES + 1)).is_err());
    }
}
