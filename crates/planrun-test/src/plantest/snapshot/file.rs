//! The text of a snapshot file: metadata between two lines of hyphens, then the content.

use super::metadata::{Metadata, lasting};

/// The line before and after the metadata.
const MARK: &str = "---";

/// A parsed snapshot file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub metadata: Metadata,
    /// The lines of the metadata, including unknown keys.
    header: Vec<&'a str>,
    /// The content, normalized.
    pub content: String,
}

impl<'a> Parts<'a> {
    /// Parses the text of a file: in the current format, or with the `Key: value` lines of insta's first versions.
    pub fn of(text: &'a str) -> Self {
        let mut lines = text
            .split('\n')
            .map(|line| line.strip_suffix('\r').unwrap_or(line));
        let first = lines.next().unwrap_or_default();
        if first.trim_end() == MARK {
            let header: Vec<&str> = lines
                .by_ref()
                .take_while(|line| line.trim_end() != MARK)
                .collect();
            let content = normal(&lines.collect::<Vec<_>>().join("\n"));
            return Self {
                metadata: Metadata::read(&header),
                header,
                content,
            };
        }
        let mut metadata = Metadata::default();
        let head = std::iter::once(first).chain(
            lines
                .by_ref()
                .take_while(|line| !line.trim_end().is_empty()),
        );
        for (key, value) in head.filter_map(|line| line.split_once(':')) {
            match key.to_lowercase().as_str() {
                "expression" => metadata.expression = Some(value.trim().to_owned()),
                "source" => metadata.source = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        let content = normal(&lines.collect::<Vec<_>>().join("\n"));
        Self {
            metadata,
            header: Vec::new(),
            content,
        }
    }

    /// Returns the text of the accepted file, which keeps all its metadata except volatile keys.
    pub fn accepted(&self) -> String {
        if self.header.is_empty() {
            let metadata = Metadata {
                assertion_line: None,
                ..self.metadata.clone()
            };
            return written(&metadata, &self.content);
        }
        joined(lasting(&self.header).into_iter(), &self.content)
    }

    /// Returns true if it refers to a binary file.
    pub fn is_binary(&self) -> bool {
        self.metadata.snapshot_kind.as_deref() == Some("binary")
    }

    /// Returns the lines of `info` and of all other keys that [`Metadata`] does not have.
    pub fn further(&self) -> Vec<String> {
        let known = [
            "source:",
            "assertion_line:",
            "description:",
            "expression:",
            "snapshot_kind:",
        ];
        let mut inside = false;
        let mut further = Vec::new();
        for line in &self.header {
            if !line.starts_with([' ', '-', '#']) {
                inside = !known.iter().any(|key| line.starts_with(key));
            }
            if inside {
                further.push((*line).to_owned());
            }
        }
        further
    }
}

/// Formats a snapshot file.
pub(super) fn written(metadata: &Metadata, content: &str) -> String {
    let lines = metadata.lines();
    joined(lines.iter().map(String::as_str), content)
}

fn joined<'a>(header: impl Iterator<Item = &'a str>, content: &str) -> String {
    let mut text = format!("{MARK}\n");
    for line in header {
        text.push_str(line);
        text.push('\n');
    }
    text + MARK + "\n" + &normal(content) + "\n"
}

/// Normalizes a text: removes whitespace at its end, and carriage returns at the ends of lines.
///
/// Insta removes one carriage return per line when it writes and another when it reads, so a text with two of them
/// never compares equal to itself. Here all of them are removed.
pub(super) fn normal(text: &str) -> String {
    let text = text.trim_end();
    if !text.contains("\r\n") {
        return text.to_owned();
    }
    text.split('\n')
        .map(|line| line.trim_end_matches('\r'))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Returns true if two normalized texts are equal for insta: empty lines at the beginning are ignored.
pub(super) fn same(one: &str, other: &str) -> bool {
    let core = |text: &'_ str| {
        let text = text.trim_start_matches(['\r', '\n']);
        text.strip_prefix("---\n").unwrap_or(text).to_owned()
    };
    one == other || core(one) == core(other)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_format_is_read() {
        let today = "---\nsource: a.plan\nassertion_line: 7\nexpression: snapshot reply\ninfo:\n  row: 1\n---\n\n  x\ny\n";
        let parts = Parts::of(today);
        assert_eq!(
            (parts.content.as_str(), parts.metadata.assertion_line),
            ("\n  x\ny", Some(7))
        );
        let accepted =
            "---\nsource: a.plan\nexpression: snapshot reply\ninfo:\n  row: 1\n---\n\n  x\ny\n";
        assert_eq!(parts.accepted(), accepted);
        assert_eq!(parts.further(), ["info:", "  row: 1"]);
        assert_eq!(Parts::of(&today.replace('\n', "\r\n")), parts);

        let old = "Created: 2019-01-21\nExpression: reply: all\nSource: tests/a.rs\n\nx\n";
        let parts = Parts::of(old);
        assert_eq!(
            (parts.content.as_str(), parts.metadata.expression.as_deref()),
            ("x", Some("reply: all"))
        );
        assert_eq!(
            parts.accepted(),
            "---\nsource: tests/a.rs\nexpression: \"reply: all\"\n---\nx\n"
        );

        assert_eq!(Parts::of("").content, "");
        assert_eq!(Parts::of("---\nsource: a\n").content, "");
        assert!(Parts::of("---\nextension: png\nsnapshot_kind: binary\n---\n").is_binary());
    }

    proptest! {
        #[test]
        fn what_was_written_is_the_same(content in "([a-z \r\n\t-]|---\n|\\PC){0,40}") {
            let text = written(&Metadata::default(), &content);
            let parts = Parts::of(&text);
            prop_assert!(same(&parts.content, &normal(&content)), "{text:?}");
            prop_assert_eq!(parts.accepted(), text.clone());
            prop_assert!(text.ends_with('\n'));
        }
    }
}
