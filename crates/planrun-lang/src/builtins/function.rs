//! Descriptors of functions: name, forms, signatures and body.

use std::fmt;

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

impl fmt::Display for Shape {
    /// Writes the type as an author would.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Null => f.write_str("null"),
            Self::Bool => f.write_str("bool"),
            Self::Int => f.write_str("int"),
            Self::Uint => f.write_str("uint"),
            Self::Double => f.write_str("double"),
            Self::String => f.write_str("string"),
            Self::Bytes => f.write_str("bytes"),
            Self::Timestamp => f.write_str("timestamp"),
            Self::Duration => f.write_str("duration"),
            Self::Type => f.write_str("type"),
            Self::Number => f.write_str("int | uint | double"),
            Self::Variable(_) => f.write_str("T"),
            Self::List(Self::Number) => write!(f, "({})[]", Self::Number),
            Self::List(element) => write!(f, "{element}[]"),
            Self::Optional(Self::Number) => write!(f, "({})?", Self::Number),
            Self::Map(key, value) => write!(f, "map<{key}, {value}>"),
            Self::Entry(value) => write!(f, "{{ key: string, value: {value} }}"),
            Self::Optional(inner) => write!(f, "{inner}?"),
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
