//! The charset of bodies: everything behind this module is UTF-8.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8};

use super::Content;

/// Returns the charset that a media type states; `None` if it states none that is known.
fn stated(media_type: &str) -> Option<&'static Encoding> {
    let parameters = media_type.split(';').skip(1);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, label) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches('"').as_bytes())
}

/// Converts a body to UTF-8 if its media type states another charset, or if it is a text that begins with a byte order
/// mark. Any other body is unchanged.
pub(super) fn to_utf8(media_type: &str, body: Vec<u8>) -> Vec<u8> {
    let charset = stated(media_type);
    let is_text = matches!(Content::of(media_type), Content::Json | Content::Text);
    if charset.is_none() && !is_text {
        return body;
    }
    let (text, used, has_errors) = charset.unwrap_or(UTF_8).decode(&body);
    match text {
        // Broken UTF-8 is left to the reader, for whom it may be bytes.
        _ if has_errors && used == UTF_8 => body,
        Cow::Borrowed(text) if text.len() == body.len() => body,
        text => text.into_owned().into_bytes(),
    }
}

/// Converts a text in UTF-8 to the charset that its media type states; `None` if the charset lacks one of its
/// characters.
pub(in crate::tools) fn from_utf8(media_type: &str, text: Vec<u8>) -> Option<Vec<u8>> {
    let charset = stated(media_type).filter(|charset| *charset != UTF_8);
    let (Some(charset), Ok(written)) = (charset, std::str::from_utf8(&text)) else {
        return Some(text);
    };
    let (encoded, used, has_errors) = charset.encode(written);
    (!has_errors && used == charset).then(|| encoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(media_type: &str, body: &[u8]) -> Vec<u8> {
        to_utf8(media_type, body.to_vec())
    }

    #[test]
    fn a_body_is_converted_by_the_charset_of_its_media_type() {
        for (media_type, body) in [
            ("text/plain; charset=iso-8859-1", &b"Stra\xdfe"[..]),
            (
                "text/plain;format=flowed; Charset=\"ISO-8859-1\"",
                b"Stra\xdfe",
            ),
            ("application/json; charset=windows-1252", b"Stra\xdfe"),
            ("application/x-thing; charset=latin1", b"Stra\xdfe"),
            ("text/plain; charset=utf-16le", b"S\0t\0r\0a\0\xdf\0e\0"),
            ("text/plain", b"\xff\xfeS\0t\0r\0a\0\xdf\0e\0"),
            ("application/json", b"\xef\xbb\xbfStra\xc3\x9fe"),
            ("text/plain; charset=utf-8", b"Stra\xc3\x9fe"),
            ("text/plain; charset=unheard-of", b"Stra\xc3\x9fe"),
            ("text/plain", b"Stra\xc3\x9fe"),
        ] {
            assert_eq!(read(media_type, body), "Straße".as_bytes(), "{media_type}");
        }
        assert_eq!(read("text/html; charset=gbk", b"\xc4\xe3"), "你".as_bytes());
    }

    #[test]
    fn what_is_no_text_stays_as_it_is() {
        for media_type in ["", "text/plain", "text/plain; charset=utf-8", "image/png"] {
            assert_eq!(
                read(media_type, b"\x89PNG\xdf"),
                b"\x89PNG\xdf",
                "{media_type}"
            );
        }
        assert_eq!(read("image/png", b"\xff\xfe"), b"\xff\xfe");
    }

    #[test]
    fn a_text_is_sent_in_the_charset_of_its_media_type() {
        let sent = |media_type: &str, text: &str| from_utf8(media_type, text.into());
        assert_eq!(
            sent("text/plain; charset=iso-8859-1", "Straße").as_deref(),
            Some(&b"Stra\xdfe"[..])
        );
        assert_eq!(sent("text/plain; charset=iso-8859-1", "你"), None);
        // There is no encoder for it.
        assert_eq!(sent("text/plain; charset=utf-16", "a"), None);
        for media_type in ["text/plain", "text/plain; charset=utf-8"] {
            assert_eq!(sent(media_type, "你").as_deref(), Some("你".as_bytes()));
        }
    }
}
