//! Decodes the bytes of a file to text.

use crate::diag::Diagnostic;
use crate::diag::codes::text as codes;
use crate::source::{SourceFile, Span};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Decodes a file as UTF-8. Invalid bytes are replaced and the first of them is reported; a byte order mark is removed.
#[must_use]
pub fn decode(name: &str, bytes: &[u8]) -> (SourceFile, Vec<Diagnostic>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (SourceFile::new(name, without_mark(text)), Vec::new()),
        Err(error) => {
            let text = String::from_utf8_lossy(bytes);
            let mark = text.len() - without_mark(&text).len();
            let at = error.valid_up_to().saturating_sub(mark);
            let span = Span::new(at, at + char::REPLACEMENT_CHARACTER.len_utf8());
            let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
            let diagnostic = Diagnostic::new(
                &codes::NOT_UTF8,
                span,
                format!("the byte 0x{byte:02X} is not valid UTF-8 here"),
            )
            .help("save the file as UTF-8");
            (SourceFile::new(name, without_mark(&text)), vec![diagnostic])
        }
    }
}

fn without_mark(text: &str) -> &str {
    text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn a_bad_byte_is_found_behind_the_mark() {
        let (source, diagnostics) = decode("a.plan", b"\xef\xbb\xbfuse \xff\xfe");
        assert_eq!(source.text(), "use \u{fffd}\u{fffd}");
        assert_eq!(diagnostics[0].code.name, "not-utf8");
        assert_eq!(source.slice(diagnostics[0].span), "\u{fffd}");
    }
}
