//! Functions that create and transform lists.

use std::cmp::Ordering;

use foldhash::{HashSet, HashSetExt as _};

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, FailureKind, operators};
use crate::value::{Order, Value, counted};

/// Maximum length of a list from `lists.range`, equal to the cost limit of an evaluation.
const MAX_RANGE: i64 = 1_000_000;

/// The overloads of `min` and `max`.
const EXTREMES: &[Overload] = overloads![
    ([Int]) -> (Int?), ([Uint]) -> (Uint?), ([Double]) -> (Double?), ([Number]) -> (Number?),
    ([String]) -> (String?), ([Bool]) -> (Bool?), ([Bytes]) -> (Bytes?),
    ([Timestamp]) -> (Timestamp?), ([Duration]) -> (Duration?)
];

pub(super) static FUNCTIONS: &[Function] = &[
    function!(lists "range", [(Int) -> [Int]], "The integers from 0 up to a number, excluding it.",
        ["lists.range(3)" => "[0,1,2]"], range),
    function!(Method "slice", [([T], Int, Int) -> [T]],
        "The elements from one position up to another, excluding it.",
        ["[1, 2, 3, 4].slice(1, 3)" => "[2,3]"], slice, refuses: refuses_slice),
    function!(Method "flatten", [([[T]]) -> [T], ([Any]) -> [Any], ([Any], Int) -> [Any]],
        "The elements of the lists in a list, flattened by one level or by the given number of levels.",
        ["[[1], [2, 3]].flatten()" => "[1,2,3]", "[[1, [2, [3]]]].flatten(2)" => "[1,2,[3]]"],
        flatten, refuses: refuses_depth; walks),
    function!(Method "distinct", [([T]) -> [T]],
        "The distinct elements of a list, in the order of their first occurrence.",
        ["['a', 'b', 'a'].distinct()" => r#"["a","b"]"#], distinct; walks),
    function!(Method "sort",
        [([Int]) -> [Int], ([Uint]) -> [Uint], ([Double]) -> [Double], ([Number]) -> [Number],
         ([String]) -> [String], ([Bool]) -> [Bool], ([Bytes]) -> [Bytes],
         ([Timestamp]) -> [Timestamp], ([Duration]) -> [Duration]],
        "The elements of a list in ascending order; equal elements keep their order.",
        ["[3, 1, 2].sort()" => "[1,2,3]"], sort),
    function!(Method "first", [([T]) -> (T?)],
        "The first element of a list; null if it is empty.",
        ["[3, 1].first()" => "3", "[].first()" => "null"], first),
    function!(Method "last", [([T]) -> (T?)],
        "The last element of a list; null if it is empty.",
        ["[3, 1].last() ?? 0" => "1"], last),
    function!(Method "take", [([T], Int) -> [T]], "The first elements of a list, at most the given number.",
        ["[3, 1, 2].take(2)" => "[3,1]"], take, refuses: refuses_count),
    function!(Method "drop", [([T], Int) -> [T]],
        "The elements of a list without the first ones, as many as the given number.",
        ["[3, 1, 2].drop(2)" => "[2]", "[3].drop(2)" => "[]"], drop, refuses: refuses_dropped),
    function!(Method "min", EXTREMES, "The smallest element of a list; null if it is empty.",
        ["[3, 1, 2].min()" => "1", "['b', 'a'].min()" => "\"a\""],
        |arguments| extreme("min", arguments, Ordering::Less)),
    function!(Method "max", EXTREMES, "The largest element of a list; null if it is empty.",
        ["[3, 1, 2].max()" => "3", "[].max() ?? 0" => "0"],
        |arguments| extreme("max", arguments, Ordering::Greater)),
];

fn range(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::Int(end)] if *end > MAX_RANGE => Err(Failure::new(
            FailureKind::CostLimit,
            format!("lists.range returns at most {MAX_RANGE} numbers"),
        )),
        [Value::Int(end)] => Ok(Value::list((0..*end).map(Value::Int))),
        _ => Err(Failure::no_overload("lists.range", arguments)),
    }
}

fn slice(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements), Value::Int(start), Value::Int(end)] = arguments else {
        return Err(Failure::no_overload("slice", arguments));
    };
    let position = |number: i64| usize::try_from(number).ok();
    let part = position(*start)
        .zip(position(*end))
        .and_then(|(start, end)| elements.get(start..end));
    part.map(|part| Value::from(part.to_vec())).ok_or_else(|| {
        let message = format!(
            "slice({start}, {end}) of a list of {} is out of range",
            counted(elements.len(), "element")
        );
        Failure::new(FailureKind::IndexOutOfRange, message)
    })
}

/// Refuses positions that are invalid for every list.
fn refuses_slice(given: &[Given]) -> Option<Failure> {
    let [_, start, end] = given else { return None };
    let position = |given: &Given| {
        if let Given::Value(Value::Int(position)) = given {
            Some(*position)
        } else {
            None
        }
    };
    let message = match (position(start), position(end)) {
        (Some(start), Some(end)) if start > end => {
            format!("slice({start}, {end}) begins after its end")
        }
        (Some(negative), _) | (_, Some(negative)) if negative < 0 => {
            format!("slice takes positions of 0 or more, not {negative}")
        }
        _ => return None,
    };
    Some(Failure::new(FailureKind::IndexOutOfRange, message))
}

fn refuses_depth(given: &[Given]) -> Option<Failure> {
    matches!(given, [_, Given::Value(Value::Int(depth))] if *depth < 0).then(depth_too_small)
}

fn depth_too_small() -> Failure {
    Failure::argument("flatten takes a depth of 0 or more")
}

fn flatten(arguments: &[Value]) -> Result<Value, Failure> {
    let (elements, depth) = match arguments {
        [Value::List(elements)] => (elements, 1),
        [Value::List(_), Value::Int(depth)] if *depth < 0 => return Err(depth_too_small()),
        [Value::List(elements), Value::Int(depth)] => (elements, *depth),
        _ => return Err(Failure::no_overload("flatten", arguments)),
    };
    let mut level: Vec<Value> = elements.to_vec();
    for _ in 0..depth {
        if !level
            .iter()
            .any(|element| matches!(element, Value::List(_)))
        {
            break;
        }
        let mut next = Vec::with_capacity(level.len());
        for element in level {
            match element {
                Value::List(inner) => next.extend(inner.iter().cloned()),
                other => next.push(other),
            }
        }
        level = next;
    }
    Ok(Value::from(level))
}

fn distinct(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else {
        return Err(Failure::no_overload("distinct", arguments));
    };
    let mut seen = HashSet::with_capacity(elements.len());
    let kept = elements
        .iter()
        .filter(|element| contains_nan(element) || seen.insert(Element(element)));
    Ok(Value::list(kept.cloned()))
}

/// Returns true if a value contains NaN. Such a value equals nothing, not even itself.
fn contains_nan(value: &Value) -> bool {
    let same = value;
    value != same
}

/// A value that equals itself.
#[derive(PartialEq, Hash)]
struct Element<'a>(&'a Value);

impl Eq for Element<'_> {}

fn sort(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else {
        return Err(Failure::no_overload("sort", arguments));
    };
    operators::ascending(elements.to_vec(), |element| element).map(Value::from)
}

fn first(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else {
        return Err(Failure::no_overload("first", arguments));
    };
    Ok(elements.first().cloned().unwrap_or(Value::Null))
}

fn last(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else {
        return Err(Failure::no_overload("last", arguments));
    };
    Ok(elements.last().cloned().unwrap_or(Value::Null))
}

fn take(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::List(_), Value::Int(count)] if *count < 0 => Err(negative_count("take", *count)),
        [Value::List(elements), Value::Int(count)] => Ok(Value::list(
            elements
                .iter()
                .take(usize::try_from(*count).unwrap_or(usize::MAX))
                .cloned(),
        )),
        _ => Err(Failure::no_overload("take", arguments)),
    }
}

fn drop(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::List(_), Value::Int(count)] if *count < 0 => Err(negative_count("drop", *count)),
        [Value::List(elements), Value::Int(count)] => Ok(Value::list(
            elements
                .iter()
                .skip(usize::try_from(*count).unwrap_or(usize::MAX))
                .cloned(),
        )),
        _ => Err(Failure::no_overload("drop", arguments)),
    }
}

fn refuses_count(given: &[Given]) -> Option<Failure> {
    refused_count("take", given)
}

fn refuses_dropped(given: &[Given]) -> Option<Failure> {
    refused_count("drop", given)
}

fn refused_count(name: &str, given: &[Given]) -> Option<Failure> {
    match given {
        [_, Given::Value(Value::Int(count))] if *count < 0 => Some(negative_count(name, *count)),
        _ => None,
    }
}

fn negative_count(name: &str, count: i64) -> Failure {
    Failure::argument(format!(
        "the number of elements in `{name}({count})` must be 0 or more"
    ))
}

/// Returns the first minimum or maximum.
fn extreme(name: &str, arguments: &[Value], direction: Ordering) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else {
        return Err(Failure::no_overload(name, arguments));
    };
    let mut best: Option<&Value> = None;
    for element in elements.iter() {
        let better = match best.unwrap_or(element).order(element) {
            Order::Known(ordering) => ordering == direction.reverse(),
            // NaN is neither; any number after it replaces it.
            Order::Unordered => best.is_some_and(operators::is_nan),
            Order::Incomparable => return Err(operators::no_order()),
        };
        if best.is_none() || better {
            best = Some(element);
        }
    }
    Ok(best.cloned().unwrap_or(Value::Null))
}
