//! Descriptors of functions: name, forms, signatures and body.

use super::Failure;
use crate::value::Value;

/// Returns the failure that the known arguments cause for every value of the others; `None` if there is none.
pub type Refusal = fn(&[Given]) -> Option<Failure>;

/// A function. All its forms share one body, which selects the overload by the kinds of its arguments.
pub struct Function {
    pub name: &'static str,
    /// The ways in which it can be called.
    pub forms: &'static [Form],
    pub overloads: &'static [Overload],
    /// One sentence.
    pub description: &'static str,
    pub examples: &'static [Example],
    /// The implementation. A method's receiver is the first argument.
    pub body: fn(&[Value]) -> Result<Value, Failure>,
    /// Checks the arguments that are known before the run. The name of a time zone, for example, can be wrong whatever
    /// the other arguments are.
    pub refuses: Option<Refusal>,
    /// Whether it traverses everything in its arguments.
    pub walks: bool,
}

/// An argument as far as it is known before the run.
#[derive(Clone, Debug)]
pub enum Given {
    Value(Value),
    /// A list with this number of elements.
    Elements(usize),
    Unknown,
}

/// A form in which a function can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `size(x)`
    Global,
    /// `x.size()`
    Method,
    /// `math.greatest(x)`
    Namespace(&'static str),
}

/// The types of the parameters and of the result. A method's receiver is the first parameter.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    pub parameters: &'static [Shape],
    pub result: Shape,
    /// Whether the arguments alone do not determine the numeric kind of the result, as with the sum of an empty list.
    /// The result is then converted to the result type.
    pub converted: bool,
}

/// A type in a descriptor.
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
    /// A type variable: the same number means the same type throughout an overload.
    Variable(u8),
    /// `{ key: string, value: T }`
    Entry(&'static Shape),
    /// The type or null; used only for results.
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

    /// Returns the overload with its result converted to the result type.
    pub(super) const fn converted(self) -> Self {
        Self {
            converted: true,
            ..self
        }
    }
}

/// An expression and its result as JSON text.
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
