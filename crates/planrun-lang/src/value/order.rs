//! Equality and ordering as defined by the Common Expression Language.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{Map, Value};

/// The result of comparing two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The values are ordered.
    Known(Ordering),
    /// One of the numbers is NaN: every comparison with it is false.
    Unordered,
    /// Values of these kinds have no order.
    Incomparable,
}

/// Equality never fails: values of different kinds differ, numbers are compared by value, and NaN equals nothing.
impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::String(a), Self::String(b)) | (Self::Type(a), Self::Type(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => same_entries(a, b),
            (Self::Timestamp(a), Self::Timestamp(b)) | (Self::Duration(a), Self::Duration(b)) => {
                a == b
            }
            _ => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => a.order(b) == Some(Ordering::Equal),
                _ => false,
            },
        }
    }
}

/// Equal values have equal hashes: numbers of all kinds are hashed by their value, and maps without their order.
impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Self::Null => 0_u8.hash(state),
            Self::Bool(truth) => truth.hash(state),
            Self::Int(_) | Self::Uint(_) | Self::Double(_) | Self::Exact(_) => {
                if let Some(number) = self.as_number() {
                    number.hash(state);
                }
            }
            Self::String(text) => text.hash(state),
            Self::Bytes(bytes) => bytes.hash(state),
            Self::List(items) => items.hash(state),
            Self::Map(map) => {
                let mut entries: Vec<_> = map.iter().collect();
                entries.sort_unstable_by_key(|(key, _)| *key);
                entries.hash(state);
            }
            Self::Timestamp(nanoseconds) | Self::Duration(nanoseconds) => nanoseconds.hash(state),
            Self::Type(name) => name.hash(state),
        }
    }
}

impl Value {
    /// Compares two values: numbers by value, strings by code points, `false` before `true`.
    #[must_use]
    pub fn order(&self, other: &Self) -> Order {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => Order::Known(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Order::Known(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Order::Known(a.cmp(b)),
            (Self::Bytes(a), Self::Bytes(b)) => Order::Known(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) | (Self::Duration(a), Self::Duration(b)) => {
                Order::Known(a.cmp(b))
            }
            _ => match (self.as_number(), other.as_number()) {
                (Some(a), Some(b)) => a.order(b).map_or(Order::Unordered, Order::Known),
                _ => Order::Incomparable,
            },
        }
    }
}

fn same_entries(a: &Map, b: &Map) -> bool {
    a.len() == b.len()
        && a.iter()
            .all(|(key, value)| b.get(key).is_some_and(|other| value == other))
}

#[cfg(test)]
mod tests {
    use super::super::Key;
    use super::*;

    #[test]
    fn numbers_are_equal_by_what_they_are() {
        assert_eq!(Value::Int(1), Value::Double(1.0));
        assert_eq!(Value::Uint(1), Value::Int(1));
        assert_ne!(Value::Uint(u64::MAX), Value::Int(-1));
        assert_ne!(Value::Double(f64::NAN), Value::Double(f64::NAN));
        assert_ne!(
            Value::Int(i64::MAX),
            Value::Double(9_223_372_036_854_775_808.0)
        );
        assert_ne!(Value::Int(0), Value::Bool(false));
    }

    #[test]
    fn equal_values_have_equal_hashes() {
        let hash = |value: &Value| {
            let mut hasher = std::hash::DefaultHasher::new();
            value.hash(&mut hasher);
            hasher.finish()
        };
        let large = 9_007_199_254_740_993_i64;
        let limit = 18_446_744_073_709_551_616.0;
        let values = [
            Value::Null,
            Value::Int(0),
            Value::Double(-0.0),
            Value::Int(1),
            Value::Uint(1),
            Value::Double(1.0),
            Value::from_json(&serde_json::from_str("1.0").unwrap()),
            Value::Double(1.5),
            Value::from_json(&serde_json::from_str("1.50").unwrap()),
            Value::Int(large),
            Value::Int(large - 1),
            Value::Double(9_007_199_254_740_992.0),
            Value::Uint(u64::MAX),
            Value::Double(limit),
            Value::Double(-limit),
            Value::Double(f64::INFINITY),
            Value::from("1"),
            Value::list([Value::Int(1), Value::Null]),
            Value::list([Value::Double(1.0), Value::Null]),
            Value::object([("a", Value::Int(1)), ("b", Value::Null)]),
            Value::object([("b", Value::Null), ("a", Value::Double(1.0))]),
        ];
        for one in &values {
            for other in &values {
                assert_eq!(one == other, hash(one) == hash(other), "{one:?} {other:?}");
            }
        }
        assert_ne!(Value::Int(large), Value::Double(9_007_199_254_740_992.0));
        assert_ne!(Value::Uint(u64::MAX), Value::Double(limit));
    }

    #[test]
    fn maps_are_equal_whatever_the_order_of_their_entries() {
        let one = Value::object([("a", Value::Int(1)), ("b", Value::Null)]);
        let two = Value::object([("b", Value::Null), ("a", Value::Double(1.0))]);
        assert_eq!(one, two);
        assert_ne!(one, Value::object([("a", Value::Int(1))]));
        assert_eq!(Key::from(7), Key::Int(7));
    }

    #[test]
    fn order_holds_across_the_kinds_of_numbers() {
        let known = |a: Value, b: Value| a.order(&b);
        assert_eq!(
            known(Value::Int(i64::MIN), Value::Double(-1e300)),
            Order::Known(Ordering::Greater)
        );
        assert_eq!(
            known(Value::Double(1.5), Value::Int(1)),
            Order::Known(Ordering::Greater)
        );
        assert_eq!(
            known(Value::Double(-1.5), Value::Int(-1)),
            Order::Known(Ordering::Less)
        );
        assert_eq!(
            known(Value::Int(1), Value::Double(f64::NAN)),
            Order::Unordered
        );
        assert_eq!(known(Value::Int(1), Value::from("1")), Order::Incomparable);
        assert_eq!(known(Value::Null, Value::Null), Order::Incomparable);
    }
}
