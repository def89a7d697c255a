//! Why a computation has no value.

use std::fmt;

use crate::types::FailureKind;
use crate::value::Value;

/// What went wrong in a function or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// One sentence in plain words, without a full stop.
    pub message: String,
}

impl Failure {
    #[must_use]
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// No form of a function takes values of these kinds.
    #[must_use]
    pub fn no_overload(function: &str, arguments: &[Value]) -> Self {
        let kinds: Vec<_> = arguments.iter().map(Value::kind_name).collect();
        Self::new(
            FailureKind::NoOverload,
            format!("no such overload: {function}({})", kinds.join(", ")),
        )
    }

    /// The right type and a value that cannot be used.
    #[must_use]
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidArgument, message)
    }

    /// A result outside of what its type can hold.
    #[must_use]
    pub fn range(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Range, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}
