//! Generates the forms in which a secret may be sent: plain, in hexadecimal digits, and in base64 at each offset within
//! a group of three bytes. Also decodes percent-encoding and JSON escapes, and joins lines.

use std::collections::BTreeSet;
use std::ops::Range;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};

/// Maximum number of bytes of a secret that are searched for as base64 and as hexadecimal digits. Following
/// characters of the same encoding are taken for the rest of a longer secret.
const MAX_ENCODED: usize = 16 * 1024;
/// The same for secrets that are encoded twice, of which there are many more forms.
const MAX_NESTED: usize = 96;
/// Minimum length of a form of a secret that is encoded twice, so that it is not found by chance.
const MIN_NESTED: usize = 8;
/// The bytes that percent-encoding keeps in addresses, besides letters and digits.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Minimum number of base64 characters that identify a secret.
const MIN_CORE: usize = 4;

/// A text that identifies a secret.
pub(super) struct Form {
    pub text: Vec<u8>,
    /// Whether the base64 character before it also contains bits of the secret.
    pub before: bool,
    /// Whether the base64 character after it also contains bits of the secret.
    pub behind: bool,
    /// Whether the form covers only the beginning of the secret; the rest follows it.
    pub cut: bool,
    /// How often the secret is encoded.
    pub layers: u8,
}

impl Form {
    fn whole(text: Vec<u8>, cut: bool) -> Self {
        Self {
            text,
            before: false,
            behind: false,
            cut,
            layers: 1,
        }
    }
}

/// Returns all forms to search for: the secret itself, and what it becomes in one encoding or in two.
pub(super) fn forms(secret: &[u8]) -> Vec<Form> {
    let mut forms = vec![Form::whole(secret.to_vec(), false)];
    let start = |max: usize| (&secret[..secret.len().min(max)], secret.len() > max);
    forms.extend(encoded(start(MAX_ENCODED)));
    let (short, cut) = start(MAX_NESTED);
    let inner = encoded((short, cut)).into_iter().map(|form| form.text);
    for inner in inner.chain(escaped(short)).collect::<BTreeSet<_>>() {
        let nested = encoded((&inner, cut)).into_iter();
        forms.extend(
            nested
                .filter(|form| form.text.len() >= MIN_NESTED)
                .map(|form| Form { layers: 2, ..form }),
        );
    }
    forms
}

/// Returns the forms of a text in hexadecimal digits and in base64.
fn encoded((secret, cut): (&[u8], bool)) -> Vec<Form> {
    let mut forms = Vec::new();
    for digits in [b"0123456789abcdef", b"0123456789ABCDEF"] {
        let pair = |byte: &u8| [byte >> 4, byte & 15].map(|half| digits[usize::from(half)]);
        forms.push(Form::whole(secret.iter().flat_map(pair).collect(), cut));
    }
    for place in 0..3 {
        // The bytes before the secret in its group of three are unknown, so only the characters that depend on the
        // secret alone are used.
        let bytes: Vec<u8> = std::iter::repeat_n(0, place)
            .chain(secret.iter().copied())
            .collect();
        let letters = (8 * place).div_ceil(6)..8 * bytes.len() / 6;
        for text in [
            BASE64_STANDARD_NO_PAD.encode(&bytes),
            BASE64_URL_SAFE_NO_PAD.encode(&bytes),
        ] {
            if letters.len() >= MIN_CORE {
                let text = text.as_bytes()[letters.clone()].to_vec();
                forms.push(Form {
                    before: place > 0,
                    behind: !(8 * bytes.len()).is_multiple_of(6),
                    ..Form::whole(text, cut)
                });
            }
        }
    }
    forms
}

/// Returns what percent-encoding makes of a text in addresses and in HTML forms, where that differs from the text.
/// HTTP Basic sends the percent-encoded secret of an OAuth client in base64.
fn escaped(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let address = percent_encode(text, UNRESERVED).to_string().into_bytes();
    let form = url::form_urlencoded::byte_serialize(text);
    let form = form.collect::<String>().into_bytes();
    [address, form].into_iter().filter(move |one| one != text)
}

/// A decoded text, with the original range of each of its bytes.
pub(super) struct ReadBack {
    pub bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl ReadBack {
    /// Returns the original range of decoded bytes.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        Some(self.places.get(range.start)?.start..self.places.get(range.end.checked_sub(1)?)?.end)
    }

    /// Decodes a text. `None` if nothing in it is encoded this way.
    pub(super) fn of(text: &[u8], encoding: Encoding) -> Option<Self> {
        let escapes = |text: &[u8]| match encoding {
            Encoding::Percent => percent(text),
            Encoding::Form => percent(text).or_else(|| Some((vec![b' '], plus(text)?))),
            Encoding::Json => escape(text),
            Encoding::Any => percent(text).or_else(|| escape(text)),
            Encoding::Lines => Some((Vec::new(), line_break(text)?)),
        };
        let read = Self::read(text, escapes);
        (read.bytes.len() != text.len() || read.bytes != text).then_some(read)
    }

    fn read(text: &[u8], escape: impl Fn(&[u8]) -> Option<(Vec<u8>, usize)>) -> Self {
        let (mut bytes, mut places) = (
            Vec::with_capacity(text.len()),
            Vec::with_capacity(text.len()),
        );
        let mut at = 0;
        while let Some(first) = text.get(at) {
            let (read, length) = escape(&text[at..]).unwrap_or_else(|| (vec![*first], 1));
            places.extend(std::iter::repeat_n(at..at + length, read.len()));
            bytes.extend(read);
            at += length;
        }
        Self { bytes, places }
    }
}

/// An encoding of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Encoding {
    /// `%2F` for `/`.
    Percent,
    /// As in HTML forms: percent-encoding, and `+` for a space.
    Form,
    /// JSON escapes, such as `\n` and `\u006e`.
    Json,
    /// Percent-encoding and JSON escapes mixed.
    Any,
    /// Split into lines, like base64 in mail and in key files.
    Lines,
}

fn percent(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let [b'%', high, low, ..] = text else {
        return None;
    };
    Some((vec![digit(*high)? << 4 | digit(*low)?], 3))
}

fn plus(text: &[u8]) -> Option<usize> {
    text.starts_with(b"+").then_some(1)
}

/// Returns the length of the line break at the start of the text, including the indentation of the next line.
fn line_break(text: &[u8]) -> Option<usize> {
    let length = if text.starts_with(b"\r\n") { 2 } else { 1 };
    let breaks = matches!(text, [b'\n' | b'\r', ..]);
    let indent = || {
        let behind = text.iter().skip(length);
        behind.take_while(|byte| b" \t".contains(byte)).count()
    };
    breaks.then(|| length + indent())
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// Decodes the JSON escape at the start of the text, and returns its length.
fn escape(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let [b'\\', letter, ..] = rest else {
        return None;
    };
    let byte = match letter {
        b'"' | b'\\' | b'/' => *letter,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'b' => 8,
        b'f' => 12,
        b'u' => return unicode(rest),
        _ => return None,
    };
    Some((vec![byte], 2))
}

/// Decodes `\u00e9`, or a surrogate pair of two such escapes.
fn unicode(rest: &[u8]) -> Option<(Vec<u8>, usize)> {
    let unit = |at: usize| {
        let digits = rest.get(at..at + 6)?.strip_prefix(b"\\u")?;
        digits.iter().try_fold(0_u16, |unit, letter| {
            Some(unit << 4 | u16::from(digit(*letter)?))
        })
    };
    let first = unit(0)?;
    let (character, length) = match (char::from_u32(first.into()), unit(6)) {
        (Some(character), _) => (character, 6),
        (None, Some(second)) => (char::decode_utf16([first, second]).next()?.ok()?, 12),
        (None, None) => return None,
    };
    Some((character.to_string().into_bytes(), length))
}
