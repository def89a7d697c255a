//! The tree of a plan file, as written: every name, literal and clause with its span.
//!
//! Chains (`a + b + c`, `a.b.c`, `else if`) are flat lists, so depth is bounded by the nesting caps and walking or
//! dropping a tree never recurses deeper than the author nested.

mod expr;
mod item;
mod statement;
mod type_expr;

use std::sync::Arc;

use crate::source::Span;

pub use expr::{
    Argument, BinaryOp, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal,
    MatchArm, Pattern, PatternKind, TemplatePart, UnaryOp,
};
pub use item::{
    Item, ItemKind, MockOutcome, MockOutcomeKind, MockTarget, Parameter, Plan, Test, TestStatement,
    TestStatementKind, Tool, TypeItem, Use, UseNamespace,
};
pub use statement::{
    Arm, ArmBody, Ask, Block, CLAUSE_WORDS, Clause, ClauseKind, ErrorPattern, Guarded, Inner,
    InputField, Look, Statement, StatementKind, Step, StepBody, Undo, WaitFor,
};
pub use type_expr::{FieldType, TypeExpr, TypeExprKind, TypeSuffix};

/// A name as written; back quotes are removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub text: Arc<str>,
    pub span: Span,
}

impl Name {
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, span: Span) -> Self {
        Self {
            text: text.into(),
            span,
        }
    }
}

/// Text in quotes with its escapes resolved; the span includes the quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: Arc<str>,
    pub span: Span,
}

/// A whole `.plan` file.
#[derive(Debug, Default)]
pub struct File {
    /// The `//!` lines, joined by newlines, without their markers.
    pub doc: Option<Arc<str>>,
    pub items: Vec<Item>,
    /// Every comment of the file in source order, doc comments included.
    pub comments: Vec<Comment>,
    /// Whether the text is in short form: the head of its plan, its braces and the `use` of what it calls are not written.
    pub is_short: bool,
}

/// One `//` comment, markers included in the span.
#[derive(Clone, Copy, Debug)]
pub struct Comment {
    pub span: Span,
    pub kind: CommentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// …`
    Plain,
    /// `/// …`, documents the item or statement below.
    Doc,
    /// `//! …`, documents the file.
    File,
}
