//! Percent-encodes and percent-decodes texts.

use std::fmt::Write as _;

/// Escapes everything except letters, digits, `-._~` and the bytes in `kept`.
#[must_use]
pub fn encode(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Decodes escapes. Invalid escapes stay as they are, and invalid UTF-8 is replaced.
#[must_use]
pub fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut read = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let digits = (*byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        let escape = digits
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        read.push(escape.unwrap_or(*byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&read).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_read_back() {
        for text in ["", "a b/c?d=e&f", "订单 №7", "100%", "%2F", "-._~"] {
            assert_eq!(decode(&encode(text, b"")), text);
        }
        assert_eq!(encode("a/b c", b"/"), "a/b%20c");
        assert_eq!(decode("%zz%4"), "%zz%4");
    }
}
