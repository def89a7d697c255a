//! The shape of a descriptor: what a function is called, takes, gives and does.

use super::Failure;
use crate::value::Value;

/// Why a function fails whatever it is asked about, seen from the arguments that are known.
pub type Refusal = fn(&[Given]) -> Option<Failure>;

/// One function. Its forms share a body, which chooses by the kinds of the values it is given.
pub struct Function {
    pub name: &'static str,
    /// How it may be called.
    pub forms: &'static [Form],
    pub overloads: &'static [Overload],
    /// One sentence.
    pub page: &'static str,
    pub examples: &'static [Example],
    /// A method's receiver is the first argument.
    pub body: fn(&[Value]) -> Result<Value, Failure>,
    /// Why it fails for every value of the arguments that are not known, where it does: what it is told before the run,
    /// such as the name of a time zone, can be wrong whatever it is asked about.
    pub refuses: Option<Refusal>,
    /// Whether it looks at all that is in what it is given.
    pub walks: bool,
}

/// What is known of an argument before the run.
#[derive(Clone, Debug)]
pub enum Given {
    Value(Value),
    /// A list of so many elements.
    Elements(usize),
    Unknown,
}

/// A way to call a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `size(x)`
    Global,
    /// `x.size()`
    Method,
    /// `math.greatest(x)`
    Namespace(&'static str),
}

/// Types of parameters and result; a method's receiver is the first parameter.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    pub parameters: &'static [Shape],
    pub result: Shape,
    /// Whether the values alone do not tell the kind of number that comes out, as with the sum of an empty list. What
    /// the body gives becomes one of the type of the result.
    pub converted: bool,
}

/// A type as a descriptor writes it.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Any,
    Null,
    Bool,
    Int,
    Uint,
    Double,
    String,
    Bytes,
    Timestamp,
    Duration,
    Type,
    List(&'static Shape),
    /// A map or an object.
    Map(&'static Shape, &'static Shape),
    /// `int`, `uint` or `double`; as a result their union.
    Number,
    /// The same type wherever this number stands in one overload.
    Variable(u8),
    /// `{ key: string, value: T }`
    Entry(&'static Shape),
    /// The type or null; only as a result.
    Optional(&'static Shape),
}

impl Overload {
    pub(super) const fn new(parameters: &'static [Shape], result: Shape) -> Self {
        Self {
            parameters,
            result,
            converted: false,
        }
    }

    /// The same, where the type tells which kind of number comes out.
    pub(super) const fn converted(self) -> Self {
        Self {
            converted: true,
            ..self
        }
    }
}

/// An expression and the text of its result as JSON.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    pub expression: &'static str,
    pub result: &'static str,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
