//! Prints the parts of a statement or clause after its first value, each with its keyword: conditions, bounds, names,
//! types.

use super::document::Break;
use super::expressions::closes_itself;
use super::printer::Printer;
use crate::source::Span;
use crate::syntax::ast::{Expr, Name, TypeExpr};
use crate::syntax::precedence::Level;
use crate::syntax::print::{Style, print_expr, print_type};

/// A part with its keyword.
pub(super) enum Part<'a> {
    Expr(&'static str, &'a Expr),
    Type(&'static str, &'a TypeExpr),
    Name(&'static str, &'a Name),
    Classes(&'static str, &'a [Name]),
    /// `after a, b`
    After(&'a [Name]),
    /// A keyword without a value. The tree has no span for it.
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

/// Returns the span from the first name to the last.
fn whole(names: &[Name]) -> Option<Span> {
    Some(names.first()?.span.to(names.last()?.span))
}

/// Returns the parts that are present.
pub(super) fn present<const N: usize>(parts: [Option<Part<'_>>; N]) -> Vec<Part<'_>> {
    parts.into_iter().flatten().collect()
}

/// Prints a value and its parts, on one line if they fit, otherwise each part on a line of its own.
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

/// Prints the parts of a group, indented.
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
