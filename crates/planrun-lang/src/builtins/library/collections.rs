//! Functions of lists, maps and whole values: `size`, `sum`, `entries`, `merge`, `json`.

use super::super::Failure;
use super::super::function::{Example, Form, Function, Overload, Shape};
use super::super::operators::{self, Arithmetic};
use crate::value::{Key, Map, Number, Value};

pub(super) static FUNCTIONS: &[Function] = &[
    function!(Global Method "size",
        [(String) -> Int, (Bytes) -> Int, ([Any]) -> Int, ({Any: Any}) -> Int],
        "The number of elements, entries, characters or bytes.",
        ["size([1, 2])" => "2", "'名字'.size()" => "2"], size),
    function!(Global "sum",
        [([Int]) -> Int, ([Uint]) -> Uint.converted(), ([Double]) -> Double.converted(),
         ([Number]) -> Double.converted()],
        "The sum of a list of numbers, a double if they are not all ints; 0 for an empty list.",
        ["sum([1, 2, 3])" => "6", "sum([1, 1.5])" => "2.5"], sum),
    function!(Global "entries", [({String: T}) -> [(Entry T)]],
        "The entries of a map as a list of `{ key, value }`, sorted by key.",
        ["entries({'b': 2, 'a': 1})[0]" => r#"{"key":"a","value":1}"#], entries),
    function!(Global "merge", [({String: Any}, {String: Any}) -> {String: Any}],
        "The entries of two maps; if both have a key, the value of the second one.",
        ["merge({'a': 1, 'b': 2}, {'b': 3})" => r#"{"a":1,"b":3}"#], merge),
    function!(Global "json", [(Any) -> String], "The compact JSON text of any value.",
        ["json({a: [1, null]})" => r#""{\"a\":[1,null]}""#], json; walks),
];

fn size(arguments: &[Value]) -> Result<Value, Failure> {
    let count = match arguments {
        [Value::String(text)] => text.chars().count(),
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(elements)] => elements.len(),
        [Value::Map(entries)] => entries.len(),
        _ => return Err(Failure::no_overload("size", arguments)),
    };
    Ok(Value::Int(i64::try_from(count).unwrap_or(i64::MAX)))
}

fn sum(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else {
        return Err(Failure::no_overload("sum", arguments));
    };
    let numbers: Option<Vec<Number>> = elements.iter().map(Value::as_number).collect();
    let numbers = numbers.ok_or_else(|| Failure::no_overload("sum", arguments))?;
    let alike = |kind: fn(&Value) -> bool| elements.iter().all(kind);
    if !(alike(|value| matches!(value, Value::Int(_)))
        || alike(|value| matches!(value, Value::Uint(_))))
    {
        return Ok(Value::Double(
            numbers.into_iter().map(Number::as_double).sum(),
        ));
    }
    let first = elements.first().cloned().unwrap_or(Value::Int(0));
    elements.iter().skip(1).try_fold(first, |total, number| {
        operators::arithmetic(Arithmetic::Add, total, number)
    })
}

fn entries(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::Map(map)] = arguments else {
        return Err(Failure::no_overload("entries", arguments));
    };
    let mut pairs: Vec<(&Key, &Value)> = map.iter().collect();
    pairs.sort_by_key(|(key, _)| *key);
    let entry = |(key, value): (&Key, &Value)| {
        Value::from(Map::from_iter([
            (Key::from("key"), Value::from(key)),
            (Key::from("value"), value.clone()),
        ]))
    };
    Ok(Value::list(pairs.into_iter().map(entry)))
}

fn merge(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::Map(first), Value::Map(second)] = arguments else {
        return Err(Failure::no_overload("merge", arguments));
    };
    let entries = first.iter().chain(second.iter());
    let merged: Map = entries
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(Value::from(merged))
}

fn json(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [argument] => Ok(Value::from(argument.to_json_text())),
        _ => Err(Failure::no_overload("json", arguments)),
    }
}
