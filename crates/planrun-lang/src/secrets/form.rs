//! The forms that a secret has on the way: as it is, in base64 at each place in a group of three bytes, in hexadecimal
//! digits; and texts read back from percent-encoding and from JSON.

use std::ops::Range;

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD};

/// Longer secrets are looked for as they are, and in what can be read back; not in base64 or hexadecimal digits.
const MAX_ENCODED: usize = 16 * 1024;
/// Fewer letters of base64 say nothing.
const MIN_CORE: usize = 4;

/// One text by which a secret is recognized.
pub(super) struct Form {
    pub text: Vec<u8>,
    /// The letter before it has bits of the secret, too.
    pub before: bool,
    /// So has the one behind it.
    pub behind: bool,
}

/// Everything that is looked for on account of a secret.
pub(super) fn forms(secret: &[u8]) -> Vec<Form> {
    let whole = |text: Vec<u8>| Form {
        text,
        before: false,
        behind: false,
    };
    let mut forms = vec![whole(secret.to_vec())];
    if secret.len() > MAX_ENCODED {
        return forms;
    }
    for upper in [false, true] {
        let digits = secret.iter().flat_map(|byte| {
            let digits = if upper {
                b"0123456789ABCDEF"
            } else {
                b"0123456789abcdef"
            };
            [
                digits[usize::from(byte >> 4)],
                digits[usize::from(byte & 15)],
            ]
        });
        forms.push(whole(digits.collect()));
    }
    for place in 0..3 {
        // What stands before the secret in its group of three bytes is not known, so only letters count that it alone decides.
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
                    text,
                    before: place > 0,
                    behind: !(8 * bytes.len()).is_multiple_of(6),
                });
            }
        }
    }
    forms
}

/// A text read back, and where each of its bytes stands in what was written.
pub(super) struct ReadBack {
    pub bytes: Vec<u8>,
    places: Vec<Range<usize>>,
}

impl ReadBack {
    /// Where these bytes stand in what was written.
    pub(super) fn place(&self, range: &Range<usize>) -> Option<Range<usize>> {
        Some(self.places.get(range.start)?.start..self.places.get(range.end.checked_sub(1)?)?.end)
    }

    /// `%2F` for `/`; with `plus`, as forms are sent, also `+` for a space. None where nothing is encoded so.
    pub(super) fn percent(text: &[u8], plus: bool) -> Option<Self> {
        let escapes = memchr(text, b'%') || plus && memchr(text, b'+');
        escapes.then(|| {
            Self::read(text, |rest| match rest {
                [b'%', high, low, ..] => Some((vec![digit(*high)? << 4 | digit(*low)?], 3)),
                [b'+', ..] if plus => Some((vec![b' '], 1)),
                _ => None,
            })
        })
    }

    /// `\n` and `\u006e` as JSON has them. None where nothing is encoded so.
    pub(super) fn json(text: &[u8]) -> Option<Self> {
        memchr(text, b'\\').then(|| Self::read(text, escape))
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

fn memchr(text: &[u8], byte: u8) -> bool {
    text.contains(&byte)
}

fn digit(letter: u8) -> Option<u8> {
    char::from(letter)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// What an escape of JSON at the beginning of this text stands for, and its length.
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

/// `\u00e9`, or two of them that are one character.
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
