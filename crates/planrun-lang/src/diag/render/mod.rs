//! Renders diagnostics: for people, one per line, and in the formats of other programs.

mod diff;
mod escape;
mod excerpt;
mod github;
mod human;
mod json;
mod junit;
mod plain;
mod sarif;
mod shell;
mod short;
mod wrap;
mod xml;

use std::sync::Arc;

use super::{Diagnostic, Severity};
use crate::source::SourceFile;

pub use diff::{colored_diff, numbered_diff, unified_diff};
pub use escape::{escape_json, visible_line, visible_text, without_commands};
pub use github::{github, workflow_command};
pub use human::{drawn, human};
pub use json::{Range, json, json_findings, range};
pub use junit::junit;
pub use plain::with_facts;
pub use sarif::sarif;
pub use shell::{command, command_in, project, quoted, set_project};
pub use short::short;
pub use wrap::wrap;
pub use xml::{Xml, xml_document};

/// The diagnostics of one file, in source order.
#[derive(Clone, Debug)]
pub struct FileReport {
    pub source: Arc<SourceFile>,
    pub diagnostics: Vec<Diagnostic>,
    /// Number of tools whose result is read although its type is unknown before the run, whether or not that is
    /// reported.
    pub unknown: usize,
}

/// The result of a check.
#[derive(Debug, Default)]
pub struct Report {
    /// All files that were read, in path order, including those without diagnostics.
    pub files: Vec<FileReport>,
    /// Number of plan files among them.
    pub plan_files: usize,
    /// The reasons why other files were not checked.
    pub problems: Vec<Problem>,
}

/// A file or folder that could not be read.
#[derive(Clone, Debug)]
pub struct Problem {
    /// The file, if the problem concerns one.
    pub file: Option<String>,
    /// One sentence without a full stop.
    pub message: String,
}

/// The appearance of text for people.
#[derive(Clone, Copy, Debug)]
pub struct Appearance {
    /// Whether to use colors. The caller takes the terminal and the user's settings into account.
    pub color: bool,
    /// Whether to draw lines with non-ASCII characters.
    pub unicode: bool,
    /// Line width, in columns.
    pub width: usize,
    /// The language of observations, summaries and questions.
    pub language: Language,
}

impl Appearance {
    /// For files and pipes: no color, 100 columns, English.
    pub const PLAIN: Self = Self {
        color: false,
        unicode: true,
        width: 100,
        language: Language::En,
    };
}

/// A natural language.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Language {
    /// English.
    #[default]
    En,
    /// Chinese.
    Zh,
}

impl Language {
    /// All languages, with the names that settings and flags use.
    pub const WORDS: [(&str, Self); 2] = [("en", Self::En), ("zh", Self::Zh)];

    /// Returns the language with this name.
    #[must_use]
    pub fn find(word: &str) -> Option<Self> {
        Self::WORDS
            .iter()
            .find(|(known, _)| *known == word)
            .map(|(_, language)| *language)
    }
}

/// The number of diagnostics by severity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    pub errors: usize,
    pub warnings: usize,
    pub notes: usize,
    /// Number of tools whose result is read although its type is unknown before the run.
    pub unknown: usize,
}

impl FileReport {
    /// Creates a report with the diagnostics in source order. The sort is stable.
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
    /// Counts the diagnostics of the reports.
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
