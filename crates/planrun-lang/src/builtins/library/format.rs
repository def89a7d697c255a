//! The function `format`: `"%s: %.2f".format([name, amount])`.

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, FailureKind};
use crate::value::{Number, Value, duration_text, timestamp_text};

/// The letters of formatting clauses.
const VERBS: &str = "sdfeboxX";
/// Number of digits after the decimal point if a clause does not state it.
const DEFAULT_PRECISION: usize = 6;
/// Maximum number of digits after the decimal point.
const MAX_PRECISION: usize = 1_000;

pub(super) static FUNCTIONS: &[Function] = &[
    function!(Method "format", [(String, [Any]) -> String],
        "A string with its clauses `%s %d %f %e %x %X %o %b` filled from a list; `%%` is a percent sign.",
        ["'%s: %.2f, %d%%'.format(['a', 1.5, 7])" => "\"a: 1.50, 7%\""],
        format, refuses: refuses_clauses; walks),
];

fn format(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::String(pattern), Value::List(values)] = arguments else {
        return Err(Failure::no_overload("format", arguments));
    };
    let mut text = String::with_capacity(pattern.len());
    let mut next = 0;
    let mut rest: &str = pattern;
    while let Some((before, clause)) = rest.split_once('%') {
        text.push_str(before);
        if let Some(after) = clause.strip_prefix('%') {
            text.push('%');
            rest = after;
            continue;
        }
        let (verb, precision, after) = verb(clause)?;
        rest = after;
        let value = values.get(next).ok_or_else(|| too_few(next))?;
        next += 1;
        push_clause(&mut text, verb, precision, value)?;
    }
    text.push_str(rest);
    Ok(Value::from(text))
}

/// Refuses an unknown clause, and more clauses than there are values.
fn refuses_clauses(given: &[Given]) -> Option<Failure> {
    let [Given::Value(Value::String(pattern)), values] = given else {
        return None;
    };
    let count = match values {
        Given::Elements(count) => *count,
        Given::Value(_) | Given::Unknown => usize::MAX,
    };
    let (mut next, mut rest): (_, &str) = (0, pattern);
    while let Some((_, clause)) = rest.split_once('%') {
        if let Some(after) = clause.strip_prefix('%') {
            rest = after;
            continue;
        }
        match verb(clause) {
            Ok((verb, _, _)) if !VERBS.contains(verb) => return Some(no_clause(verb)),
            Ok(_) if next >= count => return Some(too_few(next)),
            Ok((_, _, after)) => rest = after,
            Err(failure) => return Some(failure),
        }
        next += 1;
    }
    None
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
