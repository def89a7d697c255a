//! Keys of maps: strings in objects, and the other scalar keys of CEL.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Number, Value};

/// A key of a map. Signed and unsigned integers are one kind of key: `1` and `1u` are the same key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// `true` or `false`.
    Bool(bool),
    /// An integer within the signed range.
    Int(i64),
    /// An integer above the signed range.
    Uint(u64),
    /// A string: the only kind of key in JSON.
    String(Arc<str>),
}

/// Strings hash like `str`, so that a map can be searched by `&str` without creating a key.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Bool(truth) => truth.hash(state),
            Self::Int(number) => number.hash(state),
            Self::Uint(number) => number.hash(state),
            Self::String(text) => text.hash(state),
        }
    }
}

impl indexmap::Equivalent<Key> for str {
    fn equivalent(&self, key: &Key) -> bool {
        key.as_str() == Some(self)
    }
}

impl From<&str> for Key {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Key {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Arc<str>> for Key {
    fn from(text: Arc<str>) -> Self {
        Self::String(text)
    }
}

impl From<u64> for Key {
    fn from(number: u64) -> Self {
        i64::try_from(number).map_or(Self::Uint(number), Self::Int)
    }
}

impl Key {
    /// Returns the value as the key of a new entry; `None` for doubles, lists, null and other values that are not keys.
    #[must_use]
    pub fn written(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(truth) => Some(Self::Bool(*truth)),
            Value::Int(number) => Some(Self::Int(*number)),
            Value::Uint(number) => Some(Self::from(*number)),
            Value::String(text) => Some(Self::String(text.clone())),
            Value::Null
            | Value::Double(_)
            | Value::Exact(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Map(_)
            | Value::Timestamp(_)
            | Value::Duration(_)
            | Value::Type(_) => None,
        }
    }

    /// Returns the key to search for: a double without fraction finds the integer that it equals.
    #[must_use]
    pub fn lookup(value: &Value) -> Option<Self> {
        match value.as_number() {
            Some(Number::Double(number)) => {
                Number::Double(number).as_integer().and_then(|integer| {
                    i64::try_from(integer)
                        .map(Self::Int)
                        .or_else(|_| u64::try_from(integer).map(Self::Uint))
                        .ok()
                })
            }
            Some(Number::Int(_) | Number::Uint(_)) | None => Self::written(value),
        }
    }

    /// Returns the text of a string key.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            Self::Bool(_) | Self::Int(_) | Self::Uint(_) => None,
        }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Bool(truth) => write!(f, "{truth}"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Uint(number) => write!(f, "{number}"),
            Self::String(text) => f.write_str(text),
        }
    }
}
