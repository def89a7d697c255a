//! One plan in the cache: what its text was, what it used, what was found.

use planrun_lang::diag::{Diagnostic, Edit, Fix, Label, Severity, codes};
use planrun_lang::source::Span;
use planrun_tools::host::Stamp;
use serde::{Deserialize, Serialize};

/// More findings than this are not worth keeping.
const MAX_FINDINGS: usize = 200;

#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub own: Used,
    /// When it was looked at, in nanoseconds since 1970, at the earliest.
    pub looked: i64,
    /// The plan files that it uses, and those that it uses in turn.
    pub used: Vec<Used>,
    pub unknown: usize,
    pub found: Vec<Found>,
}

/// A file as it was.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Used {
    pub path: String,
    /// `None` where it was not there.
    pub stamp: Option<Stamp>,
    /// `None` where it could not be read.
    pub hash: Option<String>,
}

/// A range and a text.
type Piece = (u32, u32, String);
/// Whether a fix is safe, its title and its edits.
type Remedy = (bool, String, Vec<Piece>);

/// A finding, before the project and the command line weigh it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Found {
    code: String,
    severity: Severity,
    message: String,
    span: (u32, u32),
    note: String,
    labels: Vec<Piece>,
    help: Option<String>,
    expected: Option<String>,
    actual: Option<String>,
    available: Vec<String>,
    fix: Option<Remedy>,
}

/// The hash of a text, by which it is known again.
pub(crate) fn hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

impl Entry {
    /// An entry for what was found; `None` where that is too much to keep.
    pub(crate) fn new(
        own: Used,
        looked: i64,
        used: Vec<Used>,
        unknown: usize,
        found: &[Diagnostic],
    ) -> Option<Self> {
        let found = (found.len() <= MAX_FINDINGS).then(|| found.iter().map(Found::of).collect())?;
        Some(Self {
            own,
            looked,
            used,
            unknown,
            found,
        })
    }

    pub(super) fn line(&self) -> String {
        // Text and numbers only: nothing in it can fail to become JSON.
        serde_json::to_string(self).unwrap_or_default() + "\n"
    }

    pub(super) fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }

    /// The findings; `None` where this program has no such code.
    pub(crate) fn diagnostics(&self) -> Option<Vec<Diagnostic>> {
        self.found.iter().map(Found::diagnostic).collect()
    }
}

impl Found {
    fn of(diagnostic: &Diagnostic) -> Self {
        let edits = |fix: &Fix| {
            fix.edits
                .iter()
                .map(|edit| (edit.span.start, edit.span.end, edit.text.clone()))
                .collect()
        };
        Self {
            code: diagnostic.code.name.to_owned(),
            severity: diagnostic.severity,
            message: diagnostic.message.clone(),
            span: (diagnostic.span.start, diagnostic.span.end),
            note: diagnostic.note.clone(),
            labels: diagnostic
                .labels
                .iter()
                .map(|label| (label.span.start, label.span.end, label.message.clone()))
                .collect(),
            help: diagnostic.help.clone(),
            expected: diagnostic.expected.clone(),
            actual: diagnostic.actual.clone(),
            available: diagnostic.available.clone(),
            fix: diagnostic
                .fix
                .as_ref()
                .map(|fix| (fix.safe, fix.title.clone(), edits(fix))),
        }
    }

    fn diagnostic(&self) -> Option<Diagnostic> {
        let span = |start, end| Span { start, end };
        let labels = self.labels.iter().map(|(start, end, message)| Label {
            span: span(*start, *end),
            message: message.clone(),
        });
        let fix = self.fix.as_ref().map(|(safe, title, edits)| Fix {
            safe: *safe,
            title: title.clone(),
            edits: edits
                .iter()
                .map(|(start, end, text)| Edit {
                    span: span(*start, *end),
                    text: text.clone(),
                })
                .collect(),
        });
        Some(Diagnostic {
            code: codes::find(&self.code)?,
            severity: self.severity,
            message: self.message.clone(),
            span: span(self.span.0, self.span.1),
            note: self.note.clone(),
            labels: labels.collect(),
            help: self.help.clone(),
            expected: self.expected.clone(),
            actual: self.actual.clone(),
            available: self.available.clone(),
            fix,
        })
    }
}
