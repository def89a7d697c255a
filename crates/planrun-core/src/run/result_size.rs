//! Measures results, which `max_result` limits.

use std::io;

use planrun_lang::value::{Key, Value};
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter};

/// The size of the quotes around a text.
const QUOTES: u64 = 2;

/// Returns the size of a result in bytes, as of its JSON, except that bytes count as they are.
pub(super) fn value_size(value: &Value) -> u64 {
    match value {
        Value::Bytes(bytes) => QUOTES + bytes.len() as u64,
        Value::List(items) => enclosed(items.iter().map(value_size)),
        Value::Map(entries) => {
            let entry = |(key, value): (&Key, &Value)| {
                let name = key.as_str().map_or_else(|| key.to_string().len(), str::len);
                QUOTES + name as u64 + 1 + value_size(value)
            };
            enclosed(entries.iter().map(entry))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Exact(_)
        | Value::String(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Type(_) => json_size(value),
    }
}

/// Returns the size of a list or an object with parts of these sizes, including commas and brackets.
fn enclosed(parts: impl Iterator<Item = u64>) -> u64 {
    let all: u64 = parts.map(|part| part + 1).sum();
    all.max(1) + 1
}

/// Returns the size of JSON in bytes. A character counts as it is, also if it has to be escaped.
pub(super) fn json_size(json: &impl Serialize) -> u64 {
    let mut counter = Counter(0);
    let mut serializer = serde_json::Serializer::with_formatter(&mut counter, Unescaped);
    // Counting cannot fail.
    let _ = json.serialize(&mut serializer);
    counter.0
}

/// Counts bytes without keeping them.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a single byte for each escaped character, all of which are ASCII.
struct Unescaped;

impl Formatter for Unescaped {
    fn write_char_escape<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        _: CharEscape,
    ) -> io::Result<()> {
        writer.write_all(b" ")
    }
}

#[cfg(test)]
mod tests {
    use planrun_lang::types::{Type, decode};
    use serde_json::json;

    use super::*;

    #[test]
    fn escapes_and_encodings_do_not_count() {
        for text in ["plain", "\u{1}\n\"\\", "你好🦊", "\u{7f}\u{2028}"] {
            let expected = text.len() as u64 + QUOTES;
            assert_eq!(json_size(&json!(text)), expected, "{text:?}");
            assert_eq!(value_size(&Value::from(text)), expected, "{text:?}");
        }
        let bytes = decode(&json!("AAECAw=="), &Type::Bytes).unwrap();
        assert_eq!(value_size(&bytes), 4 + QUOTES);
    }

    #[test]
    fn everything_else_is_as_large_as_its_json() {
        let json = json!({ "a": [1, 2.5, true, null, "b"], "你": { "c": [], "d": {} } });
        let written = json.to_string().len() as u64;
        assert_eq!(json_size(&json), written);
        assert_eq!(value_size(&Value::from_json(&json)), written);
    }
}
