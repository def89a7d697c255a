//! What became of each part of a document: carried, changed or not carried, with its place and reason.

use std::collections::BTreeSet;

use planrun_lang::diag::render::visible_line;
use planrun_lang::source::{SourceFile, Span};

/// What became of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// The plan says the same.
    Carried,
    /// The plan says it otherwise, or nearly; the reason tells how.
    Changed,
    /// The plan does not say it. Where it was needed, the plan has a name that does not exist, so that it cannot run unnoticed.
    NotCarried,
}

impl Fate {
    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Carried => "carried",
            Self::Changed => "changed",
            Self::NotCarried => "not carried",
        }
    }
}

/// One line of the report.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    pub fate: Fate,
    /// Where the part stands in the document.
    pub span: Span,
    /// The part: a state, a step, a field.
    pub what: String,
    /// What it has become, or why it has not.
    pub why: String,
}

/// Every part of a document, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub notes: Vec<Note>,
    told: BTreeSet<Note>,
}

impl Report {
    /// Adds a line, unless the same one is there.
    pub fn add(&mut self, fate: Fate, span: Span, what: impl Into<String>, why: impl Into<String>) {
        let note = Note {
            fate,
            span,
            what: what.into(),
            why: why.into(),
        };
        if self.told.insert(note.clone()) {
            self.notes.push(note);
        }
    }

    /// How many parts came to this.
    #[must_use]
    pub fn count(&self, fate: Fate) -> usize {
        self.notes.iter().filter(|note| note.fate == fate).count()
    }

    /// One line for each part, with its place in the document.
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

    /// How many parts were carried, changed and not carried, in a sentence.
    #[must_use]
    pub fn sum(&self) -> String {
        let count = |fate| self.count(fate);
        let (carried, changed) = (count(Fate::Carried), count(Fate::Changed));
        format!(
            "{carried} carried, {changed} changed, {} not carried",
            count(Fate::NotCarried)
        )
    }

    pub(crate) fn sort(&mut self) {
        self.notes.sort_by_key(|note| note.span);
    }
}
