//! What follows the first value of a statement or clause: conditions, bounds, names, types, each with its word.

use super::document::Break;
use super::expressions::closes_itself;
use super::printer::Printer;
use crate::source::Span;
use crate::syntax::ast::{Expr, Name, TypeExpr};
use crate::syntax::precedence::Level;
use crate::syntax::print::{Style, print_expr, print_type};

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
                print_expr(printer, expr, Level::Conditional);
            }
            Self::Type(word, ty) => {
                printer.word(*word);
                print_type(printer, ty);
            }
            Self::Name(word, name) => {
                printer.word(*word);
                printer.variable(&name.text);
            }
            Self::Classes(word, names) => {
                printer.word(*word);
                printer.classes(names);
            }
            Self::After(after) => print_after(printer, after),
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

/// A value and what follows it: on one line if that fits, else each part on a line of its own.
pub(super) fn print_value_with<'a>(out: &mut Printer<'a>, value: &'a Expr, parts: &[Part<'a>]) {
    if closes_itself(out, value) {
        print_expr(out, value, Level::Conditional);
        out.grouped(|out| print_parts(out, value.span.end, parts));
    } else {
        out.grouped(|out| {
            print_expr(out, value, Level::Conditional);
            print_parts(out, value.span.end, parts);
        });
    }
}

/// The parts of a group, indented.
pub(super) fn print_parts<'a>(out: &mut Printer<'a>, behind: u32, parts: &[Part<'a>]) {
    out.indented(|out| {
        let mut behind = behind;
        for part in parts {
            match part.span() {
                Some(span) => {
                    out.between(behind, span.start);
                    behind = span.end;
                }
                None => out.line(Break::Space),
            }
            part.print(out);
        }
    });
}

fn print_after<'a>(out: &mut Printer<'a>, names: &'a [Name]) {
    out.word("after ");
    out.filled(names, |out, name| out.variable(&name.text));
}
