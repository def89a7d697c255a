//! Evaluates an expression from its text, over values whose types are only known at run time.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;

use super::{Environment, EvalError, evaluate};
use crate::builtins::FailureKind;
use crate::diag::Diagnostic;
use crate::protocol::StepState;
use crate::sema::expr::Checker;
use crate::sema::{Atom, Binding, Lookup, NameKind, Place, Scope};
use crate::source::{SourceFile, Span};
use crate::syntax;
use crate::types::Type;
use crate::value::Value;

/// Why a text has no value.
#[derive(Debug)]
pub struct TextError {
    /// One sentence.
    pub message: String,
    /// Diagnostics of the check, which explain the error.
    pub diagnostics: Vec<Diagnostic>,
}

/// Evaluates an expression from its text; `bindings` are the names that it may read.
///
/// Diagnostics of the check do not prevent an evaluation that succeeds: the types of the bindings are not declared.
///
/// # Errors
/// Returns an error if the text is not an expression or its evaluation fails.
pub fn eval_text(text: &str, bindings: &IndexMap<String, Value>) -> Result<Value, TextError> {
    let source = SourceFile::new("expression", text);
    let (tree, mut diagnostics) = syntax::parse_expression(&source);
    if let Some(error) = diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
        let position = source.position(error.span.start);
        let (line, column) = (position.line, position.column);
        let message = format!(
            "line {line}, column {column}: {}",
            error.message_with_help()
        );
        return Err(TextError {
            message,
            diagnostics,
        });
    }
    let names = Names { bindings };
    let code = Checker::new(&names, &mut diagnostics).check(&tree);
    evaluate(&code, &names).map_err(|error| TextError {
        message: message_of(&error, &diagnostics),
        diagnostics,
    })
}

/// Returns the message of the failure, with the diagnostic at the same place if there is one.
fn message_of(error: &EvalError, diagnostics: &[Diagnostic]) -> String {
    let within = |span: Span| span.start >= error.span.start && span.end <= error.span.end;
    match diagnostics
        .iter()
        .find(|diagnostic| diagnostic.is_error() && within(diagnostic.span))
    {
        Some(finding) => format!("{}: {}", error.message, finding.message_with_help()),
        None => error.message.to_string(),
    }
}

/// Bindings as a scope and as an environment.
struct Names<'a> {
    bindings: &'a IndexMap<String, Value>,
}

impl Scope for Names<'_> {
    fn lookup(&self, name: &str) -> Lookup {
        let Some(slot) = self
            .bindings
            .get_index_of(name)
            .and_then(|slot| u32::try_from(slot).ok())
        else {
            return Lookup::Missing;
        };
        Lookup::Found(Binding::always(
            NameKind::Parameter,
            Place { up: 0, slot },
            Type::Any,
            Span::default(),
        ))
    }

    fn visible(&self) -> Vec<Arc<str>> {
        self.bindings
            .keys()
            .map(|name| Arc::from(name.as_str()))
            .collect()
    }

    fn facts(&self) -> &[Atom] {
        &[]
    }
}

impl Environment for Names<'_> {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        let found = usize::try_from(place.slot)
            .ok()
            .and_then(|slot| self.bindings.get_index(slot));
        found.map(|(_, value)| value.clone()).ok_or_else(|| {
            EvalError::new(
                FailureKind::Unknown,
                "undeclared reference",
                Span::default(),
            )
        })
    }

    fn state(&self, _: Place) -> StepState {
        StepState::Completed
    }

    fn winner(&self, _: Place) -> Option<Arc<str>> {
        None
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TextError {}
