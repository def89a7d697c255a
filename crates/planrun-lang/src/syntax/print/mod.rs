//! The one walk that prints expressions, patterns and types; a style decides how they look.

mod canonical;
mod expressions;
mod types;

use std::borrow::Cow;

use super::ast::{Expr, Link, Literal, Name, Pattern, TemplatePart, Text, TypeExpr};
use super::precedence::Level;
use super::spelling::write_word;
use crate::source::Span;

pub use canonical::{canonical, canonical_name, canonical_pattern, canonical_told, canonical_type};
pub use expressions::{print_arguments, print_expr, print_link, print_operand, print_value};
pub use types::{print_pattern, print_type};

/// How what is printed looks: on one line, or as a document with lines and comments.
///
/// Spans tell where something stands in the author's text; a style that has no such text ignores them.
pub trait Style<'a>: Sized {
    type Brackets;
    const PARENTHESES: Self::Brackets;
    const LIST: Self::Brackets;
    const OBJECT: Self::Brackets;

    /// Whether equal expressions get equal texts, however they were written; otherwise parentheses that only group operators stay.
    const CANONICAL: bool;

    fn word(&mut self, text: impl Into<Cow<'a, str>>);

    /// A name that is read or given bare, where reserved words need back quotes.
    fn variable(&mut self, name: &str);

    /// A name that may be any word.
    fn name(&mut self, name: &Name) {
        let mut text = String::new();
        write_word(&mut text, &name.text);
        self.word(text);
    }

    fn literal(&mut self, literal: &'a Literal, span: Span);

    /// A text that is no expression.
    fn text(&mut self, text: &'a Text);

    fn template(&mut self, parts: &'a [TemplatePart], span: Span);

    /// An error node of the tree.
    fn error(&mut self) {}

    /// One element between brackets.
    fn enclosed(&mut self, open: &'static str, close: &'static str, print: impl FnOnce(&mut Self));

    /// Elements with commas between brackets. `region` is the list's place in the text, brackets included.
    fn list<T>(
        &mut self,
        brackets: Self::Brackets,
        region: Span,
        items: &'a [T],
        span: impl Fn(&T) -> Span,
        print: impl FnMut(&mut Self, &'a T),
    );

    /// Operands, each with the operator before it.
    fn chain(&mut self, operands: impl Iterator<Item = (&'static str, Operand<'a>)>);

    fn path(&mut self, base: &'a Expr, links: &'a [Link]);

    /// Whether the brackets of a list and those of its only element stand together.
    fn hugs(&self, _only: &Expr, _region: Span) -> bool {
        false
    }

    /// The place of the first such byte behind `from` that is in no comment.
    fn seek(&self, from: u32, _byte: u8) -> u32 {
        from
    }
}

/// What stands between the operators of a chain.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// An expression, in parentheses where it binds less tightly than the level.
    Expr(&'a Expr, Level),
    Type(&'a TypeExpr),
    Pattern(&'a Pattern),
    /// What a test's plan replied, before `==` or `!=`.
    Reply(Span),
}

impl Operand<'_> {
    #[must_use]
    pub fn span(self) -> Span {
        match self {
            Self::Expr(expr, _) => expr.span,
            Self::Type(ty) => ty.span,
            Self::Pattern(pattern) => pattern.span,
            Self::Reply(span) => span,
        }
    }
}
