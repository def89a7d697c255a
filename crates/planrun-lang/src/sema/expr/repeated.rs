//! Reports operators with the same operand on both sides, and conditions that are repeated in an `&&` or `||`.

use std::collections::BTreeMap;

use super::{Checker, Node};
use crate::diag::codes;
use crate::source::Span;
use crate::syntax::ast::{self, BinaryOp};
use crate::syntax::canonical_display;

/// Maximum length in bytes of operands that are compared.
const MAX_TEXT: usize = 1000;

/// Reports `a == a` and similar operations.
pub(super) fn same_operands(
    checker: &mut Checker<'_>,
    first: &ast::Expr,
    link: &ast::ChainLink,
    span: Span,
) {
    let Some(message) = message(link.operator) else {
        return;
    };
    let other = &link.operand;
    if is_long(first) || is_long(other) || canonical_display(first) != canonical_display(other) {
        return;
    }
    let diagnostic = codes::order::SAME_OPERANDS
        .at(span, message)
        .note("both sides are the same")
        .help("change one side, or remove the whole expression");
    checker.report(diagnostic);
}

/// Reports a condition that is repeated among those joined by `&&` or `||`.
pub(super) fn repeated_conditions<'e>(
    checker: &mut Checker<'_>,
    operands: impl Iterator<Item = (&'e ast::Expr, &'e Node)>,
    and: bool,
) {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for (operand, _) in
        operands.filter(|(operand, node)| node.constant().is_none() && !is_long(operand))
    {
        let first = *seen
            .entry(canonical_display(operand))
            .or_insert(operand.span);
        if first != operand.span {
            let sign = if and { "&&" } else { "||" };
            let message = format!("this condition is already part of the `{sign}`");
            let diagnostic = codes::order::SAME_OPERANDS
                .at(operand.span, message)
                .note("again here")
                .label(first, "first here")
                .help("remove one, or write the condition that was intended");
            checker.report(diagnostic);
        }
    }
}

fn is_long(operand: &ast::Expr) -> bool {
    (operand.span.end - operand.span.start) as usize > MAX_TEXT
}

/// Returns the message about an operator with equal operands; `None` if such an operation may be intended. It states no
/// result, which for NaN and for zero differs from that of all other values.
fn message(operator: BinaryOp) -> Option<&'static str> {
    match operator {
        BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterEqual => Some("this compares a value with itself"),
        BinaryOp::Subtract => Some("this subtracts a value from itself"),
        BinaryOp::Divide | BinaryOp::Remainder => Some("this divides a value by itself"),
        BinaryOp::Or | BinaryOp::And | BinaryOp::In | BinaryOp::Add | BinaryOp::Multiply => None,
    }
}
