//! Conversion functions: `int(x)`, `string(x)`, `type(x)` and others.

use std::sync::Arc;

use super::super::function::{Example, Form, Function, Overload, Shape};
use super::super::{Failure, operators};
use crate::value::{Number, Value, duration_text, parse_duration, parse_timestamp, timestamp_text};

const SECOND: i128 = 1_000_000_000;

pub(super) static FUNCTIONS: &[Function] = &[
    function!(Global "int",
        [(Int) -> Int, (Uint) -> Int, (Double) -> Int, (String) -> Int, (Timestamp) -> Int],
        "A number without its fraction, the integer in a string, or the seconds from 1970 to a timestamp.",
        ["int('42')" => "42", "int(-7.9)" => "-7"], int),
    function!(Global "uint", [(Uint) -> Uint, (Int) -> Uint, (Double) -> Uint, (String) -> Uint],
        "An unsigned integer: a number without its fraction, or the number in a string.",
        ["uint(3.9)" => "3"], uint),
    function!(Global "double",
        [(Double) -> Double, (Int) -> Double, (Uint) -> Double, (String) -> Double],
        "The nearest double to a number, or the number in a string.",
        ["double('1.5')" => "1.5", "double(3) / 2.0" => "1.5"], double),
    function!(Global "string",
        [(String) -> String, (Int) -> String, (Uint) -> String, (Double) -> String,
         (Bool) -> String, (Bytes) -> String, (Timestamp) -> String, (Duration) -> String],
        "A number, a bool, a timestamp (RFC 3339), a duration (in seconds) or UTF-8 bytes as a string.",
        ["string(1.5)" => "\"1.5\"", "string(90m)" => "\"5400s\""], string),
    function!(Global "bytes", [(Bytes) -> Bytes, (String) -> Bytes], "The UTF-8 bytes of a string.",
        ["size(bytes('ÿ'))" => "2"], bytes),
    function!(Global "bool", [(Bool) -> Bool, (String) -> Bool],
        "The bool in a string: `true`, `t`, `1`, `false`, `f` or `0`.",
        ["bool('true')" => "true"], bool),
    function!(Global "timestamp",
        [(Timestamp) -> Timestamp, (String) -> Timestamp, (Int) -> Timestamp],
        "The timestamp in a string (RFC 3339 with an offset), or the given number of seconds after 1970.",
        ["timestamp('2026-01-31T09:00:00+01:00')" => "\"2026-01-31T08:00:00Z\""], timestamp),
    function!(Global "duration", [(Duration) -> Duration, (String) -> Duration],
        "The duration in a string, such as `1h30m` or `-1.5s`.",
        ["duration('1h30m') == 90m" => "true"], duration),
    function!(Global "type", [(Any) -> Type], "The type of a value.",
        ["type(1) == int" => "true", "type('a') == type(1)" => "false"], type_of),
    function!(Global "dyn", [(Any) -> Any],
        "The same value with an unknown type, which is checked only when the plan runs.",
        ["dyn(1) == dyn('1')" => "false"], forget),
];

/// 2^63: doubles from here on are out of the range of `int`.
const INT_END: f64 = 9_223_372_036_854_775_808.0;
/// 2^64: doubles from here on are out of the range of `uint`.
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked first, and the fraction is cut intentionally"
)]
fn int(arguments: &[Value]) -> Result<Value, Failure> {
    let [argument] = arguments else {
        return Err(Failure::no_overload("int", arguments));
    };
    let converted = match argument {
        Value::String(text) => {
            return text
                .parse()
                .map(Value::Int)
                .map_err(|_| unreadable(argument, "an int"));
        }
        Value::Timestamp(time) => i64::try_from(time.div_euclid(SECOND)).ok(),
        other => match other.as_number() {
            Some(Number::Int(number)) => Some(number),
            Some(Number::Uint(number)) => i64::try_from(number).ok(),
            Some(Number::Double(number)) => (number.abs() < INT_END).then_some(number as i64),
            None => return Err(Failure::no_overload("int", arguments)),
        },
    };
    converted
        .map(Value::Int)
        .ok_or_else(|| beyond(argument, "int"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked first"
)]
fn uint(arguments: &[Value]) -> Result<Value, Failure> {
    let [argument] = arguments else {
        return Err(Failure::no_overload("uint", arguments));
    };
    let converted = match argument {
        Value::String(text) => {
            return text
                .parse()
                .map(Value::Uint)
                .map_err(|_| unreadable(argument, "a uint"));
        }
        other => match other.as_number() {
            Some(Number::Int(number)) => u64::try_from(number).ok(),
            Some(Number::Uint(number)) => Some(number),
            Some(Number::Double(number)) => {
                (0.0..UINT_END).contains(&number).then_some(number as u64)
            }
            None => return Err(Failure::no_overload("uint", arguments)),
        },
    };
    converted
        .map(Value::Uint)
        .ok_or_else(|| beyond(argument, "uint"))
}

fn double(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [argument @ Value::String(text)] => text
            .parse()
            .map(Value::Double)
            .map_err(|_| unreadable(argument, "a double")),
        [argument] => match argument.as_number() {
            Some(number) => Ok(Value::Double(number.as_double())),
            None => Err(Failure::no_overload("double", arguments)),
        },
        _ => Err(Failure::no_overload("double", arguments)),
    }
}

fn string(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [text @ Value::String(_)] => Ok(text.clone()),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Value::from(text)),
            Err(_) => Err(Failure::argument("the bytes are not UTF-8 text")),
        },
        [Value::Timestamp(time)] => Ok(Value::from(timestamp_text(*time))),
        [Value::Duration(length)] => Ok(Value::from(duration_text(*length))),
        [argument] => argument
            .interpolated()
            .map(Value::from)
            .ok_or_else(|| Failure::no_overload("string", arguments)),
        _ => Err(Failure::no_overload("string", arguments)),
    }
}

fn bytes(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [bytes @ Value::Bytes(_)] => Ok(bytes.clone()),
        [Value::String(text)] => Ok(Value::Bytes(Arc::from(text.as_bytes()))),
        _ => Err(Failure::no_overload("bytes", arguments)),
    }
}

fn bool(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [truth @ Value::Bool(_)] => Ok(truth.clone()),
        [argument @ Value::String(text)] => match &**text {
            "true" | "True" | "TRUE" | "t" | "T" | "1" => Ok(Value::Bool(true)),
            "false" | "False" | "FALSE" | "f" | "F" | "0" => Ok(Value::Bool(false)),
            _ => Err(unreadable(argument, "a bool")),
        },
        _ => Err(Failure::no_overload("bool", arguments)),
    }
}

fn timestamp(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [time @ Value::Timestamp(_)] => Ok(time.clone()),
        [Value::Int(seconds)] => operators::timestamp(i128::from(*seconds) * SECOND),
        [argument @ Value::String(text)] => parse_timestamp(text).map(Value::Timestamp).ok_or_else(|| {
            let expected = "a timestamp such as 2026-01-31T09:00:00Z within the range of the years 1 to 9999";
            unreadable(argument, expected)
        }),
        _ => Err(Failure::no_overload("timestamp", arguments)),
    }
}

fn duration(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [length @ Value::Duration(_)] => Ok(length.clone()),
        [argument @ Value::String(text)] => {
            parse_duration(text).map(Value::Duration).ok_or_else(|| {
                unreadable(
                    argument,
                    "a duration such as 1h30m within the range of 10000 years",
                )
            })
        }
        _ => Err(Failure::no_overload("duration", arguments)),
    }
}

fn type_of(arguments: &[Value]) -> Result<Value, Failure> {
    let [argument] = arguments else {
        return Err(Failure::no_overload("type", arguments));
    };
    // The names are those of the Common Expression Language, so that its expressions mean the same here.
    let name = match argument {
        Value::Null => "null_type",
        Value::Timestamp(_) => "google.protobuf.Timestamp",
        Value::Duration(_) => "google.protobuf.Duration",
        other => other.kind_name(),
    };
    Ok(Value::Type(name.into()))
}

fn forget(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [argument] => Ok(argument.clone()),
        _ => Err(Failure::no_overload("dyn", arguments)),
    }
}

fn unreadable(argument: &Value, expected: &str) -> Failure {
    Failure::argument(format!("{} is not {expected}", argument.preview(60)))
}

fn beyond(argument: &Value, kind: &str) -> Failure {
    Failure::range(format!(
        "{} is out of the range of {kind}",
        argument.preview(60)
    ))
}
