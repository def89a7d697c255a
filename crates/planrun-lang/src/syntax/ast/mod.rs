//! The syntax tree of a plan file as written: every name, literal and clause with its span.
//!
//! Chains (`a + b + c`, `a.b.c`, `else if`) are flat lists, so the nesting limits bound the depth of a tree, and
//! walking or dropping it recurses only as deep as its source nests.

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
    InputField, Probe, Statement, StatementKind, Step, StepBody, Undo, WaitFor,
};
pub use type_expr::{FieldType, TypeExpr, TypeExprKind, TypeSuffix};

/// A name, without its back quotes.
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

/// A quoted text with its escapes resolved. The span includes the quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    pub text: Arc<str>,
    pub span: Span,
}

/// A whole `.plan` file.
#[derive(Debug, Default)]
pub struct File {
    /// The `//!` lines without their markers, joined by newlines.
    pub doc: Option<Arc<str>>,
    pub items: Vec<Item>,
    /// Every comment of the file in source order, doc comments included.
    pub comments: Vec<Comment>,
    /// True for a plan in short form, which omits the plan's head, its braces and the `use` of the namespaces it calls.
    pub is_short: bool,
    /// Text that could not be parsed, or only after a repair, all of which has been reported. Not in source order.
    pub damaged: Vec<Span>,
}

/// One `//` comment. The span includes the marker.
#[derive(Clone, Copy, Debug)]
pub struct Comment {
    pub span: Span,
    pub kind: CommentKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// …`
    Plain,
    /// `/// …`, which documents the item or statement below it.
    Doc,
    /// `//! …`, which documents the file.
    File,
}

impl CommentKind {
    /// Returns the kind of a comment. Four slashes or more are a line of slashes and document nothing.
    #[must_use]
    pub fn of(comment: &str) -> Self {
        if comment.starts_with("///") && !comment.starts_with("////") {
            Self::Doc
        } else if comment.starts_with("//!") {
            Self::File
        } else {
            Self::Plain
        }
    }
}
