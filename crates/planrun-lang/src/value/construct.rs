//! Constructors and accessors of values.

use std::sync::Arc;

use super::{Key, Map, Value};

impl Value {
    /// Returns the approximate memory size in bytes, including memory shared with other values.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let own = size_of::<Self>() as u64;
        own + match self {
            Self::String(text) | Self::Type(text) => text.len() as u64,
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::List(items) => items.iter().map(Self::memory).sum(),
            Self::Map(map) => {
                let entry = |(key, inner): (&Key, &Self)| {
                    let text = if let Key::String(text) = key {
                        text.len()
                    } else {
                        0
                    };
                    (size_of::<Key>() + text) as u64 + inner.memory()
                };
                map.iter().map(entry).sum()
            }
            Self::Exact(_)
            | Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Uint(_)
            | Self::Double(_)
            | Self::Timestamp(_)
            | Self::Duration(_) => 0,
        }
    }

    /// Creates a string.
    #[must_use]
    pub fn string(text: impl Into<Arc<str>>) -> Self {
        Self::String(text.into())
    }

    /// Creates a list of these elements.
    #[must_use]
    pub fn list(elements: impl IntoIterator<Item = Self>) -> Self {
        Self::List(Arc::new(elements.into_iter().collect()))
    }

    /// Creates an object with these fields, in this order.
    #[must_use]
    pub fn object<K: Into<Key>>(fields: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(Arc::new(
            fields
                .into_iter()
                .map(|(name, value)| (name.into(), value))
                .collect(),
        ))
    }

    /// Returns the field with this name; `None` if this is not an object or has no such field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.as_map()?.get(name)
    }

    /// Returns the element at this position, counted from 0; `None` if this is not a list or has no such element.
    #[must_use]
    pub fn at(&self, index: usize) -> Option<&Self> {
        self.as_list()?.get(index)
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if let Self::Bool(truth) = self {
            Some(*truth)
        } else {
            None
        }
    }

    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        if let Self::Int(number) = self {
            Some(*number)
        } else {
            None
        }
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self {
            Some(text)
        } else {
            None
        }
    }

    #[must_use]
    pub fn as_list(&self) -> Option<&[Self]> {
        if let Self::List(elements) = self {
            Some(elements)
        } else {
            None
        }
    }

    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        if let Self::Map(entries) = self {
            Some(entries)
        } else {
            None
        }
    }

    /// Returns the length in nanoseconds; `None` if this is not a duration.
    #[must_use]
    pub fn as_duration(&self) -> Option<i128> {
        if let Self::Duration(nanoseconds) = self {
            Some(*nanoseconds)
        } else {
            None
        }
    }

    /// Returns true if lists and maps are nested deeper than `limit` levels. Visits at most that many levels. Code that
    /// carries a value from one iteration of a loop to the next checks this, because everything that traverses a value
    /// recurses.
    #[must_use]
    pub fn deeper_than(&self, limit: usize) -> bool {
        match self {
            Self::List(elements) => {
                limit == 0
                    || elements
                        .iter()
                        .any(|element| element.deeper_than(limit - 1))
            }
            Self::Map(entries) => {
                limit == 0 || entries.values().any(|value| value.deeper_than(limit - 1))
            }
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Uint(_)
            | Self::Double(_)
            | Self::Exact(_)
            | Self::String(_)
            | Self::Bytes(_)
            | Self::Timestamp(_)
            | Self::Duration(_)
            | Self::Type(_) => false,
        }
    }

    /// Returns the name of this kind of value in the language.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) | Self::Exact(_) => "double",
            Self::String(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "timestamp",
            Self::Duration(_) => "duration",
            Self::Type(_) => "type",
        }
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Double(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(text: Arc<str>) -> Self {
        Self::String(text)
    }
}

impl From<Vec<Value>> for Value {
    fn from(elements: Vec<Value>) -> Self {
        Self::List(Arc::new(elements))
    }
}

impl From<Map> for Value {
    fn from(entries: Map) -> Self {
        Self::Map(Arc::new(entries))
    }
}

impl From<&Key> for Value {
    fn from(key: &Key) -> Self {
        match key {
            Key::Bool(truth) => Self::Bool(*truth),
            Key::Int(number) => Self::Int(*number),
            Key::Uint(number) => Self::Uint(*number),
            Key::String(text) => Self::String(text.clone()),
        }
    }
}
