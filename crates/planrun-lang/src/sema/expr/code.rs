//! What the checker of expressions makes: a typed tree with every name resolved, evaluated many times.

use std::sync::Arc;

use regex::Regex;

use crate::builtins::Function;
use crate::protocol::StepState;
use crate::sema::{NameKind, Place};
use crate::source::Span;
use crate::types::{Type, convert, converted, fit, keeps};
use crate::value::{Key, Value};

/// One checked expression.
#[derive(Clone, Debug)]
pub struct Code {
    /// The type of the value; [`Type::Invalid`] where a finding has already spoken.
    pub ty: Type,
    pub root: Node,
    pub span: Span,
    /// Every name outside of the expression that it reads, each place and kind once, in source order.
    pub reads: Vec<Read>,
    /// How many variables of macros live at the same time.
    pub registers: u16,
    /// What the place of the value makes of it, where it is not sure to stay as it is.
    pub into: Option<Conversion>,
}

/// The conversion of a value into the type of its place.
#[derive(Clone, Debug)]
pub struct Conversion {
    pub to: Arc<Type>,
    /// Whether it is known before the run that the value fits.
    pub sure: bool,
}

/// One outer name that an expression reads.
#[derive(Clone, Debug)]
pub struct Read {
    pub place: Place,
    pub kind: ReadKind,
    /// What the name stands for.
    pub binding: NameKind,
    pub name: Arc<str>,
    /// Where it is read first.
    pub span: Span,
}

/// What is read of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadKind {
    /// Its value: the reader needs it.
    Value,
    /// Its state: the reader only needs it to have settled.
    State,
}

/// One operation and the place it was written at.
#[derive(Clone, Debug)]
pub struct Node {
    pub span: Span,
    pub op: Op,
}

/// The operations. Chains are flat, so depth is that of the author's nesting.
#[derive(Clone, Debug)]
pub enum Op {
    Constant(Value),
    Place(Place),
    /// A variable of a macro around this operation.
    Register(u16),
    Template(Vec<Piece>),
    /// Elements, each with its own type.
    List(Vec<(Node, Type)>),
    Map(Vec<(MapKey, Node)>),
    Path {
        base: Box<Node>,
        links: Vec<Link>,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    /// Operators of one level, applied from the left.
    Chain {
        first: Box<Node>,
        rest: Vec<(Operator, Node)>,
    },
    /// The first operand that is not absent, else the last.
    Coalesce(Vec<Node>),
    Conditional {
        arms: Vec<(Node, Node)>,
        otherwise: Box<Node>,
    },
    Match {
        subject: Box<Node>,
        arms: Vec<(Matcher, Node)>,
    },
    Call {
        function: &'static Function,
        arguments: Vec<Node>,
    },
    /// `matches` with a pattern that was known when the plan was checked.
    Matches {
        subject: Box<Node>,
        pattern: Arc<Regex>,
    },
    /// Whether the last link of the path is there.
    Has(Box<Node>),
    /// `cel.bind(x, value, body)`
    Let {
        register: u16,
        value: Box<Node>,
        body: Box<Node>,
    },
    Is {
        place: Place,
        test: StateTest,
    },
    Winner(Place),
    /// What cannot be computed, with the reason: reached only where findings do not stop the evaluation.
    Fail(Arc<str>),
}

/// A part of a template.
#[derive(Clone, Debug)]
pub enum Piece {
    Text(Arc<str>),
    Value(Node),
}

impl Piece {
    /// What is filled in; `None` for a text between two values.
    #[must_use]
    pub const fn value(&self) -> Option<&Node> {
        match self {
            Self::Text(_) => None,
            Self::Value(node) => Some(node),
        }
    }
}

/// A key of an object or map.
#[derive(Clone, Debug)]
pub enum MapKey {
    Constant(Key),
    Computed(Node),
}

/// One step of a path.
#[derive(Clone, Debug)]
pub struct Link {
    pub span: Span,
    /// Whether a null before it ends the path with null.
    pub safe: bool,
    pub op: LinkOp,
}

#[derive(Clone, Debug)]
pub enum LinkOp {
    Field {
        key: Key,
        /// Whether a missing field reads as null, because its type lets it be missing.
        optional: bool,
    },
    Index(Node),
    /// A method; the value before it is the first argument.
    Call {
        function: &'static Function,
        arguments: Vec<Node>,
    },
    Matches(Arc<Regex>),
    /// The value before it is the range of the comprehension.
    Macro(Box<Comprehension>),
    Fail(Arc<str>),
}

/// Operators of chains, without the logical ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `/` where the types say that it fails for a zero on the right, whatever stands on the left.
    DivideNonzero,
    Remainder,
    /// The same for `%`.
    RemainderNonzero,
}

/// `xs.filter(x, …)` and its kin. The range is the value before the link.
#[derive(Clone, Debug)]
pub struct Comprehension {
    pub kind: MacroKind,
    /// The register of the element, or of the index or key where `second` is used.
    pub first: u16,
    /// The register of the value, in macros of two variables.
    pub second: Option<u16>,
    /// The filter of `map(x, filter, e)` and of `transform…`.
    pub condition: Option<Node>,
    pub body: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    /// The elements in the order of what the body gives for each.
    SortBy,
    TransformList,
    TransformMap,
    /// Every body is a map, whose entries are collected.
    TransformMapEntry,
}

/// What `x is …` asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateTest {
    State(StepState),
    /// Any end state.
    Settled,
}

/// A checked pattern.
#[derive(Clone, Debug)]
pub enum Matcher {
    Any,
    Value(Value),
    Or(Vec<Self>),
    Object(Vec<(Key, Self)>),
}

impl Code {
    /// A value that is known before any run.
    #[must_use]
    pub fn literal(value: Value, ty: Type, span: Span) -> Self {
        let root = Node {
            span,
            op: Op::Constant(value),
        };
        Self {
            ty,
            root,
            span,
            reads: Vec::new(),
            registers: 0,
            into: None,
        }
    }

    /// The value of a step at a place, as if its name had been written.
    #[must_use]
    pub fn place(place: Place, name: Arc<str>, ty: Type, span: Span) -> Self {
        let read = Read {
            place,
            kind: ReadKind::Value,
            binding: NameKind::Step,
            name,
            span,
        };
        Self {
            ty,
            root: Node {
                span,
                op: Op::Place(place),
            },
            span,
            reads: vec![read],
            registers: 0,
            into: None,
        }
    }

    /// The same, where the value goes into a place of type `to`: a constant is converted now, anything else by the run.
    #[must_use]
    pub fn placed(mut self, to: &Type) -> Self {
        if self.is_invalid() || keeps(&self.ty, to) {
            return self;
        }
        let known = self.root.constant().map(|value| convert(value.clone(), to));
        let sure = fit(&self.ty, to).fits();
        self.ty = converted(&self.ty, to);
        match known {
            Some(Ok(value)) => self.root.op = Op::Constant(value),
            // What cannot be is told by whoever checks the types, or when it is evaluated.
            Some(Err(_)) | None => {
                self.into = Some(Conversion {
                    to: Arc::new(to.clone()),
                    sure,
                });
            }
        }
        self
    }

    /// The value of an expression that reads nothing and was folded.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        self.root.constant().filter(|_| self.into.is_none())
    }

    /// Whether an earlier finding keeps this from being evaluated.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.ty == Type::Invalid
    }
}

impl Node {
    /// The value, where it is known.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        if let Op::Constant(value) = &self.op {
            Some(value)
        } else {
            None
        }
    }
}

impl StateTest {
    /// Whether a step in this state passes.
    #[must_use]
    pub fn holds(self, state: StepState) -> bool {
        match self {
            Self::State(wanted) => wanted == state,
            Self::Settled => state.is_settled(),
        }
    }
}

impl Matcher {
    /// Whether the value is one that the pattern describes.
    #[must_use]
    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Value(wanted) => wanted == value,
            Self::Or(alternatives) => alternatives
                .iter()
                .any(|alternative| alternative.matches(value)),
            Self::Object(fields) => {
                let Value::Map(map) = value else { return false };
                fields
                    .iter()
                    .all(|(key, matcher)| matcher.matches(map.get(key).unwrap_or(&Value::Null)))
            }
        }
    }
}
