//! The operators: arithmetic, comparison and `in`, for values of all kinds.

use std::cmp::Ordering;
use std::sync::Arc;

use super::{Failure, FailureKind};
use crate::value::{Key, MAX_DURATION, MAX_TIMESTAMP, MIN_TIMESTAMP, Number, Order, Value};

/// The arithmetic operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Arithmetic {
    /// Returns the operator as it is written.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }
}

/// Evaluates `left operator right`.
///
/// # Errors
/// If the result overflows, a divisor is zero, a timestamp or duration is out of range, or the operator does not accept
/// these kinds of values.
pub fn arithmetic(operator: Arithmetic, left: Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => integers(operator, left, *right).map(Value::Int),
        (Value::Uint(left), Value::Uint(right)) => {
            unsigned(operator, left, *right).map(Value::Uint)
        }
        (left, right) => match (left.as_number(), right.as_number()) {
            (Some(Number::Double(_)), Some(Number::Double(_) | Number::Int(_)))
            | (Some(Number::Int(_)), Some(Number::Double(_))) => doubles(operator, &left, right),
            _ => match operator {
                Arithmetic::Add => join(left, right),
                Arithmetic::Subtract => difference(&left, right),
                Arithmetic::Multiply => product(&left, right),
                Arithmetic::Divide => quotient(&left, right),
                Arithmetic::Remainder => Err(no_overload(operator.symbol(), &left, right)),
            },
        },
    }
}

/// Evaluates `-value`.
///
/// # Errors
/// If the value is the smallest integer, or of a kind that cannot be negated.
pub fn negate(value: &Value) -> Result<Value, Failure> {
    match value {
        Value::Int(number) => number
            .checked_neg()
            .map(Value::Int)
            .ok_or_else(|| overflow("-", "int")),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Exact(exact) => Ok(Value::Double(-exact.value)),
        Value::Duration(length) => Ok(Value::Duration(-length)),
        Value::Null
        | Value::Bool(_)
        | Value::Uint(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::List(_)
        | Value::Map(_)
        | Value::Timestamp(_)
        | Value::Type(_) => Err(Failure::new(
            FailureKind::NoOverload,
            format!(
                "no such overload: `-` takes a number, not {}",
                value.kind_name()
            ),
        )),
    }
}

/// Evaluates a comparison: returns true if `holds` accepts the order of the two values. `symbol` is the operator, for
/// messages.
///
/// # Errors
/// If these kinds of values have no order.
pub fn ordered(
    symbol: &str,
    left: &Value,
    right: &Value,
    holds: fn(Ordering) -> bool,
) -> Result<bool, Failure> {
    match left.order(right) {
        Order::Known(ordering) => Ok(holds(ordering)),
        Order::Unordered => Ok(false),
        Order::Incomparable => Err(no_overload(symbol, left, right)),
    }
}

/// Sorts items by key in ascending order. The sort is stable.
///
/// # Errors
/// If two keys cannot be compared.
pub fn ascending<T>(mut items: Vec<T>, key: impl Fn(&T) -> &Value) -> Result<Vec<T>, Failure> {
    let stranger = items.windows(2).any(|pair| match pair {
        [one, next] => key(one).order(key(next)) == Order::Incomparable,
        _ => false,
    });
    if stranger || matches!(&items[..], [only] if key(only).order(key(only)) == Order::Incomparable)
    {
        return Err(no_order());
    }
    items.sort_by(|one, other| match key(one).order(key(other)) {
        Order::Known(ordering) => ordering,
        // NaN sorts after every number, so that the order is total.
        Order::Unordered | Order::Incomparable => is_nan(key(one)).cmp(&is_nan(key(other))),
    });
    Ok(items)
}

/// Creates the failure for elements that cannot be ordered.
#[must_use]
pub fn no_order() -> Failure {
    Failure::argument(
        "these elements cannot be ordered: they are not all numbers, strings or times",
    )
}

/// Returns true if the value is NaN.
#[must_use]
pub fn is_nan(value: &Value) -> bool {
    value
        .as_number()
        .is_some_and(|number| number.order(number) != Some(Ordering::Equal))
}

/// Evaluates `element in container`, for an element of a list or a key of a map.
///
/// # Errors
/// If the container is neither a list nor a map.
pub fn contained(element: &Value, container: &Value) -> Result<bool, Failure> {
    match container {
        Value::List(elements) => Ok(elements.iter().any(|other| element == other)),
        Value::Map(entries) => {
            Ok(Key::lookup(element).is_some_and(|key| entries.contains_key(&key)))
        }
        Value::Null
        | Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Exact(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Timestamp(_)
        | Value::Duration(_)
        | Value::Type(_) => Err(no_overload("in", element, container)),
    }
}

/// Creates the failure for values that the operator does not accept.
#[must_use]
pub fn no_overload(symbol: &str, left: &Value, right: &Value) -> Failure {
    let message = format!(
        "no such overload: {} {symbol} {}",
        left.kind_name(),
        right.kind_name()
    );
    Failure::new(FailureKind::NoOverload, message)
}

/// Creates a timestamp.
///
/// # Errors
/// If it is outside the years 1 to 9999.
pub fn timestamp(nanoseconds: i128) -> Result<Value, Failure> {
    if (MIN_TIMESTAMP..=MAX_TIMESTAMP).contains(&nanoseconds) {
        return Ok(Value::Timestamp(nanoseconds));
    }
    Err(Failure::range(
        "timestamp out of range: it must be within the years 1 to 9999",
    ))
}

/// Creates a duration.
///
/// # Errors
/// If it exceeds 10,000 years.
pub fn duration(nanoseconds: i128) -> Result<Value, Failure> {
    if nanoseconds.abs() <= MAX_DURATION {
        return Ok(Value::Duration(nanoseconds));
    }
    Err(Failure::range(
        "duration out of range: it must be within 10000 years",
    ))
}

fn overflow(symbol: &str, kind: &str) -> Failure {
    Failure::new(
        FailureKind::Overflow,
        format!("overflow: the result of `{symbol}` does not fit {kind}"),
    )
}

fn zero(operator: Arithmetic) -> Failure {
    let message = if operator == Arithmetic::Remainder {
        "modulus by zero"
    } else {
        "divide by zero"
    };
    Failure::new(FailureKind::DivideByZero, message)
}

fn integers(operator: Arithmetic, left: i64, right: i64) -> Result<i64, Failure> {
    let result = match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Remainder if right == 0 => return Err(zero(operator)),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
    };
    result.ok_or_else(|| overflow(operator.symbol(), "int"))
}

fn unsigned(operator: Arithmetic, left: u64, right: u64) -> Result<u64, Failure> {
    let result = match operator {
        Arithmetic::Add => left.checked_add(right),
        Arithmetic::Subtract => left.checked_sub(right),
        Arithmetic::Multiply => left.checked_mul(right),
        Arithmetic::Divide | Arithmetic::Remainder if right == 0 => return Err(zero(operator)),
        Arithmetic::Divide => left.checked_div(right),
        Arithmetic::Remainder => left.checked_rem(right),
    };
    result.ok_or_else(|| overflow(operator.symbol(), "uint"))
}

/// Evaluates an operator on two doubles, or on a double and an int.
fn doubles(operator: Arithmetic, left: &Value, right: &Value) -> Result<Value, Failure> {
    let (Some(first), Some(second)) = (left.as_number(), right.as_number()) else {
        return Err(no_overload(operator.symbol(), left, right));
    };
    let (first, second) = (first.as_double(), second.as_double());
    match operator {
        Arithmetic::Add => Ok(Value::Double(first + second)),
        Arithmetic::Subtract => Ok(Value::Double(first - second)),
        Arithmetic::Multiply => Ok(Value::Double(first * second)),
        Arithmetic::Divide => Ok(Value::Double(first / second)),
        Arithmetic::Remainder => Err(no_overload(operator.symbol(), left, right)),
    }
}

/// Evaluates `+` on values other than numbers.
fn join(left: Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::String(left), Value::String(right)) => {
            let mut text = String::with_capacity(left.len() + right.len());
            text.push_str(&left);
            text.push_str(right);
            Ok(Value::String(text.into()))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            Ok(Value::Bytes([&*left, &**right].concat().into()))
        }
        (Value::List(mut left), Value::List(right)) => {
            Arc::make_mut(&mut left).extend(right.iter().cloned());
            Ok(Value::List(left))
        }
        (Value::Timestamp(time), Value::Duration(length)) => timestamp(time + length),
        (Value::Duration(length), Value::Timestamp(time)) => timestamp(length + time),
        (Value::Duration(left), Value::Duration(right)) => duration(left + right),
        (left, right) => Err(no_overload("+", &left, right)),
    }
}

/// Evaluates `-` on values other than numbers.
fn difference(left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        // As in CEL, the difference of two timestamps is limited to 64-bit nanoseconds, about 292 years.
        (Value::Timestamp(left), Value::Timestamp(right)) => match i64::try_from(left - right) {
            Ok(length) => Ok(Value::Duration(i128::from(length))),
            Err(_) => Err(Failure::range(
                "duration out of range: the timestamps are more than 292 years apart",
            )),
        },
        (Value::Timestamp(time), Value::Duration(length)) => timestamp(time - length),
        (Value::Duration(left), Value::Duration(right)) => duration(left - right),
        (left, right) => Err(no_overload("-", left, right)),
    }
}

/// Evaluates `*` on a duration and an integer.
fn product(left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(length), Value::Int(count))
        | (Value::Int(count), Value::Duration(length)) => {
            duration(length.saturating_mul(i128::from(*count)))
        }
        (left, right) => Err(no_overload("*", left, right)),
    }
}

/// Evaluates `/` on a duration and an integer, or on two durations.
fn quotient(left: &Value, right: &Value) -> Result<Value, Failure> {
    match (left, right) {
        (Value::Duration(_), Value::Int(0) | Value::Duration(0)) => Err(zero(Arithmetic::Divide)),
        (Value::Duration(length), Value::Int(count)) => duration(length / i128::from(*count)),
        #[expect(clippy::cast_precision_loss, reason = "the result is a double")]
        (Value::Duration(left), Value::Duration(right)) => {
            Ok(Value::Double(*left as f64 / *right as f64))
        }
        (left, right) => Err(no_overload("/", left, right)),
    }
}
