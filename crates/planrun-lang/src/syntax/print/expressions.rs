//! Prints expressions.

use super::types::{print_member_type, print_pattern};
use super::{Operand, Style};
use crate::source::Span;
use crate::syntax::ast::{
    Argument, BinaryOp, ChainLink, Entry, EntryKey, Expr, ExprKind, Link, LinkKind, Literal,
    MatchArm, UnaryOp,
};
use crate::syntax::precedence::{Level, begins_with_minus, is_negative, level, operator_level};

/// Prints an expression that no operator surrounds.
pub fn print_value<'a, S: Style<'a>>(out: &mut S, expr: &'a Expr) {
    print_expr(out, expr, Level::Conditional);
}

/// Prints an expression, in parentheses if it binds less tightly than `required`.
pub fn print_expr<'a, S: Style<'a>>(out: &mut S, expr: &'a Expr, required: Level) {
    if level(expr) < required {
        out.enclosed("(", ")", |out| print_kind(out, expr));
    } else {
        print_kind(out, expr);
    }
}

fn print_kind<'a, S: Style<'a>>(out: &mut S, expr: &'a Expr) {
    match &expr.kind {
        ExprKind::Literal(literal) => out.literal(literal, expr.span),
        ExprKind::Template(parts) => out.template(parts, expr.span),
        ExprKind::Name(name) => out.variable(name),
        ExprKind::Call {
            function,
            arguments,
        } => {
            out.variable(&function.text);
            print_arguments(out, arguments, Span::from(function.span.end..expr.span.end));
        }
        ExprKind::Path { base, links } => out.path(base, links),
        ExprKind::List(elements) => print_elements(out, elements, expr.span),
        ExprKind::Object(entries) => {
            out.list(
                S::OBJECT,
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
            out.text(text);
        }
        ExprKind::Error => out.error(),
    }
}

/// Prints operands and operators of one precedence level.
fn print_operators<'a, S: Style<'a>>(out: &mut S, first: &'a Expr, rest: &'a [ChainLink]) {
    let level = rest
        .first()
        .map_or(Level::Postfix, |link| operator_level(link.operator));
    // For readability, parentheses around a chain of the same level are kept, and `??` is parenthesized in comparisons.
    let (left, right) = match level {
        _ if S::CANONICAL => (level, level.tighter()),
        Level::Comparison => (Level::Add, Level::Add),
        _ => (level.tighter(), level.tighter()),
    };
    let compared = rest
        .first()
        .is_some_and(|link| matches!(link.operator, BinaryOp::Equal | BinaryOp::NotEqual));
    let first = if compared && is_reply::<S>(first) {
        Operand::Reply(first.span)
    } else {
        Operand::Expr(first, left)
    };
    let rest = rest.iter().map(|link| {
        let operand = Operand::Expr(&link.operand, right);
        (link.operator.name(), operand)
    });
    out.chain(std::iter::once(("", first)).chain(rest));
}

fn print_conditional<'a, S: Style<'a>>(out: &mut S, arms: &'a [(Expr, Expr)], otherwise: &'a Expr) {
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
    out.chain(arms.chain([(":", Operand::Expr(otherwise, Level::Or))]));
}

/// Prints the subject of a `match`. In parentheses if it begins with a minus sign, since `match -x` is a subtraction from
/// a variable called `match`.
pub fn print_subject<'a, S: Style<'a>>(out: &mut S, subject: &'a Expr) {
    let required = if begins_with_minus(subject) {
        Level::Parenthesised
    } else {
        Level::Conditional
    };
    print_expr(out, subject, required);
}

/// Prints a `match` expression that ends at `end`.
fn print_match_value<'a, S: Style<'a>>(
    out: &mut S,
    subject: &'a Expr,
    arms: &'a [MatchArm],
    end: u32,
) {
    out.word("match ");
    print_subject(out, subject);
    out.word(" ");
    let start = out.seek(subject.span.end, b'{');
    out.list(
        S::OBJECT,
        Span::from(start..end),
        arms,
        |arm| arm.span,
        print_match_arm,
    );
}

fn print_coalesce<'a, S: Style<'a>>(out: &mut S, operands: &'a [Expr]) {
    out.chain(operands.iter().enumerate().map(|(index, operand)| {
        // A chain of `??` in the last place needs no parentheses; those that are written are kept, as in other chains.
        let last = index + 1 == operands.len();
        let level = if last && S::CANONICAL {
            Level::Coalesce
        } else {
            Level::Add
        };
        (
            if index == 0 { "" } else { "??" },
            Operand::Expr(operand, level),
        )
    }));
}

/// Prints an operand of a chain.
pub fn print_operand<'a, S: Style<'a>>(out: &mut S, operand: Operand<'a>) {
    match operand {
        Operand::Expr(expr, level) => print_expr(out, expr, level),
        Operand::Type(ty) => print_member_type(out, ty),
        Operand::Pattern(pattern) => print_pattern(out, pattern),
        Operand::Reply(_) => out.word("reply"),
    }
}

fn print_unary<'a, S: Style<'a>>(out: &mut S, operators: &[(UnaryOp, Span)], operand: &'a Expr) {
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
    let kept = !S::CANONICAL && matches!(operand.kind, ExprKind::Unary { .. });
    print_expr(
        out,
        operand,
        if folds || kept {
            Level::Parenthesised
        } else {
            Level::Unary
        },
    );
}

fn print_elements<'a, S: Style<'a>>(out: &mut S, elements: &'a [Expr], region: Span) {
    if let [only] = elements
        && out.hugs(only, region)
    {
        out.word("[");
        print_value(out, only);
        out.word("]");
        return;
    }
    out.list(
        S::LIST,
        region,
        elements,
        |element| element.span,
        print_value,
    );
}

/// Prints the arguments of a call; `region` begins before its parenthesis.
pub fn print_arguments<'a, S: Style<'a>>(out: &mut S, arguments: &'a [Argument], region: Span) {
    // A comment before the parenthesis is not among the arguments.
    let region = Span {
        start: out.seek(region.start, b'('),
        end: region.end,
    };
    if let [
        Argument {
            name: None, value, ..
        },
    ] = arguments
        && out.hugs(value, region)
    {
        out.word("(");
        print_value(out, value);
        out.word(")");
        return;
    }
    out.list(
        S::PARENTHESES,
        region,
        arguments,
        |argument| argument.span,
        print_argument_value,
    );
}

fn print_argument_value<'a, S: Style<'a>>(out: &mut S, argument: &'a Argument) {
    if let Some(name) = &argument.name {
        out.name(name);
        out.word(": ");
    }
    // A comma or the parenthesis follows, so the bare word is parsed as the reply of a test's plan.
    if is_reply::<S>(&argument.value) {
        out.word("reply");
    } else {
        print_value(out, &argument.value);
    }
}

/// Returns true if the expression is the name `reply`, which needs no back quotes where it is unambiguous.
fn is_reply<'a, S: Style<'a>>(expr: &Expr) -> bool {
    !S::CANONICAL && matches!(&expr.kind, ExprKind::Name(name) if &**name == "reply")
}

fn print_entry<'a, S: Style<'a>>(out: &mut S, entry: &'a Entry) {
    match &entry.key {
        EntryKey::Name(name) if matches!(&*name.text, "true" | "false" | "null") => {
            out.word(format!("`{}`", name.text));
        }
        EntryKey::Name(name) => out.name(name),
        EntryKey::Expr(key) if matches!(key.kind, ExprKind::Literal(_) | ExprKind::Template(_)) => {
            print_value(out, key);
        }
        EntryKey::Expr(key) => out.enclosed("(", ")", |out| print_value(out, key)),
    }
    out.word(": ");
    print_value(out, &entry.value);
}

fn print_match_arm<'a, S: Style<'a>>(out: &mut S, arm: &'a MatchArm) {
    print_pattern(out, &arm.pattern);
    out.word(" => ");
    print_value(out, &arm.value);
}

/// Prints a link of a path.
pub fn print_link<'a, S: Style<'a>>(out: &mut S, link: &'a Link) {
    match &link.kind {
        LinkKind::Field { name, safe } => {
            out.word(if *safe { "?." } else { "." });
            out.name(name);
        }
        LinkKind::Index { index, safe } => {
            let open = if *safe { "?.[" } else { "[" };
            out.enclosed(open, "]", |out| print_value(out, index));
        }
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

fn is_number(literal: &Literal) -> bool {
    match literal {
        Literal::Int(_) | Literal::Uint(_) | Literal::Double(_) | Literal::Duration(_) => true,
        Literal::Null | Literal::Bool(_) | Literal::String(_) | Literal::Bytes(_) => false,
    }
}
