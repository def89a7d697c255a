//! The kinds of values that examples have.

use serde_json::Value as Json;

pub(super) use crate::types::Kinds;

impl Kinds {
    /// The single kinds, in the order of preference for schemas with a type.
    pub(super) const EACH: [Self; 7] = [
        Self::OBJECT,
        Self::LIST,
        Self::TEXT,
        Self::INTEGER,
        Self::FRACTION,
        Self::BOOL,
        Self::NULL,
    ];

    pub(super) fn of_example(value: &Json) -> Self {
        match value {
            Json::Null => Self::NULL,
            Json::Bool(_) => Self::BOOL,
            Json::Number(number) if number.as_i64().is_some() => Self::INTEGER,
            Json::Number(_) => Self::NUMBER,
            Json::String(_) => Self::TEXT,
            Json::Array(_) => Self::LIST,
            Json::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the kinds of a type name, which may also be the `fraction` of negated schemas; all kinds if the name is
    /// unknown.
    pub(super) fn of_type_name(name: &str) -> Self {
        match name {
            "fraction" => Self::FRACTION,
            _ => Self::named(name).unwrap_or(Self::ALL),
        }
    }
}

impl Default for Kinds {
    fn default() -> Self {
        Self::ALL
    }
}
