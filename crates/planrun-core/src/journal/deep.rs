//! Reads JSON that is nested more deeply than `serde_json` reads by default. A value may have 256 levels, and its typed
//! form twice as many; what was recorded once must be readable.

use planrun_lang::syntax::with_stack;
use serde::de::DeserializeOwned;
use serde_json::de::StrRead;
use serde_json::{Deserializer, Result};

/// The depth that `serde_json` reads by default.
const USUAL: usize = 127;
/// Maximum depth that is read: more than any recorded value has.
const MAX: usize = 1_000;

/// Parses a JSON text.
///
/// # Errors
/// Returns an error if the text is not valid JSON of this type, or has more than 1,000 levels.
pub fn from_str<T: DeserializeOwned + Send>(text: &str) -> Result<T> {
    read(text, |json| T::deserialize(json))
}

/// Parses a JSON text in UTF-8. See [`from_str`].
///
/// # Errors
/// As for [`from_str`].
pub fn from_slice<T: DeserializeOwned + Send>(text: &[u8]) -> Result<T> {
    match std::str::from_utf8(text) {
        Ok(text) => from_str(text),
        // Describes the bytes as any other error.
        Err(_) => serde_json::from_slice(text),
    }
}

/// Reads a whole text. A text that is nested too deeply for the stack of this thread is read once more on a larger one.
pub(super) fn read<'t, T: Send>(
    text: &'t str,
    mut read: impl FnMut(&mut Deserializer<StrRead<'t>>) -> Result<T> + Send,
) -> Result<T> {
    let mut whole = |json: &mut Deserializer<StrRead<'t>>| {
        let found = read(json)?;
        json.end().map(|()| found)
    };
    let error = match whole(&mut Deserializer::from_str(text)) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let depth = depth(text);
    if depth <= USUAL || depth > MAX {
        return Err(error);
    }
    let deep = with_stack(depth, || {
        let mut json = Deserializer::from_str(text);
        json.disable_recursion_limit();
        whole(&mut json)
    });
    deep.unwrap_or(Err(error))
}

/// Returns how deeply a JSON text is nested.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}\"[\\\"[\"{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn what_is_nested_more_deeply_than_usual_is_read() {
        for levels in [0, 1, USUAL, USUAL + 1, 600, MAX] {
            let text = nested(levels);
            let read: Json = from_str(&text).unwrap();
            assert_eq!(read.to_string(), text, "{levels}");
        }
    }

    #[test]
    fn what_is_too_deep_or_no_json_is_an_error() {
        for text in [
            nested(MAX + 1),
            nested(300) + "]",
            nested(200).replace('"', "'"),
        ] {
            assert!(from_str::<Json>(&text).is_err(), "{text}");
            assert!(from_slice::<Json>(text.as_bytes()).is_err(), "{text}");
        }
        assert!(from_slice::<Json>(b"\xff").is_err());
    }
}
