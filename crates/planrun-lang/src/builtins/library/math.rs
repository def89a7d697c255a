//! Functions of the namespace `math`.

use std::cmp::Ordering;

use super::super::function::{Example, Form, Function, Given, Overload, Shape};
use super::super::{Failure, FailureKind};
use crate::value::{Number, Value};

/// One number, a list of numbers, or up to six numbers.
const EXTREMES: &[Overload] = overloads![
    (Int) -> Int, (Uint) -> Uint, (Double) -> Double, ([Int]) -> Int, ([Uint]) -> Uint,
    ([Double]) -> Double, ([Number]) -> Number, (Int, Int) -> Int, (Uint, Uint) -> Uint,
    (Double, Double) -> Double, (Number, Number) -> Number, (Int, Int, Int) -> Int,
    (Double, Double, Double) -> Double, (Number, Number, Number) -> Number,
    (Number, Number, Number, Number) -> Number, (Number, Number, Number, Number, Number) -> Number,
    (Number, Number, Number, Number, Number, Number) -> Number
];
const DOUBLE: &[Overload] = overloads![(Double) -> Double];
const TEST: &[Overload] = overloads![(Double) -> Bool];
const SAME: &[Overload] = overloads![(Int) -> Int, (Uint) -> Uint, (Double) -> Double];
const BITS: &[Overload] = overloads![(Int, Int) -> Int, (Uint, Uint) -> Uint];
const SHIFT: &[Overload] = overloads![(Int, Int) -> Int, (Uint, Int) -> Uint];

pub(super) static FUNCTIONS: &[Function] = &[
    function!(math "greatest", EXTREMES, "The largest of several numbers or of a list of numbers.",
        ["math.greatest(1, 3, 2)" => "3"],
        |arguments| extreme("math.greatest", arguments, Ordering::Greater)),
    function!(math "least", EXTREMES, "The smallest of several numbers or of a list of numbers.",
        ["math.least([4.5, 2.5])" => "2.5"],
        |arguments| extreme("math.least", arguments, Ordering::Less)),
    function!(math "ceil", DOUBLE, "The smallest whole number that is not below a double.",
        ["math.ceil(1.2)" => "2"], |arguments| rounded("math.ceil", arguments, f64::ceil)),
    function!(math "floor", DOUBLE, "The largest whole number that is not above a double.",
        ["math.floor(-1.2)" => "-2"], |arguments| rounded("math.floor", arguments, f64::floor)),
    function!(math "round", DOUBLE, "The nearest whole number; halves are rounded away from zero.",
        ["math.round(2.5)" => "3"], |arguments| rounded("math.round", arguments, f64::round)),
    function!(math "trunc", DOUBLE, "A double without its fraction.",
        ["math.trunc(-1.7)" => "-1"], |arguments| rounded("math.trunc", arguments, f64::trunc)),
    function!(math "isNaN", TEST, "Whether a double is not a number.",
        ["math.isNaN(0.0 / 0.0)" => "true"],
        |arguments| tested("math.isNaN", arguments, f64::is_nan)),
    function!(math "isInf", TEST, "Whether a double is infinite.",
        ["math.isInf(-1.0 / 0.0)" => "true"],
        |arguments| tested("math.isInf", arguments, f64::is_infinite)),
    function!(math "isFinite", TEST, "Whether a double is a finite number.",
        ["math.isFinite(1.5)" => "true"],
        |arguments| tested("math.isFinite", arguments, f64::is_finite)),
    function!(math "abs", SAME, "The absolute value of a number.",
        ["math.abs(-3)" => "3"], abs),
    function!(math "sign", SAME, "-1, 0 or 1 for a number that is negative, zero or positive.",
        ["math.sign(-2.5)" => "-1"], sign),
    function!(math "sqrt", [(Number) -> Double], "The square root of a number.",
        ["math.sqrt(9)" => "3"], sqrt),
    function!(math "bitAnd", BITS, "The bits that are set in both integers.",
        ["math.bitAnd(6, 3)" => "2"], |arguments| bits("math.bitAnd", arguments, |a, b| a & b)),
    function!(math "bitOr", BITS, "The bits that are set in either integer.",
        ["math.bitOr(6, 3)" => "7"], |arguments| bits("math.bitOr", arguments, |a, b| a | b)),
    function!(math "bitXor", BITS, "The bits that are set in exactly one of two integers.",
        ["math.bitXor(6, 3)" => "5"], |arguments| bits("math.bitXor", arguments, |a, b| a ^ b)),
    function!(math "bitNot", [(Int) -> Int, (Uint) -> Uint], "The bits that are not set in an integer.",
        ["math.bitNot(1)" => "-2"], bit_not),
    function!(math "bitShiftLeft", SHIFT,
        "An integer shifted to the left; bits beyond its width are lost.",
        ["math.bitShiftLeft(1, 4)" => "16"],
        |arguments| shifted("math.bitShiftLeft", arguments, u64::checked_shl),
        refuses: |given| refuses_shift("math.bitShiftLeft", given)),
    function!(math "bitShiftRight", SHIFT,
        "An integer shifted to the right and filled with zeros.",
        ["math.bitShiftRight(16, 4)" => "1"],
        |arguments| shifted("math.bitShiftRight", arguments, u64::checked_shr),
        refuses: |given| refuses_shift("math.bitShiftRight", given)),
];

fn extreme(name: &str, arguments: &[Value], direction: Ordering) -> Result<Value, Failure> {
    let numbers = if let [Value::List(elements)] = arguments {
        elements
    } else {
        arguments
    };
    let mut best: Option<(&Value, Number)> = None;
    for value in numbers {
        let number = value
            .as_number()
            .ok_or_else(|| Failure::no_overload(name, arguments))?;
        if best.is_none_or(|(_, known)| number.order(known) == Some(direction)) {
            best = Some((value, number));
        }
    }
    best.map(|(value, _)| value.clone())
        .ok_or_else(|| Failure::argument(format!("{name} needs at least one number")))
}

fn rounded(name: &str, arguments: &[Value], round: fn(f64) -> f64) -> Result<Value, Failure> {
    double(name, arguments).map(|number| Value::Double(round(number)))
}

fn tested(name: &str, arguments: &[Value], test: fn(f64) -> bool) -> Result<Value, Failure> {
    double(name, arguments).map(|number| Value::Bool(test(number)))
}

fn double(name: &str, arguments: &[Value]) -> Result<f64, Failure> {
    match arguments {
        [Value::Double(number)] => Ok(*number),
        [Value::Exact(exact)] => Ok(exact.value),
        _ => Err(Failure::no_overload(name, arguments)),
    }
}

fn abs(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::Int(number)] => number.checked_abs().map(Value::Int).ok_or_else(|| {
            Failure::new(
                FailureKind::Overflow,
                "overflow: the result of `math.abs` does not fit int",
            )
        }),
        [Value::Uint(number)] => Ok(Value::Uint(*number)),
        _ => double("math.abs", arguments).map(|number| Value::Double(number.abs())),
    }
}

fn sign(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::Int(number)] => Ok(Value::Int(number.signum())),
        [Value::Uint(number)] => Ok(Value::Uint(u64::from(*number > 0))),
        _ => double("math.sign", arguments).map(|number| {
            Value::Double(if number == 0.0 || number.is_nan() {
                number
            } else {
                number.signum()
            })
        }),
    }
}

fn sqrt(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [argument] => match argument.as_number() {
            Some(number) => Ok(Value::Double(number.as_double().sqrt())),
            None => Err(Failure::no_overload("math.sqrt", arguments)),
        },
        _ => Err(Failure::no_overload("math.sqrt", arguments)),
    }
}

fn bits(name: &str, arguments: &[Value], combine: fn(u64, u64) -> u64) -> Result<Value, Failure> {
    match arguments {
        [Value::Int(a), Value::Int(b)] => Ok(Value::Int(
            combine(a.cast_unsigned(), b.cast_unsigned()).cast_signed(),
        )),
        [Value::Uint(a), Value::Uint(b)] => Ok(Value::Uint(combine(*a, *b))),
        _ => Err(Failure::no_overload(name, arguments)),
    }
}

fn bit_not(arguments: &[Value]) -> Result<Value, Failure> {
    match arguments {
        [Value::Int(number)] => Ok(Value::Int(!number)),
        [Value::Uint(number)] => Ok(Value::Uint(!number)),
        _ => Err(Failure::no_overload("math.bitNot", arguments)),
    }
}

fn refuses_shift(name: &str, given: &[Given]) -> Option<Failure> {
    matches!(given, [_, Given::Value(Value::Int(by))] if *by < 0).then(|| shift_too_small(name))
}

fn shift_too_small(name: &str) -> Failure {
    Failure::argument(format!("{name} takes a shift of 0 or more"))
}

fn shifted(
    name: &str,
    arguments: &[Value],
    shift: fn(u64, u32) -> Option<u64>,
) -> Result<Value, Failure> {
    let by = match arguments {
        [Value::Int(_) | Value::Uint(_), Value::Int(by)] if *by < 0 => {
            return Err(shift_too_small(name));
        }
        [Value::Int(_) | Value::Uint(_), Value::Int(by)] => u32::try_from(*by).unwrap_or(u32::MAX),
        _ => return Err(Failure::no_overload(name, arguments)),
    };
    match arguments {
        [Value::Int(number), _] => Ok(Value::Int(
            shift(number.cast_unsigned(), by).unwrap_or(0).cast_signed(),
        )),
        [Value::Uint(number), _] => Ok(Value::Uint(shift(*number, by).unwrap_or(0))),
        _ => Err(Failure::no_overload(name, arguments)),
    }
}
