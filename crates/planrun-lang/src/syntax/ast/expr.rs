//! Expressions: CEL and the extensions of the plan language.

use std::sync::Arc;

use super::{Name, Text};
use crate::source::Span;
use crate::words;

/// An expression. Parentheses leave no node: the span of a parenthesized expression is that of the text inside them.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

impl Expr {
    #[must_use]
    pub fn new(span: Span, kind: ExprKind) -> Self {
        Self { span, kind }
    }

    /// Visits each direct subexpression, in source order.
    pub fn parts<'e>(&'e self, visit: &mut dyn FnMut(&'e Self)) {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Name(_) | ExprKind::Signal(_) | ExprKind::Error => {}
            ExprKind::Template(parts) => {
                for part in parts {
                    if let TemplatePart::Expr(expression) = part {
                        visit(expression);
                    }
                }
            }
            ExprKind::Call { arguments, .. } => arguments
                .iter()
                .map(|argument| &argument.value)
                .for_each(visit),
            ExprKind::Path { base, links } => {
                visit(base);
                for link in links {
                    link.parts(visit);
                }
            }
            ExprKind::List(elements) | ExprKind::Coalesce(elements) => {
                elements.iter().for_each(visit);
            }
            ExprKind::Object(entries) => {
                for entry in entries {
                    if let EntryKey::Expr(key) = &entry.key {
                        visit(key);
                    }
                    visit(&entry.value);
                }
            }
            ExprKind::Unary { operand, .. } => visit(operand),
            ExprKind::Chain { first, rest } => {
                visit(first);
                rest.iter().map(|link| &link.operand).for_each(visit);
            }
            ExprKind::Conditional { arms, otherwise } => {
                arms.iter()
                    .flat_map(|(condition, value)| [condition, value])
                    .for_each(&mut *visit);
                visit(otherwise);
            }
            ExprKind::Match { subject, arms } => {
                visit(subject);
                arms.iter().map(|arm| &arm.value).for_each(visit);
            }
            ExprKind::Is { subject, .. } => visit(subject),
        }
    }
}

impl Link {
    fn parts<'e>(&'e self, visit: &mut dyn FnMut(&'e Expr)) {
        match &self.kind {
            LinkKind::Field { .. } => {}
            LinkKind::Index { index, .. } => visit(index),
            LinkKind::Call { arguments, .. } => arguments
                .iter()
                .map(|argument| &argument.value)
                .for_each(visit),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    /// `"… ${e} …"` with at least one interpolation.
    Template(Vec<TemplatePart>),
    Name(Arc<str>),
    /// `size(xs)`, `has(x.y)`: a call of a function or macro without a receiver.
    Call {
        function: Name,
        arguments: Vec<Argument>,
    },
    /// `base.a[0]?.b(c)`: at least one link.
    Path {
        base: Box<Expr>,
        links: Vec<Link>,
    },
    List(Vec<Expr>),
    Object(Vec<Entry>),
    /// `!` and `-` in source order; at least one.
    Unary {
        operators: Vec<(UnaryOp, Span)>,
        operand: Box<Expr>,
    },
    /// Left-associative operators of one precedence level; at least one link.
    Chain {
        first: Box<Expr>,
        rest: Vec<ChainLink>,
    },
    /// `a ?? b ?? c`: at least two operands.
    Coalesce(Vec<Expr>),
    /// `c ? a : d ? b : e`: at least one condition with its value.
    Conditional {
        arms: Vec<(Expr, Expr)>,
        otherwise: Box<Expr>,
    },
    /// `match e { pattern => value, … }`
    Match {
        subject: Box<Expr>,
        arms: Vec<MatchArm>,
    },
    /// `x is failed`
    Is {
        subject: Box<Expr>,
        state: Name,
    },
    /// `signal "name"`, a condition of listeners and waits.
    Signal(Text),
    /// Invalid text; already reported.
    Error,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// A size such as `8MiB` is its number of bytes.
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
    /// `200ms`, `1d`: a number of nanoseconds.
    Duration(i128),
}

#[derive(Debug, Clone, PartialEq)]
pub enum TemplatePart {
    Text(Arc<str>),
    /// The expression between `${` and `}`.
    Expr(Expr),
}

/// An argument of a call; tools take named arguments, functions positional ones.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    pub span: Span,
    pub name: Option<Name>,
    pub value: Expr,
}

/// One segment of a path. The span begins at its `.`, `?.` or `[`.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    pub span: Span,
    pub kind: LinkKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum LinkKind {
    /// `.name`, or `?.name` if `safe`.
    Field { name: Name, safe: bool },
    /// `[e]`, or `?.[e]` if `safe`.
    Index { index: Expr, safe: bool },
    /// `.name(…)`, or `?.name(…)` if `safe`: a call of a method, or of a tool or function of a namespace.
    Call {
        name: Name,
        safe: bool,
        arguments: Vec<Argument>,
    },
}

impl Link {
    /// Returns the name of the field that the link reads: `.f` or `["f"]`.
    #[must_use]
    pub fn field_name(&self) -> Option<&Arc<str>> {
        match &self.kind {
            LinkKind::Field { name, .. } => Some(&name.text),
            LinkKind::Index { index, .. } => match &index.kind {
                ExprKind::Literal(Literal::String(text)) => Some(text),
                _ => None,
            },
            LinkKind::Call { .. } => None,
        }
    }

    /// Returns true if the link is written with `?`, so that the path is null if the value before it is.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        match &self.kind {
            LinkKind::Field { safe, .. }
            | LinkKind::Index { safe, .. }
            | LinkKind::Call { safe, .. } => *safe,
        }
    }

    /// Returns the link as it is written without `?`, and with `.` before a field whose name is known.
    #[must_use]
    pub fn plain(&self) -> Self {
        let mut plain = self.clone();
        if let Some(text) = self.field_name().cloned() {
            let name = Name {
                text,
                span: self.span,
            };
            plain.kind = LinkKind::Field { name, safe: false };
            return plain;
        }
        match &mut plain.kind {
            LinkKind::Field { safe, .. }
            | LinkKind::Index { safe, .. }
            | LinkKind::Call { safe, .. } => *safe = false,
        }
        plain
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub span: Span,
    pub key: EntryKey,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EntryKey {
    /// `name: …`, a field name.
    Name(Name),
    /// `"text": …`, `1: …`, `true: …` or `(e): …`.
    Expr(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    Not,
    Negate,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ChainLink {
    pub operator: BinaryOp,
    pub operator_span: Span,
    pub operand: Expr,
}

words! {
    /// A binary operator, by its text in plans.
    BinaryOp {
        Or = "||",
        And = "&&",
        Equal = "==",
        NotEqual = "!=",
        Less = "<",
        LessEqual = "<=",
        Greater = ">",
        GreaterEqual = ">=",
        In = "in",
        Add = "+",
        Subtract = "-",
        Multiply = "*",
        Divide = "/",
        Remainder = "%",
    }
}

/// One arm of a `match` expression.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchArm {
    pub span: Span,
    pub pattern: Pattern,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    pub span: Span,
    pub kind: PatternKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PatternKind {
    /// `_`
    Any,
    Literal(Literal),
    /// `a | b`: at least two alternatives.
    Or(Vec<Pattern>),
    /// `{ field: pattern }`
    Object(Vec<(Name, Pattern)>),
    /// In place of a pattern that cannot be read.
    Error,
}
