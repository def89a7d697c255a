//! Operators both of whose sides are the same.

use std::collections::BTreeMap;

use super::{Checker, Node};
use crate::diag::{Diagnostic, codes};
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::syntax::canonical_told;

/// Operands of more text than this are not compared.
const MAX_TEXT: usize = 1000;

/// `a == a` and its like.
pub(super) fn same_operands(
    checker: &mut Checker<'_>,
    first: &ast::Expr,
    link: &ast::ChainLink,
    span: Span,
) {
    let Some(result) = result(link.operator) else {
        return;
    };
    let other = &link.operand;
    if is_long(first) || is_long(other) || canonical_told(first) != canonical_told(other) {
        return;
    }
    let message = format!("both sides are the same: this is {result} whatever the value");
    let diagnostic = Diagnostic::new(&codes::order::SAME_OPERANDS, span, message)
        .note("the same on both sides")
        .help("one side should be something else, or the whole can be left out");
    checker.report(diagnostic);
}

/// A condition that stands twice among those joined by `&&` or `||`.
pub(super) fn repeated_conditions<'e>(
    checker: &mut Checker<'_>,
    operands: impl Iterator<Item = (&'e ast::Expr, &'e Node)>,
    and: bool,
) {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for (operand, _) in
        operands.filter(|(operand, node)| node.constant().is_none() && !is_long(operand))
    {
        if let Some(first) = seen.insert(canonical_told(operand), operand.span) {
            let sign = if and { "&&" } else { "||" };
            let message = format!("this condition stands twice among those joined by `{sign}`");
            let diagnostic = Diagnostic::new(&codes::order::SAME_OPERANDS, operand.span, message)
                .note("again here")
                .label(first, "first here")
                .help("leave one out, or write what was meant");
            checker.report(diagnostic);
        }
    }
}

fn is_long(operand: &ast::Expr) -> bool {
    (operand.span.end - operand.span.start) as usize > MAX_TEXT
}

/// What an operator gives where both sides are the same; nothing where that may be meant.
fn result(operator: BinaryOp) -> Option<&'static str> {
    match operator {
        BinaryOp::Equal | BinaryOp::LessEqual | BinaryOp::GreaterEqual => Some("true"),
        BinaryOp::NotEqual | BinaryOp::Less | BinaryOp::Greater => Some("false"),
        BinaryOp::Subtract | BinaryOp::Remainder => Some("0"),
        BinaryOp::Divide => Some("1"),
        BinaryOp::Or | BinaryOp::And | BinaryOp::In | BinaryOp::Add | BinaryOp::Multiply => None,
    }
}
