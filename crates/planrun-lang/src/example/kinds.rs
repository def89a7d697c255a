//! Sets of kinds of JSON values.

use serde_json::Value as Json;

/// A set of kinds of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub const NULL: Self = Self(1);
    pub const BOOL: Self = Self(2);
    pub const INTEGER: Self = Self(4);
    pub const FRACTION: Self = Self(8);
    pub const TEXT: Self = Self(16);
    pub const LIST: Self = Self(32);
    pub const OBJECT: Self = Self(64);
    pub const ALL: Self = Self(127);
    pub const NONE: Self = Self(0);
    /// The single kinds, in the order of preference for schemas with a type.
    pub const EACH: [Self; 7] = [
        Self::OBJECT,
        Self::LIST,
        Self::TEXT,
        Self::INTEGER,
        Self::FRACTION,
        Self::BOOL,
        Self::NULL,
    ];

    /// Returns the union.
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns the intersection.
    pub fn among(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub fn of(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            Json::Number(number) if number.as_i64().is_some() => Self::INTEGER,
            Json::Number(_) => Self(Self::INTEGER.0 | Self::FRACTION.0),
            Json::String(_) => Self::TEXT,
            Json::Array(_) => Self::LIST,
            Json::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the kinds of a type name, which may also be the `fraction` of negated schemas; all kinds if the name is
    /// unknown.
    pub fn named(name: &str) -> Self {
        match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOL,
            "integer" => Self::INTEGER,
            "number" => Self(Self::INTEGER.0 | Self::FRACTION.0),
            "fraction" => Self::FRACTION,
            "string" => Self::TEXT,
            "array" => Self::LIST,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        }
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}
