//! What follows the first value of a statement or clause: conditions, bounds, names, types, each with its word.

use super::document::Break;
use super::expressions::closes_itself;
use super::printer::Printer;
use crate::source::Span;
use crate::syntax::ast::{Expr, Name, TypeExpr};
use crate::syntax::precedence::Level;

/// One such part.
pub(super) enum Part<'a> {
    Expr(&'static str, &'a Expr),
    Type(&'static str, &'a TypeExpr),
    Name(&'static str, &'a Name),
    Classes(&'static str, &'a [Name]),
    /// `after a, b`
    After(&'a [Name]),
    /// A word alone, which has no place of its own.
    Word(&'static str),
}

impl<'a> Part<'a> {
    fn span(&self) -> Option<Span> {
        match self {
            Self::Expr(_, expr) => Some(expr.span),
            Self::Type(_, ty) => Some(ty.span),
            Self::Name(_, name) => Some(name.span),
            Self::Classes(_, names) | Self::After(names) => whole(names),
            Self::Word(_) => None,
        }
    }

    pub fn print(&self, printer: &mut Printer<'a>) {
        match self {
            Self::Expr(word, expr) => {
                printer.word(*word);
                printer.expr(expr, Level::Conditional);
            }
            Self::Type(word, ty) => {
                printer.word(*word);
                printer.ty(ty);
            }
            Self::Name(word, name) => {
                printer.word(*word);
                printer.variable(&name.text);
            }
            Self::Classes(word, names) => {
                printer.word(*word);
                printer.classes(names);
            }
            Self::After(after) => printer.after(after),
            Self::Word(word) => printer.word(*word),
        }
    }
}

/// The place of names from the first to the last.
fn whole(names: &[Name]) -> Option<Span> {
    Some(names.first()?.span.to(names.last()?.span))
}

/// The parts that are there.
pub(super) fn present<const N: usize>(parts: [Option<Part<'_>>; N]) -> Vec<Part<'_>> {
    parts.into_iter().flatten().collect()
}

impl<'a> Printer<'a> {
    /// A value and what follows it: on one line if that fits, else each part on a line of its own.
    pub fn value_with(&mut self, value: &'a Expr, parts: &[Part<'a>]) {
        if closes_itself(self, value) {
            self.expr(value, Level::Conditional);
            self.grouped(|this| this.parts(value.span.end, parts));
        } else {
            self.grouped(|this| {
                this.expr(value, Level::Conditional);
                this.parts(value.span.end, parts);
            });
        }
    }

    /// The parts of a group, indented.
    pub fn parts(&mut self, behind: u32, parts: &[Part<'a>]) {
        self.indented(|this| {
            let mut behind = behind;
            for part in parts {
                match part.span() {
                    Some(span) => {
                        this.between(behind, span.start);
                        behind = span.end;
                    }
                    None => this.line(Break::Space),
                }
                part.print(this);
            }
        });
    }

    /// The end of a line between two neighbours, with the comments there; gives the slot above the second one.
    pub fn between(&mut self, behind: u32, next: u32) -> usize {
        let gap = self.comments.gap(Some(behind), next, false);
        self.trailing(gap.trailing);
        self.line(Break::Space);
        self.above(super::comments::Gap {
            trailing: None,
            blank: false,
            ..gap
        })
    }

    fn after(&mut self, names: &'a [Name]) {
        self.word("after ");
        self.filled(names, |this, name| this.variable(&name.text));
    }
}
