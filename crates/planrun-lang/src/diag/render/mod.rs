//! Diagnostics as text: for people, one a line, and in the formats of other programs.

mod diff;
mod escape;
mod excerpt;
mod github;
mod human;
mod json;
mod junit;
mod plain;
mod sarif;
mod short;
mod wrap;
mod xml;

use std::sync::Arc;

use super::{Diagnostic, Severity};
use crate::source::SourceFile;

pub use diff::{coloured_diff, numbered_diff, unified_diff};
pub use escape::{escape_json, is_hidden, visible_line, visible_text, without_commands};
pub use github::{github, workflow_command};
pub use human::{drawn, human};
pub use json::{Range, json, json_findings, range};
pub use junit::junit;
pub use plain::with_facts;
pub use sarif::sarif;
pub use short::short;
pub use wrap::wrap;
pub use xml::{Xml, xml_document};

/// What was found in one file, in source order.
#[derive(Clone, Debug)]
pub struct FileReport {
    pub source: Arc<SourceFile>,
    pub diagnostics: Vec<Diagnostic>,
    /// How many tools have a result that is read and not known before the run, whether or not that is reported.
    pub unknown: usize,
}

/// What a check came to.
#[derive(Debug, Default)]
pub struct Report {
    /// Every file that was read, in path order, those without findings included.
    pub files: Vec<FileReport>,
    /// How many of them are plan files.
    pub plan_files: usize,
    /// What kept the rest from being checked.
    pub problems: Vec<Problem>,
}

/// A file or folder that could not be read.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Which, where one is meant.
    pub file: Option<String>,
    /// One sentence without a full stop.
    pub message: String,
}

/// How text for people shall look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether colours are wanted; the caller has asked the terminal and the user.
    pub color: bool,
    /// Whether lines may be drawn with characters beyond ASCII.
    pub unicode: bool,
    /// Columns to fill.
    pub width: usize,
    /// In which observations, summaries and questions are told.
    pub language: Language,
}

impl Look {
    /// For files and pipes: no colour, 100 columns.
    pub const PLAIN: Self = Self {
        color: false,
        unicode: true,
        width: 100,
        language: Language::En,
    };
}

/// A language of people.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// Every language, by the word that settings and flags have for it.
    pub const WORDS: [(&str, Self); 2] = [("en", Self::En), ("zh", Self::Zh)];

    /// The language with this word.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, language)| *language)
    }
}

/// How many findings there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    pub errors: usize,
    pub warnings: usize,
    pub notes: usize,
    /// Tools whose result is read and not known before the run.
    pub unknown: usize,
}

impl FileReport {
    /// Brings the diagnostics into source order; equal places keep the order in which they were found.
    #[must_use]
    pub fn new(source: impl Into<Arc<SourceFile>>, mut diagnostics: Vec<Diagnostic>) -> Self {
        diagnostics.sort_by_key(|diagnostic| diagnostic.span);
        Self {
            source: source.into(),
            diagnostics,
            unknown: 0,
        }
    }
}

impl Summary {
    /// Counts by severity.
    #[must_use]
    pub fn of(reports: &[FileReport]) -> Self {
        let mut summary = Self::default();
        for report in reports {
            summary.unknown += report.unknown;
            for diagnostic in &report.diagnostics {
                match diagnostic.severity {
                    Severity::Error => summary.errors += 1,
                    Severity::Warning => summary.warnings += 1,
                    Severity::Note => summary.notes += 1,
                }
            }
        }
        summary
    }
}
