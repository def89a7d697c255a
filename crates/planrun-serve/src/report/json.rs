//! JSON without spaces and without characters that nobody sees, and how long it is.

use std::io::{self, Write};

use planrun_lang::diag::render::is_hidden;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

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

/// Counts what is written, up to a limit.
struct Counted {
    bytes: usize,
    limit: usize,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes += bytes.len();
        if self.bytes > self.limit {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The JSON of a value.
pub(super) fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    // A vector takes everything, and what is written here has only texts as keys.
    let _ = value.serialize(&mut Serializer::with_formatter(&mut bytes, Visible));
    String::from_utf8(bytes).unwrap_or_default()
}

/// How many bytes the JSON of a value has; nothing where these are more than `limit`, which takes no longer the more there are.
pub(super) fn length(value: &impl Serialize, limit: usize) -> Option<usize> {
    let mut counted = Counted { bytes: 0, limit };
    let written = value.serialize(&mut Serializer::with_formatter(&mut counted, Visible));
    written.is_ok().then_some(counted.bytes)
}

/// How many bytes a character has within a text.
pub(super) fn width(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        character if is_hidden(character) => 6 * character.len_utf16(),
        character => character.len_utf8(),
    }
}
