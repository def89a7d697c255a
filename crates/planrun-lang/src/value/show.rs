//! Formats values for messages.

use std::fmt;
use std::io;

use serde_json::Value as Json;

use super::Value;

/// Shortens a text to at most `max` characters, followed by `…` if something was cut off.
#[must_use]
pub fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        Some((end, _)) => text.get(..end).unwrap_or_default().to_owned() + "…",
        None => text.to_owned(),
    }
}

/// Returns the JSON with the keys of all objects sorted, because their order has no meaning.
#[must_use]
pub fn sorted_json(json: &Json) -> Json {
    let mut sorted = json.clone();
    sorted.sort_all_objects();
    sorted
}

impl Value {
    /// Returns the JSON text, cut off after at most `limit` bytes, for messages.
    #[must_use]
    pub fn preview(&self, limit: usize) -> String {
        let mut writer = Bounded {
            text: Vec::new(),
            limit,
        };
        let whole = serde_json::to_writer(&mut writer, self).is_ok();
        let mut text = String::from_utf8_lossy(&writer.text).into_owned();
        if !whole {
            while text.ends_with(char::REPLACEMENT_CHARACTER) {
                text.pop();
            }
            text.push('…');
        }
        text
    }

    /// Returns the text of a string, number or Boolean in `string(x)` and `"${x}"`; `None` for other values.
    #[must_use]
    pub fn interpolated(&self) -> Option<String> {
        match self {
            Self::String(text) => Some(text.as_ref().to_owned()),
            Self::Bool(truth) => Some(truth.to_string()),
            Self::Int(number) => Some(number.to_string()),
            Self::Uint(number) => Some(number.to_string()),
            Self::Double(number) => Some(super::json::double_text(*number)),
            Self::Exact(exact) => Some(exact.text.as_ref().to_owned()),
            Self::Null
            | Self::Bytes(_)
            | Self::List(_)
            | Self::Map(_)
            | Self::Timestamp(_)
            | Self::Duration(_)
            | Self::Type(_) => None,
        }
    }
}

/// Compact JSON.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_json_text())
    }
}

/// Accepts at most `limit` bytes and then fails, so that a large value is not printed completely.
struct Bounded {
    text: Vec<u8>,
    limit: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.limit.saturating_sub(self.text.len());
        self.text.extend(bytes.iter().take(room));
        if bytes.len() > room {
            Err(io::ErrorKind::WriteZero.into())
        } else {
            Ok(bytes.len())
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_bounded_and_cut_between_characters() {
        assert_eq!(Value::from("名字名字").preview(6), "\"名…");
        assert_eq!(
            Value::list([Value::Int(1), Value::Null]).preview(40),
            "[1,null]"
        );
        let long = Value::list((0..1_000_000).map(Value::Int));
        assert_eq!(long.preview(8), "[0,1,2,3…");
    }
}
