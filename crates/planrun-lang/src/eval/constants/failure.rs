//! Failures that happen in every run, with their reasons.

use std::sync::Arc;

use crate::eval::EvalError;
use crate::source::Span;
use crate::value::Value;

/// Maximum number of characters of an element or a state in a message.
const MAX_VALUE_CHARACTERS: usize = 60;

/// An expression that fails whenever it is evaluated, or a call that is refused in every run.
#[derive(Clone, Debug)]
pub struct ConstantFailure {
    pub error: EvalError,
    /// Whether it is a call whose arguments break the contract of its tool.
    pub breaks_contract: bool,
    /// Names whose values cause the failure.
    pub causes: Vec<Cause>,
}

impl ConstantFailure {
    pub(super) fn new(error: EvalError) -> Self {
        Self {
            error,
            breaks_contract: false,
            causes: Vec::new(),
        }
    }
}

/// A name whose known value causes a failure.
#[derive(Clone, Debug)]
pub struct Cause {
    pub name: Arc<str>,
    /// Span of the statement that defines it.
    pub span: Span,
    pub value: Value,
}

/// A failure of a block, which may be the body of a loop, with the values that cause it.
pub(super) struct BlockFailure {
    pub error: EvalError,
    pub breaks_contract: bool,
    /// Set if a call of a plan fails.
    pub called: Option<CalledPlan>,
    /// The names and values of the loops around it, from the innermost: "element" and the element.
    around: Vec<(&'static str, String)>,
}

/// A called plan that fails.
pub(super) struct CalledPlan {
    /// The name by which it is called.
    pub name: Arc<str>,
    /// File, line and column of what fails in it, or in a plan that it calls.
    pub place: String,
}

impl BlockFailure {
    pub fn new(error: EvalError) -> Self {
        Self {
            error,
            breaks_contract: false,
            called: None,
            around: Vec::new(),
        }
    }

    /// A call whose arguments break the contract of its tool.
    pub fn of_contract(message: String, span: Span) -> Self {
        Self {
            breaks_contract: true,
            ..Self::new(EvalError::plain(message, span))
        }
    }

    /// A call of a plan in which `error` occurs, at its place.
    pub fn of_plan(called: CalledPlan, error: EvalError) -> Self {
        Self {
            called: Some(called),
            ..Self::new(error)
        }
    }

    pub fn in_loop(mut self, what: &'static str, value: &Value) -> Self {
        self.around
            .push((what, value.preview(MAX_VALUE_CHARACTERS)));
        self
    }

    pub fn into_error(self) -> EvalError {
        let mut message = self.error.message.to_string();
        if let Some(CalledPlan { name, place }) = &self.called {
            message = format!("`{name}` fails at {place}: {message}");
        }
        for (depth, (what, value)) in self.around.iter().enumerate() {
            let (joint, place) = match depth {
                0 => ("when", ""),
                1 => ("and", " of the loop around it"),
                _ => ("and", " of the loop around that"),
            };
            message = format!("{message} {joint} the {what}{place} is {value}");
        }
        EvalError {
            message: message.into(),
            ..self.error
        }
    }
}
