//! Sets of kinds of JSON values.

/// A set of kinds of JSON values. Numbers without a fraction are a separate kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub const NONE: Self = Self(0);
    pub const NULL: Self = Self(1);
    pub const BOOL: Self = Self(2);
    pub const INTEGER: Self = Self(4);
    pub const FRACTION: Self = Self(8);
    pub const NUMBER: Self = Self(4 | 8);
    pub const TEXT: Self = Self(16);
    pub const LIST: Self = Self(32);
    pub const OBJECT: Self = Self(64);
    pub const ALL: Self = Self(127);

    /// Returns the kinds of a type name of JSON Schema; `None` if the name is unknown.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOL,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "string" => Self::TEXT,
            "array" => Self::LIST,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    pub fn union(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    pub fn intersection(self, others: Self) -> Self {
        Self(self.0 & others.0)
    }

    pub fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}
