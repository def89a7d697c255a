//! Looking into text: the string functions of the Common Expression Language itself.

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, compile_pattern};
use crate::value::Value;

const TEXTS: &[Overload] = &[Overload::new(&[Shape::String, Shape::String], Shape::Bool)];

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "contains",
        forms: &[Form::Method],
        overloads: TEXTS,
        page: "Whether a text has another one somewhere in it.",
        examples: &[Example::new("'seafood'.contains('foo')", "true")],
        body: contains,
        ..Function::PLAIN
    },
    Function {
        name: "startsWith",
        forms: &[Form::Method],
        overloads: TEXTS,
        page: "Whether a text begins with another one.",
        examples: &[Example::new("'WZ001'.startsWith('WZ')", "true")],
        body: starts_with,
        ..Function::PLAIN
    },
    Function {
        name: "endsWith",
        forms: &[Form::Method],
        overloads: TEXTS,
        page: "Whether a text ends with another one.",
        examples: &[Example::new("'a@example.com'.endsWith('.org')", "false")],
        body: ends_with,
        ..Function::PLAIN
    },
    Function {
        name: "matches",
        forms: &[Form::Global, Form::Method],
        overloads: TEXTS,
        page: "Whether a regular expression matches somewhere in a text; `^` and `$` bind it to the whole.",
        examples: &[Example::new("'WZ001'.matches('^[A-Z]{2}[0-9]+$')", "true")],
        body: matches,
        refuses: Some(refuses_pattern),
        ..Function::PLAIN
    },
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
