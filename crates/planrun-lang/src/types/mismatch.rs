//! How and where a value or a type fails to fit.

use std::fmt;
use std::sync::Arc;

use super::Type;

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPart {
    /// A field of an object or an entry of a map.
    Field(Arc<str>),
    /// An element of a list, from 0.
    Index(usize),
    /// Any element of a list or any entry of a map: where types are compared, not values.
    Element,
}

/// Why two things do not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The value is of another type.
    Type,
    /// The value may be null or missing where it must be there.
    Absent,
    /// A field that must be there never is.
    MissingField(Arc<str>),
    /// A field is there that may not be.
    ExtraField(Arc<str>),
    /// A number is outside the range of its type.
    OutOfRange,
}

/// The first place at which something does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// From the whole value to the place.
    pub path: Vec<PathPart>,
    pub misfit: Misfit,
    /// What the place wants.
    pub expected: Type,
    /// What is or would be there.
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

    /// The same mismatch seen from one step further out.
    pub(super) fn within(mut self, part: PathPart) -> Self {
        self.path.insert(0, part);
        self
    }

    /// Whether only a possible absence stands in the way.
    #[must_use]
    pub fn absent(&self) -> bool {
        self.misfit == Misfit::Absent
    }

    /// The place as it is written behind a value: `.managers[0].email`; empty for the whole value.
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
