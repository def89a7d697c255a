//! A diagnostic: a position, a cause and a remedy.

use std::borrow::Cow;

use super::{Code, Near, Severity, nearest};
use crate::source::Span;

/// A diagnostic in one file. It is built at the call site in one chain; [`super::render`] formats it.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    pub code: &'static Code,
    pub severity: Severity,
    /// One sentence without a full stop.
    pub message: String,
    /// The primary span.
    pub span: Span,
    /// The text at the primary span; empty for a bare underline.
    pub note: String,
    /// Further spans in the same file.
    pub labels: Vec<Label>,
    /// The remedy, in words.
    pub help: Option<String>,
    pub expected: Option<String>,
    pub actual: Option<String>,
    /// Names that would have been valid, the most similar one first if there is one.
    pub available: Vec<String>,
    pub fix: Option<Fix>,
}

#[derive(Clone, Debug)]
pub struct Label {
    pub span: Span,
    pub message: String,
}

/// Edits that remove the cause of a diagnostic.
///
/// A safe fix does not change the outcome of any run: it removes what never had an effect or, in a plan that cannot
/// run, writes the only thing that the author can have meant. A fix that drops a bound, guesses a value or extends
/// permissions is not safe.
#[derive(Clone, Debug)]
pub struct Fix {
    pub safe: bool,
    pub title: String,
    pub edits: Vec<Edit>,
}

impl Fix {
    /// Returns true if it inserts text and replaces none.
    pub(crate) fn only_inserts(&self) -> bool {
        self.edits.iter().all(|edit| edit.span.is_empty())
    }
}

#[derive(Clone, Debug)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

impl Edit {
    /// Creates an edit that replaces the text at `span`.
    #[must_use]
    pub fn new(span: Span, text: impl Into<String>) -> Self {
        Self {
            span,
            text: text.into(),
        }
    }

    /// Creates an edit that removes the text at `span`.
    #[must_use]
    pub fn removal(span: Span) -> Self {
        Self::new(span, "")
    }
}

impl Code {
    /// Creates a diagnostic with this code.
    #[must_use]
    pub fn at(&'static self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self, span, message)
    }
}

/// Maximum number of names in a diagnostic, so that a plan with thousands of errors does not store all names with each.
const MAX_NAMES: usize = 200;

impl Diagnostic {
    /// Creates a diagnostic with the code's own severity.
    #[must_use]
    pub fn new(code: &'static Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            severity: code.severity,
            message: message.into(),
            span,
            note: String::new(),
            labels: Vec::new(),
            help: None,
            expected: None,
            actual: None,
            available: Vec::new(),
            fix: None,
        }
    }

    /// Sets the text at the primary span.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// Adds a further span.
    #[must_use]
    pub fn label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label {
            span,
            message: message.into(),
        });
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets what was expected and what was found.
    #[must_use]
    #[expect(
        clippy::needless_pass_by_value,
        reason = "call sites pass types and text alike, owned or not"
    )]
    pub fn expected(mut self, expected: impl ToString, actual: impl ToString) -> Self {
        self.expected = Some(expected.to_string());
        self.actual = Some(actual.to_string());
        self
    }

    /// Sets the names that would have been valid, up to a maximum number.
    #[must_use]
    pub fn available(mut self, names: impl IntoIterator<Item = impl ToString>) -> Self {
        self.available = names
            .into_iter()
            .take(MAX_NAMES)
            .map(|name| name.to_string())
            .collect();
        self
    }

    /// Sets a safe fix of one edit.
    #[must_use]
    pub fn fix(self, title: impl Into<String>, span: Span, text: impl Into<String>) -> Self {
        self.fix_all(
            title,
            vec![Edit {
                span,
                text: text.into(),
            }],
        )
    }

    /// Sets a safe fix of several edits.
    #[must_use]
    pub fn fix_all(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix {
            safe: true,
            title: title.into(),
            edits,
        });
        self
    }

    /// Sets a fix that may change what a run does and therefore requires `--unsafe-fix`.
    #[must_use]
    pub fn unsafe_fix(mut self, title: impl Into<String>, edits: Vec<Edit>) -> Self {
        self.fix = Some(Fix {
            safe: false,
            title: title.into(),
            edits,
        });
        self
    }

    /// Sets the remedy for an unknown name that resembles a known one, whose spelling at the span is `written`. The fix
    /// is safe if no other name can be meant and the plan does not run as it is.
    #[must_use]
    pub fn did_you_mean(self, near: Near<'_>, span: Span, written: impl Into<String>) -> Self {
        let safe = near.certain && self.is_error();
        let title = format!("write `{}`", near.name);
        let edits = vec![Edit {
            span,
            text: written.into(),
        }];
        let diagnostic = self.help(format!("did you mean `{}`?", near.name));
        if safe {
            diagnostic.fix_all(title, edits)
        } else {
            diagnostic.unsafe_fix(title, edits)
        }
    }

    /// Sets the remedy for an unknown name at the place of the diagnostic: the nearest of the known names, or `otherwise`.
    #[must_use]
    pub fn suggest<'a>(
        self,
        written: &str,
        names: impl IntoIterator<Item = &'a str>,
        otherwise: impl Into<String>,
    ) -> Self {
        let span = self.span;
        match nearest(written, names) {
            Some(near) => self.did_you_mean(near, span, near.name),
            None => self.help(otherwise),
        }
    }

    /// Returns the message, and the remedy if there is one, as one line.
    #[must_use]
    pub fn message_with_help(&self) -> Cow<'_, str> {
        match &self.help {
            Some(help) => format!("{}; {help}", self.message).into(),
            None => self.message.as_str().into(),
        }
    }

    /// Returns true if this diagnostic prevents the plan from running.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
