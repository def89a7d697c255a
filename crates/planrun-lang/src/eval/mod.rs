//! Pure evaluation of checked expressions.

mod comprehension;
mod constants;
mod known;
mod machine;
mod path;
mod text;

use std::fmt;
use std::sync::Arc;

use crate::builtins::{Failure, FailureKind};
use crate::protocol::StepState;
use crate::sema::Place;
use crate::sema::expr::Code;
use crate::source::Span;
use crate::types::{ErrorClass, Validation, convert};
use crate::value::Value;

pub use constants::{Constants, LedTo, Lost};
pub use known::{AlwaysFails, Came, Folding, Knowledge, come};
pub use text::{TextError, eval_text};

/// What an expression may ask of the run around it.
pub trait Environment {
    /// The value at a place; null where its guard was false.
    ///
    /// # Errors
    /// Where the value is itself an expression that failed, such as a `let`.
    fn value(&self, place: Place) -> Result<Value, EvalError>;
    fn state(&self, place: Place) -> StepState;
    /// The branch of a `race` that succeeded first.
    fn winner(&self, place: Place) -> Option<Arc<str>>;
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    pub kind: FailureKind,
    /// One sentence in plain words.
    pub message: Arc<str>,
    /// The part of the expression that failed.
    pub span: Span,
}

/// How much one evaluation may do: operations and elements of produced data, together.
pub const DEFAULT_COST_LIMIT: u64 = 1_000_000;

/// The value of an expression.
///
/// # Errors
/// Overflow, division by zero, a missing key, an index out of range, values that no overload takes, or too much work.
pub fn evaluate(code: &Code, environment: &dyn Environment) -> Result<Value, EvalError> {
    evaluate_within(code, environment, DEFAULT_COST_LIMIT)
}

/// The value of an expression, with a cost limit of its own.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_within(
    code: &Code,
    environment: &dyn Environment,
    limit: u64,
) -> Result<Value, EvalError> {
    let value = machine::Machine::new(environment, vec![None; usize::from(code.registers)], limit)
        .run(&code.root)?;
    placed(code, value)
}

/// The value of an expression as what its place makes of it.
fn placed(code: &Code, value: Value) -> Result<Value, EvalError> {
    match &code.into {
        Some(place) => convert(value, &place.to).map_err(|mismatch| {
            EvalError::new(FailureKind::Misfit, mismatch.to_string(), code.span)
        }),
        None => Ok(value),
    }
}

impl EvalError {
    /// An error at a part of an expression.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<Arc<str>>, span: Span) -> Self {
        Self {
            kind,
            message: message.into(),
            span,
        }
    }

    /// An error that concerns the value itself: the right kind of computation and a value that cannot be used.
    #[must_use]
    pub fn plain(message: impl Into<Arc<str>>, span: Span) -> Self {
        Self::new(FailureKind::InvalidArgument, message, span)
    }

    /// The class that a failing expression has as the error of a step.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        ErrorClass::Validation(Validation::Expression)
    }

    fn at(span: Span) -> impl FnOnce(Failure) -> Self {
        move |failure| Self::new(failure.kind, failure.message, span)
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}
