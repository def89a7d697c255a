//! A hint about the syntax of another language: message, help and fix.

use super::context::Context;
use crate::diag::codes::text as codes;
use crate::diag::foreign::MARKS;
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;

/// Maximum length, in bytes, of a help text that serves as the title of a fix.
const MAX_TITLE: usize = 60;

/// The message, help and edits for the syntax of another language.
pub(super) struct Hint {
    span: Span,
    message: String,
    help: String,
    edits: Vec<Edit>,
    certain: bool,
    /// The text to put before the fixed text so that it parses on its own.
    above: &'static str,
}

impl Hint {
    pub fn new(span: Span, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            help: help.into(),
            edits: Vec::new(),
            certain: false,
            above: "",
        }
    }

    /// Sets the text that has to precede the fixed text for it to parse.
    pub fn behind(self, above: &'static str) -> Self {
        Self { above, ..self }
    }

    /// Sets edits that are certainly what the author meant.
    pub fn certainly(self, edits: Vec<Edit>) -> Self {
        Self {
            edits,
            certain: true,
            ..self
        }
    }

    /// Sets edits that are probably what the author meant.
    pub fn perhaps(self, edits: Vec<Edit>) -> Self {
        Self {
            edits,
            certain: false,
            ..self
        }
    }

    /// Returns the diagnostic. Edits are omitted if the text would still not parse after them.
    pub fn finding(self, context: &Context<'_>) -> Diagnostic {
        let diagnostic = codes::UNEXPECTED_TOKEN
            .at(self.span, self.message)
            .help(&self.help);
        if self.edits.is_empty() || !context.reads_with(self.above, &self.edits) {
            return diagnostic;
        }
        let title = if self.help.len() <= MAX_TITLE {
            self.help
        } else {
            "write it as suggested here".to_owned()
        };
        if self.certain {
            diagnostic.fix_all(title, self.edits)
        } else {
            diagnostic.unsafe_fix(title, self.edits)
        }
    }
}

pub(super) fn replace(span: Span, text: &str) -> Edit {
    Edit::new(span, text)
}

/// Returns the help for a mark of other languages; empty if the mark is unknown.
pub(super) fn note_of(mark: &str) -> String {
    MARKS
        .iter()
        .find(|phrase| phrase.wrong == mark)
        .map_or_else(String::new, |phrase| phrase.help(None))
}
