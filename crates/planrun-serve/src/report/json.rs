//! JSON without spaces and without characters that nobody sees, and how long it is.

use std::io::{self, Write};

use planrun_lang::diag::render::is_hidden;
use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value as Json};

/// Writes hidden characters as escapes, which mean the same.
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

/// The JSON of a value.
pub(crate) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // A vector takes everything, and what is written here has only texts as keys.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Visible));
    String::from_utf8(bytes).unwrap_or_default()
}

/// How many bytes the JSON of a value has; nothing where these are more than `limit`, which takes no longer the more there are.
pub(super) fn length(value: &Json, limit: usize) -> Option<usize> {
    // Brackets, and a comma or colon behind each part but the last one.
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

/// The same of a text, with its quotes.
pub(super) fn text_length(text: &str, limit: usize) -> Option<usize> {
    // No character is shorter than in the text.
    at_most(text.len() + 2, limit)?;
    at_most(text.chars().map(width).sum::<usize>() + 2, limit)
}

fn at_most(bytes: usize, limit: usize) -> Option<usize> {
    (bytes <= limit).then_some(bytes)
}

/// How many bytes a character has within a text.
pub(super) fn width(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        character if is_hidden(character) => 6 * character.len_utf16(),
        character => character.len_utf8(),
    }
}
