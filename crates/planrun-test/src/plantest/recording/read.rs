//! Parses recordings strictly: unknown keys and values are errors.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use planrun_lang::call::{CallError, Details};
use planrun_lang::diag::render::{command, visible_line};
use planrun_lang::protocol::Sent;
use planrun_lang::source::{SourceFile, Span};
use planrun_lang::types::ErrorClass;
use planrun_lang::yaml::{self, Content, Node};
use serde_json::Value as Json;

use super::RecordingError;
use super::model::{Entry, Recorded, Recording, VERSION};

/// The keys of a call.
const KEYS: [&str; 10] = [
    "path",
    "call",
    "tool",
    "contract",
    "arguments",
    "arguments_json",
    "value",
    "value_json",
    "failure",
    "unanswered",
];

pub(super) fn read(path: &Path, text: &str) -> Result<Recording, RecordingError> {
    let source = SourceFile::new(path.to_string_lossy(), text);
    Reader {
        path,
        source: &source,
    }
    .recording(text)
}

struct Reader<'a> {
    path: &'a Path,
    source: &'a SourceFile,
}

impl Reader<'_> {
    fn wrong(&self, span: Span, why: impl Into<String>) -> RecordingError {
        RecordingError {
            path: self.path.to_owned(),
            line: Some(self.source.position(span.start).line),
            why: why.into(),
            remedy: format!(
                "fix it, or record it again with `{}`",
                command("test --record all")
            ),
        }
    }

    fn recording(&self, text: &str) -> Result<Recording, RecordingError> {
        let root = yaml::parse(text).map_err(|error| self.wrong(error.span, error.message))?;
        self.version(&root)?;
        self.known(&root, &["version", "calls"])?;
        let Some(calls) = root.get("calls").and_then(Node::items) else {
            return Err(self.wrong(root.span, "`calls` must be a list"));
        };
        let mut read: Vec<(Entry, Span)> = Vec::with_capacity(calls.len());
        for call in calls {
            read.push((self.call(call)?, call.span));
        }
        read.sort_by(|(one, _), (other, _)| one.place().cmp(&other.place()));
        if let Some([_, (again, span)]) = read
            .windows(2)
            .find(|pair| pair[0].0.place() == pair[1].0.place())
        {
            let why = format!(
                "call {} of `{}` occurs twice",
                again.call,
                visible_line(&again.path)
            );
            return Err(self.wrong(*span, why));
        }
        Ok(Recording {
            calls: read.into_iter().map(|(entry, _)| entry).collect(),
        })
    }

    fn version(&self, root: &Node) -> Result<(), RecordingError> {
        let Some(version) = root.get("version") else {
            return Err(self.wrong(
                root.span,
                format!("it must begin with `version: {VERSION}`"),
            ));
        };
        if version.scalar().as_deref() == Some(&*VERSION.to_string()) {
            return Ok(());
        }
        let found = version
            .scalar()
            .unwrap_or_else(|| version.kind().to_owned());
        let why = format!(
            "it has version {}, but this planrun supports {VERSION}",
            visible_line(&found)
        );
        Err(self.wrong(version.span, why))
    }

    fn known(&self, node: &Node, keys: &[&str]) -> Result<(), RecordingError> {
        let Some(entries) = node.entries() else {
            return Err(self.wrong(
                node.span,
                format!("expected a mapping, found {}", node.kind()),
            ));
        };
        match entries.iter().find(|entry| !keys.contains(&&*entry.name)) {
            None => Ok(()),
            Some(other) => {
                let why = format!(
                    "unknown key `{}`; expected one of {}",
                    visible_line(&other.name),
                    keys.join(", ")
                );
                Err(self.wrong(other.span, why))
            }
        }
    }

    fn call(&self, node: &Node) -> Result<Entry, RecordingError> {
        self.known(node, &KEYS)?;
        let number = self
            .number(node, "call")?
            .filter(|call| *call > 0)
            .and_then(|call| u32::try_from(call).ok());
        let call =
            number.ok_or_else(|| self.wrong(node.span, "`call` must be a number, at least 1"))?;
        let arguments = self.value(node, "arguments")?;
        let arguments = arguments.ok_or_else(|| self.wrong(node.span, "`arguments` is missing"))?;
        let (path, tool) = (self.text(node, "path")?, self.text(node, "tool")?);
        Ok(Entry {
            path,
            call,
            tool,
            contract: self.text(node, "contract")?,
            arguments,
            outcome: self.outcome(node)?,
        })
    }

    fn outcome(&self, node: &Node) -> Result<Recorded, RecordingError> {
        let unanswered = match node
            .get("unanswered")
            .map(|flag| (&flag.content, flag.span))
        {
            None => None,
            Some((Content::Bool(true), _)) => Some(Recorded::Unanswered),
            Some((_, span)) => {
                return Err(self.wrong(span, "`unanswered` must be `true` or omitted"));
            }
        };
        let value = self.value(node, "value")?.map(Recorded::Value);
        let failure = node
            .get("failure")
            .map(|failure| self.failure(failure))
            .transpose()?;
        let mut outcomes = [value, failure, unanswered].into_iter().flatten();
        match (outcomes.next(), outcomes.next()) {
            (Some(only), None) => Ok(only),
            _ => Err(self.wrong(
                node.span,
                "a call must have exactly one of `value`, `failure` and `unanswered`",
            )),
        }
    }

    fn failure(&self, node: &Node) -> Result<Recorded, RecordingError> {
        self.known(
            node,
            &[
                "class",
                "message",
                "sent",
                "retry_after_ms",
                "details",
                "details_json",
            ],
        )?;
        let name = self.text(node, "class")?;
        let class = ErrorClass::find(&name).ok_or_else(|| {
            self.wrong(
                node.span,
                format!("unknown error class `{}`", visible_line(&name)),
            )
        })?;
        let sent = Sent::find(&self.text(node, "sent")?).ok_or_else(|| {
            self.wrong(node.span, "`sent` must be no, maybe, answered or refused")
        })?;
        let retry_after = self
            .number(node, "retry_after_ms")?
            .map(Duration::from_millis);
        let details = self.value(node, "details")?.unwrap_or_default();
        let details = Details::new(&details)
            .map_err(|too_long| self.wrong(node.span, too_long.to_string()))?;
        Ok(Recorded::Failure(CallError {
            class,
            message: self.text(node, "message")?.to_string(),
            sent,
            retry_after,
            details,
        }))
    }

    fn text(&self, node: &Node, name: &str) -> Result<Arc<str>, RecordingError> {
        let text = node.get(name).and_then(Node::text).map(Arc::from);
        text.ok_or_else(|| self.wrong(node.span, format!("`{name}` must be a string in quotes")))
    }

    fn number(&self, node: &Node, name: &str) -> Result<Option<u64>, RecordingError> {
        let Some(inner) = node.get(name) else {
            return Ok(None);
        };
        match &inner.content {
            Content::Number(number) if number.as_u64().is_some() => Ok(number.as_u64()),
            _ => Err(self.wrong(inner.span, format!("`{name}` must be a whole number"))),
        }
    }

    /// Reads a value, either as a YAML block or as JSON in a string.
    fn value(&self, node: &Node, name: &str) -> Result<Option<Json>, RecordingError> {
        let text = format!("{name}_json");
        match (node.get(name), node.get(&text)) {
            (None, None) => Ok(None),
            (Some(value), None) => Ok(Some(value.to_json())),
            (None, Some(json)) => {
                let read = json.text().and_then(|text| serde_json::from_str(text).ok());
                read.map(Some).ok_or_else(|| {
                    self.wrong(json.span, format!("`{text}` must be a string of JSON"))
                })
            }
            (Some(_), Some(other)) => Err(self.wrong(
                other.span,
                format!("`{name}` and `{text}` cannot be used together"),
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = "  - path: \"a\"\n    call: 1\n    tool: \"hr.query\"\n    contract: \"x\"\n    arguments: {}\n";

    #[test]
    fn what_nobody_knows_is_told_with_its_line() {
        let head = "version: 1\ncalls:\n";
        for (text, line, why) in [
            (
                "calls: []\n".to_owned(),
                1,
                "it must begin with `version: 1`",
            ),
            (
                "version: 2\ncalls: []\n".to_owned(),
                1,
                "it has version 2, but this planrun supports 1",
            ),
            (
                "version: 1\ncalls: []\ncassette: x\n".to_owned(),
                3,
                "unknown key `cassette`; expected one of version, calls",
            ),
            (
                "version: 1\ncalls: 7\n".to_owned(),
                1,
                "`calls` must be a list",
            ),
            (
                format!("{head}{CALL}"),
                3,
                "a call must have exactly one of `value`, `failure` and `unanswered`",
            ),
            (
                format!("{head}{CALL}    value: 1\n    unanswered: true\n"),
                3,
                "a call must have exactly one of",
            ),
            (
                format!("{head}{CALL}    value: 1\n    valve: 2\n"),
                9,
                "unknown key `valve`",
            ),
            (
                format!("{head}{CALL}    value: 1\n    value_json: \"1\"\n"),
                9,
                "`value` and `value_json` cannot be used together",
            ),
            (
                format!("{head}{CALL}    value_json: \"{{\"\n"),
                8,
                "`value_json` must be a string of JSON",
            ),
            (
                format!("{head}{CALL}    value: 1\n    value: 2\n"),
                9,
                "duplicate mapping key",
            ),
            (
                format!("{head}{CALL}    value: 1\n{CALL}    value: 2\n"),
                9,
                "call 1 of `a` occurs twice",
            ),
            (
                format!("{head}{CALL}    failure: {{class: x, message: y, sent: \"no\"}}\n"),
                8,
                "unknown error class `x`",
            ),
            (
                format!("{head}{}    value: 1\n", CALL.replace("call: 1", "call: 0")),
                3,
                "`call` must be a number, at least 1",
            ),
        ] {
            let error = read(Path::new("r/a.yaml"), &text).unwrap_err();
            assert!(
                error.why.starts_with(why) && error.line == Some(line),
                "{text}\n{error:?}"
            );
            assert!(error.to_string().starts_with(&format!(
                "the recording `r/a.yaml`, line {line}, cannot be used: "
            )));
            assert!(error.remedy.contains("planrun test --record all"));
        }
    }
}
