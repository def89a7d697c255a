//! Evaluates checked expressions without side effects.

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
use crate::sema::expr::CheckedExpr;
use crate::source::Span;
use crate::types::{ErrorClass, Validation, convert_from};
use crate::value::Value;

pub use constants::{Cause, ConstantFailure, Constants};
pub use known::{AlwaysFails, Evaluated, Folding, Knowledge, evaluate_partially};
pub use text::{TextError, eval_text};

/// The state of a run that expressions can read.
pub trait Environment {
    /// Returns the value at a place; null if its guard was false.
    ///
    /// # Errors
    /// Returns an error if the value is itself an expression that failed, such as a `let`.
    fn value(&self, place: Place) -> Result<Value, EvalError>;
    fn state(&self, place: Place) -> StepState;
    /// Returns the branch of a `race` that succeeded first.
    fn winner(&self, place: Place) -> Option<Arc<str>>;
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    pub kind: FailureKind,
    /// One plain sentence.
    pub message: Arc<str>,
    /// The part of the expression that failed.
    pub span: Span,
}

/// Cost limit of one evaluation: one unit for each operation, and more for the data that it reads and produces.
pub const DEFAULT_COST_LIMIT: u64 = 1_000_000;

/// Evaluates an expression.
///
/// # Errors
/// If an operation fails (overflow, division by zero, a missing key, an index out of range, values that no overload
/// accepts), the value does not fit the type of its place, or the cost limit is exceeded.
pub fn evaluate(code: &CheckedExpr, environment: &dyn Environment) -> Result<Value, EvalError> {
    evaluate_within(code, environment, DEFAULT_COST_LIMIT)
}

/// Evaluates an expression with this cost limit.
///
/// # Errors
/// As for [`evaluate`].
pub fn evaluate_within(
    code: &CheckedExpr,
    environment: &dyn Environment,
    limit: u64,
) -> Result<Value, EvalError> {
    let value = machine::Machine::new(environment, vec![None; usize::from(code.registers)], limit)
        .run(&code.root)?;
    placed(code, value)
}

/// Converts the value of an expression to the type of its place.
fn placed(code: &CheckedExpr, value: Value) -> Result<Value, EvalError> {
    match &code.into {
        Some(place) => convert_from(value, &place.from, &place.to).map_err(|mismatch| {
            EvalError::new(FailureKind::Misfit, mismatch.to_string(), code.span)
        }),
        None => Ok(value),
    }
}

impl EvalError {
    /// Creates an error at a part of an expression.
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<Arc<str>>, span: Span) -> Self {
        Self {
            kind,
            message: message.into(),
            span,
        }
    }

    /// Creates an error about a value that the operation cannot use although it has the right type.
    #[must_use]
    pub fn plain(message: impl Into<Arc<str>>, span: Span) -> Self {
        Self::new(FailureKind::InvalidArgument, message, span)
    }

    /// Returns the class of the error that a failing expression gives its step.
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
