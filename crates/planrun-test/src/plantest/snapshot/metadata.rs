//! The metadata of a snapshot file: YAML in the form that insta writes.

use std::fmt::Write as _;

use serde::Deserialize;

/// The origin of a snapshot. Other keys that insta writes are kept in the file and ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The plan file, relative to the root of the project, with `/` as the separator.
    pub source: Option<String>,
    /// The line of the statement; only in pending snapshots.
    pub assertion_line: Option<u32>,
    /// The test and its row.
    pub description: Option<String>,
    /// The statement that made the snapshot.
    pub expression: Option<String>,
    /// `binary` for snapshots that are not text.
    pub(super) snapshot_kind: Option<String>,
}

/// The key that insta omits from accepted snapshots, because it would change with every edit above the statement.
const VOLATILE: &str = "assertion_line";

impl Metadata {
    /// Parses the lines between the marks. Invalid YAML counts as empty metadata, because only the content is
    /// compared.
    pub(super) fn read(lines: &[&str]) -> Self {
        serde_yaml::from_str(&lines.join("\n")).unwrap_or_default()
    }

    /// Returns the lines between the marks.
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

/// Returns the lines without the key that insta omits from accepted snapshots.
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

/// Formats a text as a YAML scalar, quoted where insta quotes it, so that both write the same file, and if it has
/// control characters.
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
                // Writing to a string cannot fail.
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
