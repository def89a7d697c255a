//! What is told of a habit of another language, and what mends it.

use super::context::Context;
use crate::diag::codes::text as codes;
use crate::diag::foreign::MARKS;
use crate::diag::{Diagnostic, Edit};
use crate::source::Span;

/// A longer remedy is no title of a fix.
const MAX_TITLE: usize = 60;

/// What is told of a habit, and what mends it.
pub(super) struct Hint {
    span: Span,
    message: String,
    help: String,
    edits: Vec<Edit>,
    certain: bool,
    /// What has to stand above the mended text, so that it can be read alone.
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

    /// The mended text goes on with this.
    pub fn behind(self, above: &'static str) -> Self {
        Self { above, ..self }
    }

    /// Edits that can only be meant.
    pub fn certainly(self, edits: Vec<Edit>) -> Self {
        Self {
            edits,
            certain: true,
            ..self
        }
    }

    /// Edits that are probably meant.
    pub fn perhaps(self, edits: Vec<Edit>) -> Self {
        Self {
            edits,
            certain: false,
            ..self
        }
    }

    /// The finding. Edits after which the text still cannot be read are left out.
    pub fn finding(self, context: &Context<'_>) -> Diagnostic {
        let diagnostic =
            Diagnostic::new(&codes::UNEXPECTED_TOKEN, self.span, self.message).help(&self.help);
        if self.edits.is_empty() || !context.reads_with(self.above, &self.edits) {
            return diagnostic;
        }
        let title = if self.help.len() <= MAX_TITLE {
            self.help
        } else {
            "write it as it is said here".to_owned()
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

/// What is said of a mark of other languages.
pub(super) fn note_of(mark: &str) -> String {
    MARKS
        .iter()
        .find(|phrase| phrase.wrong == mark)
        .map_or_else(String::new, |phrase| phrase.help(None))
}
