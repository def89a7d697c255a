//! Percent-encodes and percent-decodes texts.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// Everything except letters, digits and `-._~`.
pub const RESERVED: &AsciiSet = &controls_and(b" !\"#$%&'()*+,/:;<=>?@[\\]^`{|}");
/// The same without the reserved characters that have no meaning in a query.
pub const IN_QUERY: &AsciiSet = &controls_and(b" \"#%&+<=>\\^`{|}");
/// The characters that are not allowed in the value of a cookie, and `%`.
pub const IN_COOKIE: &AsciiSet = &controls_and(b" \"%,;\\");

const fn controls_and(mut characters: &[u8]) -> AsciiSet {
    let mut set = CONTROLS.add(b' ');
    while let [first, rest @ ..] = characters {
        (set, characters) = (set.add(*first), rest);
    }
    set
}

/// Escapes the characters of a set, and everything beyond ASCII.
pub fn encode(text: &str, escaped: &'static AsciiSet) -> String {
    utf8_percent_encode(text, escaped).to_string()
}

/// Decodes escapes. Invalid escapes stay as they are, and invalid UTF-8 is replaced.
pub fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_read_back() {
        for text in ["", "a b/c?d=e&f", "订单 №7", "100%", "%2F", "-._~"] {
            assert_eq!(decode(&encode(text, RESERVED)), text);
        }
        assert_eq!(encode("a/b c", RESERVED), "a%2Fb%20c");
        assert_eq!(decode("%zz%4"), "%zz%4");
    }
}
