//! Describes how and where a value or a type does not fit.

use std::fmt;
use std::sync::Arc;

use super::Type;

/// One step from a value to one of its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// A field of an object or an entry of a map.
    Field(Arc<str>),
    /// An element of a list, counted from 0.
    Index(usize),
    /// Any element of a list or any entry of a map, when types are compared rather than values.
    Element,
}

/// The reason why a value or a type does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The value is of another type.
    Type,
    /// The value is null, or may be null or missing, where one is required.
    Absent,
    /// A required field is missing.
    MissingField(Arc<str>),
    /// A field is present that is not allowed.
    ExtraField(Arc<str>),
    /// A number is outside the range of its type.
    OutOfRange,
}

/// The first position at which a value or a type does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The path from the whole value to the position.
    pub path: Vec<PathPart>,
    pub misfit: Misfit,
    /// The type expected at the position.
    pub expected: Type,
    /// The type of the value that is or would be there.
    pub actual: Type,
}

impl Mismatch {
    pub(super) fn new(misfit: Misfit, expected: &Type, actual: &Type) -> Self {
        Self {
            path: Vec::new(),
            misfit,
            expected: expected.clone(),
            actual: actual.clone(),
        }
    }

    /// Prefixes the path with a part of the enclosing value.
    pub(super) fn within(mut self, part: PathPart) -> Self {
        self.path.insert(0, part);
        self
    }

    /// Returns true if the only problem is that the value may be absent.
    #[must_use]
    pub fn absent(&self) -> bool {
        self.misfit == Misfit::Absent
    }

    /// Returns the position as it is written after a value: `.managers[0].email`; empty for the whole value.
    #[must_use]
    pub fn place(&self) -> String {
        self.path.iter().map(PathPart::to_string).collect()
    }
}

impl fmt::Display for PathPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Element => f.write_str("[]"),
        }
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "at {}: ", self.place().trim_start_matches('.'))?;
        }
        match &self.misfit {
            Misfit::Type => {
                let of_kind = |member: &Type| matches!(member, Type::Literal(literal) if literal.base() == self.actual);
                let another = self.expected.members().iter().any(of_kind);
                let another = if another { "another " } else { "" };
                write!(
                    f,
                    "expected {}, got {another}{}",
                    self.expected, self.actual
                )
            }
            Misfit::Absent => write!(f, "expected {}, but it may be absent", self.expected),
            Misfit::MissingField(name) => write!(f, "the field {name} is missing"),
            Misfit::ExtraField(name) => write!(f, "there is no field {name} in {}", self.expected),
            Misfit::OutOfRange => write!(f, "the number is outside the range of {}", self.expected),
        }
    }
}
