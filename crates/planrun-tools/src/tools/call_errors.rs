//! The errors of calls that do not follow the contract of their tool, and the causes of errors.

use std::error::Error;
use std::iter::successors;

use planrun_lang::call::CallError;
use planrun_lang::protocol::Sent;
use planrun_lang::types::{Denied, ErrorClass, Validation};

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

/// Returns the error of a call that its tool has refused or could not complete, for a reason without a name.
pub fn failed(message: impl Into<String>, sent: Sent) -> CallError {
    CallError::new(ErrorClass::Tool("failed".into()), message, sent)
}

/// Returns the error of a call that is not permitted.
pub fn denied(message: impl Into<String>, sent: Sent) -> CallError {
    CallError::new(ErrorClass::Denied(Denied::Policy), message, sent)
}

/// Returns an error and its causes, outermost first.
pub fn causes<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    successors(Some(error), |error| (*error).source())
}

/// Returns the message of the innermost cause of an error, which is the most specific one.
pub fn innermost(error: &(dyn Error + 'static)) -> String {
    causes(error).last().unwrap_or(error).to_string()
}
