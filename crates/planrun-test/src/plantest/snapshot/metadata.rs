//! What stands at the head of a snapshot file: YAML, written as insta writes it.

use std::fmt::Write as _;

use serde::Deserialize;

/// Where a snapshot comes from. What insta writes besides is kept in the file and not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The plan file, from the root of the project, with `/` between folders.
    pub source: Option<String>,
    /// The line of the statement; only until somebody has looked at it.
    pub assertion_line: Option<u32>,
    /// The test, and its row.
    pub description: Option<String>,
    /// The statement that made it.
    pub expression: Option<String>,
    /// What insta calls `binary` is no text.
    pub(super) snapshot_kind: Option<String>,
}

/// The key that insta leaves out of what was accepted: it would change with every line above it.
const VOLATILE: &str = "assertion_line";

impl Metadata {
    /// Reads the lines between the marks. What is no YAML tells nothing: the text below it is what counts.
    pub(super) fn read(lines: &[&str]) -> Self {
        serde_yaml::from_str(&lines.join("\n")).unwrap_or_default()
    }

    /// The lines between the marks.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = self.assertion_line.map(|line| line.to_string());
        let texts = [
            ("description", &self.description),
            ("expression", &self.expression),
        ];
        let source = self
            .source
            .as_ref()
            .map(|source| format!("source: {}", scalar(source)));
        let line = line.map(|line| format!("{VOLATILE}: {line}"));
        let texts = texts
            .into_iter()
            .filter_map(|(key, text)| Some(format!("{key}: {}", scalar(text.as_ref()?))));
        source.into_iter().chain(line).chain(texts).collect()
    }
}

/// The lines without what insta leaves out of what was accepted.
pub(super) fn lasting<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let volatile = |line: &str| {
        line.strip_prefix(VOLATILE)
            .is_some_and(|rest| rest.starts_with(':'))
    };
    lines
        .iter()
        .copied()
        .filter(|line| !volatile(line))
        .collect()
}

/// A text as a YAML scalar, in quotes where insta puts them, so that it writes the same file, and around every control
/// character.
fn scalar(text: &str) -> String {
    if !needs_quotes(text) {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{8}' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\u{c}' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            control if control.is_control() => {
                // Writing to a string does not fail.
                let _ = write!(quoted, "\\u{:04x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn needs_quotes(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "yes", "Yes", "YES", "no", "No", "NO", "True", "TRUE", "true", "False", "FALSE", "false",
        "on", "On", "ON", "off", "Off", "OFF", "null", "Null", "NULL", "~",
    ];
    let special = |character: char| {
        matches!(
            character,
            ':' | '{' | '}' | '[' | ']' | ',' | '#' | '`' | '"' | '\'' | '\\'
        ) || character.is_control()
    };
    text.is_empty()
        || text.starts_with([
            ' ', '&', '*', '?', '|', '-', '<', '>', '=', '!', '%', '@', '.',
        ])
        || text.ends_with(' ')
        || text.contains(special)
        || WORDS.contains(&text)
        || text.starts_with("0x")
        || text.parse::<i64>().is_ok()
        || text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for text in [
            "plans/hire.plan",
            "a: b",
            "入职",
            "-1",
            "yes",
            "",
            " x",
            "\"\\\n\t\u{1b}\u{7f}",
            "0x1",
            "1_000",
            "~",
        ] {
            let written = Metadata {
                source: Some(text.to_owned()),
                assertion_line: Some(3),
                description: Some(text.to_owned()),
                expression: Some(text.to_owned()),
                snapshot_kind: None,
            };
            let lines = written.lines();
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            assert_eq!(Metadata::read(&lines), written, "{lines:?}");
            assert_eq!(lasting(&lines).len(), 3);
        }
        assert_eq!(Metadata::read(&["{"]), Metadata::default());
        let more = [
            "source: a",
            "info:",
            "  row: 1",
            "later: [1]",
            "snapshot_kind: text",
        ];
        assert_eq!(Metadata::read(&more).source.as_deref(), Some("a"));
    }
}
