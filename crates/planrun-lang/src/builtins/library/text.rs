//! The string functions of the Common Expression Language itself.

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, compile_pattern};
use crate::value::Value;

const TEXTS: &[Overload] = overloads![(String, String) -> Bool];

pub(super) static FUNCTIONS: &[Function] = &[
    function!(Method "contains", TEXTS, "Whether a string contains another one.",
        ["'seafood'.contains('foo')" => "true"], contains),
    function!(Method "startsWith", TEXTS, "Whether a string begins with another one.",
        ["'WZ001'.startsWith('WZ')" => "true"], starts_with),
    function!(Method "endsWith", TEXTS, "Whether a string ends with another one.",
        ["'a@example.com'.endsWith('.org')" => "false"], ends_with),
    function!(Global Method "matches", TEXTS,
        "Whether a regular expression matches somewhere in a string; `^` and `$` match its start and end.",
        ["'WZ001'.matches('^[A-Z]{2}[0-9]+$')" => "true"], matches, refuses: refuses_pattern),
];

fn contains(arguments: &[Value]) -> Result<Value, Failure> {
    compare("contains", arguments, |text, part| text.contains(part))
}

fn starts_with(arguments: &[Value]) -> Result<Value, Failure> {
    compare("startsWith", arguments, |text, part| text.starts_with(part))
}

fn ends_with(arguments: &[Value]) -> Result<Value, Failure> {
    compare("endsWith", arguments, |text, part| text.ends_with(part))
}

fn matches(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::String(text), Value::String(pattern)] => {
            Ok(Value::Bool(compile_pattern(pattern)?.is_match(text)))
        }
        _ => Err(Failure::no_overload("matches", arguments)),
    }
}

fn refuses_pattern(given: &[Given]) -> Option<Failure> {
    let [_, Given::Value(Value::String(pattern))] = given else {
        return None;
    };
    compile_pattern(pattern).err()
}

fn compare(
    name: &str,
    arguments: &[Value],
    holds: fn(&str, &str) -> bool,
) -> Result<Value, Failure> {
    match arguments {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(holds(text, part))),
        _ => Err(Failure::no_overload(name, arguments)),
    }
}
