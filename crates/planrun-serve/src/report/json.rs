//! Writes JSON without spaces between tokens and with invisible characters escaped, and computes its length.

use std::io::{self, Write};

use planrun_lang::characters::is_hidden;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value as Json};

/// Writes invisible characters as escapes, which are equivalent.
struct Visible;

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(is_hidden) {
            let (before, behind) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut behind = behind.chars();
            let mut units = [0; 2];
            for unit in behind.next().unwrap_or_default().encode_utf16(&mut units) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = behind.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

pub(crate) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // Writing to a vector cannot fail, and only maps with text keys are written here.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Visible));
    String::from_utf8(bytes).unwrap_or_default()
}

/// Returns the length of a value's JSON in bytes; `None` if it is more than `limit`. The time is bounded by the limit.
pub(super) fn length(value: &Json, limit: usize) -> Option<usize> {
    // Brackets, and a comma or colon after each part except the last.
    let around = |parts: usize| 2 + parts.saturating_sub(1);
    let bytes = match value {
        Json::Null => 4,
        Json::Bool(truth) => 5 - usize::from(*truth),
        Json::Number(number) => number.as_str().len(),
        Json::String(text) => text_length(text, limit)?,
        Json::Array(elements) => {
            let mut all = around(elements.len());
            for element in elements {
                all += length(element, limit.checked_sub(all)?)?;
            }
            all
        }
        Json::Object(fields) => {
            let mut all = around(fields.len()) + fields.len();
            for (name, value) in fields {
                all += text_length(name, limit.checked_sub(all)?)?;
                all += length(value, limit.checked_sub(all)?)?;
            }
            all
        }
    };
    at_most(bytes, limit)
}

/// Returns the length of a text's JSON with its quotes.
pub(super) fn text_length(text: &str, limit: usize) -> Option<usize> {
    // The JSON of a character is never shorter than its UTF-8.
    at_most(text.len() + 2, limit)?;
    at_most(text.chars().map(width).sum::<usize>() + 2, limit)
}

fn at_most(bytes: usize, limit: usize) -> Option<usize> {
    (bytes <= limit).then_some(bytes)
}

/// Returns the number of bytes of a character within a JSON text.
pub(super) fn width(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        character if is_hidden(character) => 6 * character.len_utf16(),
        character => character.len_utf8(),
    }
}
