//! Checked expressions: typed trees with resolved names, made to be evaluated many times.

use std::sync::Arc;

use regex::Regex;

use crate::builtins::Function;
use crate::protocol::StepState;
use crate::sema::{NameKind, Place};
use crate::source::Span;
use crate::types::{Type, check_value, convert_from, converted, fit, keeps};
use crate::value::{Key, Value};

/// One checked expression.
#[derive(Clone, Debug)]
pub struct CheckedExpr {
    /// Type of the value; [`Type::Invalid`] if an error has been reported.
    pub ty: Type,
    pub root: Node,
    pub span: Span,
    /// Every name outside the expression that it reads, each place and kind once, in source order.
    pub reads: Vec<Read>,
    /// Maximum number of macro variables that are live at the same time.
    pub registers: u16,
    /// Conversion to the type of its place; `None` if the value never changes.
    pub into: Option<Conversion>,
}

/// Conversion of a value to the type of its place.
#[derive(Clone, Debug)]
pub struct Conversion {
    pub from: Arc<Type>,
    pub to: Arc<Type>,
    /// Whether the value is known to fit before the run.
    pub sure: bool,
}

/// An outer name that an expression reads.
#[derive(Clone, Debug)]
pub struct Read {
    pub place: Place,
    pub kind: ReadKind,
    /// Kind of the name.
    pub binding: NameKind,
    pub name: Arc<str>,
    /// Span of the first read.
    pub span: Span,
}

/// The part of a name that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReadKind {
    /// Its value: the reader needs the value.
    Value,
    /// Its state: the reader only needs it to be settled.
    State,
}

/// An operation and its span.
#[derive(Clone, Debug)]
pub struct Node {
    pub span: Span,
    pub op: Op,
}

/// Operations. Chains are flat, so the depth is that of the author's nesting.
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
    /// Operators of one precedence level, applied from the left.
    Chain {
        first: Box<Node>,
        rest: Vec<(Operator, Node)>,
    },
    /// The first operand that is not absent, otherwise the last.
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
    /// `matches` with a pattern that was compiled by the check.
    Matches {
        subject: Box<Node>,
        pattern: Arc<Regex>,
    },
    /// Whether the last link of the path is present.
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
    /// A failure with this reason: an erroneous part, only reached if diagnostics do not stop the evaluation.
    Fail(Arc<str>),
}

impl Node {
    /// Visits it and every operation in it, from the outside in.
    pub fn operations<'a>(&'a self, visit: &mut dyn FnMut(&'a Self)) {
        visit(self);
        self.op.parts(&mut |part| part.operations(visit));
    }

    /// Visits every path in it, from the outside in: what the path begins with, and its links.
    pub fn paths<'a>(&'a self, visit: &mut dyn FnMut(&'a Self, &'a [Link])) {
        if let Op::Path { base, links } = &self.op {
            visit(base, links);
        }
        self.op.parts(&mut |part| part.paths(visit));
    }
}

impl Op {
    /// Visits the operations that it directly consists of.
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        match self {
            Self::Constant(_)
            | Self::Place(_)
            | Self::Register(_)
            | Self::Is { .. }
            | Self::Winner(_)
            | Self::Fail(_) => {}
            Self::Template(pieces) => pieces.iter().filter_map(Piece::value).for_each(visit),
            Self::List(elements) => elements.iter().map(|(node, _)| node).for_each(visit),
            Self::Map(entries) => {
                for (key, value) in entries {
                    if let MapKey::Computed(key) = key {
                        visit(key);
                    }
                    visit(value);
                }
            }
            Self::Path { base, links } => {
                visit(base);
                for link in links {
                    link.op.parts(visit);
                }
            }
            Self::Not(node) | Self::Negate(node) | Self::Has(node) => visit(node),
            Self::Matches { subject, .. } => visit(subject),
            Self::And(nodes) | Self::Or(nodes) | Self::Coalesce(nodes) => {
                nodes.iter().for_each(visit);
            }
            Self::Call { arguments, .. } => arguments.iter().for_each(visit),
            Self::Chain { first, rest } => {
                visit(first);
                rest.iter().map(|(_, node)| node).for_each(visit);
            }
            Self::Conditional { arms, otherwise } => {
                for (condition, value) in arms {
                    visit(condition);
                    visit(value);
                }
                visit(otherwise);
            }
            Self::Match { subject, arms } => {
                visit(subject);
                arms.iter().map(|(_, node)| node).for_each(visit);
            }
            Self::Let { value, body, .. } => {
                visit(value);
                visit(body);
            }
        }
    }
}

impl LinkOp {
    /// Visits the operations that it directly consists of.
    fn parts<'a>(&'a self, visit: &mut dyn FnMut(&'a Node)) {
        match self {
            Self::Field { .. } | Self::Matches(_) | Self::Fail(_) => {}
            Self::Index(index) => visit(index),
            Self::Call { arguments, .. } => arguments.iter().for_each(visit),
            Self::Macro(comprehension) => {
                comprehension.condition.iter().for_each(&mut *visit);
                visit(&comprehension.body);
            }
        }
    }
}

/// A part of a template.
#[derive(Clone, Debug)]
pub enum Piece {
    Text(Arc<str>),
    Value(Node),
}

impl Piece {
    /// Returns the interpolated value; `None` for literal text.
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

/// One link of a path.
#[derive(Clone, Debug)]
pub struct Link {
    pub span: Span,
    /// Whether null before it makes the path null.
    pub safe: bool,
    /// The possibly missing part that makes the link fail.
    pub unchecked: Option<Unchecked>,
    pub op: LinkOp,
}

/// A part that a link reads although no condition proves that it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unchecked {
    /// An element of a list.
    Element,
    /// An entry of a map.
    Entry,
    /// A field of an object, under a computed name.
    Field,
}

#[derive(Clone, Debug)]
pub enum LinkOp {
    Field {
        key: Key,
        /// Whether a missing field is read as null, because its type is optional.
        optional: bool,
        /// Type of the field, if its holder may also be a value with an undeclared field of this name. A value of
        /// another type is such a field, and counts as missing.
        declared: Option<Arc<Type>>,
    },
    Index(Node),
    /// A method; the value before it is the first argument.
    Call {
        function: &'static Function,
        arguments: Vec<Node>,
    },
    Matches(Arc<Regex>),
    /// The value before it is the range.
    Macro(Box<Comprehension>),
    Fail(Arc<str>),
}

/// Operators of chains, except the logical ones.
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
    /// `/` on types for which a zero on the right always fails.
    DivideNonzero,
    Remainder,
    /// `%` on such types.
    RemainderNonzero,
}

/// A macro such as `xs.filter(x, …)`. The range is the value before the link.
#[derive(Clone, Debug)]
pub struct Comprehension {
    pub kind: MacroKind,
    /// Register of the element; of the index or key if `second` is used.
    pub first: u16,
    /// Register of the value, in macros with two variables.
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
    /// The elements sorted by the value of the body.
    SortBy,
    TransformList,
    TransformMap,
    /// Every body is a map; their entries are merged.
    TransformMapEntry,
}

/// The test of `x is …`.
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
    /// Matches a value of another type as if it were null: it is an undeclared field.
    Declared(Arc<Type>, Box<Self>),
}

impl CheckedExpr {
    /// Creates the code of a value that is known before the run.
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

    /// Creates the code that reads the value of a step at a place, as if its name had been written.
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

    /// Returns the code for a place of type `to`: a constant is converted now, any other value at run time.
    #[must_use]
    pub fn placed(mut self, to: &Type) -> Self {
        if self.is_invalid() || keeps(&self.ty, to) {
            return self;
        }
        let known = self.root.constant();
        let known = known.map(|value| convert_from(value.clone(), &self.ty, to));
        let sure = fit(&self.ty, to).fits();
        let ty = converted(&self.ty, to);
        let from = std::mem::replace(&mut self.ty, ty);
        match known {
            Some(Ok(value)) => self.root.op = Op::Constant(value),
            // A constant that cannot be converted is reported by the type check, or fails when it is evaluated.
            Some(Err(_)) | None => {
                self.into = Some(Conversion {
                    from: Arc::new(from),
                    to: Arc::new(to.clone()),
                    sure,
                });
            }
        }
        self
    }

    /// Returns the value of an expression that was folded to a constant and needs no conversion.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        self.root.constant().filter(|_| self.into.is_none())
    }

    /// Returns an element of a list if it is a constant, whatever the other elements are.
    #[must_use]
    pub fn constant_element(&self, index: usize) -> Option<&Value> {
        match &self.root.op {
            _ if self.into.is_some() => None,
            Op::Constant(list) => list.at(index),
            Op::List(elements) => elements.get(index)?.0.constant(),
            _ => None,
        }
    }

    /// Returns true if an error that prevents its evaluation has been reported.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.ty == Type::Invalid
    }
}

impl Node {
    /// Returns the value if the node is a constant.
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
    /// Returns true if a step in this state passes. A step whose outcome is unknown has failed, too.
    #[must_use]
    pub fn holds(self, state: StepState) -> bool {
        match self {
            Self::State(StepState::Failed) => {
                matches!(state, StepState::Failed | StepState::Unknown)
            }
            Self::State(expected) => expected == state,
            Self::Settled => state.is_settled(),
        }
    }
}

impl Matcher {
    /// Returns true if the pattern matches the value.
    #[must_use]
    pub fn matches(&self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Value(expected) => expected == value,
            Self::Or(alternatives) => alternatives
                .iter()
                .any(|alternative| alternative.matches(value)),
            Self::Object(fields) => {
                let Value::Map(map) = value else { return false };
                fields
                    .iter()
                    .all(|(key, matcher)| matcher.matches(map.get(key).unwrap_or(&Value::Null)))
            }
            Self::Declared(ty, inner) if check_value(value, ty).is_ok() => inner.matches(value),
            Self::Declared(_, inner) => inner.matches(&Value::Null),
        }
    }
}
