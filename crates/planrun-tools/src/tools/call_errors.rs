//! The errors of calls that do not follow the contract of their tool.

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{ErrorClass, Validation};

/// Returns the error of a call whose arguments cannot be sent. Nothing was sent.
pub fn invalid_arguments(message: impl Into<String>) -> CallError {
    let class = ErrorClass::Validation(Validation::Arguments);
    CallError::new(class, message, Sent::No)
}

/// Returns the error of a call whose answer cannot be used.
pub fn invalid_result(message: impl Into<String>) -> CallError {
    let class = ErrorClass::Validation(Validation::Result);
    CallError::new(class, message, Sent::Answered)
}
