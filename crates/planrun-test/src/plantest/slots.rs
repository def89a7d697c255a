//! The values that the expressions of a test read, by slot.

use std::sync::Arc;

use planrun_lang::eval::{self, Environment, EvalError};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::Place;
use planrun_lang::sema::expr::CheckedExpr;
use planrun_lang::source::Span;
use planrun_lang::value::Value;

/// The values of the frame of a test; a slot without a value has the reason instead.
#[derive(Default)]
pub struct Slots(Vec<Result<Value, Arc<str>>>);

impl Slots {
    /// Returns an empty frame.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Returns a frame with these values, in the order of the slots.
    #[must_use]
    pub fn new(values: Vec<Result<Value, Arc<str>>>) -> Self {
        Self(values)
    }

    /// Evaluates an expression.
    ///
    /// # Errors
    /// Returns the errors of [`eval::evaluate`], and an error if it reads a slot without a value.
    pub fn evaluate(&self, code: &CheckedExpr) -> Result<Value, EvalError> {
        eval::evaluate(code, self)
    }
}

impl Environment for Slots {
    fn value(&self, place: Place) -> Result<Value, EvalError> {
        match self.0.get(place.slot as usize) {
            Some(Ok(value)) => Ok(value.clone()),
            Some(Err(reason)) => Err(EvalError::plain(reason.clone(), Span::at(0))),
            None => Ok(Value::Null),
        }
    }

    fn state(&self, _: Place) -> StepState {
        StepState::Pending
    }

    fn winner(&self, _: Place) -> Option<Arc<str>> {
        None
    }
}
