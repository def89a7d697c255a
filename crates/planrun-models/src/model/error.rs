//! Why a model gave no whole answer, and whether asking again can help.

use std::time::Duration;

use planrun_lang::types::{Auth, Denied, ErrorClass, Transient, Validation};
use serde::{Deserialize, Serialize};

/// What kind of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// Too many requests or tokens in a time.
    RateLimited,
    /// A limit of time has passed; the message names which.
    Timeout,
    /// The server is overloaded, or has broken down.
    Unavailable,
    /// No connection, or one that broke off.
    Network,
    /// The key is missing or wrong.
    Authentication,
    /// The key is right and may not do this.
    Authorization,
    /// The account has nothing left to spend; waiting does not help.
    Quota,
    /// The server does not take the request as it is.
    InvalidRequest,
    /// The messages are more than the model can read at once.
    TooLong,
    /// What came is no answer in the shape of the API, or more than is read.
    Protocol,
    /// The project does not let the server be reached.
    Denied,
    /// This machine cannot make a client.
    Internal,
}

/// Why a model gave no whole answer. Secrets have been taken out of the message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{message}")]
pub struct ModelError {
    pub kind: ErrorKind,
    /// One sentence for people.
    pub message: String,
    /// The HTTP status of the answer, where it was one of failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// How long the server asks us to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl ErrorKind {
    /// The class of a step that fails with it.
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

    /// The kind of the failure of a call over HTTP.
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
    /// A failure of which no answer says more.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            status: None,
            retry_after: None,
        }
    }

    /// Whether the same request can have an answer later.
    #[must_use]
    pub fn can_retry(&self) -> bool {
        matches!(self.kind.class(), ErrorClass::Transient(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_classes_of_steps() {
        let told = |kind: ErrorKind| {
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
            assert_eq!(told(kind), (class.to_owned(), retry), "{kind:?}");
        }
    }
}
