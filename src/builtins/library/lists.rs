//! Making and rearranging lists.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::function::{Example, Form, Function, Overload, Shape};
use super::super::{Failure, FailureKind};
use crate::value::{Order, Value};

/// `lists.range` makes no longer list; the cost limit of an evaluation is of the same size.
const LONGEST_RANGE: i64 = 1_000_000;

pub(super) static FUNCTIONS: &[Function] = &[
    Function {
        name: "range",
        forms: &[Form::Namespace("lists")],
        overloads: &[Overload::new(&[Shape::Int], Shape::List(&Shape::Int))],
        page: "The integers from 0 up to a number, without it.",
        examples: &[Example::new("lists.range(3)", "[0,1,2]")],
        body: range,
    },
    Function {
        name: "slice",
        forms: &[Form::Method],
        overloads: &[Overload::new(
            &[Shape::List(&Shape::Variable(0)), Shape::Int, Shape::Int],
            Shape::List(&Shape::Variable(0)),
        )],
        page: "The elements from one position up to another, without it.",
        examples: &[Example::new("[1, 2, 3, 4].slice(1, 3)", "[2,3]")],
        body: slice,
    },
    Function {
        name: "flatten",
        forms: &[Form::Method],
        overloads: &[
            Overload::new(&[Shape::List(&Shape::List(&Shape::Variable(0)))], Shape::List(&Shape::Variable(0))),
            Overload::new(&[Shape::List(&Shape::Any)], Shape::List(&Shape::Any)),
            Overload::new(&[Shape::List(&Shape::Any), Shape::Int], Shape::List(&Shape::Any)),
        ],
        page: "The elements of the lists in a list, one level deep or as many as are asked for.",
        examples: &[
            Example::new("[[1], [2, 3]].flatten()", "[1,2,3]"),
            Example::new("[[1, [2, [3]]]].flatten(2)", "[1,2,[3]]"),
        ],
        body: flatten,
    },
    Function {
        name: "distinct",
        forms: &[Form::Method],
        overloads: &[Overload::new(&[Shape::List(&Shape::Variable(0))], Shape::List(&Shape::Variable(0)))],
        page: "The elements of a list without repetition, in the order in which they first come.",
        examples: &[Example::new("['a', 'b', 'a'].distinct()", r#"["a","b"]"#)],
        body: distinct,
    },
    Function {
        name: "sort",
        forms: &[Form::Method],
        overloads: &[
            Overload::new(&[Shape::List(&Shape::Int)], Shape::List(&Shape::Int)),
            Overload::new(&[Shape::List(&Shape::Uint)], Shape::List(&Shape::Uint)),
            Overload::new(&[Shape::List(&Shape::Double)], Shape::List(&Shape::Double)),
            Overload::new(&[Shape::List(&Shape::Number)], Shape::List(&Shape::Number)),
            Overload::new(&[Shape::List(&Shape::String)], Shape::List(&Shape::String)),
            Overload::new(&[Shape::List(&Shape::Bool)], Shape::List(&Shape::Bool)),
            Overload::new(&[Shape::List(&Shape::Bytes)], Shape::List(&Shape::Bytes)),
            Overload::new(&[Shape::List(&Shape::Timestamp)], Shape::List(&Shape::Timestamp)),
            Overload::new(&[Shape::List(&Shape::Duration)], Shape::List(&Shape::Duration)),
        ],
        page: "The elements of a list in ascending order; equal ones keep theirs.",
        examples: &[Example::new("[3, 1, 2].sort()", "[1,2,3]")],
        body: sort,
    },
];

fn range(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::Int(end)] if *end > LONGEST_RANGE => {
            Err(Failure::new(FailureKind::CostLimit, format!("lists.range makes at most {LONGEST_RANGE} numbers")))
        }
        [Value::Int(end)] => Ok(Value::list((0..*end).map(Value::Int))),
        _ => Err(Failure::no_overload("lists.range", arguments)),
    }
}

fn slice(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements), Value::Int(start), Value::Int(end)] = arguments else {
        return Err(Failure::no_overload("slice", arguments));
    };
    let position = |number: i64| usize::try_from(number).ok();
    let part = position(*start).zip(position(*end)).and_then(|(start, end)| elements.get(start..end));
    part.map(|part| Value::from(part.to_vec())).ok_or_else(|| {
        let message = format!("slice({start}, {end}) of a list of {} elements is out of range", elements.len());
        Failure::new(FailureKind::IndexOutOfRange, message)
    })
}

fn flatten(arguments: &[Value]) -> Result<Value, Failure> {
    let (elements, depth) = match arguments {
        [Value::List(elements)] => (elements, 1),
        [Value::List(_), Value::Int(depth)] if *depth < 0 => {
            return Err(Failure::argument("flatten takes a depth of 0 or more"));
        }
        [Value::List(elements), Value::Int(depth)] => (elements, *depth),
        _ => return Err(Failure::no_overload("flatten", arguments)),
    };
    let mut level: Vec<Value> = elements.to_vec();
    for _ in 0..depth {
        if !level.iter().any(|element| matches!(element, Value::List(_))) {
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
    let [Value::List(elements)] = arguments else { return Err(Failure::no_overload("distinct", arguments)) };
    let mut kept: Vec<Value> = Vec::new();
    let mut keys = std::collections::HashSet::new();
    for element in elements.iter() {
        // Scalars are looked up, so that long lists of them cost no square.
        let new = match crate::value::Key::sought(element) {
            Some(key) => keys.insert(key),
            None => !kept.contains(element),
        };
        if new {
            kept.push(element.clone());
        }
    }
    Ok(Value::from(kept))
}

fn sort(arguments: &[Value]) -> Result<Value, Failure> {
    let [Value::List(elements)] = arguments else { return Err(Failure::no_overload("sort", arguments)) };
    let stranger = elements.windows(2).find(|pair| matches!(pair, [a, b] if a.order(b) == Order::Incomparable));
    if stranger.is_some() || matches!(&elements[..], [only] if only.order(only) == Order::Incomparable) {
        return Err(Failure::argument("sort takes elements that have an order among each other"));
    }
    let mut sorted = Arc::clone(elements);
    Arc::make_mut(&mut sorted).sort_by(|a, b| match a.order(b) {
        Order::Known(ordering) => ordering,
        Order::Unordered | Order::Incomparable => beside_nan(a).cmp(&beside_nan(b)),
    });
    Ok(Value::List(sorted))
}

/// NaN sorts behind every number, so that the order is total.
fn beside_nan(value: &Value) -> bool {
    value.as_number().is_some_and(|number| number.order(number) != Some(Ordering::Equal))
}
