//! Error classes: the reasons why a step can fail. The list is closed, except for the names of tool errors.

use std::fmt;
use std::sync::Arc;

/// The error class of a failed step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Nothing happened, and a retry may help.
    Transient(Transient),
    /// The tool reported an error with a name that it declares; `tool.failed` if it gave no name.
    Tool(Arc<str>),
    Validation(Validation),
    Auth(Auth),
    Denied(Denied),
    /// A person did not answer in time, or an external event did not arrive in time.
    Expired,
    Cancelled,
    Budget(Budget),
    /// It is unknown whether the effect has happened.
    UnknownOutcome,
    Internal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Transient {
    Timeout,
    Unavailable,
    RateLimited,
    Network,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Validation {
    Arguments,
    Result,
    Expression,
    Ensure,
    Until,
    Verify,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Auth {
    Authentication,
    Authorization,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Denied {
    Policy,
    Human,
    /// The server offers a contract that differs from the one the plan was checked against.
    Contract,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Budget {
    Calls,
    Tokens,
    Cost,
    Time,
    Memory,
}

/// An error name in `on:` or `recover`: a class or a whole family such as `transient`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorPattern {
    /// One class.
    Class(ErrorClass),
    /// All classes of the family with this name.
    Family(&'static str),
}

/// The fixed dotted names and their classes. `tool.NAME` is open-ended and not listed.
const NAMED: &[(&str, ErrorClass)] = &[
    (
        "transient.timeout",
        ErrorClass::Transient(Transient::Timeout),
    ),
    (
        "transient.unavailable",
        ErrorClass::Transient(Transient::Unavailable),
    ),
    (
        "transient.rate_limited",
        ErrorClass::Transient(Transient::RateLimited),
    ),
    (
        "transient.network",
        ErrorClass::Transient(Transient::Network),
    ),
    (
        "validation.arguments",
        ErrorClass::Validation(Validation::Arguments),
    ),
    (
        "validation.result",
        ErrorClass::Validation(Validation::Result),
    ),
    (
        "validation.expression",
        ErrorClass::Validation(Validation::Expression),
    ),
    (
        "validation.ensure",
        ErrorClass::Validation(Validation::Ensure),
    ),
    (
        "validation.until",
        ErrorClass::Validation(Validation::Until),
    ),
    (
        "validation.verify",
        ErrorClass::Validation(Validation::Verify),
    ),
    (
        "auth.authentication",
        ErrorClass::Auth(Auth::Authentication),
    ),
    ("auth.authorization", ErrorClass::Auth(Auth::Authorization)),
    ("denied.policy", ErrorClass::Denied(Denied::Policy)),
    ("denied.human", ErrorClass::Denied(Denied::Human)),
    ("denied.contract", ErrorClass::Denied(Denied::Contract)),
    ("expired", ErrorClass::Expired),
    ("cancelled", ErrorClass::Cancelled),
    ("budget.calls", ErrorClass::Budget(Budget::Calls)),
    ("budget.tokens", ErrorClass::Budget(Budget::Tokens)),
    ("budget.cost", ErrorClass::Budget(Budget::Cost)),
    ("budget.time", ErrorClass::Budget(Budget::Time)),
    ("budget.memory", ErrorClass::Budget(Budget::Memory)),
    ("unknown_outcome", ErrorClass::UnknownOutcome),
    ("internal", ErrorClass::Internal),
];

/// Families that may be used without a member name.
const FAMILIES: &[&str] = &[
    "transient",
    "tool",
    "validation",
    "auth",
    "denied",
    "budget",
];

impl ErrorClass {
    /// Returns the class with this dotted name; any name of the form `tool.x` has one.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        if let Some(tool) = name.strip_prefix("tool.") {
            return Some(Self::Tool(tool.into()));
        }
        NAMED
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, class)| class.clone())
    }

    /// Returns the part of the name before the dot.
    #[must_use]
    pub fn family(&self) -> &'static str {
        match self {
            Self::Transient(_) => "transient",
            Self::Tool(_) => "tool",
            Self::Validation(_) => "validation",
            Self::Auth(_) => "auth",
            Self::Denied(_) => "denied",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
            Self::Budget(_) => "budget",
            Self::UnknownOutcome => "unknown_outcome",
            Self::Internal => "internal",
        }
    }

    /// Returns every fixed name that a plan may write, families first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FAMILIES
            .iter()
            .copied()
            .chain(NAMED.iter().map(|(name, _)| *name))
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Self::Tool(name) = self {
            return write!(f, "tool.{name}");
        }
        let name = NAMED
            .iter()
            .find(|(_, class)| class == self)
            .map_or("internal", |(name, _)| name);
        f.write_str(name)
    }
}

impl fmt::Display for ErrorPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Class(class) => class.fmt(f),
            Self::Family(family) => f.write_str(family),
        }
    }
}

impl ErrorPattern {
    /// Returns the pattern with this dotted name in `on:` and `recover`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let family = FAMILIES
            .iter()
            .find(|family| **family == name)
            .map(|family| Self::Family(family));
        family.or_else(|| ErrorClass::find(name).map(Self::Class))
    }

    /// Returns true if the pattern covers this class.
    #[must_use]
    pub fn matches(&self, class: &ErrorClass) -> bool {
        match self {
            Self::Class(own) => own == class,
            Self::Family(family) => class.family() == *family,
        }
    }
}
