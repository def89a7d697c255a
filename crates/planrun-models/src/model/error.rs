//! Errors of models, and whether they can be retried.

use std::time::Duration;

use planrun_lang::types::{Auth, Denied, ErrorClass, Transient, Validation};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests or tokens in a period.
    RateLimited,
    /// A timeout has expired; the message names it.
    Timeout,
    /// The server is overloaded or has failed.
    Unavailable,
    /// No connection, or the connection was reset.
    Network,
    /// The key is missing or wrong.
    Authentication,
    /// The key is valid but not authorized.
    Authorization,
    /// The account has no credit left; waiting does not help.
    Quota,
    /// The server rejects the request.
    InvalidRequest,
    /// The messages exceed the context of the model.
    TooLong,
    /// The response does not conform to the API, or is larger than the limits.
    Protocol,
    /// The project does not allow the server to be reached.
    Denied,
    /// The HTTP client cannot be created.
    Internal,
}

/// Why a model gave no complete answer. Secrets are redacted in the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ErrorKind,
    /// One sentence for people.
    pub message: String,
    /// The HTTP status of the error response, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long to wait, as requested by the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl ErrorKind {
    /// Returns the error class of a step that fails with this error.
    #[must_use]
    pub fn class(self) -> ErrorClass {
        match self {
            Self::RateLimited => ErrorClass::Transient(Transient::RateLimited),
            Self::Timeout => ErrorClass::Transient(Transient::Timeout),
            Self::Unavailable => ErrorClass::Transient(Transient::Unavailable),
            Self::Network => ErrorClass::Transient(Transient::Network),
            Self::Authentication => ErrorClass::Auth(Auth::Authentication),
            Self::Authorization | Self::Quota => ErrorClass::Auth(Auth::Authorization),
            Self::InvalidRequest | Self::TooLong => ErrorClass::Validation(Validation::Arguments),
            Self::Protocol => ErrorClass::Validation(Validation::Result),
            Self::Denied => ErrorClass::Denied(Denied::Policy),
            Self::Internal => ErrorClass::Internal,
        }
    }

    /// Returns the kind of a failed HTTP call.
    pub(crate) fn of(class: &ErrorClass) -> Self {
        match class {
            ErrorClass::Transient(Transient::RateLimited) => Self::RateLimited,
            ErrorClass::Transient(Transient::Timeout) => Self::Timeout,
            ErrorClass::Transient(Transient::Unavailable) => Self::Unavailable,
            ErrorClass::Transient(Transient::Network) => Self::Network,
            ErrorClass::Auth(Auth::Authentication) => Self::Authentication,
            ErrorClass::Auth(Auth::Authorization) => Self::Authorization,
            ErrorClass::Validation(Validation::Arguments) => Self::InvalidRequest,
            ErrorClass::Denied(_) => Self::Denied,
            ErrorClass::Validation(_) | ErrorClass::Tool(_) => Self::Protocol,
            ErrorClass::Expired
            | ErrorClass::Cancelled
            | ErrorClass::Budget(_)
            | ErrorClass::UnknownOutcome
            | ErrorClass::Internal => Self::Internal,
        }
    }
}

impl ModelError {
    /// Creates an error without a status or a requested wait.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
        }
    }

    /// Returns true if the same request can succeed later.
    pub fn can_retry(&self) -> bool {
        matches!(self.kind.class(), ErrorClass::Transient(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_classes_of_steps() {
        let class_of = |kind: ErrorKind| {
            let class = kind.class().to_string();
            (class, ModelError::new(kind, "").can_retry())
        };
        let expected = [
            (ErrorKind::RateLimited, "transient.rate_limited", true),
            (ErrorKind::Timeout, "transient.timeout", true),
            (ErrorKind::Unavailable, "transient.unavailable", true),
            (ErrorKind::Network, "transient.network", true),
            (ErrorKind::Authentication, "auth.authentication", false),
            (ErrorKind::Authorization, "auth.authorization", false),
            (ErrorKind::Quota, "auth.authorization", false),
            (ErrorKind::InvalidRequest, "validation.arguments", false),
            (ErrorKind::TooLong, "validation.arguments", false),
            (ErrorKind::Protocol, "validation.result", false),
            (ErrorKind::Denied, "denied.policy", false),
            (ErrorKind::Internal, "internal", false),
        ];
        for (kind, class, retry) in expected {
            assert_eq!(class_of(kind), (class.to_owned(), retry), "{kind:?}");
        }
    }
}
