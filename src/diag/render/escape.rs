//! Text from outside made harmless: what a terminal or a reader would not see as itself is written out.

use std::borrow::Cow;

/// Text on one line: every control and invisible character is written as an escape, line breaks and tabs included.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Text on several lines: as [`visible_line`], but line breaks stay.
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && is_hidden(character))
}

/// JSON text without characters that a terminal would act on. All of them stand within strings, where `\u` escapes mean
/// the same.
#[must_use]
pub fn escape_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    for character in document.chars() {
        if character != '\n' && is_hidden(character) {
            let mut units = [0; 2];
            out.extend(character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            out.push(character);
        }
    }
    out
}

/// Adds one character of a source line; tabs stay.
pub(super) fn push_visible(out: &mut String, character: char) {
    if character != '\t' && is_hidden(character) {
        push_escape(out, character);
    } else {
        out.push(character);
    }
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if hidden(character) {
            push_escape(&mut out, character);
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn push_escape(out: &mut String, character: char) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        other => out.extend(other.escape_unicode()),
    }
}

/// Controls, directional marks, zero-width and other format characters, line and paragraph separators, and what is no
/// character at all, which XML refuses.
fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{fffe}'..='\u{ffff}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_shown_and_names_stay() {
        assert_eq!(visible_line("\u{1b}[31mred\u{7}"), "\\u{1b}[31mred\\u{7}");
        assert_eq!(visible_line("a\n\u{202e}b"), "a\\n\\u{202e}b");
        assert_eq!(visible_text("a\n\u{9b}b"), "a\n\\u{9b}b");
        assert!(matches!(visible_line("入职 é 👍"), Cow::Borrowed(_)));
    }
}
