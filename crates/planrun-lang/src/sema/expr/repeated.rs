//! Reports operators with the same operand on both sides, and conditions that are repeated in an `&&` or `||`.

use std::collections::BTreeMap;

use super::{Checker, Node};
use crate::diag::{Diagnostic, codes};
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
    let Some(result) = result(link.operator) else {
        return;
    };
    let other = &link.operand;
    if is_long(first) || is_long(other) || canonical_display(first) != canonical_display(other) {
        return;
    }
    let message = format!("both sides are the same: this is always {result}");
    let diagnostic = Diagnostic::new(&codes::order::SAME_OPERANDS, span, message)
        .note("the same on both sides")
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
        if let Some(first) = seen.insert(canonical_display(operand), operand.span) {
            let sign = if and { "&&" } else { "||" };
            let message = format!("this condition occurs twice among those joined by `{sign}`");
            let diagnostic = Diagnostic::new(&codes::order::SAME_OPERANDS, operand.span, message)
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

/// Returns the result of an operator with equal operands; `None` if such an operation may be intended.
fn result(operator: BinaryOp) -> Option<&'static str> {
    match operator {
        BinaryOp::Equal | BinaryOp::LessEqual | BinaryOp::GreaterEqual => Some("true"),
        BinaryOp::NotEqual | BinaryOp::Less | BinaryOp::Greater => Some("false"),
        BinaryOp::Subtract | BinaryOp::Remainder => Some("0"),
        BinaryOp::Divide => Some("1"),
        BinaryOp::Or | BinaryOp::And | BinaryOp::In | BinaryOp::Add | BinaryOp::Multiply => None,
    }
}
