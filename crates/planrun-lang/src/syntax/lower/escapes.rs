//! Resolves the escapes of text and byte literals.

/// An invalid escape, as a range of the raw text.
#[derive(Debug, PartialEq)]
pub(super) struct BadEscape {
    pub start: usize,
    pub end: usize,
    pub help: &'static str,
}

/// The value of an escape: a character, or in byte literals a byte.
enum Unit {
    Char(char),
    Byte(u8),
}

const KNOWN: &str = "the escapes are `\\n` `\\r` `\\t` `\\\\` `\\\"` `\\'` `\\?` `\\``, `\\a` `\\b` `\\f` `\\v`, `\\x41`, `\\101`, \
                     `\\u0041` and `\\U00000041`; a plain backslash is written `\\\\`";

/// Resolves the escapes of a text; `\$` is one only if `interpolated`.
pub(super) fn unescape(raw: &str, interpolated: bool, problems: &mut Vec<BadEscape>) -> String {
    let mut text = String::with_capacity(raw.len());
    walk(raw, interpolated, problems, |unit| match unit {
        Unit::Char(c) => text.push(c),
        Unit::Byte(byte) => text.push(char::from(byte)),
    });
    text
}

/// Resolves the escapes of a byte literal; other characters become their UTF-8 bytes.
pub(super) fn unescape_bytes(raw: &str, problems: &mut Vec<BadEscape>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(raw.len());
    walk(raw, false, problems, |unit| match unit {
        Unit::Char(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        Unit::Byte(byte) => bytes.push(byte),
    });
    bytes
}

fn walk(raw: &str, interpolated: bool, problems: &mut Vec<BadEscape>, mut emit: impl FnMut(Unit)) {
    let mut rest = raw;
    while let Some(c) = rest.chars().next() {
        let at = raw.len() - rest.len();
        if c != '\\' {
            emit(Unit::Char(c));
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let length = match escape(&rest[1..], interpolated) {
            Ok((unit, length)) => {
                emit(unit);
                length
            }
            Err((length, help)) => {
                problems.push(BadEscape {
                    start: at,
                    end: at + 1 + length,
                    help,
                });
                length
            }
        };
        rest = rest.get(1 + length..).unwrap_or("");
    }
}

/// Returns the value of the escape after a backslash and its length, or the length of an invalid one and a help text.
fn escape(rest: &str, interpolated: bool) -> Result<(Unit, usize), (usize, &'static str)> {
    let Some(first) = rest.chars().next() else {
        return Err((0, KNOWN));
    };
    let simple = |c: char| Ok((Unit::Char(c), 1));
    match first {
        'a' => simple('\u{7}'),
        'b' => simple('\u{8}'),
        'f' => simple('\u{c}'),
        'n' => simple('\n'),
        'r' => simple('\r'),
        't' => simple('\t'),
        'v' => simple('\u{b}'),
        '\\' | '?' | '"' | '\'' | '`' => simple(first),
        '$' if interpolated => simple('$'),
        '$' => Err((
            1,
            "write a plain `$`: only strings in `\"` interpolate `${`",
        )),
        'x' | 'X' => digits(&rest[1..], 2, 16)
            .and_then(|value| u8::try_from(value).ok())
            .map(|byte| (Unit::Byte(byte), 3))
            .ok_or((1, "`\\x` requires two hexadecimal digits, such as `\\x41`")),
        'u' => code_point(&rest[1..], 4).ok_or((
            1,
            "`\\u` requires four hexadecimal digits of a character, such as `\\u00e9`",
        )),
        'U' => code_point(&rest[1..], 8).ok_or((
            1,
            "`\\U` requires eight hexadecimal digits of a character, such as `\\U0001F600`",
        )),
        '0'..='7' => digits(rest, 3, 8)
            .and_then(|value| u8::try_from(value).ok())
            .map(|byte| (Unit::Byte(byte), 3))
            .ok_or((
                1,
                "octal escapes have three digits, from `\\000` to `\\377`",
            )),
        other => Err((other.len_utf8(), KNOWN)),
    }
}

fn code_point(rest: &str, count: usize) -> Option<(Unit, usize)> {
    let c = char::from_u32(digits(rest, count, 16)?)?;
    Some((Unit::Char(c), count + 1))
}

fn digits(rest: &str, count: usize, radix: u32) -> Option<u32> {
    let text = rest
        .get(..count)
        .filter(|text| text.chars().all(|c| c.is_digit(radix)))?;
    u32::from_str_radix(text, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_resolve_in_texts_and_bytes() {
        let mut problems = Vec::new();
        assert_eq!(
            unescape(r"a\n\x41\101é\U0001F600\${", true, &mut problems),
            "a\nAAé😀${"
        );
        assert_eq!(
            unescape_bytes(r"\xffé\000", &mut problems),
            [0xff, 0xc3, 0xa9, 0]
        );
        assert_eq!(problems, []);
    }

    #[test]
    fn a_bad_escape_is_found_at_its_place() {
        let mut problems = Vec::new();
        assert_eq!(unescape(r"ab\qc\ud800", true, &mut problems), "abcd800");
        let places: Vec<_> = problems
            .iter()
            .map(|problem| (problem.start, problem.end))
            .collect();
        assert_eq!(places, [(2, 4), (5, 7)]);
    }
}
