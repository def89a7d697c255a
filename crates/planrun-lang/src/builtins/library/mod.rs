//! The functions of the language, with one module per subject.

/// A type in a signature: `[T]` is a list, `{K: V}` a map, `(V?)` the type or null, `(Entry V)` an object with a key
/// and a value. `T` is the same type throughout an overload.
macro_rules! shape {
    (T) => {
        Shape::Variable(0)
    };
    ([$element:tt]) => {
        Shape::List(&shape!($element))
    };
    ({$key:tt: $value:tt}) => {
        Shape::Map(&shape!($key), &shape!($value))
    };
    (($inner:tt ?)) => {
        Shape::Optional(&shape!($inner))
    };
    ((Entry $value:tt)) => {
        Shape::Entry(&shape!($value))
    };
    ($name:ident) => {
        Shape::$name
    };
}

/// Signatures: the types of parameters and result.
macro_rules! overloads {
    ($(($($parameter:tt),+) -> $result:tt $(.$modifier:ident())?),+) => {
        &[$(Overload::new(&[$(shape!($parameter)),+], shape!($result))$(.$modifier())?),+]
    };
}

/// A function descriptor: the forms with the name, the signatures, the description, examples with their results, and
/// the body; optionally what the function refuses before the run, and whether it traverses its arguments.
macro_rules! function {
    ($($form:ident)+ $name:literal, [$($overloads:tt)+], $($rest:tt)+) => {
        function!($($form)+ $name, overloads![$($overloads)+], $($rest)+)
    };
    ($($form:ident)+ $name:literal, $overloads:expr, $description:literal,
        [$($example:literal => $result:literal),+], $body:expr
        $(, refuses: $refuses:expr)? $(; $walks:ident)?
    ) => {
        Function {
            name: $name,
            forms: &[$(function!(@ $form)),+],
            overloads: $overloads,
            description: $description,
            examples: &[$(Example { expression: $example, result: $result }),+],
            body: $body,
            refuses: function!(@ refuses $($refuses)?),
            walks: function!(@ walks $($walks)?),
        }
    };
    (@ refuses) => { None };
    (@ refuses $refuses:expr) => { Some($refuses) };
    (@ walks) => { false };
    (@ walks walks) => { true };
    (@ Global) => { Form::Global };
    (@ Method) => { Form::Method };
    (@ $namespace:ident) => { Form::Namespace(stringify!($namespace)) };
}

mod collections;
mod conversions;
mod encoding;
mod format;
mod lists;
mod math;
mod moments;
mod strings;
mod text;

pub use format::{format_clauses, unknown_clause, unknown_time_clause};

use super::Function;

/// All functions, by subject.
pub static SUBJECTS: &[(&str, &[Function])] = &[
    ("Conversions", conversions::FUNCTIONS),
    ("Collections", collections::FUNCTIONS),
    ("Lists", lists::FUNCTIONS),
    ("Strings", text::FUNCTIONS),
    ("Parts and spelling of strings", strings::FUNCTIONS),
    ("Templates", format::FUNCTIONS),
    ("Times and durations", moments::FUNCTIONS),
    ("Numbers", math::FUNCTIONS),
    ("Encodings", encoding::FUNCTIONS),
];
