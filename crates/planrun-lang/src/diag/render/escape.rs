//! Escapes control and invisible characters in text from outside.

use std::borrow::Cow;

use crate::characters::is_hidden;

/// Escapes every control and invisible character, line breaks and tabs included, so that the text is on one line.
#[must_use]
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escaped(text, is_hidden)
}

/// Like [`visible_line`], but keeps line breaks.
#[must_use]
pub fn visible_text(text: &str) -> Cow<'_, str> {
    escaped(text, |character| character != '\n' && is_hidden(character))
}

/// Escapes what continuous integration systems would execute as a workflow command: lines that begin with `::`, and
/// `##[…]` and `##word[…]` anywhere in a line.
#[must_use]
pub fn without_commands(text: &str) -> Cow<'_, str> {
    if !text.contains("::") && !text.contains("##") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive('\n') {
        let begin = line.len() - line.trim_start().len();
        let (blank, rest) = line.split_at(begin);
        out.push_str(blank);
        let rest = match rest.strip_prefix("::") {
            Some(rest) => {
                out.push_str("\\u{3a}:");
                rest
            }
            None => rest,
        };
        push_parts(&mut out, rest, "#\\u{23}");
    }
    Cow::Owned(out)
}

/// Appends text in which no `##` begins a command.
fn push_parts(out: &mut String, mut text: &str, instead: &str) {
    while let Some(at) = text.find("##") {
        let (before, rest) = text.split_at(at);
        out.push_str(before);
        // In a longer run of `#`, the last two begin the command.
        let behind = rest.trim_start_matches('#');
        let row = rest.len() - behind.len();
        let word = behind.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        out.extend(std::iter::repeat_n('#', row - 2));
        out.push_str(if word.starts_with('[') { instead } else { "##" });
        text = behind;
    }
    out.push_str(text);
}

/// Escapes control and invisible characters and workflow commands in a JSON document. They occur only in strings, where
/// `\u` escapes mean the same.
#[must_use]
pub fn escape_json(document: &str) -> String {
    let mut out = String::with_capacity(document.len());
    if document.contains("##") {
        let mut text = String::with_capacity(document.len() + 16);
        push_parts(&mut text, document, "#\\u0023");
        push_json(&mut out, &text);
    } else {
        push_json(&mut out, document);
    }
    out
}

fn push_json(out: &mut String, document: &str) {
    for character in document.chars() {
        if character != '\n' && is_hidden(character) {
            let mut units = [0; 2];
            out.extend(
                character
                    .encode_utf16(&mut units)
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            );
        } else {
            out.push(character);
        }
    }
}

/// Appends one character of a source line, escaped if necessary; tabs are kept.
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

    #[test]
    fn f18_no_line_is_a_command_of_continuous_integration() {
        let escaped_text = |text: &str| without_commands(text).into_owned();
        assert_eq!(
            escaped_text("a\n  ::stop-commands::x\n::b"),
            "a\n  \\u{3a}:stop-commands::x\n\\u{3a}:b"
        );
        assert_eq!(
            escaped_text("x ##[group]y ###vso[task] ## Title [a] #["),
            "x #\\u{23}[group]y ##\\u{23}vso[task] ## Title [a] #["
        );
        assert!(
            matches!(without_commands("a::b `std::fs`\n# one\n"), Cow::Owned(text) if text == "a::b `std::fs`\n# one\n")
        );
        let document = "{\"a\": \"##[x] ##vso[y] ## z\\u0085\u{9b}\u{7f}\u{202e}\"}";
        let escaped = escape_json(document);
        assert!(
            !escaped.contains("##[") && !escaped.contains("##vso[") && escaped.contains("## z"),
            "{escaped}"
        );
        assert!(escaped.is_ascii(), "{escaped}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&escaped), value(document));
    }
}
