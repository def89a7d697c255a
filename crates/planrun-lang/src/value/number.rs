//! Numbers of all three kinds, and doubles that keep their original text.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use super::Value;

/// A JSON number whose text differs from the text of its double, such as `1.10` or `1e+400`.
#[derive(Debug)]
pub struct Exact {
    /// The value used in arithmetic.
    pub value: f64,
    /// The literal as received.
    pub text: Box<str>,
}

/// A number of any kind, for code that treats all kinds alike.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// From `int`.
    Int(i64),
    /// From `uint`.
    Uint(u64),
    /// From `double`, including [`Exact`] numbers.
    Double(f64),
}

impl Number {
    /// Compares two numbers of any kinds by value; `None` if one of them is NaN.
    #[must_use]
    pub fn order(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(&b)),
            (Self::Uint(a), Self::Uint(b)) => Some(a.cmp(&b)),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b),
            (Self::Double(a), b) => b.integer().and_then(|b| order_double(a, b)),
            (a, Self::Double(b)) => a
                .integer()
                .and_then(|a| order_double(b, a))
                .map(Ordering::reverse),
            (a, b) => a.integer().partial_cmp(&b.integer()),
        }
    }

    /// Returns the nearest double.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "mixed arithmetic uses the nearest double beyond 2^53"
    )]
    pub fn as_double(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Uint(number) => number as f64,
            Self::Double(number) => number,
        }
    }

    /// Returns the integer value; `None` if the number has a fraction or is outside the range of `int` and `uint`.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the range is checked first"
    )]
    pub fn as_integer(self) -> Option<i128> {
        match self {
            Self::Double(number) if number.fract() == 0.0 && number.abs() < 2.0_f64.powi(64) => {
                Some(number as i128)
            }
            Self::Double(_) => None,
            Self::Int(_) | Self::Uint(_) => self.integer(),
        }
    }

    /// Feeds the number to a hasher; numbers that are equal have the same hash, whatever their kinds.
    pub(super) fn hash<H: Hasher>(self, state: &mut H) {
        match (self, self.as_integer()) {
            (_, Some(integer)) => integer.hash(state),
            (Self::Double(number), None) => number.to_bits().hash(state),
            (Self::Int(_) | Self::Uint(_), None) => {}
        }
    }

    fn integer(self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(i128::from(number)),
            Self::Uint(number) => Some(i128::from(number)),
            Self::Double(_) => None,
        }
    }
}

/// Compares a double with an integer of at most 65 bits. The integral part of the double fits an `i128` wherever it
/// matters.
#[expect(
    clippy::cast_possible_truncation,
    reason = "larger magnitudes are decided before the cast"
)]
fn order_double(double: f64, integer: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double.abs() >= 2.0_f64.powi(65) {
        return Some(if double > 0.0 {
            Ordering::Greater
        } else {
            Ordering::Less
        });
    }
    let whole = double.trunc();
    Some(
        (whole as i128)
            .cmp(&integer)
            .then_with(|| double.partial_cmp(&whole).unwrap_or(Ordering::Equal)),
    )
}

impl Value {
    /// Returns the number in a value of any numeric kind.
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
