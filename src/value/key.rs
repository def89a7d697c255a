//! Keys of maps: text in objects, and the other scalars that CEL allows.

use std::sync::Arc;

/// A key of a map. Integers of either sign are one kind of key: `1` and `1u` are the same key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// `true` or `false`.
    Bool(bool),
    /// An integer within the signed range.
    Int(i64),
    /// An integer above the signed range.
    Uint(u64),
    /// Text: the only kind of key that JSON has.
    String(Arc<str>),
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<u64> for Key {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Uint(number), Self::Int)
    }
}

impl Key {
    /// The text of a string key.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) => None,
        }
    }
}
