//! Prints expressions, patterns and types; a [`Style`] determines their appearance.

mod canonical;
mod expressions;
mod types;

use std::borrow::Cow;

use super::ast::{Expr, Link, Literal, Name, Pattern, TemplatePart, Text, TypeExpr};
use super::precedence::Level;
use super::spelling::write_word;
use crate::source::Span;

pub use canonical::{
    canonical, canonical_display, canonical_name, canonical_pattern, canonical_place,
    canonical_type,
};
pub use expressions::{
    print_arguments, print_expr, print_link, print_operand, print_subject, print_value,
};
pub use types::{print_pattern, print_type};

/// The output of the printer: one line, or a document with lines and comments.
///
/// Spans are positions in the author's text; a style without such a text ignores them.
pub trait Style<'a>: Sized {
    type Brackets;
    const PARENTHESES: Self::Brackets;
    const LIST: Self::Brackets;
    const OBJECT: Self::Brackets;

    /// True if equal expressions get equal texts, however they were written; otherwise parentheses that only group
    /// operators are kept.
    const CANONICAL: bool;

    fn word(&mut self, text: impl Into<Cow<'a, str>>);

    /// Prints the name of a variable, where reserved words need back quotes.
    fn variable(&mut self, name: &str);

    /// Prints a name that may be any word.
    fn name(&mut self, name: &Name) {
        let mut text = String::new();
        write_word(&mut text, &name.text);
        self.word(text);
    }

    fn literal(&mut self, literal: &'a Literal, span: Span);

    /// Prints a text that is not an expression.
    fn text(&mut self, text: &'a Text);

    fn template(&mut self, parts: &'a [TemplatePart], span: Span);

    /// Prints an error node of the tree.
    fn error(&mut self) {}

    /// Prints one element between brackets.
    fn enclosed(&mut self, open: &'static str, close: &'static str, print: impl FnOnce(&mut Self));

    /// Prints elements, separated by commas, between brackets. `region` is the span of the list, brackets included.
    fn list<T>(
        &mut self,
        brackets: Self::Brackets,
        region: Span,
        items: &'a [T],
        span: impl Fn(&T) -> Span,
        print: impl FnMut(&mut Self, &'a T),
    );

    /// Prints operands, each with the operator before it.
    fn chain(&mut self, operands: impl Iterator<Item = (&'static str, Operand<'a>)>);

    fn path(&mut self, base: &'a Expr, links: &'a [Link]);

    /// Returns true if the brackets of a list are printed directly next to those of its only element.
    fn hugs(&self, _only: &Expr, _region: Span) -> bool {
        false
    }

    /// Returns the offset of the first occurrence of the byte from `from` on that is not in a comment.
    fn seek(&self, from: u32, _byte: u8) -> u32 {
        from
    }
}

/// An operand of a chain.
#[derive(Clone, Copy)]
pub enum Operand<'a> {
    /// An expression, in parentheses if it binds less tightly than the level.
    Expr(&'a Expr, Level),
    Type(&'a TypeExpr),
    Pattern(&'a Pattern),
    /// The reply of a test's plan, before `==` or `!=`.
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
