//! Numbers: the three kinds as one, and doubles that remember the text they came as.

use super::Value;

/// A JSON number whose text says more than the double it stands for, such as `1.10` or `1e400`.
#[derive(Debug)]
pub struct Exact {
    /// What arithmetic sees.
    pub value: f64,
    /// The literal as it was received.
    pub text: Box<str>,
}

/// Any number, for code that treats the kinds alike.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// From `int`.
    Int(i64),
    /// From `uint`.
    Uint(u64),
    /// From `double`, exact ones included.
    Double(f64),
}

impl Value {
    /// The number in a value, whatever its kind.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match self {
            Self::Int(number) => Some(Number::Int(*number)),
            Self::Uint(number) => Some(Number::Uint(*number)),
            Self::Double(number) => Some(Number::Double(*number)),
            Self::Exact(exact) => Some(Number::Double(exact.value)),
            Self::Null
            | Self::Bool(_)
            | Self::String(_)
            | Self::Bytes(_)
            | Self::List(_)
            | Self::Map(_)
            | Self::Timestamp(_)
            | Self::Duration(_)
            | Self::Type(_) => None,
        }
    }
}
