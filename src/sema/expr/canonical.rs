//! One text for every way of writing the same condition.

use crate::syntax::ast;

/// The text of an expression without its spacing.
pub(super) fn canonical(expression: &ast::Expr) -> String {
    match &expression.kind {
        ast::ExprKind::Name(name) => name.to_string(),
        ast::ExprKind::Literal(literal) => super::literal::value(literal).0.to_string(),
        ast::ExprKind::Path { base, links } => {
            let mut text = operand(base);
            for link in links {
                text.push_str(&link_text(link));
            }
            text
        }
        ast::ExprKind::Chain { first, rest } => {
            let mut text = operand(first);
            for link in rest {
                text.push_str(&[" ", symbol(link.operator), " ", &operand(&link.operand)].concat());
            }
            text
        }
        ast::ExprKind::Call { function, arguments } => format!("{}({})", function.text, list(arguments)),
        other => format!("{other:?}"),
    }
}

fn operand(expression: &ast::Expr) -> String {
    match expression.kind {
        ast::ExprKind::Chain { .. } => format!("({})", canonical(expression)),
        _ => canonical(expression),
    }
}

fn link_text(link: &ast::Link) -> String {
    let mark = |safe: &bool| if *safe { "?." } else { "" };
    match &link.kind {
        ast::LinkKind::Field { name, safe } => format!("{}{}", if *safe { "?." } else { "." }, name.text),
        ast::LinkKind::Index { index, safe } => format!("{}[{}]", mark(safe), canonical(index)),
        ast::LinkKind::Call { name, arguments, .. } => format!(".{}({})", name.text, list(arguments)),
    }
}

fn list(arguments: &[ast::Argument]) -> String {
    arguments.iter().map(|argument| canonical(&argument.value)).collect::<Vec<_>>().join(", ")
}

fn symbol(operator: ast::BinaryOp) -> &'static str {
    match operator {
        ast::BinaryOp::Or => "||",
        ast::BinaryOp::And => "&&",
        ast::BinaryOp::Equal => "==",
        ast::BinaryOp::NotEqual => "!=",
        ast::BinaryOp::Less => "<",
        ast::BinaryOp::LessEqual => "<=",
        ast::BinaryOp::Greater => ">",
        ast::BinaryOp::GreaterEqual => ">=",
        ast::BinaryOp::In => "in",
        ast::BinaryOp::Add => "+",
        ast::BinaryOp::Subtract => "-",
        ast::BinaryOp::Multiply => "*",
        ast::BinaryOp::Divide => "/",
        ast::BinaryOp::Remainder => "%",
    }
}
