//! Prints expressions.

use std::borrow::Cow;

use super::comments::Gap;
use super::document::{Break, INDENT, Op, width};
use super::printer::{Brackets, Printer};
use super::texts::{opens_block, print_literal, print_plain_text, print_template};
use crate::source::Span;
use crate::syntax::ast::{Expr, ExprKind, Link, LinkKind, Literal, TemplatePart, Text};
use crate::syntax::precedence::Level;
use crate::syntax::print::{Operand, Style, print_expr, print_link, print_operand};
use crate::syntax::spelling::write_variable;

impl<'a> Style<'a> for Printer<'a> {
    type Brackets = Brackets;
    const PARENTHESES: Brackets = Brackets::PARENTHESES;
    const LIST: Brackets = Brackets::LIST;
    const OBJECT: Brackets = Brackets::OBJECT;
    const CANONICAL: bool = false;

    fn word(&mut self, text: impl Into<Cow<'a, str>>) {
        let text = text.into();
        let columns = width(&text);
        self.ops.push(Op::Text(text, columns));
    }

    fn variable(&mut self, name: &str) {
        let mut text = String::new();
        write_variable(&mut text, name);
        self.word(text);
    }

    fn literal(&mut self, literal: &'a Literal, span: Span) {
        print_literal(self, literal, span);
    }

    fn text(&mut self, text: &'a Text) {
        print_plain_text(self, text);
    }

    fn template(&mut self, parts: &'a [TemplatePart], span: Span) {
        print_template(self, parts, span);
    }

    fn enclosed(&mut self, open: &'static str, close: &'static str, print: impl FnOnce(&mut Self)) {
        self.grouped(|out| {
            out.word(open);
            out.indented(|out| {
                out.line(Break::Soft);
                print(out);
            });
            out.line(Break::Soft);
            out.word(close);
        });
    }

    fn list<T>(
        &mut self,
        brackets: Brackets,
        region: Span,
        items: &'a [T],
        span: impl Fn(&T) -> Span,
        print: impl FnMut(&mut Self, &'a T),
    ) {
        self.word(brackets.open);
        let inside = (
            region.start + 1,
            region.end.saturating_sub(1).max(region.start + 1),
        );
        let moved = if brackets.commas {
            Vec::new()
        } else {
            std::mem::take(&mut self.moved)
        };
        if items.is_empty() && moved.is_empty() && !self.comments.any(inside.0, inside.1) {
            self.word(brackets.close);
            return;
        }
        if !brackets.joined {
            self.begin();
        }
        self.indent();
        let mut behind = (region.start + 1).min(inside.1);
        let next = items.first().map_or(inside.1, |item| span(item).start);
        let opening = self.comments.trailing(behind, next, !brackets.commas);
        self.trailing(opening);
        self.line(brackets.inner);
        self.above(Gap {
            above: moved.into_iter().map(|text| (text, false)).collect(),
            ..Gap::default()
        });
        behind = self.items(brackets, items, (behind, inside.1), span, print);
        self.remaining(behind, inside.1, items.is_empty());
        self.dedent();
        self.line(brackets.inner);
        self.word(brackets.close);
        if !brackets.joined {
            self.end();
        }
    }

    /// Prints all operands on one line or each on its own.
    fn chain(&mut self, operands: impl Iterator<Item = (&'static str, Operand<'a>)>) {
        self.begin();
        let mut behind: Option<u32> = None;
        for (operator, operand) in operands {
            let span = operand.span();
            match behind {
                None => {
                    print_operand(self, operand);
                    self.indent();
                }
                Some(behind) => {
                    let slot = self.between(behind, span.start);
                    self.word(operator);
                    self.word(" ");
                    print_operand(self, operand);
                    self.hoist(slot, span.start, span.end);
                }
            }
            behind = Some(span.end);
        }
        self.dedent();
        self.end();
    }

    fn path(&mut self, base: &'a Expr, links: &'a [Link]) {
        print_path(self, base, links);
    }

    fn hugs(&self, only: &Expr, region: Span) -> bool {
        hugs(self, only, region)
    }

    fn seek(&self, from: u32, byte: u8) -> u32 {
        self.comments.seek(from, byte)
    }
}

/// Returns true if the expression, when broken over several lines, ends with a bracket on a line of its own.
pub(super) fn closes_itself(printer: &Printer<'_>, expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::List(_)
        | ExprKind::Object(_)
        | ExprKind::Call { .. }
        | ExprKind::Match { .. } => true,
        ExprKind::Path { links, .. } => links.iter().filter(|link| is_call(link)).count() == 1,
        ExprKind::Literal(Literal::String(_)) | ExprKind::Template(_) => {
            printer.written(expr.span).is_some_and(opens_block)
        }
        ExprKind::Literal(_)
        | ExprKind::Name(_)
        | ExprKind::Unary { .. }
        | ExprKind::Chain { .. }
        | ExprKind::Coalesce(_)
        | ExprKind::Conditional { .. }
        | ExprKind::Is { .. }
        | ExprKind::Signal(_)
        | ExprKind::Error => false,
    }
}

/// Returns the word that an expression begins with, and whether it is followed by a dot and therefore certainly a name.
pub(super) fn first_word(expr: &Expr) -> Option<(&str, bool)> {
    let mut expr = expr;
    let mut dotted = false;
    loop {
        expr = match &expr.kind {
            ExprKind::Name(name) => return Some((name, dotted)),
            ExprKind::Call { function, .. } => return Some((&function.text, false)),
            ExprKind::Match { .. } => return Some(("match", false)),
            ExprKind::Signal(_) => return Some(("signal", false)),
            ExprKind::Path { base, links } => {
                dotted = links.first().is_some_and(is_dotted);
                base
            }
            ExprKind::Chain { first, .. } => first,
            ExprKind::Coalesce(operands) => operands.first()?,
            ExprKind::Conditional { arms, .. } => &arms.first()?.0,
            ExprKind::Is { subject, .. } => subject,
            ExprKind::Literal(_)
            | ExprKind::Template(_)
            | ExprKind::List(_)
            | ExprKind::Object(_)
            | ExprKind::Unary { .. }
            | ExprKind::Error => return None,
        };
    }
}

/// Prints an expression at a position where one of these words at its beginning would be parsed as a keyword.
pub(super) fn print_expr_not_beginning_with<'a>(
    out: &mut Printer<'a>,
    expr: &'a Expr,
    words: &[&str],
    dotted_too: bool,
) {
    let taken = |(word, dotted): (&str, bool)| words.contains(&word) && (dotted_too || !dotted);
    let level = if first_word(expr).is_some_and(taken) {
        Level::Parenthesised
    } else {
        Level::Conditional
    };
    print_expr(out, expr, level);
}

/// Returns true if the only element of a list needs no lines of its own, since its brackets can hug those of the list.
fn hugs(out: &Printer<'_>, expr: &Expr, region: Span) -> bool {
    let bracketed = match &expr.kind {
        // A list that hugs its own element would produce a staircase of brackets.
        ExprKind::List(elements) => match elements.as_slice() {
            [] => false,
            [only] => !matches!(only.kind, ExprKind::List(_) | ExprKind::Object(_)),
            [_, ..] => true,
        },
        ExprKind::Object(entries) => !entries.is_empty(),
        ExprKind::Literal(_) | ExprKind::Template(_) => closes_itself(out, expr),
        ExprKind::Name(_)
        | ExprKind::Call { .. }
        | ExprKind::Path { .. }
        | ExprKind::Unary { .. }
        | ExprKind::Chain { .. }
        | ExprKind::Coalesce(_)
        | ExprKind::Conditional { .. }
        | ExprKind::Match { .. }
        | ExprKind::Is { .. }
        | ExprKind::Signal(_)
        | ExprKind::Error => false,
    };
    let around = [(region.start, expr.span.start), (expr.span.end, region.end)];
    bracketed
        && !around
            .iter()
            .any(|(start, end)| out.comments.any(*start, *end))
}

fn print_path<'a>(out: &mut Printer<'a>, base: &'a Expr, links: &'a [Link]) {
    let breaks = breaks(out, base, links);
    if breaks {
        out.begin();
    }
    match &base.kind {
        ExprKind::Name(name) if links.first().is_some_and(is_dotted) => {
            print_dotted_name(out, name);
        }
        _ => print_expr(out, base, Level::Postfix),
    }
    let mut behind = base.span.end;
    let mut open: Option<(usize, u32)> = None;
    for (index, link) in links.iter().enumerate() {
        let attached =
            index == 0 && short_name(base) && !out.comments.any(behind, link_start(link));
        if breaks && is_call(link) && !attached {
            match open {
                Some((slot, start)) => out.hoist(slot, start, behind),
                None => out.indent(),
            }
            let gap = out.comments.gap(Some(behind), link_start(link), false);
            out.trailing(gap.trailing);
            out.line(Break::Soft);
            let slot = out.above(Gap {
                trailing: None,
                blank: false,
                ..gap
            });
            open = Some((slot, link.span.start));
        }
        print_link(out, link);
        behind = link.span.end;
    }
    if let Some((slot, start)) = open {
        out.hoist(slot, start, behind);
        out.dedent();
    }
    if breaks {
        out.end();
    }
}

/// Returns true if the path can be broken over several lines: it has more than one call, or a comment before a call.
fn breaks(out: &Printer<'_>, base: &Expr, links: &[Link]) -> bool {
    let calls = || links.iter().filter(|link| is_call(link));
    if calls().count() > 1 {
        return true;
    }
    let mut behind = base.span.end;
    links.iter().any(|link| {
        let commented = is_call(link) && out.comments.any(behind, link_start(link));
        behind = link.span.end;
        commented
    })
}

/// Prints a name before a dot, where `reply`, `match` and `signal` need no back quotes.
fn print_dotted_name(out: &mut Printer<'_>, name: &str) {
    match name {
        "reply" | "match" | "signal" => out.word(name.to_owned()),
        _ => out.variable(name),
    }
}

fn is_call(link: &Link) -> bool {
    matches!(link.kind, LinkKind::Call { .. })
}

/// Returns true if the link begins with a dot.
fn is_dotted(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Field { .. } | LinkKind::Call { .. } => true,
        LinkKind::Index { safe, .. } => *safe,
    }
}

/// Returns the start of a link's name; comments before it are printed above the link.
fn link_start(link: &Link) -> u32 {
    match &link.kind {
        LinkKind::Field { name, .. } | LinkKind::Call { name, .. } => name.span.start,
        LinkKind::Index { .. } => link.span.start,
    }
}

/// Returns true if the name is no wider than one level of indentation.
fn short_name(base: &Expr) -> bool {
    matches!(&base.kind, ExprKind::Name(name) if width(name) <= INDENT)
}
