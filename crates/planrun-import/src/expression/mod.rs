//! Expressions of other systems: tokens, conditions, paths, values, and their size limit.

pub mod condition;
pub mod cursor;
pub mod path;
pub mod quote;
pub mod tokens;
pub mod value;

use std::cell::RefCell;
use std::collections::BTreeSet;

use planrun_lang::syntax::ast::{
    BinaryOp, ChainLink, Expr, ExprKind, LinkKind, Literal, TemplatePart, UnaryOp,
};

use crate::tree;
use quote::plan;

/// The name of the element in a comprehension. Steps and bindings never get this name.
pub const ONE: &str = "one";

/// The maximum length of an expression, in bytes.
const MAX_EXPRESSION: usize = 4096;

/// More levels than any list has.
pub const DEEPEST: i64 = 1000;

/// An expression with more nodes than this is evaluated only once, even if it is read several times.
const SHORT: usize = 5;

/// Notes for the report about a translated expression: where its value may differ from the original.
pub type Caveats = RefCell<BTreeSet<&'static str>>;

/// Returns a message if the expression is too long.
pub fn within_bounds(text: &str) -> Result<(), String> {
    if text.len() <= MAX_EXPRESSION {
        return Ok(());
    }
    Err(format!(
        "an expression may have at most {MAX_EXPRESSION} bytes"
    ))
}

pub fn reads(expression: &Expr, name: &str) -> bool {
    let mut found = matches!(&expression.kind, ExprKind::Name(there) if &**there == name);
    expression.parts(&mut |part| found |= reads(part, name));
    found
}

/// Returns an expression that gives null if the value is missing.
pub fn lenient(value: Expr) -> Expr {
    match value.kind {
        ExprKind::Path { .. } => tree::coalesce(value, tree::null()),
        _ => value,
    }
}

/// Concatenates texts and values into one text.
pub fn concatenated(sides: impl IntoIterator<Item = Expr>) -> Expr {
    let mut parts = Vec::new();
    for side in sides {
        match side.kind {
            ExprKind::Literal(Literal::String(text)) => parts.push(TemplatePart::Text(text)),
            ExprKind::Template(inner) => parts.extend(inner),
            kind => parts.push(TemplatePart::Expr(tree::expr(kind))),
        }
    }
    tree::template(parts)
}

/// Returns an expression that reads a value several times. `others` are the expressions that `read` adds: if one of them
/// reads the element of an outer list, the value cannot become an element itself.
pub fn bound(value: Expr, others: &[&Expr], read: impl FnOnce(&Expr) -> Expr) -> Expr {
    let is_short = tree::size(&value, SHORT + 1) <= SHORT;
    if is_short || others.iter().any(|other| reads(other, ONE)) {
        return read(&value);
    }
    once(value, read)
}

/// Returns an expression that reads a value several times and evaluates it once.
pub fn once(value: Expr, read: impl FnOnce(&Expr) -> Expr) -> Expr {
    let (list, read) = (tree::list(vec![value]), read(&plan!("one")));
    plan!("list.map(one, read)[0]", list, read)
}

/// Returns true if an expression is certainly a list.
pub fn is_list(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::List(_) => true,
        ExprKind::Chain { first, rest } => {
            is_list(first) && rest.iter().all(|link| link.operator == BinaryOp::Add)
        }
        _ => last_method(value).is_some_and(|name| {
            [
                "map", "filter", "flatten", "split", "sort", "distinct", "slice", "take",
            ]
            .contains(&name)
        }),
    }
}

/// Returns a list unchanged. Any other value fails, although a plan can also count and search texts and objects.
pub fn only_list(value: Expr) -> Expr {
    if is_list(&value) {
        value
    } else {
        plan!("value + []", value)
    }
}

/// Returns true if an expression is certainly not a list.
pub fn is_single(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Literal(_)
        | ExprKind::Object(_)
        | ExprKind::Template(_)
        | ExprKind::Unary { .. } => true,
        ExprKind::Chain { .. } => !is_list(value),
        ExprKind::Call { function, .. } => [
            "size", "sum", "int", "double", "string", "json", "has", "type", "merge",
        ]
        .contains(&&*function.text),
        _ => last_method(value)
            .is_some_and(|name| ["join", "replace", "contains", "matches"].contains(&name)),
    }
}

/// Returns true if an expression is certainly a number, or fails.
fn is_number(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Literal(Literal::Int(_) | Literal::Double(_)) => true,
        ExprKind::Unary { .. } => !tree::is_truth(value),
        ExprKind::Chain { first, rest } => {
            let adds = |link: &ChainLink| link.operator == BinaryOp::Add;
            !tree::is_truth(value)
                && (is_number(first)
                    || rest.iter().any(|one| !adds(one) || is_number(&one.operand)))
        }
        ExprKind::Call { function, .. } => {
            ["size", "sum", "int", "double"].contains(&&*function.text)
        }
        _ => false,
    }
}

/// Returns a number as a double. Any other value fails, while `double` also converts texts.
pub fn real(value: Expr) -> Expr {
    match &value.kind {
        ExprKind::Literal(Literal::Double(_)) => value,
        ExprKind::Call { function, .. } if &*function.text == "double" => value,
        _ if is_number(&value) => plan!("double(value)", value),
        _ => plan!("1.0 * value", value),
    }
}

/// Adds two numbers. Any other value fails, while `+` also joins texts and lists.
pub fn added(first: Expr, second: Expr) -> Expr {
    let operands = if is_number(&first) || is_number(&second) {
        vec![first, second]
    } else {
        vec![tree::int(0), first, second]
    };
    tree::joined(operands, BinaryOp::Add).unwrap_or_else(tree::null)
}

/// Divides two numbers: integers may have a fraction as their quotient, and dividing by zero fails.
pub fn divided(dividend: Expr, divisor: Expr) -> Expr {
    let dividend = real(dividend);
    let is_never_zero = match divisor.kind {
        ExprKind::Literal(Literal::Int(number)) => number != 0,
        ExprKind::Literal(Literal::Double(number)) => number != 0.0,
        _ => false,
    };
    if is_never_zero {
        return plan!("dividend / divisor", dividend, divisor);
    }
    bound(divisor, &[&dividend], |divisor| {
        // Only the division of integers fails if the divisor is zero.
        plan!(
            "divisor == 0 ? 1 / int(divisor) : dividend / divisor",
            dividend,
            divisor,
        )
    })
}

/// Returns the negative of a number.
pub fn negative(operand: Expr) -> Expr {
    match operand.kind {
        ExprKind::Literal(Literal::Int(number)) => tree::int(number.saturating_neg()),
        ExprKind::Literal(Literal::Double(number)) => tree::literal(Literal::Double(-number)),
        _ => tree::unary(UnaryOp::Negate, operand),
    }
}

/// Returns the method that an expression calls last.
pub fn last_method(value: &Expr) -> Option<&str> {
    let ExprKind::Path { links, .. } = &value.kind else {
        return None;
    };
    match &links.last()?.kind {
        LinkKind::Call { name, .. } => Some(&name.text),
        LinkKind::Field { .. } | LinkKind::Index { .. } => None,
    }
}

/// Returns a value as a list: a value that is none becomes the only element of one.
pub fn listed(value: Expr) -> Expr {
    if is_list(&value) {
        value
    } else if is_single(&value) {
        tree::list(vec![value])
    } else {
        plan!("[value].flatten()", value)
    }
}

/// Returns true if an expression reads a field, so that `has` can tell whether it exists.
pub fn is_field(value: &Expr) -> bool {
    matches!(&value.kind, ExprKind::Path { links, .. }
        if links.last().is_some_and(|link| matches!(link.kind, LinkKind::Field { .. })))
}

/// Returns a text unchanged, and any other value as JSON.
pub fn text_of(value: Expr) -> Expr {
    if tree::is_text(&value) {
        return value;
    }
    bound(value, &[], |value| {
        plan!("type(value) == string ? value : json(value)", value)
    })
}

/// Returns the element at a position; a negative one counts from the end.
pub fn element(list: Expr, at: Expr) -> Expr {
    match whole(&at) {
        Some(number) if number < 0 => {
            let back = tree::int(number.saturating_neg());
            bound(list, &[], |list| {
                plan!("list[size(list) - back]", list, back)
            })
        }
        _ => tree::index(list, at),
    }
}

/// Returns the elements of a list from one position up to another. A constant position that is negative counts from
/// the end, and one beyond the list selects nothing.
pub fn sliced(list: Expr, start: Option<&Expr>, end: Option<&Expr>) -> Expr {
    cut("slice", list, start, end)
}

/// Returns the part of a list or of a text between two positions.
pub fn part(value: Expr, start: Option<&Expr>, end: Option<&Expr>) -> Expr {
    if is_list(&value) {
        return sliced(value, start, end);
    }
    let bounds: Vec<&Expr> = start.into_iter().chain(end).collect();
    bound(value, &bounds, |value| {
        plan!(
            "type(value) == string ? text : list",
            value,
            text = cut("substring", value.clone(), start, end),
            list = sliced(value.clone(), start, end),
        )
    })
}

fn cut(method: &str, list: Expr, start: Option<&Expr>, end: Option<&Expr>) -> Expr {
    let bounds: Vec<&Expr> = start.into_iter().chain(end).collect();
    bound(list, &bounds, |list| {
        let size = || plan!("size(list)", list);
        let is_ordered = match [start, end].map(|at| at.and_then(whole)) {
            [Some(from), Some(to)] => (from < 0) == (to < 0) && from <= to,
            [None, _] | [_, None] => true,
        };
        let place = |at: &Expr| position(at.clone(), &size());
        let from = start.map_or_else(|| tree::int(0), place);
        let mut to = end.map_or_else(size, place);
        if !is_ordered {
            to = plan!("math.greatest(from, to)", from, to);
        }
        tree::method(list.clone(), method, vec![from, to])
    })
}

/// Returns a position of a slice within a list of this size.
fn position(at: Expr, size: &Expr) -> Expr {
    match whole(&at) {
        None | Some(0) => at,
        Some(number) if number < 0 => {
            let back = tree::int(number.saturating_neg());
            plan!("math.greatest(size - back, 0)", size, back)
        }
        Some(_) => plan!("math.least(at, size)", at, size),
    }
}

fn whole(value: &Expr) -> Option<i64> {
    match value.kind {
        ExprKind::Literal(Literal::Int(number)) => Some(number),
        _ => None,
    }
}
