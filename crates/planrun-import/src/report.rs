//! The report of an import: whether each part of a document was carried, changed or not carried, with span and
//! reason.

use std::collections::BTreeSet;

use planrun_lang::diag::render::visible_line;
use planrun_lang::source::{SourceFile, Span};

/// Whether a part of the document was carried over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conversion {
    /// The plan has an exact counterpart.
    Carried,
    /// The plan has a counterpart that differs; the reason describes how.
    Changed,
    /// The plan has no counterpart. Where one is needed, the plan has an undefined name, so that it cannot run before
    /// it is replaced.
    NotCarried,
}

impl Conversion {
    /// Returns its name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::Changed => "changed",
            Self::NotCarried => "not carried",
        }
    }
}

/// A line of the report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub fate: Conversion,
    /// Span of the part in the document.
    pub span: Span,
    /// The part: a state, a step, a field.
    pub what: String,
    /// Its counterpart, or why it has none.
    pub why: String,
}

/// The parts of a document, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub notes: Vec<Note>,
    seen: BTreeSet<Note>,
}

impl Report {
    /// Adds a line, unless the report already contains it.
    pub fn add(
        &mut self,
        fate: Conversion,
        span: Span,
        what: impl Into<String>,
        why: impl Into<String>,
    ) {
        let note = Note {
            fate,
            span,
            what: what.into(),
            why: why.into(),
        };
        if self.seen.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    /// Returns the number of parts with this fate.
    #[must_use]
    pub fn count(&self, fate: Conversion) -> usize {
        self.notes.iter().filter(|note| note.fate == fate).count()
    }

    /// Formats one line per part, with its position in the document.
    #[must_use]
    pub fn lines(&self, source: &SourceFile) -> String {
        let line = |note: &Note| {
            let (place, what, why) = (source.place(note.span), &note.what, &note.why);
            format!(
                "{}  {}\n",
                note.fate.word(),
                visible_line(&format!("{place}  {what}: {why}"))
            )
        };
        self.notes.iter().map(line).collect()
    }

    /// Formats the numbers of parts that were carried, changed and not carried.
    #[must_use]
    pub fn sum(&self) -> String {
        let count = |fate| self.count(fate);
        let (carried, changed) = (count(Conversion::Carried), count(Conversion::Changed));
        format!(
            "{carried} carried, {changed} changed, {} not carried",
            count(Conversion::NotCarried)
        )
    }

    pub(crate) fn sort(&mut self) {
        self.notes.sort_by_key(|note| note.span);
    }
}
