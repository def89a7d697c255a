//! Values that the expressions of a test read, by the numbers of their places.

use std::sync::Arc;

use planrun_lang::eval::{self, Environment, EvalError};
use planrun_lang::protocol::StepState;
use planrun_lang::sema::Place;
use planrun_lang::sema::expr::Code;
use planrun_lang::source::Span;
use planrun_lang::value::Value;

/// The values of a test's frame. What has none says why.
#[derive(Default)]
pub struct Slots(Vec<Result<Value, Arc<str>>>);

impl Slots {
    /// No values at all.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// In the order of the places.
    #[must_use]
    pub fn new(values: Vec<Result<Value, Arc<str>>>) -> Self {
        Self(values)
    }

    /// The value of an expression.
    ///
    /// # Errors
    /// As [`eval::evaluate`], and where it reads something that is not there.
    pub fn evaluate(&self, code: &Code) -> Result<Value, EvalError> {
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
