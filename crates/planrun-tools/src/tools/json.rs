//! Parses the JSON of answers, within a limit on the number of its parts.

use serde_json::Value as Json;

/// Maximum number of values in an answer. A small value takes up to a hundred times the memory of its text, so the
/// length of an answer alone does not bound what it needs.
const MAX_PARTS: usize = 1_000_000;

/// Why an answer is not used.
#[derive(Debug, thiserror::Error)]
pub(super) enum JsonFault {
    #[error("invalid JSON: {0}")]
    Invalid(#[from] serde_json::Error),
    #[error("JSON with more than {MAX_PARTS} values")]
    TooManyParts,
}

/// Parses an answer.
///
/// # Errors
/// If it is not JSON, or has too many parts.
pub(super) fn parse(text: &[u8]) -> Result<Json, JsonFault> {
    if has_too_many_parts(text) {
        // A text that is not JSON may have as many commas.
        serde_json::from_slice::<serde::de::IgnoredAny>(text)?;
        return Err(JsonFault::TooManyParts);
    }
    Ok(serde_json::from_slice(text)?)
}

/// Counts what begins a value outside of strings: each value but the first comes after a comma or an opening bracket.
fn has_too_many_parts(text: &[u8]) -> bool {
    if text.len() <= MAX_PARTS {
        return false;
    }
    let (mut parts, mut is_string, mut is_escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b',' | b'[' | b'{' if !is_string => parts += 1,
            _ => {}
        }
    }
    parts > MAX_PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_parts_are_counted_and_text_is_not() {
        let list = |part: &str, times: usize| format!("[{}]", vec![part; times].join(","));
        for part in ["{\"a\":1}", "[]", "1"] {
            let error = parse(list(part, MAX_PARTS + 1).as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "JSON with more than 1000000 values");
        }
        assert!(parse(list("1", MAX_PARTS - 1).as_bytes()).is_ok());
        let text = format!(
            "[\"{}\\\"{}\"]",
            "[,{".repeat(MAX_PARTS),
            ",".repeat(MAX_PARTS)
        );
        assert!(parse(text.as_bytes()).is_ok());
        let csv = "a,".repeat(2 * MAX_PARTS);
        assert!(matches!(parse(csv.as_bytes()), Err(JsonFault::Invalid(_))));
    }
}
