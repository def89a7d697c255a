//! The function `format`: `"%s: %.2f".format([name, amount])`.

use std::ops::Range;

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, FailureKind};
use super::moments;
use crate::types::Type;
use crate::value::{Number, Value, duration_text, timestamp_text};

/// The letters of formatting clauses.
const VERBS: &str = "sdfeboxX";
/// Number of digits after the decimal point if a clause does not state it.
const DEFAULT_PRECISION: usize = 6;
/// Maximum number of digits after the decimal point.
const MAX_PRECISION: usize = 1_000;

pub(super) static FUNCTIONS: &[Function] = &[function!(Method "format",
        [(String, [Any]) -> String, (Timestamp, String) -> String, (Timestamp, String, String) -> String],
        "A string with its clauses `%s %d %f %e %x %X %o %b` filled from a list, or a timestamp written by clauses such as \
         `%Y-%m-%d`; `%%` is a percent sign.",
        ["'%s: %.2f, %d%%'.format(['a', 1.5, 7])" => "\"a: 1.50, 7%\"",
         "timestamp('2026-01-31T23:30:00Z').format('%Y-%m-%d', 'Europe/Berlin')" => "\"2026-02-01\""],
        format, refuses: refuses_clauses; walks)];

/// A part of a pattern.
enum Part<'p> {
    Text(&'p str),
    /// A clause such as `%.2f`, with its letter and its precision.
    Clause(char, Option<usize>),
}

/// Splits a pattern into its parts.
fn parts(pattern: &str) -> impl Iterator<Item = Result<Part<'_>, Failure>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(clause) = rest.strip_prefix('%') else {
            let (text, after) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            rest = after;
            return Some(Ok(Part::Text(text)));
        };
        if let Some(after) = clause.strip_prefix('%') {
            rest = after;
            return Some(Ok(Part::Text("%")));
        }
        Some(verb(clause).map(|(verb, precision, after)| {
            rest = after;
            Part::Clause(verb, precision)
        }))
    })
}

fn format(arguments: &[Value]) -> Result<Value, Failure> {
    let (pattern, values) = match arguments {
        [Value::String(pattern), Value::List(values)] => (pattern, values),
        [Value::Timestamp(time), Value::String(pattern)] => {
            return moments::format_time(*time, pattern, None).map(Value::from);
        }
        [
            Value::Timestamp(time),
            Value::String(pattern),
            Value::String(zone),
        ] => return moments::format_time(*time, pattern, Some(zone)).map(Value::from),
        _ => return Err(Failure::no_overload("format", arguments)),
    };
    let mut text = String::with_capacity(pattern.len());
    let mut next = 0;
    for part in parts(pattern) {
        match part? {
            Part::Text(part) => text.push_str(part),
            Part::Clause(verb, precision) => {
                let value = values.get(next).ok_or_else(|| too_few(next))?;
                next += 1;
                push_clause(&mut text, verb, precision, value)?;
            }
        }
    }
    Ok(Value::from(text))
}

/// Refuses an unknown clause, and more clauses than there are values.
fn refuses_clauses(given: &[Given]) -> Option<Failure> {
    let [Given::Value(Value::String(pattern)), values] = given else {
        return moments::refuses_time_format(given);
    };
    let count = match values {
        Given::Elements(count) => *count,
        Given::Value(_) | Given::Unknown => usize::MAX,
    };
    let mut next = 0;
    for part in parts(pattern) {
        match part {
            Ok(Part::Text(_)) => {}
            Ok(Part::Clause(verb, _)) if !VERBS.contains(verb) => return Some(no_clause(verb)),
            Ok(Part::Clause(..)) if next >= count => return Some(too_few(next)),
            Ok(Part::Clause(..)) => next += 1,
            Err(failure) => return Some(failure),
        }
    }
    None
}

/// Returns the place of the first clause of a pattern that cannot be read or does not exist.
pub fn unknown_clause(pattern: &str) -> Option<Range<usize>> {
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        let start = pattern.len() - rest.len() + at;
        let clause = rest.get(at + 1..)?;
        rest = match (clause.strip_prefix('%'), verb(clause)) {
            (Some(after), _) => after,
            (None, Ok((verb, _, after))) if VERBS.contains(verb) => after,
            (None, _) => {
                let letter = clause.find(|c: char| !"-+#0123456789.,'".contains(c));
                let length = letter.and_then(|letter| {
                    let verb = clause.get(letter..)?.chars().next()?;
                    Some(letter + verb.len_utf8())
                });
                return Some(start..start + 1 + length.unwrap_or(clause.len()));
            }
        };
    }
    None
}

/// Returns the place of the first clause of a pattern for timestamps that does not exist.
pub fn unknown_time_clause(pattern: &str) -> Option<Range<usize>> {
    moments::unknown_time_clause(pattern)
}

/// Returns the letter of each clause of a pattern, up to the first that cannot be read, and the type of the values that
/// it takes. A double that `%d` takes is no number or infinite, which no type states.
pub fn format_clauses(pattern: &str) -> Vec<(char, Type)> {
    let parts = parts(pattern).map_while(Result::ok);
    let clause = |part| match part {
        Part::Text(_) => None,
        Part::Clause(verb, _) => Some((verb, taken_by(verb))),
    };
    parts.filter_map(clause).collect()
}

fn taken_by(verb: char) -> Type {
    match verb {
        'd' | 'o' => Type::union([Type::Int, Type::Uint]),
        'f' | 'e' => Type::union([Type::Int, Type::Uint, Type::Double]),
        'b' => Type::union([Type::Bool, Type::Int, Type::Uint]),
        'x' | 'X' => Type::union([Type::String, Type::Bytes, Type::Int, Type::Uint]),
        _ => Type::Any,
    }
}

fn too_few(next: usize) -> Failure {
    let message =
        format!("index {next} out of range: the string has more clauses than the list has values");
    Failure::new(FailureKind::IndexOutOfRange, message)
}

fn no_clause(verb: char) -> Failure {
    unreadable(&format!("there is no clause `%{verb}`"))
}

/// Parses a clause and returns its letter, its precision, and the text after it.
fn verb(clause: &str) -> Result<(char, Option<usize>, &str), Failure> {
    let (precision, clause) = precision(clause)?;
    let mut characters = clause.chars();
    let verb = characters
        .next()
        .ok_or_else(|| unreadable("it ends after its `%`"))?;
    Ok((verb, precision, characters.as_str()))
}

/// Parses a precision such as `.3` at the start of a clause, and returns it with the text after it.
fn precision(clause: &str) -> Result<(Option<usize>, &str), Failure> {
    let Some(digits) = clause.strip_prefix('.') else {
        return Ok((None, clause));
    };
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    let (number, rest) = digits.split_at(end);
    match number.parse() {
        Ok(precision) if precision <= MAX_PRECISION => Ok((Some(precision), rest)),
        _ => Err(unreadable("the number after `.` is missing or too large")),
    }
}

fn push_clause(
    text: &mut String,
    verb: char,
    precision: Option<usize>,
    value: &Value,
) -> Result<(), Failure> {
    let digits = precision.unwrap_or(DEFAULT_PRECISION);
    let formatted = match verb {
        's' => Some(display(value)),
        'd' => decimal(value),
        'f' => real(value, |number| format!("{number:.digits$}")),
        'e' => real(value, |number| scientific(number, digits)),
        'b' => match value {
            Value::Bool(truth) => Some(u8::from(*truth).to_string()),
            _ => integer(value, |sign, number| format!("{sign}{number:b}")),
        },
        'o' => integer(value, |sign, number| format!("{sign}{number:o}")),
        'x' => hexadecimal(value),
        'X' => hexadecimal(value).map(|digits| digits.to_uppercase()),
        _ => return Err(no_clause(verb)),
    };
    let formatted = formatted.ok_or_else(|| {
        Failure::argument(format!(
            "error during formatting: `%{verb}` does not take a {}",
            value.kind_name()
        ))
    })?;
    text.push_str(&formatted);
    Ok(())
}

/// Formats a value for `%s`, as `string(x)` does, including lists and maps.
fn display(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Timestamp(time) => timestamp_text(*time),
        Value::Duration(length) => duration_text(*length),
        Value::Type(name) => name.as_ref().to_owned(),
        Value::List(elements) => {
            let texts: Vec<String> = elements.iter().map(display).collect();
            format!("[{}]", texts.join(", "))
        }
        Value::Map(entries) => {
            let mut texts: Vec<(String, String)> = entries
                .iter()
                .map(|(key, value)| (key.to_string(), display(value)))
                .collect();
            texts.sort();
            let texts: Vec<String> = texts
                .into_iter()
                .map(|(key, value)| format!("{key}: {value}"))
                .collect();
            format!("{{{}}}", texts.join(", "))
        }
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::Exact(_)
        | Value::String(_) => value.interpolated().unwrap_or_default(),
    }
}

fn decimal(value: &Value) -> Option<String> {
    match value.as_number()? {
        Number::Int(number) => Some(number.to_string()),
        Number::Uint(number) => Some(number.to_string()),
        Number::Double(number) => (!number.is_finite()).then(|| display(&Value::Double(number))),
    }
}

fn real(value: &Value, write: impl Fn(f64) -> String) -> Option<String> {
    let number = value.as_number()?.as_double();
    Some(if number.is_finite() {
        write(number)
    } else {
        display(&Value::Double(number))
    })
}

/// Formats a number with one digit before the decimal point, `digits` after it, and a signed exponent of at least two
/// digits.
fn scientific(number: f64, digits: usize) -> String {
    let text = format!("{number:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |exponent| ('-', exponent));
    format!("{mantissa}e{sign}{exponent:0>2}")
}

fn integer(value: &Value, write: impl Fn(&str, u64) -> String) -> Option<String> {
    match value {
        Value::Int(number) => Some(write(
            if *number < 0 { "-" } else { "" },
            number.unsigned_abs(),
        )),
        Value::Uint(number) => Some(write("", *number)),
        _ => None,
    }
}

fn hexadecimal(value: &Value) -> Option<String> {
    let bytes = |bytes: &[u8]| {
        bytes
            .iter()
            .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
    };
    match value {
        Value::String(text) => Some(bytes(text.as_bytes())),
        Value::Bytes(data) => Some(bytes(data)),
        _ => integer(value, |sign, number| format!("{sign}{number:x}")),
    }
}

fn unreadable(reason: &str) -> Failure {
    Failure::argument(format!("could not parse formatting clause: {reason}"))
}
