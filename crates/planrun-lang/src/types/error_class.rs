//! Error classes: the closed list of ways in which a step can fail.

use std::fmt;
use std::sync::Arc;

/// The class of a step's failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// Nothing happened and trying again may help.
    Transient(Transient),
    /// The tool said no, with a name that it declares; `tool.failed` where it gave none.
    Tool(Arc<str>),
    Validation(Validation),
    Auth(Auth),
    Denied(Denied),
    /// What people or the world outside were waited for has not come in time.
    Expired,
    Cancelled,
    Budget(Budget),
    /// An effect may or may not have happened.
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
    /// The server offers another contract than the one that the plan was checked against.
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

/// What `on:` and `recover` name: a class, or a whole family such as `transient`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorPattern {
    /// One class.
    Class(ErrorClass),
    /// Every class whose dotted name begins with this word.
    Family(&'static str),
}

/// The fixed dotted names with their classes. `tool.NAME` is open and not listed.
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

/// The families that may stand without a member.
const FAMILIES: &[&str] = &[
    "transient",
    "tool",
    "validation",
    "auth",
    "denied",
    "budget",
];

impl ErrorClass {
    /// The class with this dotted name; `tool.x` for any name x.
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

    /// The part before the dot.
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

    /// Every fixed name that a plan may write, families first.
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
    /// What this dotted name stands for in `on:` and `recover`.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        let family = FAMILIES
            .iter()
            .find(|family| **family == name)
            .map(|family| Self::Family(family));
        family.or_else(|| ErrorClass::find(name).map(Self::Class))
    }

    /// Whether a failure of this class is meant.
    #[must_use]
    pub fn matches(&self, class: &ErrorClass) -> bool {
        match self {
            Self::Class(own) => own == class,
            Self::Family(family) => class.family() == *family,
        }
    }
}
