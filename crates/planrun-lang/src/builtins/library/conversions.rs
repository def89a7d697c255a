//! From one type to another: `int(x)`, `string(x)`, `type(x)` and their kin.

use std::sync::Arc;

use super::super::function::{Example, Form, Function, Overload, Shape};
use super::super::{Failure, operators};
use crate::value::{Number, Value, duration_text, parse_duration, parse_timestamp, timestamp_text};

const SECOND: i128 = 1_000_000_000;

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "int",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Int], Shape::Int),
            Overload::new(&[Shape::Uint], Shape::Int),
            Overload::new(&[Shape::Double], Shape::Int),
            Overload::new(&[Shape::String], Shape::Int),
            Overload::new(&[Shape::Timestamp], Shape::Int),
        ],
        page: "A number without its fraction, the integer that a text spells, or the seconds since 1970 of a timestamp.",
        examples: &[
            Example::new("int('42')", "42"),
            Example::new("int(-7.9)", "-7"),
        ],
        body: int,
        ..Function::PLAIN
    },
    Function {
        name: "uint",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Uint], Shape::Uint),
            Overload::new(&[Shape::Int], Shape::Uint),
            Overload::new(&[Shape::Double], Shape::Uint),
            Overload::new(&[Shape::String], Shape::Uint),
        ],
        page: "An unsigned integer: a number without its fraction, or the number that a text spells.",
        examples: &[Example::new("uint(3.9)", "3")],
        body: uint,
        ..Function::PLAIN
    },
    Function {
        name: "double",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Double], Shape::Double),
            Overload::new(&[Shape::Int], Shape::Double),
            Overload::new(&[Shape::Uint], Shape::Double),
            Overload::new(&[Shape::String], Shape::Double),
        ],
        page: "The nearest double to a number, or the number that a text spells.",
        examples: &[
            Example::new("double('1.5')", "1.5"),
            Example::new("double(3) / 2.0", "1.5"),
        ],
        body: double,
        ..Function::PLAIN
    },
    Function {
        name: "string",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::String], Shape::String),
            Overload::new(&[Shape::Int], Shape::String),
            Overload::new(&[Shape::Uint], Shape::String),
            Overload::new(&[Shape::Double], Shape::String),
            Overload::new(&[Shape::Bool], Shape::String),
            Overload::new(&[Shape::Bytes], Shape::String),
            Overload::new(&[Shape::Timestamp], Shape::String),
            Overload::new(&[Shape::Duration], Shape::String),
        ],
        page: "The text of a number, a truth value, a timestamp (RFC 3339), a duration (in seconds) or UTF-8 bytes.",
        examples: &[
            Example::new("string(1.5)", "\"1.5\""),
            Example::new("string(90m)", "\"5400s\""),
        ],
        body: string,
        ..Function::PLAIN
    },
    Function {
        name: "bytes",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Bytes], Shape::Bytes),
            Overload::new(&[Shape::String], Shape::Bytes),
        ],
        page: "The UTF-8 bytes of a text.",
        examples: &[Example::new("size(bytes('ÿ'))", "2")],
        body: bytes,
        ..Function::PLAIN
    },
    Function {
        name: "bool",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Bool], Shape::Bool),
            Overload::new(&[Shape::String], Shape::Bool),
        ],
        page: "The truth value that a text spells: `true`, `t`, `1`, `false`, `f` or `0`.",
        examples: &[Example::new("bool('true')", "true")],
        body: bool,
        ..Function::PLAIN
    },
    Function {
        name: "timestamp",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Timestamp], Shape::Timestamp),
            Overload::new(&[Shape::String], Shape::Timestamp),
            Overload::new(&[Shape::Int], Shape::Timestamp),
        ],
        page: "The instant that a text spells (RFC 3339 with an offset), or so many seconds after 1970.",
        examples: &[Example::new(
            "timestamp('2026-01-31T09:00:00+01:00')",
            "\"2026-01-31T08:00:00Z\"",
        )],
        body: timestamp,
        ..Function::PLAIN
    },
    Function {
        name: "duration",
        forms: &[Form::Global],
        overloads: &[
            Overload::new(&[Shape::Duration], Shape::Duration),
            Overload::new(&[Shape::String], Shape::Duration),
        ],
        page: "The length of time that a text spells, such as `1h30m` or `-1.5s`.",
        examples: &[Example::new("duration('1h30m') == 90m", "true")],
        body: duration,
        ..Function::PLAIN
    },
    Function {
        name: "type",
        forms: &[Form::Global],
        overloads: &[Overload::new(&[Shape::Any], Shape::Type)],
        page: "The type of a value.",
        examples: &[
            Example::new("type(1) == int", "true"),
            Example::new("type('a') == type(1)", "false"),
        ],
        body: type_of,
        ..Function::PLAIN
    },
    Function {
        name: "dyn",
        forms: &[Form::Global],
        overloads: &[Overload::new(&[Shape::Any], Shape::Any)],
        page: "The same value, with its type forgotten until the plan runs.",
        examples: &[Example::new("dyn(1) == dyn('1')", "false")],
        body: forget,
        ..Function::PLAIN
    },
];

/// 2^63: no double at or beyond it is an `int`.
const INT_END: f64 = 9_223_372_036_854_775_808.0;
/// 2^64: no double at or beyond it is a `uint`.
const UINT_END: f64 = 18_446_744_073_709_551_616.0;

#[expect(
    clippy::cast_possible_truncation,
    reason = "the range is checked first, and cutting the fraction is the point"
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
            let wanted = "a timestamp such as 2026-01-31T09:00:00Z within the range of the years 1 to 9999";
            unreadable(argument, wanted)
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
    // The names that the Common Expression Language gives, so that its expressions mean the same here.
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

fn unreadable(argument: &Value, wanted: &str) -> Failure {
    Failure::argument(format!("{} is not {wanted}", argument.preview(60)))
}

fn beyond(argument: &Value, kind: &str) -> Failure {
    Failure::range(format!(
        "{} is out of the range of {kind}",
        argument.preview(60)
    ))
}
