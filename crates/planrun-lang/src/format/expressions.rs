//! Prints expressions.

use super::document::{Break, INDENT, width};
use super::printer::{Brackets, Printer};
use super::texts::{opens_block, print_literal, print_plain_text, print_template};
use super::type_expressions::{print_member_type, print_pattern};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, BinaryOp, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal,
    MatchArm, Pattern, TypeExpr, UnaryOp,
};
use crate::syntax::precedence::{Level, is_negative, level, operator_level, operator_text};

/// What stands between the operators of a chain.
#[derive(Clone, Copy)]
pub(super) enum Operand<'a> {
    Expr(&'a Expr, Level),
    Type(&'a TypeExpr),
    Pattern(&'a Pattern),
    /// What a test's plan replied, before `==` or `!=`.
    Reply(Span),
}

impl Operand<'_> {
    fn span(self) -> Span {
        match self {
            Self::Expr(expr, _) => expr.span,
            Self::Type(ty) => ty.span,
            Self::Pattern(pattern) => pattern.span,
            Self::Reply(span) => span,
        }
    }
}

/// Whether the expression, on several lines, ends with a bracket on a line of its own.
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

/// The word that an expression begins with, and whether it is read as a name wherever it stands.
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

/// An expression that stands alone.
pub(super) fn print_value<'a>(out: &mut Printer<'a>, expr: &'a Expr) {
    print_expr(out, expr, Level::Conditional);
}

/// An expression where something that binds at least as tightly as `wanted` is needed.
pub(super) fn print_expr<'a>(out: &mut Printer<'a>, expr: &'a Expr, wanted: Level) {
    if level(expr) < wanted {
        out.parenthesised(|out| print_kind(out, expr));
    } else {
        print_kind(out, expr);
    }
}

/// An expression where one of these words would be read as a word of the language.
pub(super) fn print_expr_not_beginning_with<'a>(
    out: &mut Printer<'a>,
    expr: &'a Expr,
    words: &[&str],
    dotted_too: bool,
) {
    let taken = |(word, dotted): (&str, bool)| words.contains(&word) && (dotted_too || !dotted);
    let wanted = if first_word(expr).is_some_and(taken) {
        Level::Parenthesised
    } else {
        Level::Conditional
    };
    print_expr(out, expr, wanted);
}

fn print_kind<'a>(out: &mut Printer<'a>, expr: &'a Expr) {
    match &expr.kind {
        ExprKind::Literal(literal) => print_literal(out, literal, expr.span),
        ExprKind::Template(parts) => print_template(out, parts, expr.span),
        ExprKind::Name(name) => out.variable(name),
        ExprKind::Call {
            function,
            arguments,
        } => {
            out.variable(&function.text);
            print_arguments(out, arguments, Span::from(function.span.end..expr.span.end));
        }
        ExprKind::Path { base, links } => print_path(out, base, links),
        ExprKind::List(elements) => print_elements(out, elements, expr.span),
        ExprKind::Object(entries) => {
            out.list(
                Brackets::OBJECT,
                expr.span,
                entries,
                |entry| entry.span,
                print_entry,
            );
        }
        ExprKind::Unary { operators, operand } => print_unary(out, operators, operand),
        ExprKind::Chain { first, rest } => print_operators(out, first, rest),
        ExprKind::Coalesce(operands) => print_coalesce(out, operands),
        ExprKind::Conditional { arms, otherwise } => print_conditional(out, arms, otherwise),
        ExprKind::Match { subject, arms } => print_match_value(out, subject, arms, expr.span.end),
        ExprKind::Is { subject, state } => {
            print_expr(out, subject, Level::Postfix);
            out.word(" is ");
            out.name(state);
        }
        ExprKind::Signal(text) => {
            out.word("signal ");
            print_plain_text(out, text);
        }
        ExprKind::Error => {}
    }
}

/// Operands between operators of one level.
fn print_operators<'a>(out: &mut Printer<'a>, first: &'a Expr, rest: &'a [ChainLink]) {
    let level = rest
        .first()
        .map_or(Level::Postfix, |link| operator_level(link.operator));
    // Chains keep the parentheses around chains of the same operators, and `??` gets some for the reader.
    let within = if level == Level::Comparison {
        Level::Add
    } else {
        level.tighter()
    };
    let compared = rest
        .first()
        .is_some_and(|link| matches!(link.operator, BinaryOp::Equal | BinaryOp::NotEqual));
    let reply = compared && matches!(&first.kind, ExprKind::Name(name) if &**name == "reply");
    let first = if reply {
        Operand::Reply(first.span)
    } else {
        Operand::Expr(first, within)
    };
    let rest = rest.iter().map(|link| {
        let operand = Operand::Expr(&link.operand, within);
        (operator_text(link.operator), operand)
    });
    print_chain(out, std::iter::once(("", first)).chain(rest));
}

fn print_conditional<'a>(out: &mut Printer<'a>, arms: &'a [(Expr, Expr)], otherwise: &'a Expr) {
    let arms = arms
        .iter()
        .enumerate()
        .flat_map(|(index, (condition, value))| {
            let word = if index == 0 { "" } else { ":" };
            [
                (word, Operand::Expr(condition, Level::Or)),
                ("?", Operand::Expr(value, Level::Or)),
            ]
        });
    print_chain(
        out,
        arms.chain([(":", Operand::Expr(otherwise, Level::Or))]),
    );
}

/// A `match` that ends at `end`.
fn print_match_value<'a>(out: &mut Printer<'a>, subject: &'a Expr, arms: &'a [MatchArm], end: u32) {
    out.word("match ");
    print_value(out, subject);
    out.word(" ");
    let start = out.comments.seek(subject.span.end, b'{');
    out.list(
        Brackets::OBJECT,
        Span::from(start..end),
        arms,
        |arm| arm.span,
        print_match_arm,
    );
}

fn print_coalesce<'a>(out: &mut Printer<'a>, operands: &'a [Expr]) {
    print_chain(
        out,
        operands.iter().enumerate().map(|(index, operand)| {
            let last = index + 1 == operands.len();
            let level = if last { Level::Coalesce } else { Level::Add };
            (
                if index == 0 { "" } else { "??" },
                Operand::Expr(operand, level),
            )
        }),
    );
}

/// Operands with what joins them, each on a line of its own where they do not stand on one.
pub(super) fn print_chain<'a>(
    out: &mut Printer<'a>,
    operands: impl Iterator<Item = (&'static str, Operand<'a>)>,
) {
    out.begin();
    let mut behind: Option<u32> = None;
    for (word, operand) in operands {
        let span = operand.span();
        match behind {
            None => {
                print_operand(out, operand);
                out.indent();
            }
            Some(behind) => {
                let slot = out.between(behind, span.start);
                out.word(word);
                if !word.ends_with(' ') {
                    out.word(" ");
                }
                print_operand(out, operand);
                out.hoist(slot, span.start, span.end);
            }
        }
        behind = Some(span.end);
    }
    out.dedent();
    out.end();
}

fn print_operand<'a>(out: &mut Printer<'a>, operand: Operand<'a>) {
    match operand {
        Operand::Expr(expr, level) => print_expr(out, expr, level),
        Operand::Type(ty) => print_member_type(out, ty),
        Operand::Pattern(pattern) => print_pattern(out, pattern),
        Operand::Reply(_) => out.word("reply"),
    }
}

fn print_unary<'a>(out: &mut Printer<'a>, operators: &[(UnaryOp, Span)], operand: &'a Expr) {
    for (operator, _) in operators {
        out.word(match operator {
            UnaryOp::Not => "!",
            UnaryOp::Negate => "-",
        });
    }
    let number = matches!(&operand.kind, ExprKind::Literal(literal) if is_number(literal) && !is_negative(literal));
    let folds = number
        && operators
            .last()
            .is_some_and(|(operator, _)| *operator == UnaryOp::Negate);
    // Signs in parentheses keep them, so that the tree stays as it is.
    let apart = folds || matches!(operand.kind, ExprKind::Unary { .. });
    print_expr(
        out,
        operand,
        if apart {
            Level::Parenthesised
        } else {
            Level::Unary
        },
    );
}

fn print_elements<'a>(out: &mut Printer<'a>, elements: &'a [Expr], region: Span) {
    if let [only] = elements
        && hugs(out, only, region)
    {
        out.word("[");
        print_value(out, only);
        out.word("]");
        return;
    }
    out.list(
        Brackets::LIST,
        region,
        elements,
        |element| element.span,
        print_value,
    );
}

/// The arguments of a call; `region` begins before its parenthesis.
pub(super) fn print_arguments<'a>(out: &mut Printer<'a>, arguments: &'a [Argument], region: Span) {
    if let [
        Argument {
            name: None, value, ..
        },
    ] = arguments
        && hugs(out, value, region)
    {
        out.word("(");
        print_value(out, value);
        out.word(")");
        return;
    }
    let region = Span {
        start: out.comments.seek(region.start, b'('),
        end: region.end,
    };
    out.list(
        Brackets::PARENTHESES,
        region,
        arguments,
        |argument| argument.span,
        print_argument_value,
    );
}

/// Whether the only element of a list needs no lines of its own, since its brackets can do for both.
fn hugs(out: &Printer<'_>, expr: &Expr, region: Span) -> bool {
    let bracketed = match &expr.kind {
        // One that does so itself would make a staircase of brackets.
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

fn print_argument_value<'a>(out: &mut Printer<'a>, argument: &'a Argument) {
    if let Some(name) = &argument.name {
        out.name(name);
        out.word(": ");
    }
    match &argument.value.kind {
        // A comma or the parenthesis follows, so that this is what a test's plan replied.
        ExprKind::Name(name) if &**name == "reply" => out.word("reply"),
        ExprKind::Name(_)
        | ExprKind::Literal(_)
        | ExprKind::Template(_)
        | ExprKind::Call { .. }
        | ExprKind::Path { .. }
        | ExprKind::List(_)
        | ExprKind::Object(_)
        | ExprKind::Unary { .. }
        | ExprKind::Chain { .. }
        | ExprKind::Coalesce(_)
        | ExprKind::Conditional { .. }
        | ExprKind::Match { .. }
        | ExprKind::Is { .. }
        | ExprKind::Signal(_)
        | ExprKind::Error => print_value(out, &argument.value),
    }
}

fn print_entry<'a>(out: &mut Printer<'a>, entry: &'a Entry) {
    match &entry.key {
        EntryKey::Name(name) if matches!(&*name.text, "true" | "false" | "null") => {
            out.word(format!("`{}`", name.text));
        }
        EntryKey::Name(name) => out.name(name),
        EntryKey::Expr(key) if matches!(key.kind, ExprKind::Literal(_) | ExprKind::Template(_)) => {
            print_value(out, key);
        }
        EntryKey::Expr(key) => out.parenthesised(|out| print_value(out, key)),
    }
    out.word(": ");
    print_value(out, &entry.value);
}

fn print_match_arm<'a>(out: &mut Printer<'a>, arm: &'a MatchArm) {
    print_pattern(out, &arm.pattern);
    out.word(" => ");
    print_value(out, &arm.value);
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
            let slot = out.above(super::comments::Gap {
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

/// Whether the path may stand on several lines: where it calls more than once, or where a comment wants it.
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

fn print_link<'a>(out: &mut Printer<'a>, link: &'a Link) {
    match &link.kind {
        LinkKind::Field { name, safe } => {
            out.word(if *safe { "?." } else { "." });
            out.name(name);
        }
        LinkKind::Index { index, safe } => out.grouped(|out| {
            out.word(if *safe { "?.[" } else { "[" });
            out.indented(|out| {
                out.line(Break::Soft);
                print_value(out, index);
            });
            out.line(Break::Soft);
            out.word("]");
        }),
        LinkKind::Call {
            name,
            safe,
            arguments,
        } => {
            out.word(if *safe { "?." } else { "." });
            out.name(name);
            print_arguments(out, arguments, Span::from(name.span.end..link.span.end));
        }
    }
}

/// A name before a dot, where no word of expressions is mistaken.
fn print_dotted_name(out: &mut Printer<'_>, name: &str) {
    match name {
        "reply" | "match" | "signal" => out.word(name.to_owned()),
        _ => out.variable(name),
    }
}

fn is_call(link: &Link) -> bool {
    matches!(link.kind, LinkKind::Call { .. })
}

/// Whether the link begins with a dot.
fn is_dotted(link: &Link) -> bool {
    match &link.kind {
        LinkKind::Field { .. } | LinkKind::Call { .. } => true,
        LinkKind::Index { safe, .. } => *safe,
    }
}

/// Where a link's name begins: comments before it stand above the link.
fn link_start(link: &Link) -> u32 {
    match &link.kind {
        LinkKind::Field { name, .. } | LinkKind::Call { name, .. } => name.span.start,
        LinkKind::Index { .. } => link.span.start,
    }
}

/// Whether the next line would be indented as far as the name reaches.
fn short_name(base: &Expr) -> bool {
    matches!(&base.kind, ExprKind::Name(name) if width(name) <= INDENT)
}

fn is_number(literal: &Literal) -> bool {
    match literal {
        Literal::Int(_) | Literal::Uint(_) | Literal::Double(_) | Literal::Duration(_) => true,
        Literal::Null | Literal::Bool(_) | Literal::String(_) | Literal::Bytes(_) => false,
    }
}
