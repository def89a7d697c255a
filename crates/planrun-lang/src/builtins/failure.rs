//! The failure of a function or an operator.

use std::fmt;

use crate::types::FailureKind;
use crate::value::Value;

/// The failure of a function or an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    pub kind: FailureKind,
    /// One plain sentence without a full stop.
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

    /// Creates the failure for arguments of kinds that no overload accepts.
    #[must_use]
    pub fn no_overload(function: &str, arguments: &[Value]) -> Self {
        let kinds: Vec<_> = arguments.iter().map(Value::kind_name).collect();
        Self::new(
            FailureKind::NoOverload,
            format!("no such overload: {function}({})", kinds.join(", ")),
        )
    }

    /// Creates the failure for an argument of the right type whose value is not usable.
    #[must_use]
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new(FailureKind::InvalidArgument, message)
    }

    /// Creates the failure for a result outside the range of its type.
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
