//! Exports of runs: a header, the run's values, its events with the chain after each, and a footer.

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::digest::{Digest, link};
use super::failure::JournalError;
use super::interface::{RecordedEvents, Store};
use super::run_row::RunRow;
use planrun_core::journal::EventRedactor;

/// Identifies the format in the header, with its version.
pub(super) const FORMAT: &str = "planrun journal";
pub(super) const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Header {
    pub format: String,
    pub version: u32,
    pub run: String,
    pub plan: String,
    pub digest: String,
    pub pinned: String,
    pub created_at: String,
    /// Whether secrets are redacted: the chain then covers the redacted lines.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// The line of a large value; the pinned document is the first. Values that are not UTF-8 are encoded in base64.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ValueLine {
    pub value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// The last line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Footer {
    pub events: u64,
    pub values: u64,
    /// The value of the chain after the last event.
    pub head: String,
    /// The hash of all lines above, with their line feeds.
    pub lines: String,
}

/// The fixed parts of an event's line: around its number, its JSON and the chain after it. They are exact, so that a
/// reader finds the event's own text without parsing JSON.
pub(super) const EVENT: [&str; 4] = ["{\"number\":", ",\"event\":", ",\"chain\":\"", "\"}"];

/// Summary of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    pub run: String,
    pub plan: String,
    pub events: u64,
    /// Number of large values, including the pinned document.
    pub values: u64,
    /// The value of the chain after the last event.
    pub head: Digest,
}

/// Passes lines on to a writer and hashes them.
struct Hashed<'a, W> {
    writer: &'a mut W,
    hasher: blake3::Hasher,
}

impl<W: Write> Hashed<'_, W> {
    fn line(&mut self, line: &[u8]) -> Result<(), JournalError> {
        for part in [line, b"\n"] {
            self.hasher.update(part);
            self.writer
                .write_all(part)
                .map_err(|error| refused(&error))?;
        }
        Ok(())
    }

    fn json(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        let text =
            serde_json::to_vec(line).map_err(|error| JournalError::Output(error.to_string()))?;
        self.line(&text)
    }
}

/// Writes a run, given by its full id, as JSON lines that can be verified with `verify_export`.
///
/// # Errors
/// `NotFound`, `Damaged` or another error of the store; `Output` if the writer fails.
pub fn export(
    store: &dyn Store,
    run: &str,
    writer: &mut impl Write,
) -> Result<Exported, JournalError> {
    let events = store.events(run, 1)?;
    let row = store.run(run)?;
    let mut out = Hashed {
        writer,
        hasher: blake3::Hasher::new(),
    };
    out.json(&header(&row))?;
    let mut values = 0;
    for digest in store.values(run)? {
        out.json(&value_line(digest, store.blob(digest)?))?;
        values += 1;
    }
    let (events, head) = write_events(events, &row, |line| line, &mut out)?;
    out.end(row, (events, values), head)
}

/// As [`export`], with secrets redacted. Values are named by the hashes of their redacted content, and the chain covers
/// the redacted lines, so that the export can still be verified. `documents` are the redacted pinned documents of the
/// run, by the hashes of the originals.
///
/// # Errors
/// As for [`export`].
pub fn export_redacted(
    store: &dyn Store,
    run: &str,
    (redactor, mut documents): (&EventRedactor, BTreeMap<Digest, Vec<u8>>),
    writer: &mut impl Write,
) -> Result<Exported, JournalError> {
    let events = store.events(run, 1)?;
    let row = store.run(run)?;
    let mut lines = Vec::new();
    let mut renamed = Vec::new();
    for digest in store.values(run)? {
        let name = digest.to_string();
        let content = match documents.remove(&digest) {
            Some(document) => document,
            None => store.blob(digest)?,
        };
        let content = redactor.content(&name, content);
        let new = Digest::of(&content);
        if new != digest {
            renamed.push((format!("\"{name}\""), format!("\"{new}\"")));
        }
        lines.push((new, value_line(new, content)));
    }
    let row = RunRow {
        pinned: lines.first().map_or(row.pinned, |(pinned, _)| *pinned),
        ..row
    };
    let mut out = Hashed {
        writer,
        hasher: blake3::Hasher::new(),
    };
    out.json(&Header {
        redacted: true,
        ..header(&row)
    })?;
    for (_, line) in &lines {
        out.json(line)?;
    }
    let transform = |line: String| {
        let line = redactor.line(&line).into_owned();
        renamed
            .iter()
            .fold(line, |line, (old, new)| line.replace(old, new))
    };
    let (events, head) = write_events(events, &row, transform, &mut out)?;
    let values = u64::try_from(lines.len()).unwrap_or(u64::MAX);
    out.end(row, (events, values), head)
}

impl<W: Write> Hashed<'_, W> {
    /// Writes the footer.
    fn end(
        mut self,
        row: RunRow,
        (events, values): (u64, u64),
        head: Digest,
    ) -> Result<Exported, JournalError> {
        let out = &mut self;
        let lines = Digest::from(out.hasher.finalize()).to_string();
        out.json(&Footer {
            events,
            values,
            head: head.to_string(),
            lines,
        })?;
        out.writer.flush().map_err(|error| refused(&error))?;
        Ok(Exported {
            run: row.info.run,
            plan: row.info.plan,
            events,
            values,
            head,
        })
    }
}

fn write_events(
    events: RecordedEvents,
    row: &RunRow,
    transform: impl Fn(String) -> String,
    out: &mut Hashed<'_, impl Write>,
) -> Result<(u64, Digest), JournalError> {
    let (mut count, mut head) = (0, row.origin());
    let [before, number, chain, behind] = EVENT;
    for event in events {
        let event = event?;
        let line = transform(event.line);
        head = link(&head, &line);
        count = event.number;
        let line = format!(
            "{before}{}{number}{line}{chain}{head}{behind}",
            event.number
        );
        out.line(line.as_bytes())?;
    }
    Ok((count, head))
}

fn header(row: &RunRow) -> Header {
    let created_at = jiff::Timestamp::from_nanosecond(row.created_at).unwrap_or_default();
    Header {
        format: FORMAT.into(),
        version: VERSION,
        run: row.run.clone(),
        plan: row.plan.clone(),
        digest: row.digest.to_string(),
        pinned: row.pinned.to_string(),
        created_at: created_at.to_string(),
        redacted: false,
    }
}

fn value_line(digest: Digest, bytes: Vec<u8>) -> ValueLine {
    let value = digest.to_string();
    match String::from_utf8(bytes) {
        Ok(text) => ValueLine {
            value,
            text: Some(text),
            base64: None,
        },
        Err(error) => ValueLine {
            value,
            text: None,
            base64: Some(BASE64_STANDARD.encode(error.as_bytes())),
        },
    }
}

fn refused(error: &io::Error) -> JournalError {
    JournalError::Output(error.to_string())
}
